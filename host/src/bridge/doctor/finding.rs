//! What an examination finds.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::dialect::agent::Agent;

/// How it is with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// It lets nothing through by itself, and the user should know.
    Warning,
    /// It would let a call through that should be blocked.
    Failed,
}

/// One thing on the way from the agent to a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub status: Status,
    /// What it is about, in one word: `agent`, `configuration`, `event`, `switch`, `trust`, `matcher`, `timeout`,
    /// `command`, `version`, `path`, `guard` or `failure`.
    pub about: &'static str,
    /// What was found; text from outside is escaped.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A command of hookbox that an agent runs at an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfiguredCommand {
    /// The agent's own name of the event.
    pub event: String,
    /// The event of hookbox, if it is one.
    pub hookbox_event: Option<&'static str>,
    /// Whose configuration it stands in: `user`, `project` or `local`.
    pub level: &'static str,
    /// The file, escaped.
    pub file: String,
    /// The command line, escaped.
    pub command: String,
    /// For which tools, as it stands there, escaped; absent for all.
    pub matcher: Option<String>,
    /// How long the agent waits for it, in milliseconds.
    pub timeout_ms: u64,
}

/// What was found of one agent: serialised, it is an object of `hookbox doctor --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examination {
    /// The agent, such as `claude`.
    pub agent: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Its program, where it is on `PATH`.
    pub program: Option<PathBuf>,
    /// Whether its configuration calls hookbox anywhere.
    pub configured: bool,
    /// Whether it does, and nothing was found that would let a call through.
    pub guarded: bool,
    /// The commands that its configuration has for hookbox.
    pub events: Vec<ConfiguredCommand>,
    /// What was found, in the order of the way from the agent to the guard.
    pub findings: Vec<Finding>,
}

impl Examination {
    pub(super) fn new(agent: Agent) -> Self {
        Self {
            agent: agent.as_str(),
            title: agent.title(),
            program: None,
            configured: false,
            guarded: false,
            events: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn add(&mut self, status: Status, about: &'static str, message: impl Into<String>, hint: Option<String>) {
        let finding = Finding { status, about, message: message.into(), hint };
        // The same command at two events has the same fault once.
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(super) fn ok(&mut self, about: &'static str, message: impl Into<String>) {
        self.add(Status::Ok, about, message, None);
    }

    pub(super) fn warn(&mut self, about: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Status::Warning, about, message, Some(hint.into()));
    }

    pub(super) fn fail(&mut self, about: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Status::Failed, about, message, Some(hint.into()));
    }

    pub(super) fn finish(mut self) -> Self {
        self.guarded = self.configured && self.findings.iter().all(|it| it.status != Status::Failed);
        self
    }
}

/// A time in milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
