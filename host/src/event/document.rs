//! JSON values that are shared, not copied.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use hookbox_system::json;

/// A JSON value that is shared, and whose text is made at most once. It has the methods of the SDK's `Document`.
///
/// An integer that 64 bits do not hold is the nearest float in the value. The text of a document that was read has
/// each of its digits.
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
/// The default is the value that was not given.
#[derive(Clone, Default)]
pub struct Document(Arc<DocumentInner>);

#[derive(Default)]
struct DocumentInner {
    value: Value,
    text: OnceLock<Arc<String>>,
    /// True if the text has digits that the value does not have.
    is_exact: bool,
}

impl Document {
    /// Creates a document of this value.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(DocumentInner { value, ..DocumentInner::default() }))
    }

    /// Reads a document. Its text has every digit of its integers.
    pub(crate) fn read(raw: &RawValue) -> Self {
        let value = json::value(raw);
        match json::is_rounded(&value).then(|| json::exact(raw.get())).flatten() {
            Some(text) => {
                Self(Arc::new(DocumentInner { value, text: Arc::new(text).into(), is_exact: true }))
            }
            None => Self::new(value),
        }
    }

    /// Creates a document of JSON that a model wrote. Text that is not JSON becomes a string, so that hooks
    /// see it.
    pub fn from_text(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(raw) => Self::read(raw),
            Err(_) => Self::new(json::from_model(text)),
        }
    }

    /// Creates the document of a value that was not given.
    pub fn absent() -> Self {
        Self::default()
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
        self.shared_text()
    }

    /// Like [`text`](Self::text), for a reader that outlives the document.
    pub(crate) fn shared_text(&self) -> &Arc<String> {
        self.0.text.get_or_init(|| Arc::new(text_of(&self.0.value)))
    }

    /// Returns the length of [`text`](Self::text), in bytes.
    pub fn size(&self) -> u64 {
        self.text().len() as u64
    }

    /// Returns true if the text has digits that the value does not have.
    pub(crate) fn is_exact(&self) -> bool {
        self.0.is_exact
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
        let is_exact = self.is_exact() || other.is_exact();
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.value == other.0.value && (!is_exact || self.text() == other.text()))
    }
}

/// Returns a value as JSON text. A large text is allocated once: to let it grow would copy it again and again.
fn text_of(value: &Value) -> String {
    let mut text = Vec::with_capacity(length(value));
    // Writing to memory does not fail, and JSON is UTF-8.
    let written = serde_json::to_writer(&mut text, value).ok();
    written.and_then(|()| String::from_utf8(text).ok()).unwrap_or_else(|| value.to_string())
}

/// Estimates the length of a value's text, in bytes.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 20,
        Value::String(text) => text.len() + text.len() / 16 + 2,
        Value::Array(values) => values.iter().map(|value| length(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + 4 + length(value)).sum::<usize>() + 2
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_an_integer_has_every_digit_and_two_integers_are_not_the_same() {
        let [one, two] =
            [1, 2].map(|last| Document::from_text(&format!("{{ \"n\": 1844674407370955161{last} }}")));
        assert_eq!((one.text(), two.is_exact()), (r#"{"n":18446744073709551611}"#, false));
        let [one, two] =
            [6, 7].map(|last| Document::from_text(&format!("{{ \"n\": 1844674407370955161{last} }}")));
        assert_eq!((one.text(), one.value()), (r#"{"n":18446744073709551616}"#, two.value()));
        assert!(one != two && one == one.clone() && one != Document::new(one.value().clone()));
    }

    #[test]
    fn input_that_is_not_json_reaches_a_hook_as_a_string() {
        assert_eq!(Document::from_text("{\"a\":1}").value(), &json!({"a": 1}));
        assert_eq!(Document::from_text("{\"a\":").value(), &json!("{\"a\":"));
        assert_eq!(Document::from_text("{\"a\":1,\"b\":1e999}").value(), &json!({"a": 1, "b": "1e999"}));
    }
}
