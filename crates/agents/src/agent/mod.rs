//! The agents that people already use, from the agent's side: what one of them writes to its hook command becomes an
//! event, and the verdict of a chain becomes exactly what that agent honours.
//!
//! [`Agent::read`] makes a [`Request`] of the agent's JSON, [`Request::answer`] writes the [`Reply`], and
//! [`Agent::failed`] is the reply where there is no verdict. [`Agent::events`] is the one table of an agent: its names
//! of the events, and what becomes of each answer there. What an agent cannot do is never left out in silence: it turns
//! to the safe side ([`Fate`]), with a warning. Nothing here does I/O.
//!
//! ```
//! use hookbox_agents::Agent;
//! use hookbox::{Context, Verdict};
//!
//! let stdin = br#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
//! let agent: Agent = "codex".parse()?;
//! let request = agent.read(stdin, None, &Context::new("", "/srv/project"))?.ok_or("no event of ours")?;
//! assert_eq!(request.event.name().as_str(), "before_tool_call");
//!
//! let reply = request.answer(&Verdict::default(), &request.event); // no hook had anything to say
//! assert_eq!((reply.exit_code, reply.stdout.as_str()), (0, ""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod bridge_command;
pub(crate) mod comments;
mod disable_settings;
mod effect;
pub(crate) mod event;
mod output;
mod payload;
mod places;
pub(crate) mod process_signs;
mod read;
pub(crate) mod reply;
mod sample_payload;
mod timeouts;
pub(crate) mod tools;
pub(crate) mod translation;

use std::fmt;
use std::str::FromStr;

pub use self::bridge_command::is_ours;
pub(crate) use self::disable_settings::{LeavesOut, Setting};
pub use self::effect::{Effect, Printed};
pub(crate) use self::event::is_pascal;
pub use self::event::{AgentEvent, Fate};
pub(crate) use self::places::{Holds, HookPlace};
pub use self::places::{Level, Surroundings};
pub use self::read::{ReadError, Request};
pub use self::reply::Reply;
pub(crate) use self::timeouts::Unit;

use crate::event::EventName;
use crate::text;

/// An agent that runs commands, or plugins, of its own at the events of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code (checked with 2.1).
    Claude,
    /// Codex (checked with 0.169).
    Codex,
    /// Gemini CLI (checked with 0.61).
    Gemini,
    /// Qwen Code (checked with 0.24).
    Qwen,
    /// Copilot CLI (checked with 1.0), in both styles of its configuration: `preToolUse` and `PreToolUse`.
    Copilot,
    /// Cursor, by its documentation.
    Cursor,
    /// OpenCode (checked with 1.18), by the plugin in `assets/opencode/`: it runs no commands.
    OpenCode,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 7] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Copilot, Self::Cursor, Self::OpenCode];

    /// Those that run commands as hooks; OpenCode runs plugins in JavaScript.
    pub const WITH_COMMANDS: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Copilot, Self::Cursor];

    /// The name on a command line, such as `claude`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
        }
    }

    /// The name in a sentence, such as `Claude Code`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::OpenCode => "OpenCode",
        }
    }

    /// Its events that are events of hookbox, in the order of a session.
    pub fn events(self) -> &'static [AgentEvent] {
        match self {
            Self::Claude => &crate::claude::reply::EVENTS,
            Self::Codex => &crate::codex::reply::EVENTS,
            Self::Gemini => &crate::gemini::reply::EVENTS,
            Self::Qwen => &crate::qwen::reply::EVENTS,
            Self::Copilot => &crate::copilot::reply::EVENTS,
            Self::Cursor => &crate::cursor::reply::EVENTS,
            Self::OpenCode => &crate::opencode::reply::EVENTS,
        }
    }

    /// Its event of this name; letters count as they stand. `None` where it is no event of hookbox.
    pub fn event(self, name: &str) -> Option<&'static AgentEvent> {
        self.events().iter().find(|event| event.name == name)
    }

    /// Its names of an event of hookbox, the usual one first.
    pub fn names_of(self, event: &EventName) -> impl Iterator<Item = &'static str> {
        self.events().iter().filter(move |it| it.event == event.as_str()).map(|it| it.name)
    }

    /// The variable in which it tells its hook command the directory of the project; Codex and Copilot CLI have none, and
    /// send the session's own directory as `cwd`. Claude Code's `cwd` follows the model's `cd`.
    ///
    /// Seen in the real clients and their documentation; of Cursor the documentation only. Gemini CLI, Qwen Code and
    /// Cursor set `CLAUDE_PROJECT_DIR`, too, which is not looked at: it may come from a Claude Code around them.
    pub fn project_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude | Self::Gemini | Self::Qwen | Self::Cursor => {
                self.project_variables().first().copied()
            }
            Self::Codex | Self::Copilot | Self::OpenCode => None,
        }
    }

    /// The variables in which its hooks may look for the directory of the project, its own first.
    pub(crate) fn project_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude | Self::Codex => &["CLAUDE_PROJECT_DIR"],
            Self::Gemini => &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            Self::Qwen => &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            Self::Copilot => &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            Self::Cursor => &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            Self::OpenCode => &[],
        }
    }

    /// What is printed where nothing is to be said. Cursor and the plugin in OpenCode take an empty answer for a hook
    /// that failed.
    fn silence(self) -> &'static str {
        if matches!(self, Self::Cursor | Self::OpenCode) { "{}\n" } else { "" }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no agent's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown agent {name:?}; hint: the agents are claude, codex, gemini, qwen, copilot, cursor and opencode; did you mean {nearest}?"
)]
pub struct UnknownAgent {
    /// The name that was given, escaped.
    pub name: String,
    /// The nearest name that exists.
    pub nearest: &'static str,
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        let known = Self::ALL.into_iter().find(|agent| agent.as_str() == name);
        known.ok_or_else(|| UnknownAgent {
            name: text::escape(name, 64),
            nearest: text::nearest(name, Self::ALL.map(Self::as_str)).unwrap_or("claude"),
        })
    }
}

#[cfg(test)]
mod tests;
