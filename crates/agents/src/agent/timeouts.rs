//! How long the agents wait for a hook: the one table of it.

use std::time::Duration;

use super::Agent;

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds; from 1000 on milliseconds, as it was once.
    SecondsBelow1000,
}

/// How long Codex waits at the end of a session for a hook that says nothing of it.
const CODEX_AT_END: Duration = Duration::from_secs(1);

impl Agent {
    /// The unit of a timeout in its configuration, and how long it waits for a hook that says nothing of it (seen in the
    /// clients; Cursor's by its documentation; OpenCode's is what the plugin waits).
    const fn patience(self) -> (Unit, Duration) {
        let (unit, seconds) = match self {
            Self::Claude | Self::Codex => (Unit::Seconds, 600),
            Self::Gemini => (Unit::Milliseconds, 60),
            Self::Qwen => (Unit::SecondsBelow1000, 60),
            Self::Copilot => (Unit::Seconds, 30),
            Self::Cursor => (Unit::Seconds, 60),
            Self::OpenCode => (Unit::Seconds, 20),
        };
        (unit, Duration::from_secs(seconds))
    }

    /// The unit of a timeout in its configuration.
    pub(crate) const fn unit(self) -> Unit {
        self.patience().0
    }

    /// How long it waits for a hook that says nothing of it, at most events.
    pub(crate) const fn usual_wait(self) -> Duration {
        self.patience().1
    }

    /// How long can be counted on at an event that is not like the others, whatever the configuration says: at the end of
    /// a session Claude Code waits so long where nobody asks for more, and Codex no longer.
    pub(crate) fn brief_wait(self, event: &str) -> Option<Duration> {
        match (self, event) {
            (Self::Claude, "SessionEnd") => Some(Duration::from_millis(1500)),
            (Self::Codex, "SessionEnd") => Some(Duration::from_secs(3)),
            _ => None,
        }
    }

    /// How long it waits for a hook of an event, whose entry says this long or nothing.
    pub(crate) fn waits(self, event: &str, configured: Option<Duration>) -> Duration {
        match self.brief_wait(event) {
            None => configured.unwrap_or(self.usual_wait()),
            Some(most) if self == Self::Codex => configured.unwrap_or(CODEX_AT_END).min(most),
            // What a hook asks for makes it wait longer, never less long.
            Some(least) => configured.unwrap_or_default().max(least),
        }
    }
}

impl Unit {
    /// The time that a number of this unit says. `None` for what is no positive time, or more than a year.
    pub(crate) fn time(self, number: f64) -> Option<Duration> {
        let seconds = match self {
            Self::Milliseconds => number / 1000.0,
            Self::SecondsBelow1000 if number >= 1000.0 => number / 1000.0,
            Self::Seconds | Self::SecondsBelow1000 => number,
        };
        let longest = 365.0 * 24.0 * 3600.0;
        (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds.min(longest)).ok()).flatten()
    }

    /// The number that says a time, which is rounded up to whole ones.
    pub(crate) fn number(self, time: Duration) -> u64 {
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
        let waits = |agent: Agent, event, configured: Option<u64>| {
            Agent::waits(agent, event, configured.map(Duration::from_secs)).as_millis()
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
