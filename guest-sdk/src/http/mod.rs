//! Requests to an origin that was granted, with the right [`Http`](crate::Capability::Http).
//!
//! A redirect is an answer like any other: the hook decides whether to follow it, and needs a right for the
//! new origin. An error names only the origin of an address, since the rest may be a secret.
//!
//! A [native](crate::native) hook sends no request: this needs hookbox.
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

pub(crate) mod types;

pub use self::types::{Request, Response};

use crate::Error;

impl Request {
    /// Sends the request and waits for the answer.
    ///
    /// # Errors
    ///
    /// The request is malformed, the right was not granted, or the answer was not complete in time. An answer
    /// with a status such as 404 is not an error.
    pub fn send(self) -> Result<Response, Error> {
        let target = self.target()?;
        let origin = format!("{}://{}", if target.https { "https" } else { "http" }, target.authority);
        #[cfg(target_arch = "wasm32")]
        let sent = crate::component::http::send(&self, &target);
        #[cfg(not(target_arch = "wasm32"))]
        let sent = Err(Error::needs_hookbox());
        sent.map_err(|error| error.within(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_request_is_not_sent_and_no_error_shows_the_path() {
        for (request, part) in [
            (Request::get("https://h/secret secret"), "the URL is not"),
            (Request::new("GET /secret", "https://h/"), "is not a method"),
            (Request::get("https://h/secret").header("a\nb", "secret"), "the header \"a\\nb\""),
            (Request::get("https://h/secret").header("a", "secret\r\nb: c"), "the header \"a\""),
        ] {
            let shown = format!("{request:?}");
            let error = request.send().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(
                part == "is not a method" || !format!("{shown}{error}").contains("secret"),
                "{shown} {error}"
            );
        }
    }
}
