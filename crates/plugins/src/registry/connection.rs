//! Requests to one repository of a registry. They log in if the registry asks for that, and send credentials to
//! the registry only.

use std::path::PathBuf;

use reqwest::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Request, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;

use super::challenge::Challenge;
use super::transport::Transport;
use super::{Options, credentials, login};
use crate::{OciReference, PluginError};
use hookbox::escape;
use hookbox_system::limits;
use hookbox_system::text::shell_word;

/// The most redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// The access to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

/// A repository.
pub(super) struct Repository {
    pub(super) transport: Transport,
    /// The host, as users write it.
    registry: String,
    /// The path in the registry.
    pub(super) path: String,
    access: Access,
    docker_config: Option<PathBuf>,
    /// The header of the last login.
    authorization: Option<HeaderValue>,
    /// True if docker has credentials for the registry. A token may be given without.
    has_credentials: bool,
}

impl Repository {
    /// Sets up the repository of a reference. This sends nothing.
    pub(super) async fn new(
        reference: &OciReference,
        access: Access,
        options: &Options,
    ) -> Result<Self, PluginError> {
        Ok(Self {
            transport: Transport::new(reference, options).await?,
            registry: reference.registry.clone(),
            path: reference.repository.clone(),
            access,
            docker_config: options.docker_config.clone(),
            authorization: None,
            has_credentials: false,
        })
    }

    /// Gets a resource, and follows redirects; `None` if it does not exist.
    pub(super) async fn get(&mut self, request: RequestBuilder) -> Result<Option<Response>, PluginError> {
        let mut request = self.transport.built(request)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&request).await?;
            match response.status() {
                StatusCode::OK => return Ok(Some(response)),
                StatusCode::NOT_FOUND => return Ok(None),
                status if status.is_redirection() => {
                    *request.url_mut() = self.transport.location(&response)?;
                }
                _ => return Err(self.refusal(response, "to send content").await),
            }
        }
        Err(self.transport.failed(format!("expected an answer, found more than {MAX_REDIRECTS} redirects")))
    }

    /// Sends a request, and logs in if the registry asks for that.
    pub(super) async fn send(&mut self, request: &Request) -> Result<Response, PluginError> {
        let response = self.send_once(request).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !self.is_own(response.url()) {
            return Ok(response);
        }
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenges: Vec<Challenge> =
            challenges.filter_map(|it| Challenge::parse(it.to_str().ok()?)).collect();
        // A token expires, so every challenge is answered with a new one.
        let credentials = credentials::find(&self.registry, self.docker_config.clone()).await?;
        self.has_credentials = credentials.is_some();
        let login = login::answer(&self.transport, &challenges, credentials.as_ref(), &self.scope()).await?;
        let Some(authorization) = login else { return Err(self.denied()) };
        self.authorization = Some(authorization);
        let response = self.send_once(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(self.denied());
        }
        Ok(response)
    }

    async fn send_once(&self, request: &Request) -> Result<Response, PluginError> {
        let once = request.try_clone();
        let mut once = once.ok_or_else(|| self.transport.failed("a request cannot be sent again"))?;
        if let Some(authorization) = self.authorization.clone().filter(|_| self.is_own(once.url())) {
            once.headers_mut().insert(AUTHORIZATION, authorization);
        }
        // A long body may take long to send.
        let timeouts = self.transport.timeouts;
        let patience = if once.body().is_some() { timeouts.whole } else { timeouts.read };
        let once = RequestBuilder::from_parts(self.transport.client.clone(), once);
        self.transport.send(once, patience).await
    }

    /// Sends a request that has to be answered with this status; `to` completes the error message.
    pub(super) async fn expect(
        &mut self,
        request: RequestBuilder,
        status: StatusCode,
        to: &str,
    ) -> Result<Response, PluginError> {
        let response = self.send(&self.transport.built(request)?).await?;
        if response.status() == status { Ok(response) } else { Err(self.refusal(response, to).await) }
    }

    /// Returns the error about another status than the expected one.
    async fn refusal(&self, response: Response, to: &str) -> PluginError {
        let status = response.status();
        if self.is_own(response.url()) && [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
        {
            return self.denied();
        }
        let body = self.transport.read(response, limits::FILE, "a message").await.unwrap_or_default();
        let message = message(&body).map(|it| format!(": {it}")).unwrap_or_default();
        self.transport.failed(format!("expected {to}, found HTTP {}{message}", status.as_u16()))
    }

    /// Returns the error about credentials that are missing or refused.
    fn denied(&self) -> PluginError {
        let access = if self.access == Access::Push { "write to" } else { "read" };
        let found = if self.has_credentials {
            "docker's credentials were refused"
        } else {
            "docker has no credentials for it"
        };
        let error = self.transport.failed(format!("expected to be allowed to {access} it, but {found}"));
        error.hint(format!("docker login {}", shell_word(&self.registry)))
    }

    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.transport.root.origin()
    }

    /// Returns the scope of the token to ask for.
    fn scope(&self) -> String {
        let actions = if self.access == Access::Push { "pull,push" } else { "pull" };
        format!("repository:{}:{actions}", self.path)
    }
}

/// The error messages of a registry (OCI distribution specification 1.1, "Error Codes").
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

/// Returns the first error message.
fn message(body: &[u8]) -> Option<String> {
    let failures: Failures = serde_json::from_slice(body).ok()?;
    let first = failures.errors.into_iter().next()?;
    Some(escape(format!("{} {}", first.code, first.message).trim(), limits::EXCERPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_message_is_shown_escaped_and_short() {
        for (body, want) in [
            (r#"{"errors":[{"code":"DENIED","message":"no \u001b[31m"}]}"#, Some("DENIED no \\u{1b}[31m")),
            (r#"{"errors":[{"code":"UNKNOWN"}]}"#, Some("UNKNOWN")),
            (r#"{"errors":[]}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(message(body.as_bytes()).as_deref(), want, "{body}");
        }
        let long = format!(r#"{{"errors":[{{"code":"{}"}}]}}"#, "x".repeat(5_000));
        assert!(message(long.as_bytes()).unwrap().len() < 500);
    }
}
