//! The time that an agent waits for a hook.

use std::time::Duration;

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds, and milliseconds from 1000 on: the unit of a former version.
    SecondsBelow1000,
}

/// The time that an agent waits for a hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// The unit of a timeout in the configuration.
    pub(crate) unit: Unit,
    /// The time without a timeout in the configuration.
    pub(crate) usual: Duration,
    /// The time at the end of a session.
    pub(crate) session_end: SessionEndWait,
}

/// The time that an agent waits at the end of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionEndWait {
    /// The time of other events.
    Usual,
    /// This time, or longer if the configuration asks for it.
    AtLeast(Duration),
    /// No longer than this, whatever the configuration asks for.
    AtMost {
        most: Duration,
        /// The time without a timeout in the configuration.
        usual: Duration,
    },
}

impl Wait {
    /// Returns the time in an agent that handles every event alike.
    pub(crate) const fn new(unit: Unit, seconds: u64) -> Self {
        Self { unit, usual: Duration::from_secs(seconds), session_end: SessionEndWait::Usual }
    }

    /// Returns the time that an agent waits in any case at the end of a session. `None` if that is the usual
    /// time.
    pub(crate) fn at_session_end(&self) -> Option<Duration> {
        match self.session_end {
            SessionEndWait::Usual => None,
            SessionEndWait::AtLeast(time) | SessionEndWait::AtMost { most: time, .. } => Some(time),
        }
    }

    /// Returns the time for an entry with this timeout.
    pub(crate) fn of(&self, is_session_end: bool, configured: Option<Duration>) -> Duration {
        match self.session_end {
            SessionEndWait::AtLeast(least) if is_session_end => configured.unwrap_or_default().max(least),
            SessionEndWait::AtMost { most, usual } if is_session_end => configured.unwrap_or(usual).min(most),
            _ => configured.unwrap_or(self.usual),
        }
    }
}

impl Unit {
    /// Returns the time of a number of this unit. `None` for a time that is not positive.
    pub(crate) fn time(self, number: f64) -> Option<Duration> {
        let seconds = match self {
            Self::Milliseconds => number / 1000.0,
            Self::SecondsBelow1000 if number >= 1000.0 => number / 1000.0,
            Self::Seconds | Self::SecondsBelow1000 => number,
        };
        // A year: far longer than any session.
        let longest = 365.0 * 24.0 * 3600.0;
        (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds.min(longest)).ok()).flatten()
    }

    /// Returns [`Unit::time`] of this unit.
    pub(crate) fn reader(self) -> fn(f64) -> Option<Duration> {
        match self {
            Self::Seconds => |number| Self::Seconds.time(number),
            Self::Milliseconds => |number| Self::Milliseconds.time(number),
            Self::SecondsBelow1000 => |number| Self::SecondsBelow1000.time(number),
        }
    }

    /// Returns the times that an entry may have, in words.
    pub(crate) fn times(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds above zero, and no more than a day",
            Self::Seconds | Self::SecondsBelow1000 => "seconds above zero, and no more than a day",
        }
    }

    /// Returns the number for a time, rounded up.
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
    use crate::Agent;

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
            let time = agent.spec().waits(event, configured.map(Duration::from_secs)).as_millis();
            assert_eq!(time, want, "{agent} {event} {configured:?}");
        }
    }
}
