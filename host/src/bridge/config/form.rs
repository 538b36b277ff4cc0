//! The form of an entry, and how long an agent waits for one.

use std::time::Duration;

use crate::dialect::agent::Agent;

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds; from 1000 on milliseconds, as it was once.
    SecondsBelow1000,
}

/// What an entry of an agent looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether an event holds groups, each with a `matcher` and a list of `hooks`, and not the entries themselves.
    pub is_grouped: bool,
    /// The key of the command line.
    pub command: &'static str,
    /// Other keys under which the agent takes one.
    pub other_commands: &'static [&'static str],
    /// The key of the timeout.
    pub timeout: &'static str,
    /// Other keys under which the agent takes one.
    pub other_timeouts: &'static [&'static str],
    /// Its unit.
    pub unit: Unit,
    /// Whether an entry says `"type": "command"`.
    pub has_type: bool,
    /// Whether the file says `"version": 1`, without which it is not read.
    pub has_version: bool,
    /// Whether the agent reads comments in the file. One that does not runs none of the hooks in it, and says nothing.
    pub takes_comments: bool,
}

const GROUPED: Form = Form {
    is_grouped: true,
    command: "command",
    other_commands: &[],
    timeout: "timeout",
    other_timeouts: &[],
    unit: Unit::Seconds,
    has_type: true,
    has_version: false,
    takes_comments: false,
};

/// The form of an agent's entries (seen in the clients; Cursor's by its documentation; OpenCode has none).
pub const fn form(agent: Agent) -> Form {
    match agent {
        Agent::Claude | Agent::Codex | Agent::OpenCode => GROUPED,
        Agent::Gemini => Form { unit: Unit::Milliseconds, takes_comments: true, ..GROUPED },
        Agent::Qwen => Form { unit: Unit::SecondsBelow1000, takes_comments: true, ..GROUPED },
        Agent::Copilot => Form {
            is_grouped: false,
            command: "bash",
            other_commands: &["command"],
            timeout: "timeoutSec",
            other_timeouts: &["timeout"],
            has_version: true,
            ..GROUPED
        },
        Agent::Cursor => {
            Form { is_grouped: false, has_type: false, has_version: true, takes_comments: true, ..GROUPED }
        }
    }
}

/// How long an agent waits for a hook of an event, whose entry says this long or nothing.
pub fn waits(agent: Agent, event: &str, configured: Option<Duration>) -> Duration {
    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }
    match (agent, event) {
        // What a hook asks for makes it wait longer, never less long.
        (Agent::Claude, "SessionEnd") => configured.unwrap_or_default().max(Duration::from_millis(1500)),
        (Agent::Codex, "SessionEnd") => configured.unwrap_or(seconds(1)).min(seconds(3)),
        (Agent::Claude | Agent::Codex, _) => configured.unwrap_or(seconds(600)),
        (Agent::Gemini | Agent::Qwen | Agent::Cursor, _) => configured.unwrap_or(seconds(60)),
        (Agent::Copilot, _) => configured.unwrap_or(seconds(30)),
        // The plugin's own.
        (Agent::OpenCode, _) => configured.unwrap_or(seconds(20)),
    }
}

impl Unit {
    /// The time that a number of this unit says. `None` for what is no positive time, or more than a year.
    pub fn time(self, number: f64) -> Option<Duration> {
        let seconds = match self {
            Self::Milliseconds => number / 1000.0,
            Self::SecondsBelow1000 if number >= 1000.0 => number / 1000.0,
            Self::Seconds | Self::SecondsBelow1000 => number,
        };
        let longest = 365.0 * 24.0 * 3600.0;
        (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds.min(longest)).ok()).flatten()
    }

    /// The number that says a time, which is rounded up to whole ones.
    pub fn number(self, time: Duration) -> u64 {
        match self {
            Self::Milliseconds => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            Self::Seconds | Self::SecondsBelow1000 => {
                time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_read_in_the_agents_own_unit() {
        for (unit, number, want) in [
            (Unit::Seconds, 30.0, Some(30_000)),
            (Unit::Seconds, 0.5, Some(500)),
            (Unit::Seconds, 20_000.0, Some(20_000_000)),
            (Unit::Milliseconds, 30_000.0, Some(30_000)),
            (Unit::SecondsBelow1000, 30.0, Some(30_000)),
            (Unit::SecondsBelow1000, 20_000.0, Some(20_000)),
            (Unit::Seconds, 0.0, None),
            (Unit::Seconds, -1.0, None),
            (Unit::Seconds, f64::NAN, None),
            (Unit::Seconds, f64::INFINITY, Some(365 * 24 * 3_600_000)),
        ] {
            assert_eq!(unit.time(number), want.map(Duration::from_millis), "{unit:?} {number}");
        }
        assert_eq!(Unit::Seconds.number(Duration::from_millis(1200)), 2);
        assert_eq!(Unit::Milliseconds.number(Duration::from_millis(1200)), 1200);
    }

    #[test]
    fn at_the_end_of_a_session_the_agents_wait_as_long_as_they_like() {
        let waits = |agent, event, configured: Option<u64>| {
            waits(agent, event, configured.map(Duration::from_secs)).as_millis()
        };
        for (agent, event, configured, want) in [
            (Agent::Claude, "SessionEnd", None, 1500),
            (Agent::Claude, "SessionEnd", Some(1), 1500),
            (Agent::Codex, "SessionEnd", None, 1000),
            (Agent::Codex, "SessionEnd", Some(30), 3000),
            (Agent::Codex, "PreToolUse", None, 600_000),
            (Agent::Gemini, "BeforeTool", None, 60_000),
            (Agent::Copilot, "PreToolUse", None, 30_000),
            (Agent::Copilot, "PreToolUse", Some(5), 5000),
        ] {
            assert_eq!(waits(agent, event, configured), want, "{agent} {event} {configured:?}");
        }
    }
}
