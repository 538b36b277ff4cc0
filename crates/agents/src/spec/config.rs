//! The format of an agent's configuration files, with the settings that leave hooks out and the times that it waits.

use std::time::Duration;

/// The format of an agent's configuration files.
#[derive(Debug)]
pub(crate) struct ConfigFormat {
    /// True if it is TOML with a `[[hooks]]` table for each hook.
    pub(crate) is_toml: bool,
    /// True if the agent reads comments (`//` and `/* */`).
    pub(crate) reads_comments: bool,
    /// The errors of the agent's own parser; `None` if its parser is not known.
    pub(crate) parser: Option<ParserRules>,
    /// The form of an entry.
    pub(crate) entry: EntryForm,
    /// The settings that switch hooks off.
    pub(crate) disable_settings: &'static [DisableSetting],
    /// Keys of `hooks` that are not events: former settings, which the agent ignores.
    pub(crate) former_settings: &'static [&'static str],
    /// True if one malformed entry makes the agent ignore the whole file.
    pub(crate) ignores_whole_file: bool,
    /// The key of the variables that the settings give to all hooks.
    pub(crate) env_key: Option<&'static str>,
    /// The key that switches plugins on and off.
    pub(crate) plugins_key: Option<&'static str>,
    /// True if a switch counts at its strongest level only; the system's is the strongest.
    pub(crate) takes_strongest_switch: bool,
    /// True if only the system's own settings switch the system's hooks off. Otherwise `hookbox install` also
    /// sets the switches there.
    pub(crate) keeps_system_hooks: bool,
    /// The setting by which a repository switches the user's hooks off, with its file.
    pub(crate) repository_switch: Option<&'static str>,
    /// The directories above the working directory whose files the agent reads as well.
    pub(crate) reads_above: Above,
    /// A field that only its payloads have, if it also runs the hooks of other agents: they pass what its own entry judges.
    pub(crate) own_field: Option<&'static str>,
}

impl ConfigFormat {
    /// Settings in strict JSON with groups of entries, without switches.
    pub(crate) const BASE: Self = Self {
        is_toml: false,
        reads_comments: false,
        parser: Some(ParserRules { reads_mark: false, check: |_| None }),
        entry: EntryForm::GROUPED,
        disable_settings: &[],
        former_settings: &[],
        ignores_whole_file: false,
        env_key: None,
        plugins_key: None,
        takes_strongest_switch: false,
        keeps_system_hooks: false,
        repository_switch: None,
        reads_above: Above::None,
        own_field: None,
    };
}

/// The errors of an agent's own parser, which is stricter than the one that edits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParserRules {
    /// True if it reads a byte order mark.
    pub(crate) reads_mark: bool,
    /// Returns the reason why it refuses this JSON, which has no comments.
    pub(crate) check: fn(&str) -> Option<String>,
}

/// The directories above the working directory, up to the root of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    /// None of them.
    None,
    /// The root alone.
    Root,
    /// All of them.
    All,
}

/// The form of an agent's entries, as seen in the clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryForm {
    /// The place of an entry in the list of its event.
    pub(crate) groups: Groups,
    /// True if the entries of events about tools are in groups, and others are not.
    pub(crate) groups_of_tools: bool,
    /// True if "hooks" is a list of entries of all events, each with its command in an "action".
    pub(crate) is_list: bool,
    /// The key of the event in a `[[hooks]]` table or in an entry of a list.
    pub(crate) event_key: &'static str,
    /// The key of the pattern of tool names.
    pub(crate) matcher_key: &'static str,
    /// The keys of the command line, the usual one first.
    pub(crate) command_keys: &'static [&'static str],
    /// The keys of the timeout, the usual one first.
    pub(crate) timeout_keys: &'static [&'static str],
    /// True if an entry has `"type": "command"`.
    pub(crate) has_type: bool,
    /// True if the agent ignores a file without `"version": 1`.
    pub(crate) has_version: bool,
    /// The key of the name that an installed entry gets; in TOML each has another name.
    pub(crate) name_key: Option<&'static str>,
    /// The key that lets a failed command block.
    pub(crate) strict_key: Option<&'static str>,
    /// True if an entry always has that key.
    pub(crate) is_always_strict: bool,
    /// The key and its value with which a program that is gone or hangs blocks the call.
    pub(crate) blocks_without_program: Option<(&'static str, &'static str)>,
    /// True if `args` are the arguments of a program.
    pub(crate) has_args: bool,
    /// True if the type may be `http`.
    pub(crate) has_http: bool,
    /// True if an entry has variables of its own.
    pub(crate) has_env: bool,
    /// True if an entry has a directory of its own.
    pub(crate) has_cwd: bool,
    /// True if `sh` runs the line, unless the entry names bash.
    pub(crate) runs_sh: bool,
    /// True if the matcher may be null.
    pub(crate) takes_null_matcher: bool,
    /// True if the timeout may be null.
    pub(crate) takes_null_timeout: bool,
    /// The longest timeout: a longer one is over at once, or an error.
    pub(crate) longest_timeout: Option<Duration>,
}

/// The longest timer of JavaScript: a longer one fires at once.
const LONGEST_TIMER: Duration = Duration::from_millis(i32::MAX as u64);

impl EntryForm {
    /// The form of Claude Code, which most agents share.
    pub(crate) const GROUPED: Self = Self {
        groups: Groups::Required,
        groups_of_tools: false,
        is_list: false,
        event_key: "event",
        matcher_key: "matcher",
        command_keys: &["command"],
        timeout_keys: &["timeout"],
        has_type: true,
        has_version: false,
        name_key: None,
        strict_key: None,
        is_always_strict: false,
        blocks_without_program: None,
        has_args: false,
        has_http: false,
        has_env: false,
        has_cwd: false,
        runs_sh: false,
        takes_null_matcher: true,
        takes_null_timeout: false,
        longest_timeout: Some(LONGEST_TIMER),
    };

    /// Returns the usual key of the command line.
    pub(crate) fn command(&self) -> &'static str {
        self.command_keys.first().copied().unwrap_or("command")
    }

    /// Returns the usual key of the timeout.
    pub(crate) fn timeout(&self) -> &'static str {
        self.timeout_keys.first().copied().unwrap_or("timeout")
    }

    /// Returns true if each entry is in a group with a matcher.
    pub(crate) fn is_grouped(&self) -> bool {
        self.groups == Groups::Required
    }
}

/// Groups of entries, each with a `matcher` and a list of `hooks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Every entry is in a group.
    Required,
    /// An entry may be in a group.
    Optional,
    /// There are no groups.
    None,
}

/// The hooks that a setting leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeavesOut {
    /// All, if the setting has this value.
    All(bool),
    /// All but the organization's, if it is true.
    AllButManaged,
    /// Those whose name or command line is in its list.
    Named,
}

/// A setting that leaves hooks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DisableSetting {
    /// The object that contains it; `None` for the root of the file.
    pub(crate) within: Option<&'static str>,
    /// Its key.
    pub(crate) key: &'static str,
    /// The hooks that it leaves out.
    pub(crate) leaves_out: LeavesOut,
    /// The setting with an effect, as a person would write it.
    pub(crate) shown: &'static str,
}

impl DisableSetting {
    /// `disableAllHooks`, which several agents have.
    pub(crate) const ALL: Self = Self {
        within: None,
        key: "disableAllHooks",
        leaves_out: LeavesOut::All(true),
        shown: "\"disableAllHooks\": true",
    };
}

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
