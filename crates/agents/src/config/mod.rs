//! The hook configuration of the agents: its paths and its contents. Nothing here does I/O.
//!
//! ```
//! use hookbox_agents::config::{Level, Surroundings, file, read};
//! use hookbox_agents::Agent;
//!
//! let surroundings = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
//! let path = file(Agent::Claude, Level::User, &surroundings).ok_or("no home directory")?;
//! assert_eq!(path.to_str(), Some("/home/ada/.claude/settings.json"));
//!
//! let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard", "timeout": 5}]}]}}"#;
//! let configuration = read(Agent::Claude, text.as_bytes())?;
//! let entry = &configuration.entries[0];
//! assert_eq!((entry.event.as_str(), entry.command.as_str(), entry.timeout.as_secs()), ("PreToolUse", "guard", 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codex_settings;
mod document;
pub(crate) mod entry;
mod parser_error;
mod paths;
mod read;
mod switch;

use std::path::PathBuf;

pub(crate) use self::codex_settings::{toml_settings, toml_switches};
pub(crate) use self::document::{ConfigText, json_value, only, without_comments};
pub use self::document::{DocumentError, MAX_BYTES};
pub use self::entry::Entry;
pub(crate) use self::parser_error::{json_error, parser_error};
pub(crate) use self::paths::hooks_file;
pub(crate) use self::read::read_spec;
pub use self::read::{Configuration, Problem};
pub use self::switch::Switch;
pub(crate) use self::switch::switches;
pub use crate::agent::{Level, Surroundings};

use crate::Agent;

/// Returns the file of hooks at a level. In Copilot CLI, which reads every file of a directory, it is
/// hookbox's own file. `None` if the agent has no such level, if there is no home directory, and for
/// OpenCode, which runs no commands.
pub fn file(agent: Agent, level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    hooks_file(agent.spec(), level, surroundings)
}

/// Reads a configuration file of an agent.
///
/// # Errors
///
/// [`DocumentError`] if the file cannot be parsed.
pub fn read(agent: Agent, bytes: &[u8]) -> Result<Configuration, DocumentError> {
    read_spec(agent.spec(), bytes)
}
