//! The format of an agent's configuration files.

use std::time::Duration;

use crate::agent::disable_settings::DisableSetting;

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
    /// The keys of the command line, the usual one first.
    pub(crate) command_keys: &'static [&'static str],
    /// The keys of the timeout, the usual one first.
    pub(crate) timeout_keys: &'static [&'static str],
    /// True if an entry has `"type": "command"`.
    pub(crate) has_type: bool,
    /// True if the agent ignores a file without `"version": 1`.
    pub(crate) has_version: bool,
    /// The key of the name that an installed entry gets.
    pub(crate) name_key: Option<&'static str>,
    /// The key that lets a failed command block.
    pub(crate) strict_key: Option<&'static str>,
    /// The key and its value with which a program that is gone or hangs blocks the call.
    pub(crate) blocks_without_program: Option<(&'static str, &'static str)>,
    /// True if `args` are the arguments of a program.
    pub(crate) has_args: bool,
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
        command_keys: &["command"],
        timeout_keys: &["timeout"],
        has_type: true,
        has_version: false,
        name_key: None,
        strict_key: None,
        blocks_without_program: None,
        has_args: false,
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
