//! JSON values that are shared, not copied.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::json;

/// A JSON value that is shared, and whose text is made at most once.
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

    /// Returns the value as JSON text.
    pub fn text(&self) -> &str {
        self.0.text.get_or_init(|| self.0.value.to_string())
    }

    /// Returns the value at a JSON Pointer (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        self.0.value.pointer(pointer)
    }
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
