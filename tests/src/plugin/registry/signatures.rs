//! cosign's signatures, made here with keys of the test and pushed as cosign pushes them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{ImageIndexEntry, OciImageIndex, OciImageManifest};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SigningKey as _};
use serde_json::{Value, json};

use super::*;

const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}

fn public(key: &KeyPair) -> PublicKey {
    PublicKey::from_pem(&key.public_key_pem()).unwrap()
}

fn payload(digest: &Digest) -> Vec<u8> {
    let identity = json!({"docker-reference": "registry.example/somewhere/else"});
    let image = json!({"docker-manifest-digest": digest});
    let kind = "cosign container image signature";
    json!({"critical": {"identity": identity, "image": image, "type": kind}, "optional": null})
        .to_string()
        .into_bytes()
}

fn signature_layer(payload: Vec<u8>, signature: &str) -> ImageLayer {
    let annotations =
        BTreeMap::from([("dev.cosignproject.cosign/signature".to_owned(), signature.to_owned())]);
    ImageLayer::new(payload, SIMPLE.to_owned(), Some(annotations))
}

fn layer(digest: &Digest, key: &KeyPair) -> ImageLayer {
    let payload = payload(digest);
    let signature = STANDARD.encode(key.sign(&payload).unwrap());
    signature_layer(payload, &signature)
}

/// A signed in-toto statement in a bundle.
fn bundle(digest: &Digest, predicate: &str, key: &KeyPair) -> Value {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest.hex()}}],
        "predicateType": predicate,
        "predicate": {},
    });
    let (kind, body) = ("application/vnd.in-toto+json", statement.to_string());
    let message = format!("DSSEv1 {} {kind} {} {body}", kind.len(), body.len());
    let signature = STANDARD.encode(key.sign(message.as_bytes()).unwrap());
    json!({
        "mediaType": BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": "key"}, "tlogEntries": []},
        "dsseEnvelope": {"payload": STANDARD.encode(&body), "payloadType": kind, "signatures": [{"sig": signature}]},
    })
}

/// A plugin in a registry, and what is needed to sign it.
struct Signed {
    env: TestEnvironment,
    _local: LocalRegistry,
    client: WasmClient,
    artifact: OciReference,
    digest: Digest,
}

impl Signed {
    async fn new() -> Self {
        let env = TestEnvironment::new();
        let local = LocalRegistry::start(&env);
        let artifact = local.reference("org/plugin:1");
        let name = "org/plugin".parse().unwrap();
        let (staged, description) = (directory(&env), Default::default());
        let digest =
            registry(&env).push_directory(&artifact, &name, &staged, &description, &Silent).await.unwrap();
        Self { env, _local: local, client: other_tool(), artifact, digest }
    }

    /// The signatures of the older form; those that were there are gone.
    async fn sign(&self, layers: &[ImageLayer]) {
        let tag = Some(format!("sha256-{}.sig", self.digest.hex()));
        let at = theirs(&OciReference { tag, ..self.artifact.clone() });
        let config = Config::oci_v1("{}", None);
        let mut manifest = OciImageManifest::build(layers, &config, None);
        manifest.media_type = Some("application/vnd.oci.image.manifest.v1+json".to_owned());
        self.client
            .as_ref()
            .push(&at, layers, config, &RegistryAuth::Anonymous, Some(manifest))
            .await
            .unwrap();
    }

    /// The signatures of the newer form.
    async fn refer(&self, bundles: &[Value]) {
        self.refer_as(Some(BUNDLE), bundles).await;
    }

    /// Lists bundles as this type of artifact.
    async fn refer_as(&self, kind: Option<&str>, bundles: &[Value]) {
        let mut entries = Vec::new();
        for bundle in bundles {
            let layers = [ImageLayer::new(bundle.to_string(), BUNDLE.to_owned(), None)];
            let config = Config::new("{}", "application/vnd.oci.empty.v1+json".to_owned(), None);
            let mut manifest = OciImageManifest::build(&layers, &config, None);
            manifest.media_type = Some("application/vnd.oci.image.manifest.v1+json".to_owned());
            manifest.artifact_type = Some(BUNDLE.to_owned());
            let at = theirs(&OciReference { tag: Some("bundle".to_owned()), ..self.artifact.clone() });
            let client = self.client.as_ref();
            client.push(&at, &layers, config, &RegistryAuth::Anonymous, Some(manifest)).await.unwrap();
            let accepted = ["application/vnd.oci.image.manifest.v1+json"];
            let (bytes, digest) =
                client.pull_manifest_raw(&at, &RegistryAuth::Anonymous, &accepted).await.unwrap();
            entries.push(ImageIndexEntry {
                media_type: accepted[0].to_owned(),
                digest,
                size: bytes.len().try_into().unwrap(),
                platform: None,
                annotations: None,
                artifact_type: kind.map(str::to_owned),
            });
        }
        let tag = Some(format!("sha256-{}", self.digest.hex()));
        let index = OciImageIndex {
            schema_version: 2,
            media_type: Some("application/vnd.oci.image.index.v1+json".to_owned()),
            manifests: entries,
            artifact_type: None,
            annotations: None,
        };
        let at = theirs(&OciReference { tag, ..self.artifact.clone() });
        self.client.as_ref().push_manifest_list(&at, &RegistryAuth::Anonymous, index).await.unwrap();
    }

    async fn pull(&self, key: &KeyPair) -> Result<Digest, PluginError> {
        let pulled = pull(&self.env, &registry(&self.env), &self.artifact, None, Some(&public(key))).await;
        pulled.map(|(digest, _)| digest)
    }
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_signature_by_the_key_is_enough_in_either_form_and_of_any_kind() {
    let signed = Signed::new().await;
    for kind in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let key = KeyPair::generate_for(kind).unwrap();
        assert!(signed.pull(&key).await.is_err());
        // Beside the one of somebody else, and one that is none.
        signed
            .sign(&[
                signature_layer(b"x".to_vec(), "!"),
                layer(&signed.digest, &self::key()),
                layer(&signed.digest, &key),
            ])
            .await;
        assert_eq!(signed.pull(&key).await.unwrap(), signed.digest);
    }
    for kind in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let key = KeyPair::generate_for(kind).unwrap();
        assert!(signed.pull(&key).await.is_err());
        signed
            .refer(&[bundle(&signed.digest, SIGNED, &self::key()), bundle(&signed.digest, SIGNED, &key)])
            .await;
        assert_eq!(signed.pull(&key).await.unwrap(), signed.digest);
    }
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn a_bundle_is_found_whatever_its_list_calls_it() {
    let signed = Signed::new().await;
    let key = key();
    let bundles = [bundle(&signed.digest, SIGNED, &key)];
    for kind in [None, Some(BUNDLE), Some("application/vnd.oci.empty.v1+json")] {
        signed.refer_as(kind, &bundles).await;
        assert_eq!(signed.pull(&key).await.unwrap(), signed.digest, "{kind:?}");
    }
    signed.refer_as(Some("application/spdx+json"), &bundles).await;
    let error = signed.pull(&key).await.unwrap_err();
    assert!(error.to_string().contains("found no signature"), "{error}");
}

#[tokio::test]
#[ignore = "needs docker-registry: run `cargo xtask test-all`"]
async fn without_a_signature_by_the_key_nothing_is_fetched() {
    let signed = Signed::new().await;
    let (key, other) = (key(), key());
    let another = Digest::of(b"another artifact");
    let error = signed.pull(&key).await.unwrap_err();
    assert!(error.to_string().contains("found no signature"), "{error}");
    assert!(error.to_string().contains(&public(&key).fingerprint().to_string()), "{error}");
    assert!(error.hint.unwrap().contains("cosign sign --key cosign.key"));

    let good = layer(&signed.digest, &key);
    let damaged = ImageLayer { data: [&good.data[..], b" "].concat().into(), ..good.clone() };
    let untold = ImageLayer { annotations: None, ..good.clone() };
    let mut keyless = layer(&signed.digest, &other);
    keyless
        .annotations
        .as_mut()
        .unwrap()
        .insert("dev.sigstore.cosign/certificate".to_owned(), "PEM".to_owned());
    let foreign = ImageLayer { media_type: "text/plain".to_owned(), ..good.clone() };
    let large = signature_layer(vec![b'x'; (4 << 20) + 1], "AAAA");
    for (layers, want) in [
        (vec![layer(&signed.digest, &other)], "it was made with another key"),
        (vec![layer(&another, &key)], "it is a signature of another artifact"),
        (vec![damaged], "it was made with another key"),
        (vec![keyless], "with a certificate, and only signatures of keys are checked"),
        (vec![untold], "it has no annotation dev.cosignproject.cosign/signature"),
        (vec![foreign], "it is of type text/plain"),
        (vec![large], "at most 4194304 bytes"),
        (vec![signature_layer(payload(&signed.digest), "!")], "it is not base64"),
        (vec![signature_layer(payload(&signed.digest), "")], "it was made with another key"),
        (vec![], "found no signature"),
    ] {
        signed.sign(&layers).await;
        let error = signed.pull(&key).await.unwrap_err().to_string();
        assert!(error.contains(want), "{want}: {error}");
    }

    let with = |change: &dyn Fn(&mut Value)| {
        let mut bundle = bundle(&signed.digest, SIGNED, &key);
        change(&mut bundle);
        bundle
    };
    for (bundle, want) in [
        (bundle(&signed.digest, SIGNED, &other), "it was made with another key"),
        (bundle(&another, SIGNED, &key), "it is a signature of another artifact"),
        (
            bundle(&signed.digest, "https://slsa.dev/provenance/v1", &key),
            "statement of type \"https://slsa.dev/provenance/v1\"",
        ),
        (
            with(&|it| it["dsseEnvelope"]["payloadType"] = "text/plain".into()),
            "it signs something of type \"text/plain\"",
        ),
        (
            with(&|it| it["dsseEnvelope"]["payload"] = STANDARD.encode("{}").into()),
            "it was made with another key",
        ),
        (with(&|it| it["dsseEnvelope"]["signatures"] = json!([])), "it was made with another key"),
        (
            with(&|it| it["verificationMaterial"] = json!({"certificate": {"rawBytes": ""}})),
            "with a certificate",
        ),
        (json!({"messageSignature": {"signature": "AAAA"}}), "it signs bytes (`cosign sign-blob`)"),
        (json!({}), "it has no signature"),
        (json!([]), "it cannot be read"),
    ] {
        signed.refer(std::slice::from_ref(&bundle)).await;
        let error = signed.pull(&key).await.unwrap_err().to_string();
        assert!(error.contains(want), "{want}: {error}");
    }
    assert!(!signed.env.read("registry.log").unwrap_or_default().is_empty());
    let left = std::fs::read_dir(signed.env.path("repo/.hookbox/plugins")).unwrap().count();
    assert_eq!(left, 0, "nothing is staged");
}
