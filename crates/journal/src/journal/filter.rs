//! The choice of records.

use jiff::Timestamp;
use serde_json::Value;

use super::summary::{has_failed, hooks};

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
