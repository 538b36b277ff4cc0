//! Claude Code's hook dialect, from the host's side: what a command hook that was written for Claude Code reads on
//! standard input, and what its exit code and its answer mean.
//!
//! [`encode`] writes the event, [`outcome_of`] reads the answer. Hooks of Claude Code know its names of tools and fields:
//! [`tool_name`] says how a tool of another agent is called in them. [`name`] is `hook_event_name`: one event of hookbox
//! may be one of several of Claude Code's, so a hook that is declared for a name runs where it is this one. [`Shown`] is a
//! call of several files, one at a time.

mod answer;
mod event;
mod files;
mod matcher;
mod payload;
mod tool;

use std::borrow::Cow;

pub(crate) use self::answer::{CLAUDE, Style, Text, blocked, by_exit_code, failed, read};
pub use self::answer::{outcome, outcome_of};
pub use self::event::{event_name, name};
pub(crate) use self::files::shown;
pub use self::files::{MAX_SHOWN, Shown};
pub(crate) use self::matcher::compile;
pub use self::matcher::{Matcher, MatcherError};
pub use self::payload::encode;
pub(crate) use self::payload::last_said;
pub(crate) use self::tool::{call, restore};

/// What a session of Claude Code knows beside what stands in an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The file that holds the conversation; an empty text in the payload where it is not known.
    pub transcript_path: Option<String>,
    /// `permission_mode`; where it is not known the agent's mode if Claude Code has one of that name, else `default`.
    pub permission_mode: Option<String>,
}

/// What a hook of Claude Code expects the tool `name` to be called: Claude Code's name where it has such a tool, else the
/// agent's own.
pub fn tool_name(name: &str) -> Cow<'_, str> {
    if let Some((Some(server), tool)) = crate::facts::mcp_names(name).next() {
        let own = format!("mcp__{server}__{tool}");
        return if own == name { Cow::Borrowed(name) } else { Cow::Owned(own) };
    }
    crate::facts::claude_name(name).map_or(Cow::Borrowed(name), Cow::Borrowed)
}
