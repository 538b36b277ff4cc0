//! The report of one event, hook by hook.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::capability::Denial;
use crate::event::EventName;
use crate::hook::{Cause, Kind, Limit};
pub use crate::inputs::Input;
use crate::outcome::Change;

named! {
    /// The result of one hook in one event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[non_exhaustive]
    pub enum Status {
        /// The hook ran and asked for nothing.
        Passed = "passed",
        /// A condition of the hook's own excluded the event: see [`HookReport::passed_over`].
        PassedOver = "passed_over",
        /// The hook ran and changed, injected or asked for something that was applied.
        Changed = "changed",
        /// The hook ran and asked the user to decide.
        Asked = "asked",
        /// The hook blocked.
        Blocked = "blocked",
        /// The hook blocked, and the user allowed the call.
        Allowed = "allowed",
        /// The hook ran after a block (or on its own) to observe; its answer was not acted on.
        Observed = "observed",
        /// The hook failed; see [`HookReport::cause`].
        Failed = "failed",
        /// The hook did not run because the user has not trusted it.
        Untrusted = "untrusted",
        /// The hook did not run because another hook had blocked.
        Skipped = "skipped",
    }
}

/// The part of one hook in the report of an event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HookReport {
    /// Its full name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The tier that it was found in, such as `repo plugin`.
    pub tier: &'static str,
    /// True if the user trusts it.
    pub trusted: bool,
    /// The result.
    pub status: Status,
    /// The result that the answer of a hook that observed would have had: [`Status::Blocked`], [`Status::Asked`] or
    /// [`Status::Changed`]. The message and the changes are its own, and were not applied.
    pub would: Option<Status>,
    /// The cause of the failure. [`Cause::Denied`] also if it only lacked a right.
    pub cause: Option<Cause>,
    /// The time from the start of the chain to its start.
    pub started: Duration,
    /// Its duration; zero if it did not run.
    pub duration: Duration,
    /// Fuel used, for components.
    pub fuel: Option<u64>,
    /// The most memory held at once, in bytes, for components.
    pub memory_peak: Option<u64>,
    /// The reason of a block or a question, or the text of the failure; escaped.
    pub message: Option<String>,
    /// The limit that was exceeded, with the amount that was used or requested.
    pub limit: Option<Limit>,
    /// The values that it changed, or would have changed.
    pub changes: Vec<Change>,
    /// The text that it wrote to standard error or the log; escaped, line by line.
    pub log: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The rights that it used without having them, each once.
    pub denied: Vec<Denial>,
    /// The condition of its own that excluded the event; see [`Hook::passes_over`](crate::Hook::passes_over).
    pub passed_over: Option<&'static str>,
    /// The inputs of a component from outside, if they are recorded.
    pub inputs: Option<Vec<Input>>,
}

impl HookReport {
    /// Returns the report as `hookbox run --report` prints it (`docs/src/json.md`).
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "kind": self.kind,
            "trusted": self.trusted,
            "status": self.status,
            "would": self.would,
            "cause": self.cause,
            "duration_us": u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
            "fuel": self.fuel,
            "memory_peak_bytes": self.memory_peak,
            "message": self.message,
            "limit": self.limit,
            "changes": self.changes,
            "denied": self.denied.iter().map(|it| json!({ "right": it.right, "fix": it.fix })).collect::<Vec<_>>(),
            "log": self.log,
            "metadata": self.metadata,
        })
    }
}

/// The report of the `on_error` event for one failure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailureReport {
    /// The hook that failed.
    pub of: String,
    /// The report of the `on_error` hooks.
    pub report: Report,
}

/// The report of one event. Every event has one, even if no hook ran.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The event.
    pub event: EventName,
    /// The time at which the chain began.
    pub started: SystemTime,
    /// The duration of the chain.
    pub duration: Duration,
    /// The hooks, in run order.
    pub hooks: Vec<HookReport>,
    /// The reports of the `on_error` events for hooks that failed here.
    pub on_error: Vec<FailureReport>,
}

impl Report {
    /// Creates an empty report of an event that happens now.
    pub fn new(event: EventName) -> Self {
        Self {
            event,
            started: SystemTime::now(),
            duration: Duration::ZERO,
            hooks: Vec::new(),
            on_error: Vec::new(),
        }
    }

    /// Returns the hooks and their time, as `hookbox run --report` prints them (`docs/src/json.md`).
    pub fn to_json(&self) -> Value {
        let hooks = |report: &Self| report.hooks.iter().map(HookReport::to_json).collect::<Vec<_>>();
        let on_error = self.on_error.iter().map(|it| json!({ "of": it.of, "hooks": hooks(&it.report) }));
        json!({
            "duration_us": u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
            "hooks": hooks(self),
            "on_error": on_error.collect::<Vec<_>>(),
        })
    }

    /// Returns the part of the hook with this name.
    pub fn hook(&self, name: &str) -> Option<&HookReport> {
        self.hooks.iter().find(|hook| hook.name == name)
    }
}
