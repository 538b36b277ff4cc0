//! The limits of a chain, and its rules for text.

use std::path::PathBuf;
use std::time::Duration;

use crate::facts::CommandFiles;
use crate::outcome::MAX_CONTEXT;

/// The limits of a chain.
#[derive(Clone, Debug)]
pub struct ChainOptions {
    /// The time of the user's and the host's hooks together. 60 s.
    pub deadline: Duration,
    /// The time of a repository's hooks that the user trusts, together. 60 s.
    pub repo_deadline: Duration,
    /// The time of hooks that the user does not trust, together. 5 s.
    pub untrusted_deadline: Duration,
    /// The user's home directory, for the facts of a tool call.
    pub home: Option<PathBuf>,
    /// The depth of this process in hooks (`HOOKBOX_DEPTH`). More than 0 means that a hook started it.
    pub depth: u32,
    /// Runs hooks also from inside a hook.
    pub allow_nested: bool,
    /// Lets the user allow what a hook blocks. It needs a private data directory.
    pub allowances: bool,
    /// The directories of skills and command files with shell lines that an agent runs by itself. The lines that a call
    /// writes there, and those of a file that an event uses, are judged like a call of the shell. None.
    pub command_files: Vec<CommandFiles>,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            repo_deadline: Duration::from_secs(60),
            untrusted_deadline: Duration::from_secs(5),
            home: None,
            depth: 0,
            allow_nested: false,
            allowances: true,
            command_files: Vec::new(),
        }
    }
}

impl ChainOptions {
    /// Limits the time of all hooks of an event together: half of it for the user's and the host's hooks, a
    /// third for those of a repository that the user trusts, a sixth, at most 5 s, for those that the user
    /// does not trust.
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        let untrusted_deadline = (total / 6).min(Self::default().untrusted_deadline);
        Self { deadline: total / 2, repo_deadline: total / 3, untrusted_deadline, ..self }
    }
}

/// The rules for text that hooks give the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRules {
    /// The room for context, in bytes.
    pub(crate) room: usize,
    /// True if secrets are removed.
    pub(crate) redacts: bool,
}

impl TextRules {
    /// Returns the rules with the whole room of an event.
    pub(crate) fn new(redacts: bool) -> Self {
        Self { room: MAX_CONTEXT, redacts }
    }
}
