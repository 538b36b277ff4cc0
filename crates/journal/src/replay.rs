//! Replay: the components of a record run again, with the inputs that they had.
//!
//! Nothing outside the record is an input: not the clock, the store, the network, the repository or a file. So the same
//! bytes give the same answer and use the same fuel, on any machine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hookbox::capability::Capability;
use hookbox::hook::{OnFailure, Subscription, Tier};
use hookbox::internal::chain::{self, ChainOptions, work_out_facts};
use hookbox::outcome::Answers;
use hookbox::report::{HookReport, Input};
use hookbox::{Component, ComponentHook, Descriptor, Document, Event, EventData, Hook, Kind, escape};
use serde_json::{Value, json};

use crate::journal::{VERSION, event_of, home_of};

/// The time limit of a call: much longer than a hook has, because this machine may be slower.
const WALL: Duration = Duration::from_secs(60);

/// The result of one hook of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The name of the hook.
    pub hook: String,
    /// Its result.
    pub result: Outcome,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The hook did the same, and used the same fuel.
    Same,
    /// The hook did something else.
    Different(Difference),
    /// The hook did not run again.
    Left(Reason),
}

/// The reason why a hook did not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The component is not here.
    NotHere,
    /// The component of this name has changed since.
    Changed,
    /// Secrets were removed from the record.
    Redacted,
    /// The record was too large, and parts were left out.
    Cut,
    /// The inputs were not recorded, or were too large.
    NotRecorded,
    /// The time of the call was up, which depends on the machine.
    TimedOut,
    /// The hook is not a component.
    NotComponent,
    /// The record is of another version, or has no event.
    Unreadable,
}

impl Reason {
    /// Returns the name, such as `not_here`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotHere => "not_here",
            Self::Changed => "changed",
            Self::Redacted => "redacted",
            Self::Cut => "cut",
            Self::NotRecorded => "not_recorded",
            Self::TimedOut => "timed_out",
            Self::NotComponent => "not_component",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHere => "the component is not here",
            Self::Changed => "the component has changed since",
            Self::Redacted => "secrets were removed from the record",
            Self::Cut => "the record was too large, and parts were left out",
            Self::NotRecorded => "its inputs were not recorded, or were too large",
            Self::TimedOut => "its time was up, which depends on the machine",
            Self::NotComponent => "it is not a component",
            Self::Unreadable => "the record cannot be read",
        })
    }
}

/// Runs the hooks of a record again. `line` is the text of the record. `find` returns the component with a name and a digest. A hook that did not run then
/// is left out.
pub async fn replay(
    record: &Value,
    line: &[u8],
    mut find: impl AsyncFnMut(&str, &str) -> Result<Component, Reason>,
) -> Vec<Replayed> {
    let hooks =
        record.pointer("/report/hooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut replayed = Vec::new();
    for (at, hook) in hooks.iter().enumerate().filter(|(_, hook)| has_run(hook)) {
        let name = text(hook, "name").to_owned();
        let result = match run((record, line), hooks.get(..at).unwrap_or_default(), hook, &mut find).await {
            Err(reason) => Outcome::Left(reason),
            Ok(report) => first_difference(hook, &report).map_or(Outcome::Same, Outcome::Different),
        };
        replayed.push(Replayed { hook: name, result });
    }
    replayed
}

/// Returns true for a hook that was asked.
fn has_run(hook: &Value) -> bool {
    let has_cause = hook.get("cause").is_some_and(|cause| !cause.is_null());
    let is_component = text(hook, "kind") == Kind::Component.as_str();
    let was_refused = is_component && has_cause && hook.get("fuel").is_none_or(Value::is_null);
    !was_refused && !matches!(text(hook, "status"), "skipped" | "untrusted")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

async fn run(
    (record, line): (&Value, &[u8]),
    before: &[Value],
    hook: &Value,
    find: &mut impl AsyncFnMut(&str, &str) -> Result<Component, Reason>,
) -> Result<HookReport, Reason> {
    let is_set = |key: &str| record.get(key).and_then(Value::as_bool) == Some(true);
    if text(hook, "kind") != Kind::Component.as_str() {
        return Err(Reason::NotComponent);
    }
    if record.get("v").and_then(Value::as_u64) != Some(VERSION.into()) {
        return Err(Reason::Unreadable);
    }
    if is_set("cut") {
        return Err(Reason::Cut);
    }
    if is_set("redacted") {
        return Err(Reason::Redacted);
    }
    if text(hook, "cause") == "timeout" {
        return Err(Reason::TimedOut);
    }
    let inputs: Vec<Input> = match hook.get("inputs") {
        None | Some(Value::Null) if hook.get("fuel").is_none_or(Value::is_null) => Vec::new(),
        None | Some(Value::Null) => return Err(Reason::NotRecorded),
        Some(inputs) => serde_json::from_value(inputs.clone()).map_err(|_| Reason::Unreadable)?,
    };
    let options = ChainOptions {
        deadline: WALL,
        repo_deadline: WALL,
        untrusted_deadline: WALL,
        home: home_of(record),
        allow_nested: true,
        allowances: false,
        ..ChainOptions::default()
    };
    let mut event = seen((record, line), before).ok_or(Reason::Unreadable)?;
    // They decide which subscription the hook was asked by.
    work_out_facts(&mut event, &options);
    let component = find(text(hook, "name"), text(hook, "digest")).await?;
    let descriptor = descriptor(hook, &component, &event).ok_or(Reason::Unreadable)?;
    let settings = serde_json::from_value(hook.get("settings").cloned().unwrap_or_default());
    let rights: Vec<Capability> = match hook.get("rights") {
        Some(rights) => serde_json::from_value(rights.clone()).map_err(|_| Reason::Unreadable)?,
        None => Vec::new(),
    };
    let settings = settings.map_err(|_| Reason::Unreadable)?;
    let hook: Arc<dyn Hook> =
        Arc::new(ComponentHook::played(component, descriptor, settings, &rights, inputs));
    let fired = chain::run(&[hook], event, &options).await;
    fired.report.hooks.into_iter().next().ok_or(Reason::Unreadable)
}

/// Returns the descriptor of a hook, as far as it has an effect on its report.
fn descriptor(hook: &Value, component: &Component, event: &Event) -> Option<Descriptor> {
    let manifest = component.manifest();
    let mut descriptor = Descriptor::new(text(hook, "name"), Kind::Component);
    descriptor.tier = tier(text(hook, "tier"))?;
    descriptor.trusted = hook.get("trusted")?.as_bool()?;
    descriptor.answers = if descriptor.trusted { manifest.answers } else { Answers::NONE };
    descriptor.digest = Some(component.digest().clone());
    descriptor.budget.wall = WALL;
    let status = text(hook, "status");
    let failed = hook.get("cause").is_some_and(|cause| !cause.is_null());
    descriptor.on_failure = if failed && matches!(status, "blocked" | "allowed") {
        OnFailure::Block
    } else if failed {
        OnFailure::Pass
    } else {
        manifest.on_failure.unwrap_or_default()
    };
    limits(hook, &mut descriptor);
    // The user's settings may have changed the tools.
    let mut wanted = manifest.subscriptions.iter().find(|it| it.matches(event)).cloned();
    let wanted = wanted.get_or_insert_with(|| Subscription::to(event.name()));
    wanted.observe = status == "observed";
    descriptor.subscriptions = vec![wanted.clone()];
    Some(descriptor)
}

/// Sets the limit that the call exceeded, and leaves room for what it used. The other limits had no effect.
fn limits(hook: &Value, descriptor: &mut Descriptor) {
    let budget = &mut descriptor.budget;
    let used = |key: &str| hook.get(key).and_then(Value::as_u64).unwrap_or_default();
    budget.fuel = budget.fuel.max(used("fuel"));
    budget.memory = budget.memory.max(used("memory_peak_bytes"));
    let Some(exceeded) = hook.get("limit") else { return };
    let Some(limit) = exceeded.get("limit").and_then(Value::as_u64) else { return };
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    match text(exceeded, "of") {
        "fuel" => budget.fuel = limit,
        "memory" => budget.memory = limit,
        "tables" => budget.tables = size,
        "handles" => budget.handles = size,
        "copies" => budget.hostcall_copies = size,
        "output" => budget.output = size,
        _ => {}
    }
}

fn tier(name: &str) -> Option<Tier> {
    let all = [Tier::Repo, Tier::RepoPlugin, Tier::Global, Tier::GlobalPlugin, Tier::Code, Tier::Builtin];
    all.into_iter().find(|tier| tier.as_str() == name)
}

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
fn first_difference(recorded: &Value, report: &HookReport) -> Option<Difference> {
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

/// Returns the event of a record with the changes of these hooks, which ran before.
fn seen((record, line): (&Value, &[u8]), before: &[Value]) -> Option<Event> {
    let mut event = event_of(record, line)?;
    // An answer of a hook that observes changes nothing.
    let acting = before.iter().filter(|hook| hook.get("status").is_some_and(|it| it != "observed"));
    for change in acting.filter_map(|hook| hook.get("changes")?.as_array()).flatten() {
        let (what, after) = (change.get("what")?.as_str()?, change.get("after")?);
        let text = || match after {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match (&mut event.data, what) {
            (EventData::BeforeToolCall(call), "input") => call.input = Document::new(after.clone()),
            (EventData::AfterToolCall(result), "output") => result.output = Document::new(after.clone()),
            (EventData::UserMessageSend { message }, "message") => *message = Some(text()),
            (EventData::OnError(error), "error") => error.message = text(),
            _ => {}
        }
    }
    Some(event)
}
