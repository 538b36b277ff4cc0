//! How sources are fetched, and which key their signatures are verified against.

use std::path::Path;

use hookbox::text::escape;
use hookbox_plugins::registry::PublicKey;
use hookbox_plugins::{Locked, PluginError, PluginErrorKind, Source};

use super::failed;
use crate::error::{InputError, warn};

/// How sources are fetched.
#[derive(Clone, Default)]
pub(super) struct How {
    /// Whether registries are spoken to without TLS.
    pub(super) plain_http: bool,
    /// The key that signatures are verified against.
    key: Option<PublicKey>,
}

impl How {
    /// With the key in this file.
    pub(super) fn new(plain_http: bool, key: Option<&Path>) -> anyhow::Result<Self> {
        let Some(file) = key else { return Ok(Self { plain_http, key: None }) };
        let wrong = |what: String| {
            let what = format!("--key {}: {what}", escape(&file.to_string_lossy(), 1024));
            InputError::new(what, "give the public key in PEM, such as cosign.pub")
        };
        let text = String::from_utf8(crate::input::text(file)?)
            .map_err(|_| wrong("expected PEM, found no text".to_owned()))?;
        let key = PublicKey::from_pem(&text).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { plain_http, key: Some(key) })
    }

    /// The key for this source. One that the lock file names is wanted again; where it names a source that was not
    /// verified, none is needed, and the user's is for the others.
    pub(super) fn key(&self, source: &Source, locked: Option<&Locked>) -> anyhow::Result<Option<PublicKey>> {
        let wanted = locked.map(|it| it.key.as_ref());
        match (&self.key, wanted) {
            (Some(key), Some(Some(wanted))) if key.fingerprint() == *wanted => Ok(Some(key.clone())),
            (Some(key), Some(Some(wanted))) => {
                let what = format!(
                    "is verified against another key: plugins.lock names {wanted}, --key is {}",
                    key.fingerprint()
                );
                let error = PluginError::new(source.shown(), PluginErrorKind::Mismatch(what));
                Err(failed(
                    error.hint(
                        "give the same key, or take the new one: hookbox plugin add … --force --key FILE",
                    ),
                ))
            }
            (None, Some(Some(_))) => {
                let what = format!(
                    "{}: expected --key: its signature was verified when it was installed",
                    source.shown()
                );
                let hint = "give the public key again, so that what comes now is verified as well";
                Err(InputError::new(what, hint).into())
            }
            (Some(_), Some(None)) => {
                let source = source.shown();
                warn(format_args!("{source}: is not verified: it was installed without a key"));
                Ok(None)
            }
            (None, _) => Ok(None),
            (Some(key), None) if matches!(source, Source::Oci(_)) => Ok(Some(key.clone())),
            (Some(_), None) => {
                let what =
                    format!("{}: expected a source of oci:// for --key: no other is signed", source.shown());
                Err(InputError::new(what, "leave out --key").into())
            }
        }
    }

    /// Says where what is replaced was verified against a key that is not given now.
    pub(super) fn warn_of(&self, replaced: &Locked) {
        let given = self.key.as_ref().map(PublicKey::fingerprint);
        if let Some(key) = replaced.key.as_ref().filter(|key| given.as_ref() != Some(key)) {
            let name = &replaced.name;
            warn(format_args!("{name} was verified against the key {key}, and what replaces it is not"));
        }
    }
}
