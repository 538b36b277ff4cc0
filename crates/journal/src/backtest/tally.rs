//! The counts of a backtest.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::json;

/// The most groups of commands of a hook, and the most tools, days and hooks of agents. Further groups are counted
/// together.
pub const MAX_GROUPS: usize = 10_000;

/// The result of a backtest, which is also the object of `hookbox backtest --json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Backtest {
    /// By agent.
    pub sources: BTreeMap<&'static str, SourceTally>,
    /// All verdicts.
    pub verdicts: Verdicts,
    /// By hook.
    pub hooks: BTreeMap<String, HookTally>,
    /// By tool, the verdicts of its calls.
    pub tools: BTreeMap<String, Verdicts>,
    /// By day in UTC, such as `2026-01-01`, the verdicts of its calls.
    pub days: BTreeMap<String, Verdicts>,
    /// The runs of the agents' own hooks, by name and command.
    #[serde(rename = "agent_hooks", serialize_with = "past_hooks")]
    pub past_hooks: BTreeMap<(String, String), PastHookTally>,
    /// Files that could not be read to their end.
    pub problems: Vec<FileProblem>,
}

/// The files and calls of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceTally {
    /// Session files.
    pub files: u64,
    /// Tool calls, each once.
    pub calls: u64,
    /// Those of shell tools.
    pub shell_calls: u64,
    /// Calls whose command cannot be read. They have no verdict.
    pub not_read: u64,
    /// Lines that are no JSON, or too long.
    pub unread_lines: u64,
}

/// Verdicts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Nothing would have been done.
    pub pass: u64,
    /// Blocked.
    pub block: u64,
    /// The user would have been asked.
    pub ask: u64,
    /// The input would have been changed.
    pub modify: u64,
}

/// The answers of a hook.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HookTally {
    /// True if it is in shadow mode or only observes: the verdicts are those without it.
    pub observes: bool,
    /// Calls about which it was asked.
    pub calls: u64,
    /// Calls that it blocked.
    pub block: u64,
    /// Calls about which it asked the user.
    pub ask: u64,
    /// Calls that it changed.
    pub modify: u64,
    /// Calls at which it failed.
    pub failed: u64,
    /// The time of all of its runs.
    #[serde(rename = "duration_us", serialize_with = "microseconds")]
    pub time: Duration,
    /// The longest run.
    #[serde(rename = "longest_us", serialize_with = "microseconds")]
    pub longest: Duration,
    /// The fuel of all of its runs; zero for a hook without fuel.
    pub fuel: u64,
    /// The calls that it did not let pass, by tool and command.
    #[serde(rename = "commands", serialize_with = "commands")]
    pub groups: BTreeMap<(String, String), Group>,
    /// Calls of groups beyond [`MAX_GROUPS`].
    #[serde(rename = "other_calls")]
    pub other_groups: u64,
}

/// The same command, more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The calls.
    pub count: u64,
    /// The answer: `block`, `ask`, `modify` or `failed`.
    pub answer: &'static str,
    /// The time of the first call, if it has one. The files are read in no fixed order.
    pub first: Option<Timestamp>,
    /// The reason, for the first call.
    pub reason: String,
    /// The next call of the agent in that session after the first one: tool and command.
    pub next: Option<(String, String)>,
}

/// Runs of a hook of the agent's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastHookTally {
    /// The runs.
    pub runs: u64,
    /// Those that failed or were cancelled.
    pub failed: u64,
    /// The time of all runs, in milliseconds.
    pub total_ms: u64,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileProblem {
    /// The path, escaped.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// Returns groups, the most frequent first.
pub fn by_frequency(groups: &BTreeMap<(String, String), Group>) -> Vec<(&(String, String), &Group)> {
    let mut groups: Vec<_> = groups.iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    groups
}

fn commands<S: Serializer>(
    groups: &BTreeMap<(String, String), Group>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(by_frequency(groups).into_iter().map(|((tool, command), it)| {
        let next = it.next.as_ref().map(|(tool, command)| json!({"tool": tool, "command": command}));
        json!({
            "tool": tool, "command": command, "count": it.count, "answer": it.answer, "reason": it.reason, "next": next,
        })
    }))
}

fn past_hooks<S: Serializer>(
    hooks: &BTreeMap<(String, String), PastHookTally>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hooks.iter().map(|((name, command), it)| {
        json!({"name": name, "command": command, "runs": it.runs, "failed": it.failed, "total_ms": it.total_ms})
    }))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn microseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

impl Verdicts {
    pub(super) fn add(&mut self, other: Self) {
        let Self { pass, block, ask, modify } = other;
        self.pass += pass;
        self.block += block;
        self.ask += ask;
        self.modify += modify;
    }
}

impl HookTally {
    /// Adds a call to its group. Returns true if it is the first of the group.
    pub(super) fn group(&mut self, key: (String, String), group: Group) -> bool {
        let has_room = self.groups.len() < MAX_GROUPS;
        match self.groups.entry(key) {
            Entry::Occupied(mut found) => {
                let found = found.get_mut();
                let count = found.count + group.count;
                let time = |it: &Group| it.first.unwrap_or(Timestamp::MAX);
                let is_first = time(&group) < time(found);
                if is_first {
                    *found = group;
                }
                found.count = count;
                is_first
            }
            Entry::Vacant(free) if has_room => {
                free.insert(group);
                true
            }
            Entry::Vacant(_) => {
                self.other_groups += group.count;
                false
            }
        }
    }
}
