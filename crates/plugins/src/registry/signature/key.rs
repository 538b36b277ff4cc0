//! Public keys, and checking their signatures.

use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{Error, RawPublicKeyEntity, ring};

use crate::{PluginError, PluginErrorKind};
use hookbox::escape;
use hookbox::hook::Digest;

/// The supported algorithms. cosign makes keys of the first kind; imported keys and those of a KMS are of the
/// others. RSA signatures are those of PKCS #1 v1.5, as cosign makes them.
const ALGORITHMS: [&dyn SignatureVerificationAlgorithm; 8] = [
    ring::ECDSA_P256_SHA256,
    ring::ECDSA_P256_SHA384,
    ring::ECDSA_P384_SHA256,
    ring::ECDSA_P384_SHA384,
    ring::ED25519,
    ring::RSA_PKCS1_2048_8192_SHA256,
    ring::RSA_PKCS1_2048_8192_SHA384,
    ring::RSA_PKCS1_2048_8192_SHA512,
];

/// A public key to verify signatures with: ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits.
#[derive(Clone, Debug)]
pub struct PublicKey {
    info: SubjectPublicKeyInfoDer<'static>,
}

impl PublicKey {
    /// Reads a key in the form of `cosign.pub`: one PEM section `PUBLIC KEY`.
    ///
    /// # Errors
    ///
    /// An error if the text is something else, such as the private key or a certificate, or the kind of key
    /// is not supported. The error does not repeat the text.
    pub fn from_pem(text: &str) -> Result<Self, PluginError> {
        let wrong = |found: String| {
            let what = format!("expected one public key in PEM (-----BEGIN PUBLIC KEY-----), found {found}");
            PluginError::new("the key", PluginErrorKind::Source(what))
                .hint("give the file cosign.pub, not cosign.key")
        };
        let mut sections = text.lines().filter_map(|line| {
            line.trim().strip_prefix("-----BEGIN ").map(|rest| rest.trim_end_matches('-').to_owned())
        });
        match (sections.next().as_deref(), sections.next()) {
            (Some("PUBLIC KEY"), None) => {}
            (Some("PUBLIC KEY"), Some(_)) => return Err(wrong("several sections".to_owned())),
            (Some(other), _) => return Err(wrong(format!("{:?}", escape(other, 60)))),
            (None, _) => return Err(wrong("no PEM".to_owned())),
        }
        let info = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes())
            .map_err(|_| wrong("a damaged one".to_owned()))?;
        let entity = RawPublicKeyEntity::try_from(&info).map_err(|_| wrong("a damaged one".to_owned()))?;
        // An empty signature is never valid, but the error tells if the key is of this kind.
        let is_of_kind = |algorithm: &&dyn SignatureVerificationAlgorithm| {
            let verified = entity.verify_signature(*algorithm, &[], &[]);
            !matches!(verified, Err(Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_)))
        };
        if !ALGORITHMS.iter().any(is_of_kind) {
            let what = "expected a key of ECDSA (P-256, P-384), Ed25519 or RSA, found one of another kind";
            return Err(PluginError::new("the key", PluginErrorKind::Source(what.to_owned()))
                .hint("sign with a key of `cosign generate-key-pair`"));
        }
        Ok(Self { info: info.into_owned() })
    }

    /// Returns the sha256 of the key in DER.
    pub fn fingerprint(&self) -> Digest {
        Digest::of(self.info.as_ref())
    }

    /// Returns true if this key made this signature of this message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(entity) = RawPublicKeyEntity::try_from(&self.info) else { return false };
        ALGORITHMS.iter().any(|algorithm| entity.verify_signature(*algorithm, message, signature).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Keys and their signatures of `hookbox`, as OpenSSL 3 made them. The private halves are nowhere.
    const SIGNED: [(&str, &str, &str); 5] = [
        (
            "ECDSA P-256, SHA-256",
            concat!(
                "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvuyTwtjGug8508FzEuAXGpGTuU4PVle2klvgjGafbKExfLv89Ibo",
                "WEL8AR2oDJF0I8DQh/hDj6x/FWhqSQreiQ=="
            ),
            concat!(
                "MEUCIQCsF3g1hfKiZW08a6qdveoSHDEHu73eO5DSMV/yvvQ5EwIgdn/6+ZyGCWthlWV/FDc7Z16WDSUBwWhsMs/u",
                "1YX7iMg="
            ),
        ),
        (
            "ECDSA P-384, SHA-256",
            concat!(
                "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAErboZZpdj7YEbI6MlR9N9rkKjfzC5zSyT7yE7+YHhwCw+/PhZWLuQnSgG",
                "sVRzo/zqSZ4/8c38afcs3Kx7X4b9wIipHaBvztxh9PUtE653g+c0qdVFSEQbRyc4qiwUPXJp"
            ),
            concat!(
                "MGQCMFM+OVtXhPB/+ntQezMC3GUbKks9QqBS1lw0NWLBZ1N2UJ3PbyR3+QX8vcvQGcND2QIwfGKx97UctCWJ9rg8",
                "mbg+DGvmJWomousw7NEtVUjkagLK0IupQASCrvxpiyg+S/XL"
            ),
        ),
        (
            "ECDSA P-384, SHA-384",
            concat!(
                "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAErboZZpdj7YEbI6MlR9N9rkKjfzC5zSyT7yE7+YHhwCw+/PhZWLuQnSgG",
                "sVRzo/zqSZ4/8c38afcs3Kx7X4b9wIipHaBvztxh9PUtE653g+c0qdVFSEQbRyc4qiwUPXJp"
            ),
            concat!(
                "MGYCMQDACYolJev0onaXHPLtuUAOuZT3KiAGAYDliXYch6239ke1XOWMv5RJjGHutXp1TMQCMQCoEXmjFZ7e8Aky",
                "3FDNBqW5J9d0jqstYcTq9UlwDrsb5BgQAQT4hoVxEUCLd+RUZJc="
            ),
        ),
        (
            "Ed25519",
            "MCowBQYDK2VwAyEADELJlbQH7j1+2zR2TqsELdCsX15+D3uCViWWqkGORxk=",
            "TK8sr51FKkKVFTFvbystq00FSiwA5UuHnVomG1yJ3DvUQWrDPiD78wZNDPJMzsZnQPyEpR8Te7m4vgRwufxNDQ==",
        ),
        (
            "RSA 2048, SHA-256",
            concat!(
                "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAp8niSrntt79Fce2/RxDGSsfaPyvtbm6oNQOs117xvZaz",
                "QblaYvcHnc6V5LLIoKoRwQBf4pDWIDkTbvtR2N6cQkZ/VSRSp4+Y5Z7JCFJiZHXLq/DVArxxePAtO6BAF2dItxxm",
                "OKg0H0q4OArW39/2eLz0uB5ZGC5pjcUXF7xF//ipSSfXWZf7JSDrUg9yvQfyiJXxYSo2Sa5fYPL7EuSssRB5e1k0",
                "Mb0sbGZZObW4+bhTXS8DPQj42v7htxryf7yytU+GWH9HO2scEU6qcpbhh6rq2si1JnXJ5BecVKF8i5+DOtgH15au",
                "HkyrOhMYd39XASp8WPvT85+Cmhz0KGdAbwIDAQAB"
            ),
            concat!(
                "mAWlElAcK8Z4bNcON+i6idkKhqVEiWBXxO4hPFN9h6J8l5ywIt4SJfHFxjrq7ixz1YeoXtVTKSf7piNus3beojbH",
                "SGEL9CggXfVX+hiynYUSRKxKGFLdbWzCpOW1V3qOG59IsIeSK+ONh0gnpT/4VW9NsucfNkQz4TrzLFsP6+hyZA45",
                "zyjTV7+y/J7tvdG77NS9zbEUJUv7of+3Lg6qlSWhvII0k8ImJllxTDf/0UDBUFPoNNidli64FR83dcaxaH57djqR",
                "57it/9MkWi9XqyxtwDB8KDgCvAZndB//t/DD0GyBXYbm3DbJnqTt2MXfBLB/ZJfckbcAhTjIPDJnfw=="
            ),
        ),
    ];
    /// A key that cosign can make but this cannot check.
    const P521: &str = concat!(
        "MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBv+zswXkabgint6TwHnO57pj5KfCr2vlw2ry3El9twgewNjaZJNpj",
        "0oAPRlJ1VKtPTiqWCiwlJ6IZiVVyseKsqJwBWfd172NZeyjhs9nQWh8Ae1bVIoAzE9q0P0cRoSKAYyP9UIg9Z0qo",
        "853vJ12TVZW5kyeP7jRFVcRvnZv8q0yYrZA="
    );

    fn pem(base64: &str) -> String {
        format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----\n")
    }

    #[test]
    fn a_key_verifies_only_its_own_signatures() {
        for (kind, key, signature) in SIGNED {
            let key = PublicKey::from_pem(&pem(key)).unwrap();
            let signature = STANDARD.decode(signature).unwrap();
            assert!(key.has_signed(b"hookbox", &signature), "{kind}");
            assert!(!key.has_signed(b"hookboX", &signature), "{kind}: another message");
            assert!(!key.has_signed(b"hookbox", &[]), "{kind}: no signature");
            let mut damaged = signature.clone();
            *damaged.last_mut().unwrap() ^= 1;
            assert!(!key.has_signed(b"hookbox", &damaged), "{kind}: a damaged signature");
            for (other, key, _) in
                SIGNED.iter().filter(|(_, it, _)| PublicKey::from_pem(&pem(it)).unwrap().info != key.info)
            {
                let key = PublicKey::from_pem(&pem(key)).unwrap();
                assert!(!key.has_signed(b"hookbox", &signature), "{kind} by {other}");
            }
        }
    }

    #[test]
    fn text_that_is_not_a_public_key_is_named_and_not_repeated() {
        let good = pem(SIGNED[0].1);
        let labelled = |label: &str| good.replace("PUBLIC KEY", label);
        for (text, want) in [
            (labelled("ENCRYPTED SIGSTORE PRIVATE KEY"), "\"ENCRYPTED SIGSTORE PRIVATE KEY\""),
            (labelled("CERTIFICATE"), "\"CERTIFICATE\""),
            (labelled("EC PRIVATE KEY"), "\"EC PRIVATE KEY\""),
            (good.repeat(2), "several sections"),
            (String::new(), "no PEM"),
            (SIGNED[0].1.to_owned(), "no PEM"),
            (pem(""), "a damaged one"),
            (pem("AAAA"), "a damaged one"),
            (pem("!"), "a damaged one"),
            (good.replace("-----END PUBLIC KEY-----", ""), "a damaged one"),
            (pem(P521), "of another kind"),
            ("x".repeat(100_000), "no PEM"),
        ] {
            let error = PublicKey::from_pem(&text).unwrap_err();
            assert!(error.to_string().contains(want), "{error}: {text}");
            assert!(error.hint.is_some() && !error.to_string().contains("MFkw"), "{error}");
        }
    }
}
