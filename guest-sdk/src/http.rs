//! Requests to an origin that was granted, with the right [`Http`](crate::Capability::Http).
//!
//! A redirect is an answer like any other: where it leads is for the hook to decide, and needs a right of its own. No
//! error says more of an address than its origin, since the rest may be a secret.
//!
//! Natively the program `curl` sends the request, and the user's proxy variables have their effect.
//!
//! ```no_run
//! use std::time::Duration;
//! use hookbox_sdk::{Error, http::Request, json};
//!
//! let response = Request::post("https://hooks.example.com/notify")
//!     .header("content-type", "application/json")
//!     .body(json!({"text": "done"}).to_string())
//!     .timeout(Duration::from_secs(2))
//!     .send()?;
//! if response.status != 200 {
//!     return Err(Error::new(format!("the server answered {}", response.status)));
//! }
//! # Ok::<(), Error>(())
//! ```

use std::fmt;
use std::time::Duration;

use crate::Error;

/// A request.
#[derive(Clone)]
#[must_use = "it is sent by `send`"]
pub struct Request {
    pub(crate) method: String,
    url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) limit: usize,
}

/// What the server answered, whatever the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// The headers as they came; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Request {
    /// A request with this method to this URL, `https://HOST[:PORT]/PATH` or with `http`.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(10),
            limit: 1024 * 1024,
        }
    }

    /// A request with the method GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A request with the method POST.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// The same request with one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same request with this body; empty when not given.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The same request, which is given up after this time; 10 s when not given. The hook's own time may end it sooner.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same request, which fails when the body of the answer is longer than this, in bytes; 1 MiB when not given.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sends it and waits for the answer.
    ///
    /// # Errors
    ///
    /// The request is malformed, the right was not granted, or there was no whole answer in time. An answer with an
    /// error's status is no error.
    pub fn send(self) -> Result<Response, Error> {
        let target = self.target()?;
        let origin = format!("{}://{}", target.scheme(), target.authority);
        #[cfg(target_arch = "wasm32")]
        let sent = crate::component::http::send(&self, &target);
        #[cfg(not(target_arch = "wasm32"))]
        let sent = crate::native::http::send(&self, &target);
        sent.map_err(|error| error.within(origin))
    }

    /// Where it goes, after a look at the whole request.
    fn target(&self) -> Result<Target<'_>, Error> {
        let target = Target::parse(&self.url).ok_or_else(|| {
            Error::new("the URL is not https://HOST[:PORT]/PATH, or http, without user, fragment and spaces")
        })?;
        let token = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            !text.is_empty() && text.chars().all(plain)
        };
        if !token(&self.method) {
            return Err(Error::new(format!("{:?} is no method", self.method)));
        }
        for (name, value) in &self.headers {
            if !token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(Error::new(format!("the header {name:?} has characters that it may not have")));
            }
        }
        Ok(target)
    }
}

impl fmt::Debug for Request {
    /// Without what may be secret: path, values and body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A URL in its parts.
#[derive(Debug, PartialEq)]
pub(crate) struct Target<'a> {
    pub(crate) https: bool,
    pub(crate) authority: &'a str,
    /// With the query; at least `/`.
    pub(crate) path: String,
}

impl<'a> Target<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(c);
        let (scheme, rest) = url.split_once("://").filter(|_| url.chars().all(plain))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        if authority.is_empty() || authority.starts_with(':') || authority.contains('@') {
            return None;
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Some(Self { https, authority, path })
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_or_refused() {
        for (url, https, authority, path) in [
            ("https://h", true, "h", "/"),
            ("HTTP://h:8080/a?b=c", false, "h:8080", "/a?b=c"),
            ("https://[::1]:4/", true, "[::1]:4", "/"),
            ("https://h?q", true, "h", "/?q"),
        ] {
            let expected = Target { https, authority, path: path.to_owned() };
            assert_eq!(Target::parse(url), Some(expected), "{url}");
        }
        for url in [
            "",
            "h",
            "//h/",
            "ftp://h/",
            "file:///etc/passwd",
            "https://",
            "https:///x",
            "https://:443/",
            "https://u@h/",
            "https://h/a b",
            "https://h/\n",
            "https://h/#f",
            "https://h/\"",
            "https://h/ä",
        ] {
            assert_eq!(Target::parse(url), None, "{url}");
        }
    }

    #[test]
    fn a_malformed_request_is_not_sent_and_no_error_shows_the_path() {
        for (request, part) in [
            (Request::get("https://h/secret secret"), "the URL is not"),
            (Request::new("GET /secret", "https://h/"), "is no method"),
            (Request::get("https://h/secret").header("a\nb", "secret"), "the header \"a\\nb\""),
            (Request::get("https://h/secret").header("a", "secret\r\nb: c"), "the header \"a\""),
        ] {
            let shown = format!("{request:?}");
            let error = request.send().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(
                part == "is no method" || !format!("{shown}{error}").contains("secret"),
                "{shown} {error}"
            );
        }
    }
}
