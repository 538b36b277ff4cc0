//! The form of an entry in each agent.

use crate::agent::Agent;

/// The keys of an agent's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Whether an event has groups, each with a `matcher` and a list of `hooks`, in place of the entries
    /// themselves.
    pub(crate) is_grouped: bool,
    /// The key of the command line.
    pub(crate) command: &'static str,
    /// Other keys of a command line.
    pub(crate) other_commands: &'static [&'static str],
    /// The key of the timeout.
    pub(crate) timeout: &'static str,
    /// Other keys of a timeout.
    pub(crate) other_timeouts: &'static [&'static str],
    /// Whether an entry has `"type": "command"`.
    pub(crate) has_type: bool,
    /// Whether the file needs `"version": 1`, without which the agent ignores it.
    pub(crate) has_version: bool,
}

impl Form {
    /// Returns the keys under which the agent takes a command line, the usual one first.
    pub(crate) fn command_keys(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.command).chain(self.other_commands.iter().copied())
    }

    /// Returns the keys under which the agent takes a timeout, the usual one first.
    pub(crate) fn timeout_keys(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.timeout).chain(self.other_timeouts.iter().copied())
    }
}

const GROUPED: Form = Form {
    is_grouped: true,
    command: "command",
    other_commands: &[],
    timeout: "timeout",
    other_timeouts: &[],
    has_type: true,
    has_version: false,
};

/// Returns the form of an agent's entries, as seen in the clients. Cursor's is from its documentation;
/// OpenCode has none.
pub(crate) const fn form(agent: Agent) -> Form {
    match agent {
        Agent::Claude | Agent::Codex | Agent::Gemini | Agent::Qwen | Agent::OpenCode => GROUPED,
        Agent::Copilot => Form {
            is_grouped: false,
            command: "bash",
            other_commands: &["command"],
            timeout: "timeoutSec",
            other_timeouts: &["timeout"],
            has_version: true,
            ..GROUPED
        },
        Agent::Cursor => Form { is_grouped: false, has_type: false, has_version: true, ..GROUPED },
    }
}
