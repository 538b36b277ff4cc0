//! The parts of a record that a list of events shows, and the choice of records.

use hookbox::event::ToolKind;
use hookbox::internal::facts;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// Fields of a tool's input that tell most about a call, the best one first.
const TELLING: [&str; 8] = ["file_path", "path", "url", "query", "pattern", "prompt", "description", "name"];

/// Fields of an event without a tool that tell most about it.
const TELLING_EVENT: [&str; 7] = ["message", "error", "reason", "response", "summary", "trigger", "source"];

/// The decision on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The verdict as one word: `blocked`, `asked`, `changed`, `allowed` or `passed`.
    pub verdict: &'static str,
    /// The hook that decided. If the event passed although a hook failed, that hook. Empty if there is none.
    pub by: &'a str,
    /// The reason, or the failure. Empty if there is none.
    pub why: &'a str,
}

/// Returns the decision on the event of a record.
pub fn decision<'r>(record: &'r Value) -> Decision<'r> {
    let of =
        |verdict, value: &'r Value, by, why| Decision { verdict, by: text(value, by), why: text(value, why) };
    let verdict = record.get("verdict");
    if let Some(verdict) = verdict.filter(|it| it.get("blocked") == Some(&Value::Bool(true))) {
        return of("blocked", verdict, "blocked_by", "reason");
    }
    if let Some(ask) = verdict.and_then(|it| it.get("ask")).filter(|it| it.is_object()) {
        return of("asked", ask, "by", "reason");
    }
    for status in ["changed", "allowed"] {
        if let Some(hook) = hooks(record).find(|it| text(it, "status") == status) {
            return of(status, hook, "name", "message");
        }
    }
    if let Some(allowed) = verdict.and_then(|it| it.get("allowed")).filter(|it| it.is_object()) {
        return of("allowed", allowed, "by", "reason");
    }
    match hooks(record).find(|it| has_failed(it)) {
        Some(hook) => of("passed", hook, "name", "message"),
        None => Decision { verdict: "passed", by: "", why: "" },
    }
}

/// Returns the reports of the hooks of a record.
pub fn hooks(record: &Value) -> impl Iterator<Item = &Value> {
    record.pointer("/report/hooks").and_then(Value::as_array).into_iter().flatten()
}

/// Returns true for the report of a hook that failed, also if the failure blocked. A hook that only lacked a permission has
/// not failed.
pub fn has_failed(hook: &Value) -> bool {
    match (text(hook, "status"), text(hook, "cause")) {
        ("failed", _) => true,
        ("blocked" | "allowed", cause) => !matches!(cause, "" | "denied"),
        _ => false,
    }
}

/// Returns the line of a shell, or the part of an event that tells most about it.
pub fn subject(event: &Map<String, Value>) -> String {
    let field = |fields: &Map<String, Value>, names: &[&str]| {
        names.iter().find_map(|it| fields.get(*it)?.as_str()).map(str::to_owned)
    };
    let Some(tool) = event.get("tool_name").and_then(Value::as_str) else {
        return field(event, &TELLING_EVENT).unwrap_or_default();
    };
    let input = event.get("tool_input").unwrap_or(&Value::Null);
    if hookbox_calls::kind_of(tool) == ToolKind::Shell {
        // The line of a shell needs no file.
        let facts = facts::of(tool, &input.clone().into(), "/".as_ref(), None);
        if let Some(line) = facts.command {
            return line;
        }
    }
    match input {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => field(fields, &TELLING).unwrap_or_else(|| input.to_string()),
        other => other.to_string(),
    }
}

/// Returns the text of a field; empty if there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The records that are wanted. Each condition that is set must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The earliest time.
    pub since: Option<Timestamp>,
    /// The agent.
    pub agent: Option<String>,
    /// A hook of the report.
    pub hook: Option<String>,
    /// True for blocked events only.
    pub blocked: bool,
    /// True for events with a hook that failed only.
    pub failed: bool,
    /// A text in the event, the verdict or the reports of hooks, in either case.
    pub text: Option<String>,
}

impl Filter {
    /// Returns true if a record is wanted.
    pub fn wants(&self, record: &Value) -> bool {
        let text_at = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
        let time = || text_at("/time").and_then(|it| it.parse::<Timestamp>().ok());
        self.since.is_none_or(|since| time().is_some_and(|it| it >= since))
            && self.agent.as_deref().is_none_or(|agent| text_at("/agent") == Some(agent))
            && self.hook.as_deref().is_none_or(|name| hooks(record).any(|it| it["name"] == name))
            && (!self.blocked || record.pointer("/verdict/blocked") == Some(&Value::Bool(true)))
            && (!self.failed || hooks(record).any(has_failed))
            && self.text.as_deref().is_none_or(|text| {
                let text = text.to_lowercase();
                ["/event", "/verdict", "/report/hooks"]
                    .into_iter()
                    .filter_map(|pointer| record.pointer(pointer))
                    .any(|value| has_text(value, &text))
            })
    }
}

/// Returns true if a string of a value has a text in lower case.
fn has_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(it) => it.to_lowercase().contains(text),
        Value::Array(items) => items.iter().any(|it| has_text(it, text)),
        Value::Object(fields) => fields.values().any(|it| has_text(it, text)),
        _ => false,
    }
}
