//! cosign's signatures of an artifact with a key, which are in the same repository.
//!
//! The key has to have signed the digest of the artifact's manifest, which covers every byte of the artifact.
//! These are not checked: transparency logs, certificates and the identities in them (`cosign sign` without a
//! key), timestamps, the name of the artifact, and attestations.

mod bundle;
mod key;
mod simple_signing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use self::key::PublicKey;

use super::artifact::image_manifest;
use super::connection::Repository;
use super::manifest::Index;
use crate::{PluginError, PluginErrorKind};
use hookbox::escape;
use hookbox::hook::Digest;

/// The most signatures of one artifact, in each of the two forms.
const MAX_SIGNATURES: usize = 32;

/// The configuration of an artifact that has none (OCI image specification 1.1).
const NO_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// The reason to reject a signature of another key.
const ANOTHER_KEY: &str = "it was made with another key";
/// The reason to reject a signature of a certificate.
const KEYLESS: &str = "it was made with a certificate, and only signatures of keys are checked";

/// Checks that this key signed this artifact.
///
/// # Errors
///
/// [`PluginErrorKind::Mismatch`] if no signature is by this key and of this digest.
pub(super) async fn verify(
    repository: &mut Repository,
    artifact: &Digest,
    key: &PublicKey,
) -> Result<(), PluginError> {
    let mut rejected = Vec::new();
    if simple(repository, artifact, key, &mut rejected).await?
        || bundles(repository, artifact, key, &mut rejected).await?
    {
        return Ok(());
    }
    let fingerprint = key.fingerprint();
    let expected = format!("expected a signature of {artifact} by the key {fingerprint}");
    let name = repository.transport.name.clone();
    let error =
        |what: String, hint: String| Err(PluginError::new(&name, PluginErrorKind::Mismatch(what)).hint(hint));
    if rejected.is_empty() {
        let hint = format!("sign it: cosign sign --key cosign.key {name}@{artifact}");
        return error(format!("{expected}, found no signature"), hint);
    }
    let count = rejected.len();
    rejected.dedup();
    rejected.truncate(3);
    let what = format!("{expected}, found {count} that do not fit: {}", rejected.join("; "));
    error(what, "check that --key names the key of the plugin's author".to_owned())
}

/// Checks signatures of the older form: the layers of a manifest whose tag is made of the artifact's digest.
async fn simple(
    repository: &mut Repository,
    artifact: &Digest,
    key: &PublicKey,
    rejected: &mut Vec<String>,
) -> Result<bool, PluginError> {
    let tag = format!("sha256-{}.sig", artifact.hex());
    let Some(manifest) = repository.manifest(&tag).await? else { return Ok(false) };
    let manifest = match image_manifest(&manifest) {
        Ok(manifest) => manifest,
        Err(mismatch) => {
            rejected.push(format!("{tag} is {}", mismatch.found));
            return Ok(false);
        }
    };
    for layer in manifest.layers.iter().take(MAX_SIGNATURES) {
        let annotations = layer.annotations.as_ref();
        let signature = annotations.and_then(|it| it.get(simple_signing::ANNOTATION));
        let checked = match signature.map(|it| STANDARD.decode(it)) {
            _ if layer.media_type != simple_signing::MEDIA_TYPE => {
                Err(format!("it is of type {}", escape(&layer.media_type, 80)))
            }
            Some(Ok(signature)) => match repository.bytes(layer).await {
                Ok(payload) if key.has_signed(&payload, &signature) => {
                    simple_signing::check(&payload, artifact)
                }
                Ok(_) if annotations.is_some_and(|it| it.contains_key(simple_signing::CERTIFICATE)) => {
                    Err(KEYLESS.to_owned())
                }
                Ok(_) => Err(ANOTHER_KEY.to_owned()),
                Err(error) => Err(error.to_string()),
            },
            None => Err(format!("it has no annotation {}", simple_signing::ANNOTATION)),
            Some(Err(_)) => Err("it is not base64".to_owned()),
        };
        match checked {
            Ok(()) => return Ok(true),
            Err(why) => rejected.push(why),
        }
    }
    Ok(false)
}

/// Checks signatures of the newer form: artifacts that refer to this one.
async fn bundles(
    repository: &mut Repository,
    artifact: &Digest,
    key: &PublicKey,
    rejected: &mut Vec<String>,
) -> Result<bool, PluginError> {
    let Some(index) = repository.referrers(artifact, bundle::MEDIA_TYPE).await? else { return Ok(false) };
    let index: Index = match serde_json::from_slice(&index) {
        Ok(index) => index,
        Err(error) => {
            rejected.push(format!(
                "the list of what refers to it cannot be read: {}",
                escape(&error.to_string(), 200)
            ));
            return Ok(false);
        }
    };
    // In an index under a tag, clients give different types to an entry. Its manifest has the right one.
    let may_be_bundle = |kind: Option<&str>| matches!(kind, None | Some(bundle::MEDIA_TYPE | NO_CONFIG));
    let entries = index.manifests.iter().filter(|entry| may_be_bundle(entry.artifact_type.as_deref()));
    for entry in entries.take(MAX_SIGNATURES) {
        let checked = match entry.digest.parse::<Digest>() {
            Ok(digest) => one_bundle(repository, &digest, artifact, key).await,
            Err(_) => Err(format!("it has the digest {}", escape(&entry.digest, 80))),
        };
        match checked {
            Ok(()) => return Ok(true),
            Err(why) => rejected.push(why),
        }
    }
    Ok(false)
}

/// Checks one artifact with a bundle.
async fn one_bundle(
    repository: &mut Repository,
    digest: &Digest,
    artifact: &Digest,
    key: &PublicKey,
) -> Result<(), String> {
    let text = |error: PluginError| error.to_string();
    let manifest = repository.manifest(&digest.to_string()).await.map_err(text)?;
    let manifest = manifest.ok_or_else(|| "it is listed, but does not exist".to_owned())?;
    if Digest::of(&manifest) != *digest {
        return Err(format!("its manifest is not what {digest} names"));
    }
    let manifest = image_manifest(&manifest).map_err(|mismatch| format!("it is {}", mismatch.found))?;
    let [layer] = manifest.layers.as_slice() else {
        return Err(format!("it has {} layers", manifest.layers.len()));
    };
    if layer.media_type != bundle::MEDIA_TYPE {
        return Err(format!("it is of type {}", escape(&layer.media_type, 80)));
    }
    let bytes = repository.bytes(layer).await.map_err(text)?;
    bundle::check(&bytes, artifact, key)
}
