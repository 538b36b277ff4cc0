//! A command that an agent runs at an event.

use std::time::Duration;

use serde_json::{Map, Value};

/// Keys with which an agent runs an entry for some calls only, does not wait for it, or does not run it as a
/// command line.
const LIMITS: [&str; 8] = ["args", "async", "asyncRewake", "background", "disabled", "if", "once", "shell"];

/// A command that an agent runs at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The agent's own name of the event.
    pub event: String,
    /// The pattern of tool names, as in the file. `None` and the empty pattern match every tool, and mostly
    /// `*` does.
    pub matcher: Option<String>,
    /// The command line, for a shell.
    pub command: String,
    /// The time that the agent waits for it, by its defaults and bounds.
    pub timeout: Duration,
    /// The other keys of the entry, such as `name`, `failClosed` or `async`.
    pub extra: Map<String, Value>,
    /// The position of the group in the event's list, and of the entry in the group. Without groups: the
    /// position of the entry in the list, and 0.
    pub position: (usize, usize),
}

impl Entry {
    /// Returns true if the agent does not wait for it (`async`), so that it can block nothing.
    pub fn is_in_background(&self) -> bool {
        self.extra.get("async") == Some(&Value::Bool(true))
    }

    /// Returns the keys that keep the agent from running it for every call.
    pub fn limits(&self) -> impl Iterator<Item = &str> {
        let is_on = |(key, value): &(&String, &Value)| match key.as_str() {
            "enabled" => **value == Value::Bool(false),
            "shell" if *value == "bash" => false,
            key => LIMITS.contains(&key) && !matches!(value, Value::Null | Value::Bool(false)),
        };
        self.extra.iter().filter(is_on).map(|(key, _)| key.as_str())
    }

    /// Returns true if it is for every tool.
    pub fn is_for_every_tool(&self) -> bool {
        matches!(self.matcher.as_deref(), None | Some("" | "*" | ".*"))
    }
}
