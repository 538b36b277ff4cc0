//! JSON values that may stay in the host.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Error;

#[cfg(target_arch = "wasm32")]
use crate::component::bindings::hookbox::hook::types::Document as Remote;

/// A JSON value: a tool's input or output, the messages of a conversation.
///
/// In a component the value stays in the host, and [`get`](Self::get) copies only the part at its pointer.
///
/// ```
/// use hookbox_sdk::{Document, json};
///
/// let input = Document::from(json!({"command": "ls", "env": {"A/B": 1}}));
/// assert_eq!(input.get::<String>("/command")?.as_deref(), Some("ls"));
/// assert_eq!(input.get::<u8>("/env/A~1B")?, Some(1));
/// assert_eq!(input.get::<String>("/timeout")?, None);
/// assert!(input.get::<bool>("/command").unwrap_err().to_string().starts_with("/command: invalid type: string"));
/// # Ok::<(), hookbox_sdk::Error>(())
/// ```
#[derive(Debug)]
pub struct Document(Inner);

#[derive(Debug)]
enum Inner {
    Local(Value),
    #[cfg(target_arch = "wasm32")]
    Remote(Remote),
}

impl Document {
    /// Returns the value at a JSON Pointer (RFC 6901); the empty pointer is the whole value. `None` if there
    /// is no value, or null.
    ///
    /// # Errors
    ///
    /// The value is not a `T`.
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, Error> {
        let found = match &self.0 {
            Inner::Local(value) => {
                value.pointer(pointer).filter(|found| !found.is_null()).map(T::deserialize).transpose()
            }
            #[cfg(target_arch = "wasm32")]
            Inner::Remote(remote) => {
                let text = remote.get(pointer).filter(|text| text != "null");
                text.map(|text| serde_json::from_str(&text)).transpose()
            }
        };
        found.map_err(|error| {
            let error = Error::from(error);
            if pointer.is_empty() { error } else { error.within(pointer) }
        })
    }

    /// Returns the whole value.
    ///
    /// # Errors
    ///
    /// The document is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(match &self.0 {
            Inner::Local(value) => T::deserialize(value)?,
            #[cfg(target_arch = "wasm32")]
            Inner::Remote(remote) => serde_json::from_str(&remote.text())?,
        })
    }

    /// The whole value, as JSON text.
    pub fn text(&self) -> String {
        match &self.0 {
            Inner::Local(value) => value.to_string(),
            #[cfg(target_arch = "wasm32")]
            Inner::Remote(remote) => remote.text(),
        }
    }

    /// Returns the length of [`text`](Self::text), in bytes. A component does not copy the value for it.
    pub fn size(&self) -> u64 {
        match &self.0 {
            Inner::Local(value) => value.to_string().len() as u64,
            #[cfg(target_arch = "wasm32")]
            Inner::Remote(remote) => remote.size(),
        }
    }
}

impl Default for Document {
    /// Null: the value that was not given.
    fn default() -> Self {
        Self::from(Value::Null)
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self(Inner::Local(value))
    }
}

#[cfg(target_arch = "wasm32")]
impl From<Remote> for Document {
    fn from(remote: Remote) -> Self {
        Self(Inner::Remote(remote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pointer_leads_to_a_field_an_element_or_nothing() {
        let document = Document::from(json!({"a": [{"b/c": 1}, null], "": "empty", "m~n": true}));
        for (pointer, expected) in [
            ("/a/0/b~1c", Some(json!(1))),
            ("/a/1", None),
            ("/a/2", None),
            ("/a/-", None),
            ("/", Some(json!("empty"))),
            ("/m~0n", Some(json!(true))),
            ("a", None),
            ("/x/y", None),
        ] {
            assert_eq!(document.get::<Value>(pointer).unwrap(), expected, "{pointer}");
        }
        assert_eq!(document.get::<Value>("").unwrap().unwrap().to_string(), document.text());
        assert_eq!(document.size(), document.text().len() as u64);
    }

    #[test]
    fn input_that_is_not_an_object_is_a_document_too() {
        let document = Document::from(json!("{\"command\": "));
        assert_eq!(document.get::<String>("/command").unwrap(), None);
        assert_eq!(document.parse::<String>().unwrap(), "{\"command\": ");
    }
}
