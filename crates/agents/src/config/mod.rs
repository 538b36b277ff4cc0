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

mod document;
pub(crate) mod entry;
mod paths;
mod read;

pub use self::document::DocumentError;
pub(crate) use self::document::{
    ConfigText, HookTable, hook_tables, hooks_json, json_error, json_value, only, parser_error,
    table as toml_table, text_of as toml_text, without_comments,
};
pub use self::entry::Entry;
pub use self::paths::file;
pub use self::read::{Configuration, Problem, Switch, read};
pub(crate) use self::read::{
    hooks_of as toml_settings_hooks, is_on as has_toml_hooks, read_toml, switches, toml_settings,
    toml_switches,
};
pub use crate::agent::{Level, Surroundings};
pub use crate::finding::MAX_BYTES;
