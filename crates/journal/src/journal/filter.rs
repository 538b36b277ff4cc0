//! The choice of records.

use jiff::Timestamp;
use serde_json::Value;

/// The records that are wanted. Each condition that is set must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Of this agent.
    pub agent: Option<String>,
    /// Asked of this hook: it was asked, or could not be.
    pub hook: Option<String>,
    /// Of this event, in snake case.
    pub event: Option<String>,
    /// Blocked.
    pub blocked: bool,
    /// With a hook that failed.
    pub failed: bool,
    /// With this text somewhere in the event, the verdict or the messages of hooks, in either case.
    pub text: Option<String>,
}

impl Filter {
    /// Returns true if a record is wanted.
    pub fn wants(&self, record: &Value) -> bool {
        let text_at = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
        let hooks = || record.pointer("/report/hooks").and_then(Value::as_array).into_iter().flatten();
        let time = || text_at("/time").and_then(|it| it.parse::<Timestamp>().ok());
        self.since.is_none_or(|since| time().is_some_and(|it| it >= since))
            && self.agent.as_deref().is_none_or(|agent| text_at("/agent") == Some(agent))
            && self.event.as_deref().is_none_or(|event| text_at("/event/event") == Some(event))
            && self.hook.as_deref().is_none_or(|name| hooks().any(|it| it["name"] == name))
            && (!self.blocked || record.pointer("/verdict/blocked") == Some(&Value::Bool(true)))
            && (!self.failed || hooks().any(|it| !it["cause"].is_null()))
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
