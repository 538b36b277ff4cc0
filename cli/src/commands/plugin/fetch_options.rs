//! The options for fetching, and the key to verify signatures with.

use std::path::Path;

use hookbox::escape;
use hookbox_plugins::registry::PublicKey;
use hookbox_plugins::{Locked, PluginError, PluginErrorKind, Source};

use crate::error::{InputError, warn};

/// The options for fetching.
#[derive(Clone, Default)]
pub(super) struct FetchOptions {
    /// True if registries are used without TLS.
    pub(super) plain_http: bool,
    /// The key to verify signatures with.
    key: Option<PublicKey>,
}

impl FetchOptions {
    /// Reads the key from this file.
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

    /// Returns the key for this source. The user has to give the key that the lock file names. A source that
    /// the lock file names without a key is not verified.
    pub(super) fn key(&self, source: &Source, locked: Option<&Locked>) -> anyhow::Result<Option<PublicKey>> {
        let locked_key = locked.map(|it| it.key.as_ref());
        match (&self.key, locked_key) {
            (Some(key), Some(Some(locked_key))) if key.fingerprint() == *locked_key => Ok(Some(key.clone())),
            (Some(key), Some(Some(locked_key))) => {
                let what = format!(
                    "is verified against another key: plugins.lock names {locked_key}, --key is {}",
                    key.fingerprint()
                );
                let error = PluginError::new(source.shown(), PluginErrorKind::Mismatch(what));
                let hint = "give the same key, or take the new one: hookbox plugin add … --force --key FILE";
                Err(error.hint(hint).into())
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

    /// Warns if the replaced plugin was verified with a key that the user does not give now.
    pub(super) fn warn_of(&self, replaced: &Locked) {
        let given = self.key.as_ref().map(PublicKey::fingerprint);
        if let Some(key) = replaced.key.as_ref().filter(|key| given.as_ref() != Some(key)) {
            let name = &replaced.name;
            warn(format_args!("{name} was verified against the key {key}, and what replaces it is not"));
        }
    }
}
