//! A case: an event, and the surroundings in which the hook gets it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hookbox::capability::Capability;
use hookbox::hook::Cause;
use hookbox::{EventName, OnFailure};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toml_edit::{Array, InlineTable};

use super::replies::Reply;

/// A file with cases.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The file.
    pub path: PathBuf,
    /// The hook, relative to the directory of the hook, if the file names it.
    pub hook: Option<PathBuf>,
    /// The cases, in their order.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The name, unique in the file.
    pub name: String,
    /// The line of the case in the file.
    pub line: usize,
    /// The event.
    pub event: EventName,
    /// The data of the event: kodelet's fields, or Base Coat's envelope.
    pub data: Map<String, Value>,
    /// The events that the hook gets first, in the same session.
    pub before: Vec<Earlier>,
    /// The number of times that the hook gets the event. The last answer counts.
    pub times: u32,
    /// The time between one event and the next.
    pub every: Option<Duration>,
    /// The settings of the hook.
    pub settings: Map<String, Value>,
    /// The policy for its failures, instead of its own.
    pub on_failure: Option<OnFailure>,
    /// The rights that it has.
    pub grants: Vec<Capability>,
    /// The files before: of the working directory, below `$HOME/`, and below `$DATA/`.
    pub files: BTreeMap<String, String>,
    /// The environment variables, beside `PATH` and those of the temporary directories.
    pub environment: BTreeMap<String, String>,
    /// The state of the hook before.
    pub store: BTreeMap<String, Content>,
    /// The answers to the requests of a component, which never reach the network.
    pub http: Vec<Reply>,
    /// The time of the first event, and of the clock of a component, in milliseconds since 1970 (default: now).
    pub clock: Option<u64>,
    /// The answer that must come. `None` if the file does not have it yet.
    pub expect: Option<Expect>,
}

/// An event before that of the case.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// The event.
    pub event: EventName,
    /// The data of the event.
    pub data: Map<String, Value>,
}

/// The decision on an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The event goes on.
    #[default]
    Pass,
    /// The event is stopped.
    Block,
    /// The user decides.
    Ask,
    /// The event goes on without a question of the agent's own.
    Allow,
}

/// The failure of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The hook's full name.
    pub hook: String,
    /// The cause.
    pub cause: Cause,
    /// The message, escaped.
    pub message: String,
}

/// The answer that came, with the effects of the hook.
///
/// The paths of the temporary directories are written as `$REPO` and `$HOME` in its texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Came {
    /// The reason why the case cannot be judged: the hook is broken, or not for this event.
    pub unfit: Option<String>,
    /// The reason why the case was not run: the agent of its wire does not send such an event.
    #[serde(default)]
    pub skipped: Option<String>,
    /// The decision.
    pub verdict: Verdict,
    /// The reason of a block, a question or an allowed call.
    pub reason: Option<String>,
    /// The value that the hook changed.
    pub changed: Option<Changed>,
    /// Text for the model.
    pub context: Vec<String>,
    /// Notes for the user.
    pub warnings: Vec<String>,
    /// Messages with which the agent goes on.
    pub follow_ups: Vec<String>,
    /// The recipe to run.
    pub callback: Option<String>,
    /// The requests of components: method, URL and body.
    #[serde(default)]
    pub requests: Vec<String>,
    /// The state after the event, as text.
    pub store: BTreeMap<String, String>,
    /// The files of the working directory that the hook wrote, and `None` for those that it removed.
    pub files: BTreeMap<String, Option<String>>,
    /// The fuel of the hook that used the most, if one is a component.
    pub fuel: Option<u64>,
    /// The memory of the hook that used the most, in bytes, if one is a component.
    #[serde(rename = "memory_peak_bytes")]
    pub memory: Option<u64>,
    /// The failures of hooks.
    pub failures: Vec<Failure>,
    /// Problems with the hook or its settings, for people.
    pub problems: Vec<String>,
    /// The text that the hooks wrote to standard error or the log.
    pub log: String,
}

/// A value that a hook changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Its name: `input`, `output`, `message` or `error`.
    pub name: String,
    /// The new value.
    pub value: Value,
}

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

/// The content of a file, or a value of the store, that must come.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This content.
    Content(Content),
    /// A text with these parts: `{ contains = "…" }`.
    Parts(Vec<String>),
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(parts) = parts(&value) {
            return Ok(Self::Parts(parts.into_iter().map(str::to_owned).collect()));
        }
        Content::deserialize(value).map(Self::Content).map_err(D::Error::custom)
    }
}

impl Expected {
    /// Returns true if this content, or its absence, is as it must be.
    pub(super) fn is(&self, came: Option<&str>) -> bool {
        match self {
            Self::Content(Content::Text(text)) => came == Some(text),
            Self::Content(Content::Absent) => came.is_none(),
            Self::Parts(parts) => {
                came.is_some_and(|came| parts.iter().all(|part| came.contains(part.as_str())))
            }
        }
    }

    /// Returns the value as it is written.
    pub(super) fn as_value(&self) -> Value {
        match self {
            Self::Content(Content::Text(text)) => content(Some(text)),
            Self::Content(Content::Absent) => content(None),
            Self::Parts(parts) => match parts.as_slice() {
                [part] => json!({ CONTAINS: part }),
                parts => json!({ CONTAINS: parts }),
            },
        }
    }
}

/// The only key of a table that has parts of a text.
const CONTAINS: &str = "contains";

/// Returns the parts of a text, if the value is `{ contains = "…" }` or `{ contains = ["…", "…"] }`.
fn parts(value: &Value) -> Option<Vec<&str>> {
    let table = value.as_object().filter(|table| table.len() == 1)?;
    match table.get(CONTAINS)? {
        Value::String(part) => Some(vec![part.as_str()]),
        Value::Array(parts) if !parts.is_empty() => parts.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns true if a value is as it must be. Somewhere in the expected one, `{ contains = "…" }` may be for a text.
pub(super) fn matches(expected: &Value, came: &Value) -> bool {
    if let Some(parts) = parts(expected) {
        return expected == came || parts.iter().all(|part| contains(came, part));
    }
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            let is = |(key, value): (&String, &Value)| came.get(key).is_some_and(|came| matches(value, came));
            expected.len() == came.len() && expected.iter().all(is)
        }
        (Value::Array(expected), Value::Array(came)) => {
            expected.len() == came.len() && expected.iter().zip(came).all(|(one, came)| matches(one, came))
        }
        (expected, came) => expected == came,
    }
}

/// Returns true if a text in a value has this part.
fn contains(value: &Value, part: &str) -> bool {
    match value {
        Value::String(text) => text.contains(part),
        Value::Array(items) => items.iter().any(|item| contains(item, part)),
        Value::Object(fields) => fields.values().any(|field| contains(field, part)),
        _ => false,
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
    pub store: BTreeMap<String, Expected>,
    /// Files after the event.
    pub files: BTreeMap<String, Expected>,
    /// The most fuel that a call may use.
    pub fuel: Option<u64>,
    /// The most memory that a call may use, in bytes.
    #[serde(deserialize_with = "size")]
    pub memory: Option<u64>,
    /// The cause of the failure of the hook. Without it, a failure is a difference.
    pub failure: Option<Cause>,
}

impl Expect {
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
        Value::String(text) => hookbox_system::units::parse_size(&text).map(Some).map_err(D::Error::custom),
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

/// Returns a value of JSON as one of TOML, which has no null.
pub(super) fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, float) => float?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Array::from_iter(items.iter().filter_map(to_toml)).into(),
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str(), to_toml(value)?)));
            InlineTable::from_iter(fields).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_text_is_expected_anywhere_in_a_value() {
        for (expected, came, want) in [
            (json!("a"), json!("a"), true),
            (json!("a"), json!("ab"), false),
            (json!({"contains": "a"}), json!("cab"), true),
            (json!({"contains": "a"}), json!("b"), false),
            (json!({"contains": ["a", "b"]}), json!("ab"), true),
            (json!({"contains": ["a", "b"]}), json!("ac"), false),
            (json!({"contains": "a"}), json!({"x": [1, "ba"]}), true),
            (json!({"contains": "a"}), json!(null), false),
            // A value that looks the same is the same.
            (json!({"contains": "a"}), json!({"contains": "a"}), true),
            // Other keys make it an ordinary table.
            (json!({"contains": "a", "b": 1}), json!("ab"), false),
            (json!({"contains": []}), json!("ab"), false),
            (json!({"x": {"contains": "a"}, "y": 1}), json!({"x": "ab", "y": 1}), true),
            (json!({"x": {"contains": "a"}}), json!({"x": "ab", "y": 1}), false),
            (json!([{"contains": "a"}, "b"]), json!(["aa", "b"]), true),
            (json!([{"contains": "a"}]), json!(["aa", "b"]), false),
        ] {
            assert_eq!(matches(&expected, &came), want, "{expected} {came}");
        }
    }

    #[test]
    fn a_content_is_a_text_parts_of_one_or_absent() {
        for (expected, came, want) in [
            (json!("a"), Some("a"), true),
            (json!("a"), Some("ab"), false),
            (json!({"contains": "a"}), Some("ab"), true),
            (json!({"contains": "a"}), None, false),
            (json!({"contains": ["a", "c"]}), Some("ab"), false),
            (json!(false), None, true),
            (json!(false), Some(""), false),
            (json!({"n": 1}), Some("{\"n\":1}"), true),
        ] {
            let read: Expected = serde_json::from_value(expected.clone()).unwrap();
            assert_eq!(read.is(came), want, "{expected} {came:?}");
        }
        let read: Expected = serde_json::from_value(json!({"contains": ["a"]})).unwrap();
        assert_eq!(read.as_value(), json!({"contains": "a"}));
    }
}
