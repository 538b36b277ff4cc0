//! The error of a configuration file.

use hookbox::Hint;

use hookbox::discovery::document::{Form, Node};
use hookbox::discovery::reader::at;

/// The reason why a configuration file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DocumentError {
    /// The problem, with line and column if they are known.
    pub what: String,
    /// The next step for the user.
    pub hint: Hint,
}

impl DocumentError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    /// Returns the error for a value of an unexpected type.
    pub(crate) fn unexpected(expected: &str, found: Node<'_>, what: &str) -> Self {
        let kind = match found.form() {
            Form::Text(_) => "a string",
            Form::Number(_) => "a number",
            Form::Boolean(_) => "a boolean",
            Form::Null => "null",
            Form::Object(_) => "an object",
            Form::Array(_) => "an array",
        };
        Self::new(at(found.spot(), &format!("expected {expected} {what}, found {kind}")), BY_HAND)
    }
}

/// The hint of most errors.
pub(super) const BY_HAND: &str = "correct the file by hand; nothing was changed";
