//! The hook dialect of Claude Code: the standard input of a command hook, and the meaning of its exit code
//! and answer.
//!
//! [`encode`] writes the event, [`outcome_of`] reads the answer. Hooks of Claude Code expect its names of
//! tools and fields: [`tool_name`] translates the tool of another agent. [`name`] is `hook_event_name`: one
//! event of hookbox may be one of several of Claude Code's, and a hook runs at the one that it is declared
//! for. [`Split`] is a call of several files, one file at a time.

mod answer;
mod condition;
mod event;
mod matcher;
mod multi_file;
mod payload;
mod specific;
mod tool;
mod wire;

use std::borrow::Cow;

pub use self::answer::{blocked, by_answer, by_exit_code, failed, outcome, outcome_of, read};
pub use self::condition::Condition;
pub(crate) use self::event::names;
pub use self::event::{event_name, name};
pub use self::matcher::{Expression, Matcher, MatcherError, compile};
pub use self::multi_file::{MAX_FILES, Split, split};
pub use self::payload::{encode, last_said};
pub use self::specific::{CLAUDE, Style, Text};
pub use self::tool::{call, restore, shell_response};
pub use self::wire::ClaudeWire;

/// The facts of a session of Claude Code that an event does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The file of the conversation; if it is not known, the payload has an empty text.
    pub transcript_path: Option<String>,
    /// `permission_mode`; if it is not known, the agent's mode if Claude Code has one of that name, else
    /// `default`.
    pub permission_mode: Option<String>,
}

/// Returns the name that a hook of Claude Code expects for the tool `name`: Claude Code's name if it has such
/// a tool, else the agent's own.
pub fn tool_name(name: &str) -> Cow<'_, str> {
    if let Some((Some(server), tool)) = hookbox_calls::mcp_names(name).next() {
        let own = format!("mcp__{server}__{tool}");
        return if own == name { Cow::Borrowed(name) } else { Cow::Owned(own) };
    }
    hookbox_calls::claude_name(name).map_or(Cow::Borrowed(name), Cow::Borrowed)
}
