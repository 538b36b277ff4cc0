//! A record as it is read: the decision, the parts that a list of events shows, and the choice of records.

use std::path::PathBuf;

use hookbox::event::ToolKind;
use hookbox::internal::facts;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Fields of a tool's input that tell most about a call, the best one first.
const TELLING: [&str; 8] = ["file_path", "path", "url", "query", "pattern", "prompt", "description", "name"];

/// Fields of an event without a tool that tell most about it.
const TELLING_EVENT: [&str; 7] = ["message", "error", "reason", "response", "summary", "trigger", "source"];

/// A record, as the book (`docs/src/journal.md`) describes it. A part that it does not have, or has in another form, is
/// empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stored {
    /// The version of the format.
    pub v: u32,
    /// The id.
    pub id: String,
    /// The time, in UTC.
    pub time: String,
    /// The agent that sent the event.
    pub agent: Option<String>,
    /// The session.
    pub conversation: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The span of the event: a W3C `traceparent`.
    pub trace: Option<String>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The event, with kodelet's fields.
    #[serde(deserialize_with = "tolerant")]
    pub event: Map<String, Value>,
    /// The verdict.
    #[serde(deserialize_with = "tolerant")]
    pub verdict: StoredVerdict,
    /// The report.
    #[serde(deserialize_with = "tolerant")]
    pub report: StoredReport,
    /// True if secrets were removed.
    pub redacted: bool,
    /// True if it was too large.
    pub cut: bool,
}

/// The verdict of a record.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredVerdict {
    /// True if a hook blocked.
    pub blocked: bool,
    /// The hook that blocked.
    pub blocked_by: String,
    /// The reason of a block.
    pub reason: String,
    /// The question of a hook.
    pub ask: Option<StoredRuling>,
    /// The answer of a hook that spared the agent's own question.
    pub allowed: Option<StoredRuling>,
    /// Text for the model.
    pub additional_context: Vec<String>,
    /// Notes for the user.
    pub warnings: Vec<String>,
}

/// A hook that decided, and its reason.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredRuling {
    /// The hook.
    pub by: String,
    /// The reason.
    pub reason: String,
}

/// The report of a record, or of the hooks that were told of a failure.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredReport {
    /// The hook whose failure it is about.
    pub of: String,
    /// The time that it took, in microseconds.
    pub duration_us: u64,
    /// The hooks, in run order.
    #[serde(deserialize_with = "each")]
    pub hooks: Vec<StoredHook>,
    /// The reports of the events for hooks that failed.
    #[serde(deserialize_with = "each")]
    pub on_error: Vec<StoredReport>,
}

/// The report of a hook: [`HookReport`](hookbox::report::HookReport) as JSON, and in a record what is known of the hook.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredHook {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its tier.
    pub tier: String,
    /// True if the user trusts it.
    pub trusted: Option<bool>,
    /// The result.
    pub status: String,
    /// The result that it would have had.
    pub would: Option<String>,
    /// The cause of its failure.
    pub cause: Option<String>,
    /// The reason, or the failure.
    pub message: Option<String>,
    /// Its duration in microseconds.
    pub duration_us: u64,
    /// The fuel of a component.
    pub fuel: Option<u64>,
    /// The memory of a component, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// The limit that was exceeded.
    pub limit: Option<StoredLimit>,
    /// The values that it changed, or would have changed.
    pub changes: Vec<StoredChange>,
    /// The rights that it lacked.
    pub denied: Vec<StoredDenial>,
    /// Its log.
    pub log: String,
    /// Its digest.
    pub digest: Option<String>,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// The rights that it has.
    pub rights: Vec<String>,
    /// The inputs of a component.
    pub inputs: Option<Value>,
}

/// A limit that a hook exceeded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredLimit {
    /// The resource.
    pub of: String,
    /// The limit.
    pub limit: u64,
}

/// A value that a hook changed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredChange {
    /// The name of the value.
    pub what: String,
    /// The value before.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

/// A right that a hook lacked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredDenial {
    /// The right.
    pub right: String,
    /// The next step.
    pub fix: String,
}

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

/// Reads a part of a record. One in another form is empty, and hides no other part.
fn tolerant<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(T::deserialize(Value::deserialize(from)?).unwrap_or_default())
}

/// Reads a list as [`tolerant`] does each part of it.
fn each<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<Vec<T>, D::Error> {
    let items: Vec<Value> = tolerant(from)?;
    Ok(items.into_iter().map(|it| T::deserialize(it).unwrap_or_default()).collect())
}

impl Stored {
    /// Reads a record. One that is not in this form is empty.
    pub fn of(record: &Value) -> Self {
        Self::deserialize(record).unwrap_or_default()
    }

    /// Returns the decision on the event.
    pub fn decision(&self) -> Decision<'_> {
        let (verdict, hooks) = (&self.verdict, &self.report.hooks);
        if verdict.blocked {
            return Decision { verdict: "blocked", by: &verdict.blocked_by, why: &verdict.reason };
        }
        if let Some(StoredRuling { by, reason }) = &verdict.ask {
            return Decision { verdict: "asked", by, why: reason };
        }
        for status in ["changed", "allowed"] {
            if let Some(hook) = hooks.iter().find(|it| it.status == status) {
                return hook.decides(status);
            }
        }
        if let Some(StoredRuling { by, reason }) = &verdict.allowed {
            return Decision { verdict: "allowed", by, why: reason };
        }
        let failed = hooks.iter().find(|it| it.has_failed());
        failed.map_or(Decision { verdict: "passed", by: "", why: "" }, |hook| hook.decides("passed"))
    }

    /// Returns a text of the event; empty if it has none of this name.
    pub fn text(&self, field: &str) -> &str {
        self.event.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the line of a shell, or the part of the event that tells most about it.
    pub fn subject(&self) -> String {
        let field = |fields: &Map<String, Value>, names: &[&str]| {
            names.iter().find_map(|it| fields.get(*it)?.as_str()).map(str::to_owned)
        };
        let Some(tool) = self.event.get("tool_name").and_then(Value::as_str) else {
            return field(&self.event, &TELLING_EVENT).unwrap_or_default();
        };
        let input = self.event.get("tool_input").unwrap_or(&Value::Null);
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
}

impl StoredHook {
    /// Reads a report of a hook as JSON. One that is not in this form is empty.
    pub fn of(report: &Value) -> Self {
        Self::deserialize(report).unwrap_or_default()
    }

    fn decides(&self, verdict: &'static str) -> Decision<'_> {
        Decision { verdict, by: &self.name, why: self.message() }
    }

    /// Returns true if it failed, also if the failure blocked. A hook that only lacked a permission has not failed.
    pub fn has_failed(&self) -> bool {
        match (self.status.as_str(), self.cause.as_deref()) {
            ("failed", _) => true,
            ("blocked" | "allowed", cause) => !matches!(cause, None | Some("denied")),
            _ => false,
        }
    }

    /// Returns the reason, or the failure; empty if there is none.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
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
        let stored = Stored::of(record);
        let (time, hooks) = (stored.time.parse::<Timestamp>(), &stored.report.hooks);
        self.since.is_none_or(|since| time.is_ok_and(|it| it >= since))
            && (self.agent.is_none() || self.agent == stored.agent)
            && self.hook.as_ref().is_none_or(|name| hooks.iter().any(|it| it.name == *name))
            && (!self.blocked || stored.verdict.blocked)
            && (!self.failed || hooks.iter().any(StoredHook::has_failed))
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
