//! Reads tool calls of coding agents: the kind of a tool, whatever its name in an agent, the lines that a call may run, and
//! the files that it uses.
//!
//! Nothing runs, and no file is read. The host of hookbox and its SDK read a call with this crate, so that a hook sees the
//! same in both.
//!
//! ```
//! use hookbox_calls::{Call, FileUse, kind_of, lines};
//! use serde_json::json;
//!
//! let input = json!({"source": "a.txt", "destination": "/srv/b.txt"});
//! let name = "mcp__files__move_file";
//! let call = Call { name, kind: kind_of(name), command: None, input: &input };
//! assert_eq!(lines(&call), ["mv a.txt /srv/b.txt"]);
//!
//! let facts = hookbox_calls::facts(&call, &[], "/work");
//! assert_eq!((facts.files[0].path.as_str(), facts.files[0].usage), ("/work/a.txt", FileUse::Moves));
//! ```

mod files;
mod kinds;
mod line;
mod lines;
mod mcp_tool;
mod paths;
mod texts;

use serde_json::Value;

pub use files::{CallFacts, File, facts};
pub use hookbox_shell::FileUse;
pub use kinds::{ToolKind, claude_name, claude_names, kind_of, kind_of_call, plain};
pub use line::{as_shell, command_of, is_command, is_list_of_commands};
pub use lines::{RUNS, is_destination, lines, name_words};
pub use mcp_tool::{is_same_mcp_tool, mcp_names, tools_on};
pub use paths::{MAX_PATHS, is_file, named, patterns};
pub use texts::{decoded, directories, directory, texts};

/// A tool call, as an agent makes it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The agent's name for the tool.
    pub name: &'a str,
    /// The kind of the tool.
    pub kind: ToolKind,
    /// The shell line of a shell tool, if it is known ([`command_of`]).
    pub command: Option<&'a str>,
    /// The input.
    pub input: &'a Value,
}
