//! The answer that must come.

use std::collections::BTreeMap;

use hookbox::hook::Cause;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value};

use super::came::Verdict;

/// A value of the store, or the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// This text.
    Text(String),
    /// Nothing: the key or the file must not exist.
    Absent,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Bool(false) => Ok(Self::Absent),
            Value::Bool(true) | Value::Null => Err(D::Error::custom(
                "expected text, a number, a list or a table, or false for what must not exist",
            )),
            value => Ok(Self::Text(value.to_string())),
        }
    }
}

/// The answer that must come. Only `verdict` has a default; anything else that is absent is not compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The decision (default: pass).
    pub verdict: Verdict,
    /// A part of the reason.
    pub reason: Option<String>,
    /// The new input of the tool.
    pub input: Option<Value>,
    /// The new output of the tool.
    pub output: Option<Value>,
    /// The new message of the user.
    pub message: Option<Value>,
    /// The new text of the error.
    pub error: Option<Value>,
    /// True if the hook changes the value that the event is about.
    pub changed: Option<bool>,
    /// Parts of the texts for the model, one for each.
    pub context: Option<Vec<String>>,
    /// Parts of the notes for the user, one for each.
    pub warnings: Option<Vec<String>>,
    /// Parts of the messages with which the agent goes on, one for each.
    pub follow_ups: Option<Vec<String>>,
    /// Parts of the requests of a component (method, URL and body), one for each.
    pub requests: Option<Vec<String>>,
    /// The name of the recipe to run.
    pub callback: Option<String>,
    /// A part of the log.
    pub log: Option<String>,
    /// Keys of the state after the event.
    pub store: BTreeMap<String, Content>,
    /// Files of the working directory after the event.
    pub files: BTreeMap<String, Content>,
    /// The most fuel that a call may use.
    pub fuel: Option<u64>,
    /// The most memory that a call may use, in bytes.
    #[serde(deserialize_with = "size")]
    pub memory: Option<u64>,
    /// The cause of the failure of the hook. Without it, a failure is a difference.
    pub failure: Option<Cause>,
}

impl Expect {
    /// Returns the keys, for a check of misspelled ones.
    pub(super) const KEYS: [&'static str; 18] = [
        "callback",
        "changed",
        "context",
        "error",
        "failure",
        "files",
        "follow_ups",
        "fuel",
        "input",
        "log",
        "memory",
        "message",
        "output",
        "reason",
        "requests",
        "store",
        "verdict",
        "warnings",
    ];

    /// Returns the expected new value of this name.
    pub(super) fn new_value(&self, name: &str) -> Option<&Value> {
        match name {
            "input" => self.input.as_ref(),
            "output" => self.output.as_ref(),
            "message" => self.message.as_ref(),
            "error" => self.error.as_ref(),
            _ => None,
        }
    }
}

/// Reads a size such as `"16MiB"`, or a number of bytes.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => {
            hookbox::internal::discovery::parse_size(&text).map(Some).map_err(D::Error::custom)
        }
        Value::Number(bytes) if bytes.as_u64().is_some_and(|bytes| bytes > 0) => Ok(bytes.as_u64()),
        _ => Err(D::Error::custom("expected a size such as \"16MiB\", or a number of bytes")),
    }
}

/// The names of the values that a hook can change.
pub(super) const NEW_VALUES: [&str; 4] = ["input", "output", "message", "error"];

/// Returns a list of texts as JSON.
pub(super) fn texts(list: &[String]) -> Value {
    list.iter().cloned().map(Value::String).collect()
}

/// Returns a content as JSON: text, or false.
pub(super) fn content(content: Option<&str>) -> Value {
    content.map_or(Value::Bool(false), |text| Value::String(text.to_owned()))
}

/// The data of an event.
pub(super) type Data = Map<String, Value>;
