//! JSON values that are shared, not copied.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json;

/// A JSON value that is shared, and whose text is made at most once. It has the methods of the SDK's `Document`.
///
/// ```
/// use hookbox::Document;
/// use serde_json::json;
///
/// let input = Document::from(json!({"command": "ls", "env": {"A/B": 1}}));
/// assert_eq!(input.get::<String>("/command")?.as_deref(), Some("ls"));
/// assert_eq!(input.get::<u8>("/env/A~1B")?, Some(1));
/// assert_eq!(input.get::<String>("/timeout")?, None);
/// assert!(input.get::<bool>("/command").is_err());
/// # Ok::<(), hookbox::event::DocumentError>(())
/// ```
#[derive(Clone)]
pub struct Document(Arc<DocumentInner>);

struct DocumentInner {
    value: Value,
    text: OnceLock<String>,
}

impl Document {
    /// Creates a document of this value.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(DocumentInner { value, text: OnceLock::new() }))
    }

    /// Creates a document of JSON that a model wrote. Text that is not JSON becomes a string, so that hooks
    /// see it.
    pub fn from_text(text: &str) -> Self {
        Self::new(json::from_model(text))
    }

    /// Creates the document of a value that was not given.
    pub fn absent() -> Self {
        Self::new(Value::Null)
    }

    /// Returns true if the value was not given, or is null.
    pub fn is_absent(&self) -> bool {
        self.0.value.is_null()
    }

    /// Returns the value.
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// Returns the value at a JSON Pointer (RFC 6901); the empty pointer is the whole value. `None` if there
    /// is no value, or null.
    ///
    /// # Errors
    ///
    /// The value is not a `T`.
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, DocumentError> {
        let found = self.pointer(pointer).filter(|found| !found.is_null());
        let parsed = found.map(T::deserialize).transpose();
        parsed.map_err(|source| DocumentError { pointer: pointer.to_owned(), source })
    }

    /// Returns the whole value.
    ///
    /// # Errors
    ///
    /// The document is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        T::deserialize(self.value()).map_err(|source| DocumentError { pointer: String::new(), source })
    }

    /// Returns the value as JSON text.
    pub fn text(&self) -> &str {
        self.0.text.get_or_init(|| self.0.value.to_string())
    }

    /// Returns the length of [`text`](Self::text), in bytes.
    pub fn size(&self) -> u64 {
        self.text().len() as u64
    }

    pub(crate) fn pointer(&self, pointer: &str) -> Option<&Value> {
        self.0.value.pointer(pointer)
    }
}

/// A part of a document that has another type than the caller expects.
#[derive(Debug, thiserror::Error)]
#[error("the value at {pointer:?} has an unexpected type")]
pub struct DocumentError {
    pointer: String,
    source: serde_json::Error,
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn input_that_is_not_json_reaches_a_hook_as_a_string() {
        assert_eq!(Document::from_text("{\"a\":1}").value(), &json!({"a": 1}));
        assert_eq!(Document::from_text("{\"a\":").value(), &json!("{\"a\":"));
        assert_eq!(Document::from_text("{\"a\":1,\"b\":1e999}").value(), &json!({"a": 1, "b": "1e999"}));
    }
}
