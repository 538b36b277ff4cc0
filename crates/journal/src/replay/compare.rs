//! The comparison of a recorded report with the one of the replay.

use std::fmt;

use hookbox::escape;
use hookbox::report::HookReport;
use serde_json::{Value, json};

/// The longest value that is shown, in bytes.
const SHOWN: usize = 400;

/// The keys that are compared, the most telling first. Times depend on the machine.
const KEYS: [&str; 9] =
    ["status", "would", "cause", "message", "changes", "metadata", "log", "denied", "fuel"];

/// The first difference between a record and its replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key of the hook's report; `inputs` if the hook asked for something else.
    pub key: &'static str,
    /// The value of the record, as JSON.
    pub recorded: String,
    /// The value of the replay, as JSON.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, recorded, now } = self;
        match *key {
            "inputs" => write!(f, "{}", escape(now, SHOWN)),
            key => write!(f, "{key}: {}; the record has {}", escape(now, SHOWN), escape(recorded, SHOWN)),
        }
    }
}

/// Compares a recorded report with the one of the replay.
pub(super) fn first_difference(recorded: &Value, report: &HookReport) -> Option<Difference> {
    let now = report.to_json();
    let asked_for = report.message.as_deref().filter(|it| it.starts_with("asked for "));
    if let Some(asked_for) = asked_for.filter(|_| now.get("cause") == Some(&json!("internal"))) {
        return Some(Difference { key: "inputs", recorded: String::new(), now: asked_for.to_owned() });
    }
    KEYS.into_iter().find_map(|key| {
        // A record of another version may lack a key.
        let (recorded, now) = (normal(key, recorded.get(key)?), normal(key, now.get(key)?));
        let differs = recorded != now;
        differs.then(|| Difference { key, recorded: recorded.to_string(), now: now.to_string() })
    })
}

/// Returns a value without the parts that depend on the user's settings.
fn normal(key: &str, value: &Value) -> Value {
    match (key, value) {
        // The user allowed what the hook blocked.
        ("status", value) if value == "allowed" => json!("blocked"),
        // The fix names the user's commands.
        ("denied", Value::Array(all)) => all.iter().filter_map(|it| it.get("right")).cloned().collect(),
        (_, value) => value.clone(),
    }
}
