//! HTTP with a registry. Everything that is read has a limit, in bytes and in time; nothing leads from HTTPS to HTTP,
//! and what proves who calls is sent to the registry alone.
//!
//! `oci-client` reads manifests, tokens and failures without a limit, and follows from HTTPS to HTTP: it gives the
//! types, not the transport.

use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;
use tokio_rustls::rustls::RootCertStore;

use super::challenge::Challenge;
use super::{Options, Timeouts, address, credentials, login};
use crate::{OciReference, PluginError, PluginErrorKind};
use hookbox::internal::text::{escape, shell_word};
use hookbox::internal::tls;

/// How much of what a registry says of a failure is read, in bytes.
const MAX_FAILURE: u64 = 16 << 10;
/// How much of it is shown, in bytes.
const EXCERPT: usize = 300;
/// How often one request is passed on.
const MAX_REDIRECTS: usize = 5;
/// How many challenges of one answer are looked at.
const MAX_CHALLENGES: usize = 8;

/// What may be done with the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

/// A connection to a registry, for one of its repositories.
pub(super) struct Connection {
    client: reqwest::Client,
    pub(super) root: Url,
    /// The host, as people write it.
    pub(super) registry: String,
    /// The host and the name of the repository, as people write them.
    pub(super) name: String,
    repository: String,
    access: Access,
    options: Options,
    /// What proves who calls, once the registry has asked.
    authorization: Option<HeaderValue>,
    /// Whether docker has credentials for the registry; a token can be had without.
    has_login: bool,
}

/// A request that can be sent again.
pub(super) struct Request {
    method: Method,
    url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

impl Request {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None }
    }

    pub(super) fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.append(name, HeaderValue::from_static(value));
        self
    }
}

impl Connection {
    /// A connection for what this reference names. Nothing is sent yet.
    pub(super) async fn new(
        reference: &OciReference,
        access: Access,
        options: &Options,
    ) -> Result<Self, PluginError> {
        let OciReference { registry, repository, .. } = reference;
        let root = address::root(registry, options.plain_http).ok_or_else(|| {
            PluginError::new(registry, PluginErrorKind::Source("expected the host of a registry".to_owned()))
                .hint("write oci://HOST[:PORT]/ORG/NAME:TAG")
        })?;
        Ok(Self {
            client: client(&root, options.timeouts).await?,
            root,
            registry: registry.clone(),
            name: format!("{registry}/{repository}"),
            repository: repository.clone(),
            access,
            options: options.clone(),
            authorization: None,
            has_login: false,
        })
    }

    /// Where an answer sends us on to.
    pub(super) fn location(&self, response: &Response) -> Result<Url, PluginError> {
        let to = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
        let to = to.and_then(|to| response.url().join(to).ok());
        let allowed = to.filter(|to| address::may_follow(response.url(), to, self.options.plain_http));
        allowed.ok_or_else(|| {
            let found = response.headers().get(LOCATION).map(|it| String::from_utf8_lossy(it.as_bytes()));
            let found = found.map_or_else(|| "nothing".to_owned(), |it| format!("\"{}\"", escape(&it, 200)));
            self.failed(format!("expected to be sent on to an address with https, found {found}"))
        })
    }

    /// Asks for something that may be elsewhere; `None` where there is nothing.
    pub(super) async fn get(&mut self, mut request: Request) -> Result<Option<Response>, PluginError> {
        for _ in 0..=MAX_REDIRECTS {
            let again = Request {
                headers: request.headers.clone(),
                ..Request::new(Method::GET, request.url.clone())
            };
            let response = self.send(again).await?;
            match response.status() {
                StatusCode::OK => return Ok(Some(response)),
                StatusCode::NOT_FOUND => return Ok(None),
                status if status.is_redirection() => request.url = self.location(&response)?,
                _ => return Err(self.refusal(response, "to send content").await),
            }
        }
        Err(self.failed(format!("expected an answer, found more than {MAX_REDIRECTS} redirects")))
    }

    /// Sends a request, and says who calls where the registry asks.
    pub(super) async fn send(&mut self, request: Request) -> Result<Response, PluginError> {
        let response = self.send_once(&request).await?;
        let is_own = response.url().origin() == self.root.origin();
        if response.status() != StatusCode::UNAUTHORIZED || !is_own {
            return Ok(response);
        }
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenges: Vec<Challenge> =
            challenges.filter_map(|it| Challenge::parse(it.to_str().ok()?)).take(MAX_CHALLENGES).collect();
        // A token runs out: a second question of the same repository is answered anew.
        let credentials = credentials::find(&self.registry, self.options.docker_config.clone()).await?;
        self.has_login = credentials.is_some();
        self.authorization = Some(login::answer(self, &challenges, credentials.as_ref()).await?);
        let response = self.send_once(&request).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(self.denied());
        }
        Ok(response)
    }

    async fn send_once(&self, request: &Request) -> Result<Response, PluginError> {
        let mut builder = self.client.request(request.method.clone(), request.url.clone());
        builder = builder.headers(request.headers.clone());
        // What proves who calls is for this registry alone.
        if let Some(authorization) = &self.authorization
            && request.url.origin() == self.root.origin()
        {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        // Sending takes its time; hearing nothing after a short question does not.
        let mut patience = self.options.timeouts.whole;
        match &request.body {
            Some(body) => builder = builder.body(body.clone()),
            None => patience = self.options.timeouts.read,
        }
        self.deliver(builder, patience).await
    }

    /// Sends a request that is complete.
    pub(super) async fn deliver(
        &self,
        request: reqwest::RequestBuilder,
        patience: Duration,
    ) -> Result<Response, PluginError> {
        match tokio::time::timeout(patience, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(_) => Err(self.silent(patience)),
        }
    }

    /// All of an answer.
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

    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, PluginError> {
        let patience = self.options.timeouts.read;
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(chunk) => chunk.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(self.silent(patience)),
        }
    }

    pub(super) async fn accepted(
        &self,
        response: Response,
        want: StatusCode,
        to: &str,
    ) -> Result<Response, PluginError> {
        if response.status() == want { Ok(response) } else { Err(self.refusal(response, to).await) }
    }

    /// What a registry says that does not do what it was asked.
    async fn refusal(&self, response: Response, to: &str) -> PluginError {
        let status = response.status();
        let is_own = response.url().origin() == self.root.origin();
        if is_own && [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status) {
            return self.denied();
        }
        let said = self.read(response, MAX_FAILURE, "a message").await.unwrap_or_default();
        let said = message(&said).map(|said| format!(": {said}")).unwrap_or_default();
        self.failed(format!("expected {to}, found HTTP {}{said}", status.as_u16()))
    }

    /// Who calls may not do this.
    pub(super) fn denied(&self) -> PluginError {
        let access = if self.access == Access::Push { "write to" } else { "read" };
        let found = if self.has_login {
            "docker's credentials were refused"
        } else {
            "docker has no credentials for it"
        };
        self.failed(format!("expected to be allowed to {access} it, but {found}"))
            .hint(format!("docker login {}", shell_word(&self.registry)))
    }

    fn unreachable(&self, error: &reqwest::Error) -> PluginError {
        let error = self.failed(format!("cannot be reached: {}", innermost(error)));
        match self.root.scheme() {
            "https" => {
                error.hint("check the name and the network; a registry without TLS needs --plain-http")
            }
            _ => error.hint("check the name and the network"),
        }
    }

    fn silent(&self, patience: Duration) -> PluginError {
        self.failed(format!("expected an answer, found none within {patience:?}")).hint("try again later")
    }

    pub(super) fn failed(&self, what: impl Into<String>) -> PluginError {
        PluginError::new(&self.name, PluginErrorKind::Fetch(what.into()))
    }

    // What `login` needs.

    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        self.options.timeouts
    }

    /// Whether a secret may be sent there.
    pub(super) fn may_follow(&self, to: &Url) -> bool {
        address::may_follow(&self.root, to, self.options.plain_http)
    }

    /// What is asked for, as a registry's token service names it.
    pub(super) fn scope(&self) -> String {
        let actions = if self.access == Access::Push { "pull,push" } else { "pull" };
        format!("repository:{}:{actions}", self.repository)
    }
}

/// What sends the requests.
async fn client(root: &Url, timeouts: Timeouts) -> Result<reqwest::Client, PluginError> {
    let wrong = |what: String| {
        PluginError::new("registries", PluginErrorKind::Fetch(format!("cannot be reached over TLS: {what}")))
    };
    let roots = tokio::task::spawn_blocking(tls::system_roots).await;
    let config = match roots.unwrap_or_else(|error| Err(error.to_string())) {
        // A registry without TLS is reached all the same.
        Err(_) if root.scheme() == "http" => tls::config(RootCertStore::empty()),
        config => config,
    };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(config.map_err(wrong)?)
        .connect_timeout(timeouts.connect)
        .redirect(Policy::none())
        .http1_only()
        .user_agent(concat!("hookbox/", env!("CARGO_PKG_VERSION")));
    // Proxies that the environment names are for other machines.
    if address::is_loopback(root) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| wrong(innermost(&error)))
}

/// What was at the bottom of an error: the rest repeats the address.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    escape(&at.to_string(), EXCERPT)
}

/// What a registry says went wrong, in the form of the specification.
#[derive(Deserialize)]
struct Failures {
    errors: Vec<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// The first thing that a registry says went wrong.
fn message(said: &[u8]) -> Option<String> {
    let failures: Failures = serde_json::from_slice(said).ok()?;
    let first = failures.errors.into_iter().next()?;
    Some(escape(format!("{} {}", first.code, first.message).trim(), EXCERPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_says_is_shown_escaped_and_short() {
        for (said, want) in [
            (r#"{"errors":[{"code":"DENIED","message":"no \u001b[31m"}]}"#, Some("DENIED no \\u{1b}[31m")),
            (r#"{"errors":[{"code":"UNKNOWN"}]}"#, Some("UNKNOWN")),
            (r#"{"errors":[]}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(message(said.as_bytes()).as_deref(), want, "{said}");
        }
        let long = format!(r#"{{"errors":[{{"code":"{}"}}]}}"#, "x".repeat(5_000));
        assert!(message(long.as_bytes()).unwrap().len() < 400);
    }
}
