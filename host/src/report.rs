//! What happened in one event, hook by hook.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::Denial;
use crate::event::EventName;
use crate::outcome::Change;

/// Why a hook failed (design, section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Its file is not there any more.
    NotFound,
    /// It could not be started.
    Spawn,
    /// It ended with a status other than 0, or a component answered with an error.
    Exit,
    /// A signal ended it.
    Signal,
    /// It took longer than its wall-clock limit, or the chain's.
    Timeout,
    /// It used up its fuel.
    Fuel,
    /// It wanted more memory than its limit.
    Memory,
    /// It trapped.
    Trap,
    /// It wrote or returned more than its limit.
    OutputLimit,
    /// Its answer could not be read.
    MalformedOutput,
    /// It did, or answered, what it has no right to.
    Denied,
    /// A repository brought it, and the user has not trusted it.
    Untrusted,
    /// It needs another version of the interface, or is no hook.
    Incompatible,
    /// The host failed.
    Internal,
}

impl Cause {
    /// The name, such as `output_limit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Spawn => "spawn",
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Timeout => "timeout",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Trap => "trap",
            Self::OutputLimit => "output_limit",
            Self::MalformedOutput => "malformed_output",
            Self::Denied => "denied",
            Self::Untrusted => "untrusted",
            Self::Incompatible => "incompatible",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of hook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// An executable in a hooks directory.
    Native,
    /// A WASI component.
    Component,
    /// A command of a hooks.json.
    Command,
    /// A tool of an MCP server.
    Tool,
    /// Part of hookbox.
    Builtin,
    /// Registered by the agent.
    Code,
}

impl Kind {
    /// The name, such as `native`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Component => "component",
            Self::Command => "command",
            Self::Tool => "tool",
            Self::Builtin => "builtin",
            Self::Code => "code",
        }
    }
}

/// How one hook fared in one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It ran and wants nothing.
    Passed,
    /// It ran and changed, injected or asked for something that was applied.
    Changed,
    /// It ran and wants the user to decide.
    Asked,
    /// It blocked.
    Blocked,
    /// It ran after a block (or on its own) to observe; its answer was not acted on.
    Observed,
    /// It failed; `cause` says how.
    Failed,
    /// It did not run because the user has not trusted it.
    Untrusted,
    /// It did not run because another hook had blocked.
    Skipped,
}

impl Status {
    /// The name, such as `passed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Changed => "changed",
            Self::Asked => "asked",
            Self::Blocked => "blocked",
            Self::Observed => "observed",
            Self::Failed => "failed",
            Self::Untrusted => "untrusted",
            Self::Skipped => "skipped",
        }
    }
}

/// What one hook did in one event.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReport {
    /// Its full name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Where it was found, such as `repo plugin`.
    pub tier: &'static str,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// How it fared.
    pub status: Status,
    /// Why it failed, or which right it lacked.
    pub cause: Option<Cause>,
    /// When it began, counted from the beginning of the chain.
    pub started: Duration,
    /// How long it took; zero if it did not run.
    pub duration: Duration,
    /// Fuel used, for components.
    pub fuel: Option<u64>,
    /// The most memory held at once, in bytes, for components.
    pub memory_peak: Option<u64>,
    /// The reason of a block or a question, or what went wrong; escaped.
    pub message: Option<String>,
    /// The limit that was exceeded, and how much was used or wanted.
    pub limit: Option<Limit>,
    /// What it changed, with what stood there before.
    pub changes: Vec<Change>,
    /// What it wrote to standard error or the log; escaped, line by line.
    pub log: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// The rights that it made use of without having them, each once.
    pub denied: Vec<Denial>,
}

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// What was limited.
    pub of: LimitKind,
    /// The limit.
    pub limit: u64,
    /// What was used or wanted, where that is known.
    pub used: Option<u64>,
}

/// What a limit is of, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitKind {
    /// Fuel, about one per wasm instruction.
    Fuel,
    /// Wall-clock time in milliseconds.
    Wall,
    /// Memory in bytes, over all memories.
    Memory,
    /// Elements, over all tables.
    Tables,
    /// Handles that are open at once.
    Handles,
    /// Bytes that host calls and the answer copy out of the guest.
    Copies,
    /// Bytes of the stack.
    Stack,
    /// Bytes of standard output.
    Output,
    /// Bytes of a component's file.
    Component,
    /// Bytes of one function's code: what bounds the memory that compiling takes.
    Function,
    /// Time to compile, in milliseconds.
    Compile,
}

/// What the `on_error` hooks did about one failure.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureReport {
    /// The hook that failed.
    pub of: String,
    /// What they did.
    pub report: Report,
}

/// What happened in one event. There is one also when no hook ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The event.
    pub event: EventName,
    /// When the chain began.
    pub started: SystemTime,
    /// How long the chain took.
    pub duration: Duration,
    /// The hooks, in run order.
    pub hooks: Vec<HookReport>,
    /// What the `on_error` hooks did about hooks that failed here.
    pub on_error: Vec<FailureReport>,
}

impl Report {
    /// An empty report of an event that happens now.
    pub fn new(event: EventName) -> Self {
        Self {
            event,
            started: SystemTime::now(),
            duration: Duration::ZERO,
            hooks: Vec::new(),
            on_error: Vec::new(),
        }
    }

    /// The part of the hook with this name.
    pub fn hook(&self, name: &str) -> Option<&HookReport> {
        self.hooks.iter().find(|hook| hook.name == name)
    }
}
