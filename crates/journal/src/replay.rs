//! Replay: the components of a record run again, with the inputs that they had.
//!
//! Nothing outside the record is an input: not the clock, the store, the network, the repository or a file. So the same
//! bytes give the same answer and use the same fuel, on any machine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hookbox::capability::Capability;
use hookbox::hook::{Budget, OnFailure, Settings, Subscription, Tier};
use hookbox::internal::chain::{self, ChainOptions, work_out_facts};
use hookbox::outcome::Answers;
use hookbox::report::{HookReport, Input};
use hookbox::{Component, ComponentHook, Descriptor, Document, Event, EventData, Hook, Kind, escape};
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};

use crate::journal::{Stored, StoredChange, StoredHook, StoredLimit, VERSION, event_of};
use hookbox_system::limits;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The component is not here.
    #[error("the component is not here")]
    NotHere,
    /// The component of this name has changed since.
    #[error("the component has changed since")]
    Changed,
    /// Secrets were removed from the record.
    #[error("secrets were removed from the record")]
    Redacted,
    /// The record was too large, and parts were left out.
    #[error("the record was too large, and parts were left out")]
    Cut,
    /// The inputs were not recorded, or were too large.
    #[error("its inputs were not recorded, or were too large")]
    NotRecorded,
    /// The time of the call was up, which depends on the machine.
    #[error("its time was up, which depends on the machine")]
    TimedOut,
    /// The hook is not a component.
    #[error("it is not a component")]
    NotComponent,
    /// The record is of another version, or has no event.
    #[error("the record cannot be read")]
    Unreadable,
}

/// Runs the hooks of a record again. `line` is the text of the record. `find` returns the component with a name and a
/// digest. A hook that did not run then is left out.
pub async fn replay(
    record: &Value,
    line: &[u8],
    mut find: impl AsyncFnMut(&str, &str) -> Result<Component, Reason>,
) -> Vec<Replayed> {
    let stored = Stored::of(record);
    let mut replayed = Vec::new();
    for (at, hook) in stored.report.hooks.iter().enumerate().filter(|(_, hook)| has_run(hook)) {
        let recorded = record.pointer(&format!("/report/hooks/{at}")).unwrap_or(&Value::Null);
        let result = match run(&stored, line, at, &mut find).await {
            Err(reason) => Outcome::Left(reason),
            Ok(report) => first_difference(recorded, &report).map_or(Outcome::Same, Outcome::Different),
        };
        replayed.push(Replayed { hook: hook.name.clone(), result });
    }
    replayed
}

fn is_component(hook: &StoredHook) -> bool {
    hook.kind == Kind::Component.as_str()
}

/// Returns true for a hook that was asked.
fn has_run(hook: &StoredHook) -> bool {
    let was_refused = is_component(hook) && hook.cause.is_some() && hook.fuel.is_none();
    !was_refused && !matches!(hook.status.as_str(), "skipped" | "untrusted")
}

/// Runs the hook at this position of a record.
async fn run(
    record: &Stored,
    line: &[u8],
    at: usize,
    find: &mut impl AsyncFnMut(&str, &str) -> Result<Component, Reason>,
) -> Result<HookReport, Reason> {
    let (before, hook) = record.report.hooks.split_at_checked(at).ok_or(Reason::Unreadable)?;
    let hook = hook.first().ok_or(Reason::Unreadable)?;
    if !is_component(hook) {
        return Err(Reason::NotComponent);
    }
    if record.v != VERSION {
        return Err(Reason::Unreadable);
    }
    if record.cut {
        return Err(Reason::Cut);
    }
    if record.redacted {
        return Err(Reason::Redacted);
    }
    if hook.cause.as_deref() == Some("timeout") {
        return Err(Reason::TimedOut);
    }
    let inputs: Vec<Input> = match &hook.inputs {
        None if hook.fuel.is_none() => Vec::new(),
        None => return Err(Reason::NotRecorded),
        Some(inputs) => Vec::deserialize(inputs).map_err(|_| Reason::Unreadable)?,
    };
    let options = ChainOptions {
        deadline: WALL,
        repo_deadline: WALL,
        untrusted_deadline: WALL,
        home: record.home.clone(),
        allow_nested: true,
        allowances: false,
        ..ChainOptions::default()
    };
    let mut event = seen(record, line, before).ok_or(Reason::Unreadable)?;
    // They decide which subscription the hook was asked by.
    work_out_facts(&mut event, &options);
    let component = find(&hook.name, hook.digest.as_deref().unwrap_or_default()).await?;
    let descriptor = descriptor(hook, &component, &event).ok_or(Reason::Unreadable)?;
    let settings = Settings::deserialize(&hook.settings).map_err(|_| Reason::Unreadable)?;
    let rights: Result<Vec<Capability>, _> = hook.rights.iter().map(|it| it.parse()).collect();
    let rights = rights.map_err(|_| Reason::Unreadable)?;
    let hook: Arc<dyn Hook> =
        Arc::new(ComponentHook::played(component, descriptor, settings, &rights, inputs));
    let fired = chain::run(&[hook], event, &options).await;
    fired.report.hooks.into_iter().next().ok_or(Reason::Unreadable)
}

/// Returns the descriptor of a hook, as far as it has an effect on its report.
fn descriptor(hook: &StoredHook, component: &Component, event: &Event) -> Option<Descriptor> {
    let manifest = component.manifest();
    let mut descriptor = Descriptor::new(&hook.name, Kind::Component);
    descriptor.tier = tier(&hook.tier)?;
    descriptor.trusted = hook.trusted?;
    descriptor.answers = if descriptor.trusted { manifest.answers } else { Answers::NONE };
    descriptor.digest = Some(component.digest().clone());
    descriptor.on_failure = match (&hook.cause, hook.status.as_str()) {
        (Some(_), "blocked" | "allowed") => OnFailure::Block,
        (Some(_), _) => OnFailure::Pass,
        (None, _) => manifest.on_failure.unwrap_or_default(),
    };
    limits(hook, &mut descriptor.budget);
    // The user's settings may have changed the tools.
    let mut wanted = manifest.subscriptions.iter().find(|it| it.matches(event)).cloned();
    let wanted = wanted.get_or_insert_with(|| Subscription::to(event.name()));
    wanted.observe = hook.status == "observed";
    descriptor.subscriptions = vec![wanted.clone()];
    Some(descriptor)
}

/// Sets the limit that the call exceeded, and leaves room for what it used. The other limits had no effect.
fn limits(hook: &StoredHook, budget: &mut Budget) {
    budget.wall = WALL;
    budget.fuel = budget.fuel.max(hook.fuel.unwrap_or_default());
    budget.memory = budget.memory.max(hook.memory_peak_bytes.unwrap_or_default());
    let Some(StoredLimit { of, limit }) = &hook.limit else { return };
    let size = usize::try_from(*limit).unwrap_or(usize::MAX);
    match of.as_str() {
        "fuel" => budget.fuel = *limit,
        "memory" => budget.memory = *limit,
        "tables" => budget.tables = size,
        "handles" => budget.handles = size,
        "copies" => budget.hostcall_copies = size,
        "output" => budget.output = size,
        _ => {}
    }
}

fn tier(name: &str) -> Option<Tier> {
    let managed = [Tier::Managed, Tier::ManagedPlugin];
    let all = [Tier::Repo, Tier::RepoPlugin, Tier::Global, Tier::GlobalPlugin, Tier::Code, Tier::Builtin];
    managed.into_iter().chain(all).find(|tier| tier.as_str() == name)
}

/// The keys that are compared, the most telling first. Times depend on the machine.
const KEYS: [&str; 9] =
    ["status", "would", "cause", "message", "changes", "metadata", "log", "denied", "fuel"];

/// The first difference between a record and its replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
            "inputs" => write!(f, "{}", escape(now, limits::EXCERPT)),
            key => write!(
                f,
                "{key}: {}; the record has {}",
                escape(now, limits::EXCERPT),
                escape(recorded, limits::EXCERPT)
            ),
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
fn seen(record: &Stored, line: &[u8], before: &[StoredHook]) -> Option<Event> {
    let mut event = event_of(record, line)?;
    // An answer of a hook that observes changes nothing.
    let acting = before.iter().filter(|hook| hook.status != "observed");
    for StoredChange { what, after, .. } in acting.flat_map(|hook| &hook.changes) {
        let text = || after.as_str().map_or_else(|| after.to_string(), str::to_owned);
        match (&mut event.data, what.as_str()) {
            (EventData::BeforeToolCall(call), "input") => call.input = Document::new(after.clone()),
            (EventData::AfterToolCall(result), "output") => result.output = Document::new(after.clone()),
            (EventData::UserMessageSend { message }, "message") => *message = Some(text()),
            (EventData::OnError(error), "error") => error.message = text(),
            _ => {}
        }
    }
    Some(event)
}
