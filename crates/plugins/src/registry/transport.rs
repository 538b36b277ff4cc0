//! HTTP requests to a registry and its token service. Everything that is read has a limit, in bytes and in
//! time.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Request, RequestBuilder, Response, Url};
use tokio_rustls::rustls::RootCertStore;

use super::{Options, Timeouts, address};
use crate::{OciReference, PluginError, PluginErrorKind};
use hookbox::escape;
use hookbox_system::{text, tls};

/// An HTTP client for one repository of a registry.
pub(super) struct Transport {
    pub(super) client: reqwest::Client,
    /// The root of the registry's API.
    pub(super) root: Url,
    /// The host and the repository, for messages.
    pub(super) name: String,
    pub(super) timeouts: Timeouts,
    plain_http: bool,
}

impl Transport {
    /// Sets up a client. This sends nothing.
    pub(super) async fn new(reference: &OciReference, options: &Options) -> Result<Self, PluginError> {
        let OciReference { registry, repository, .. } = reference;
        let root = address::root(registry, options.plain_http).ok_or_else(|| {
            PluginError::new(registry, PluginErrorKind::Source("expected the host of a registry".to_owned()))
                .hint("write oci://HOST[:PORT]/ORG/NAME:TAG")
        })?;
        Ok(Self {
            client: client(&root, options.timeouts).await?,
            root,
            name: format!("{registry}/{repository}"),
            timeouts: options.timeouts,
            plain_http: options.plain_http,
        })
    }

    /// Returns true if a request to the registry may continue at this address.
    pub(super) fn may_follow(&self, from: &Url, to: &Url) -> bool {
        address::may_follow(from, to, self.plain_http)
    }

    /// Returns the target of a redirect.
    pub(super) fn location(&self, response: &Response) -> Result<Url, PluginError> {
        let location = response.headers().get(LOCATION);
        let to = location.and_then(|it| it.to_str().ok()).and_then(|to| response.url().join(to).ok());
        to.filter(|to| self.may_follow(response.url(), to)).ok_or_else(|| {
            let location = location.map(|it| String::from_utf8_lossy(it.as_bytes()));
            let to =
                location.map_or_else(|| "nowhere".to_owned(), |it| format!("to \"{}\"", escape(&it, 200)));
            self.failed(format!("the registry redirected {to}: expected an address with https"))
        })
    }

    /// Makes a request that can be sent again.
    pub(super) fn built(&self, request: RequestBuilder) -> Result<Request, PluginError> {
        request.build().map_err(|error| self.unreachable(&error))
    }

    /// Sends a request.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        patience: Duration,
    ) -> Result<Response, PluginError> {
        match tokio::time::timeout(patience, request.send()).await {
            Ok(response) => response.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(self.silent(patience)),
        }
    }

    /// Reads a whole response of at most `limit` bytes.
    pub(super) async fn read(
        &self,
        mut response: Response,
        limit: u64,
        what: &str,
    ) -> Result<Bytes, PluginError> {
        let too_large = || {
            let what = format!("expected {what} of at most {limit} bytes, found more");
            PluginError::new(&self.name, PluginErrorKind::TooLarge(what))
        };
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > limit {
                return Err(too_large());
            }
        }
        Ok(bytes.into())
    }

    /// Reads the next part of a response; `None` at its end.
    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, PluginError> {
        let patience = self.timeouts.read;
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(self.silent(patience)),
        }
    }

    /// Returns the error about a request that failed.
    pub(super) fn failed(&self, what: impl Into<String>) -> PluginError {
        PluginError::new(&self.name, PluginErrorKind::Fetch(what.into()))
    }

    fn unreachable(&self, error: &reqwest::Error) -> PluginError {
        self.failed(format!("cannot be reached: {}", text::innermost(error))).hint(match self.root.scheme() {
            "https" => "check the name and the network; a registry without TLS needs --plain-http",
            _ => "check the name and the network",
        })
    }

    fn silent(&self, patience: Duration) -> PluginError {
        self.failed(format!("expected an answer, found none within {patience:?}")).hint("try again later")
    }
}

/// Makes the HTTP client.
async fn client(root: &Url, timeouts: Timeouts) -> Result<reqwest::Client, PluginError> {
    let wrong = |what: String| {
        PluginError::new("registries", PluginErrorKind::Fetch(format!("cannot be reached over TLS: {what}")))
    };
    let roots = tokio::task::spawn_blocking(tls::system_roots).await;
    let config = match roots.unwrap_or_else(|error| Err(error.to_string())) {
        // A registry without TLS needs no certificates.
        Err(_) if root.scheme() == "http" => tls::config(RootCertStore::empty()),
        config => config,
    };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(config.map_err(wrong)?)
        .connect_timeout(timeouts.connect)
        .redirect(Policy::none())
        .http1_only()
        .user_agent(concat!("hookbox/", env!("CARGO_PKG_VERSION")));
    // The proxies of the environment are for other machines.
    if address::is_loopback(root) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| wrong(text::innermost(&error)))
}
