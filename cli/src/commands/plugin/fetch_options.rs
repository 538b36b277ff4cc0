//! The options for fetching, and the key to verify signatures with.

use std::path::Path;

use hookbox::escape;
use hookbox_plugins::registry::PublicKey;
use hookbox_plugins::{Locked, PluginError, Request};

use crate::error::{InputError, warn};

/// The options for fetching.
#[derive(Clone, Default)]
pub(super) struct FetchOptions {
    /// True if registries are used without TLS.
    plain_http: bool,
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

    /// Applies the options to a request.
    pub(super) fn apply(&self, mut request: Request) -> Result<Request, PluginError> {
        request.plain_http = self.plain_http;
        request.verify(self.key.as_ref())
    }

    /// Applies the options to a request for one of all plugins that the lock file names. One that was installed without a
    /// key is not verified.
    pub(super) fn apply_to_one_of_all(
        &self,
        request: Request,
        locked: &Locked,
    ) -> Result<Request, PluginError> {
        if self.key.is_none() || locked.key.is_some() {
            return self.apply(request);
        }
        let source = request.source.shown();
        warn(format_args!("{source}: is not verified: it was installed without a key"));
        Self { key: None, ..self.clone() }.apply(request)
    }
}
