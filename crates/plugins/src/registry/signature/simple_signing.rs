//! The older form of cosign's signatures: a signed JSON text about the artifact (cosign,
//! `specs/SIGNATURE_SPEC.md`). No I/O.

use serde::Deserialize;

use hookbox::escape;
use hookbox::hook::Digest;

/// The media type of the text that is signed.
pub(super) const MEDIA_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation with the signature, in base64.
pub(super) const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// The annotation of a signature that was made with a certificate instead of a key.
pub(super) const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
/// The type of the text.
const TYPE: &str = "cosign container image signature";

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Checks that a signed text is about this artifact. The name in it (`docker-reference`) is ignored, as in
/// cosign: artifacts are copied between registries.
pub(super) fn check(payload: &[u8], artifact: &Digest) -> Result<(), String> {
    let payload: Payload = serde_json::from_slice(payload)
        .map_err(|error| format!("its text cannot be read: {}", escape(&error.to_string(), 200)))?;
    let Critical { image, kind } = payload.critical;
    if kind != TYPE {
        return Err(format!("it signs something of type \"{}\", expected \"{TYPE}\"", escape(&kind, 80)));
    }
    if image.digest != artifact.to_string() {
        return Err(format!("it is a signature of another artifact, {}", escape(&image.digest, 80)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_signature_is_valid_for_the_artifact_that_it_names() {
        let (this, other) = (Digest::of(b"this"), Digest::of(b"other"));
        let payload = |kind: &str, digest: &Digest| {
            let image = json!({"docker-manifest-digest": digest});
            let identity = json!({"docker-reference": "registry.example/a/b"});
            json!({"critical": {"identity": identity, "image": image, "type": kind}, "optional": null})
                .to_string()
        };
        assert_eq!(check(payload(TYPE, &this).as_bytes(), &this), Ok(()));
        for (payload, want) in [
            (payload(TYPE, &other), "another artifact"),
            (payload("something else", &this), "of type \"something else\""),
            ("{}".to_owned(), "cannot be read"),
            ("[".repeat(100_000), "cannot be read"),
        ] {
            let found = check(payload.as_bytes(), &this).unwrap_err();
            assert!(found.contains(want), "{found}");
        }
    }
}
