//! The failure of a hook.

use std::fmt;

/// The reason why a hook could not answer. It is a failure, never a decision: the hook's `on_failure` decides.
///
/// Every standard error becomes one with `?`.
///
/// ```
/// fn number(text: &str) -> Result<u32, hookbox_sdk::Error> {
///     text.parse::<u32>().map_err(|e| hookbox_sdk::Error::from(e).within("the port"))
/// }
/// assert_eq!(number("x").unwrap_err().to_string(), "the port: invalid digit found in string");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Makes an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Makes the error of a service that a native hook does not have.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn needs_hookbox() -> Self {
        Self::new("needs hookbox: run the hook as a component")
    }

    /// Adds the context to the message.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(message)
    }
}
