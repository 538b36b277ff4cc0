//! Requests and answers, and the parts of a URL.

use std::fmt;
use std::time::Duration;

use crate::Error;

/// A request.
#[derive(Clone)]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a component sends it"))]
#[must_use = "it is sent by `send`"]
pub struct Request {
    pub(crate) method: String,
    url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) limit: usize,
}

/// The answer of the server, with any status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// The headers; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first header of this name; the case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Request {
    /// Makes a request with this method to this URL, `https://HOST[:PORT]/PATH` or with `http`.
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

    /// Makes a request with the method GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Makes a request with the method POST.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body; empty by default.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the timeout; 10 s by default. The hook's own timeout may end the request sooner.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the longest body of an answer, in bytes; 1 MiB by default. A longer one is an error.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Checks the whole request, and returns its target.
    pub(super) fn target(&self) -> Result<Target<'_>, Error> {
        let target = Target::parse(&self.url).ok_or_else(|| {
            Error::new("the URL is not https://HOST[:PORT]/PATH, or http, without user, fragment and spaces")
        })?;
        let token = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            !text.is_empty() && text.chars().all(plain)
        };
        if !token(&self.method) {
            return Err(Error::new(format!("{:?} is not a method", self.method)));
        }
        for (name, value) in &self.headers {
            if !token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(Error::new(format!("the header {name:?} has invalid characters")));
            }
        }
        Ok(target)
    }
}

impl fmt::Debug for Request {
    /// Leaves out the path, the headers and the body, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The parts of a URL.
#[derive(Debug, PartialEq)]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a component sends a request there"))]
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
}
