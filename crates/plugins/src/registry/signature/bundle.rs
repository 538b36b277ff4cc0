//! The newer form of cosign's signatures: a Sigstore bundle with a signed in-toto statement (DSSE). No I/O.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::key::PublicKey;
use super::{ANOTHER_KEY, KEYLESS};
use hookbox::escape;
use hookbox::hook::Digest;

/// The media type of a bundle.
pub(super) const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The type of the statement of `cosign sign`. Other statements describe the artifact, such as its build or
/// its faults, and do not approve it.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";
/// The type of the payload of a DSSE envelope.
const STATEMENT: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    verification_material: Option<Material>,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    predicate_type: String,
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    digest: Digests,
}

#[derive(Deserialize)]
struct Digests {
    sha256: Option<String>,
}

/// Checks that a bundle has the statement of `cosign sign` about this artifact, signed with this key. The
/// error is the reason to reject it.
pub(super) fn check(bundle: &[u8], artifact: &Digest, key: &PublicKey) -> Result<(), String> {
    let unreadable =
        |error: serde_json::Error| format!("it cannot be read: {}", escape(&error.to_string(), 200));
    let bundle: Bundle = serde_json::from_slice(bundle).map_err(unreadable)?;
    if bundle
        .verification_material
        .is_some_and(|it| it.certificate.is_some() || it.x509_certificate_chain.is_some())
    {
        return Err(KEYLESS.to_owned());
    }
    let Some(envelope) = bundle.dsse_envelope else {
        return Err(match bundle.message_signature {
            Some(_) => {
                "it signs bytes (`cosign sign-blob`), expected the statement of `cosign sign`".to_owned()
            }
            None => "it has no signature".to_owned(),
        });
    };
    if envelope.payload_type != STATEMENT {
        return Err(format!("it signs something of type \"{}\"", escape(&envelope.payload_type, 80)));
    }
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| "it is not base64".to_owned());
    let payload = decode(&envelope.payload)?;
    let message = authenticated(&envelope.payload_type, &payload);
    // DSSE envelopes may have several signatures; cosign makes one.
    let is_signed =
        envelope.signatures.iter().take(4).any(|signature| {
            decode(&signature.sig).is_ok_and(|signature| key.has_signed(&message, &signature))
        });
    if !is_signed {
        return Err(ANOTHER_KEY.to_owned());
    }
    let statement: Statement = serde_json::from_slice(&payload).map_err(unreadable)?;
    if !STATEMENT_TYPES.contains(&statement.kind.as_str()) || statement.predicate_type != SIGNED {
        let found = escape(&statement.predicate_type, 120);
        return Err(format!("it is a statement of type \"{found}\", expected \"{SIGNED}\""));
    }
    let hex = artifact.hex();
    if !statement.subject.iter().any(|subject| subject.digest.sha256.as_deref() == Some(&hex)) {
        return Err("it is a signature of another artifact".to_owned());
    }
    Ok(())
}

/// Returns the bytes that a DSSE signature covers: the type and the payload, each with its length (DSSE v1,
/// "PAE").
fn authenticated(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_bytes_are_encoded_as_in_the_specification() {
        // The example of the DSSE specification.
        let message = authenticated("http://example.com/HelloWorld", b"hello world");
        assert_eq!(message, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
