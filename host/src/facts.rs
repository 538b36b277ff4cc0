//! Facts about a tool call, worked out once, so that a guard works with every agent and need not parse.
//!
//! Agents name the same tool differently: `Bash`, `bash`, `shell`, `run_shell_command`. The table in
//! `facts/tools.rs` has the kind of each name, and Claude Code's name for it. Names are compared without
//! case, `_`, `-` and `.`, so that `WebFetch`, `webfetch` and `web_fetch` are one entry. Hooks get the raw
//! input as well.

mod checkout;
mod command;
mod command_files;
mod paths;
mod tools;

use std::path::Path;

use serde_json::Value;

pub use self::checkout::Checkout;
pub(crate) use self::checkout::main_tree;
pub use self::command_files::CommandFiles;
pub(crate) use self::command_files::shell_line;
pub(crate) use self::paths::{MAX_PATHS, expand};
pub(crate) use self::tools::claude_name;
pub use self::tools::claude_names;
pub use self::tools::kind_of;
pub(crate) use crate::event::tools_on;
pub use crate::event::{is_same_mcp_tool, mcp_names};

use crate::event::{Document, Facts, ToolKind};

/// Returns the facts of a call of `name` with `input`, by an agent that works in `cwd` for a user with this
/// `home`.
///
/// * `command`: for a shell tool, the line, whatever the field is called. An array of words is joined, quoted
///   if needed; of `["bash", "-lc", "ls"]` the script is the line. Of several fields or lines it has all, one a
///   line, because nobody knows which of them the tool obeys. A line that could take a part of the next one,
///   such as one with a quote, is written as `eval 'LINE'`.
/// * `paths`: for tools that read, write, edit or search files, what their path fields and the file lines of
///   an `apply_patch` name. Relative paths start at `cwd`, `~` is `home`, and symlinks are followed the way
///   the kernel does it, before `..` is taken away; what does not exist is appended as it stands. At most 256
///   paths. A path that cannot be followed to its end within the bounds is never `inside`.
///
/// It reads the file system (`lstat`, `readlink`), so the facts can be outdated a moment later.
pub fn of(name: &str, input: &Document, cwd: &Path, home: Option<&Path>) -> Facts {
    let kind = kind_of(name);
    let mut facts = Facts { kind, ..Facts::default() };
    match kind {
        ToolKind::Shell => facts.command = command::line(&plain(name), input.value()),
        ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search => {
            facts.paths = paths::of(&plain(name), input.value(), cwd, home);
        }
        ToolKind::Fetch | ToolKind::Mcp | ToolKind::Agent | ToolKind::Other => {}
    }
    facts
}

/// Returns the paths in the input of a file tool, as written. Reads no files.
pub(crate) fn named<'a>(name: &str, input: &'a Value) -> Vec<&'a str> {
    paths::named(&plain(name), input)
}

/// Returns the line that a shell tool would run, by the rules of [`of`].
pub(crate) fn command_of(name: &str, input: &Value) -> Option<String> {
    command::line(&plain(name), input)
}

/// Returns true if a field of a shell tool's input holds its line, or a part of it.
pub(crate) fn is_command(tool: &str, field: &str) -> bool {
    command::is_line(&plain(tool), &plain(field))
}

/// Returns true if a field of a shell tool's input has a list of lines.
pub(crate) fn is_list_of_commands(tool: &str, field: &str) -> bool {
    command::is_list(&plain(tool), &plain(field))
}

/// Returns true if a field names the one file that a file tool is about.
pub(crate) fn is_file(field: &str) -> bool {
    paths::is_file(&plain(field))
}

/// Returns the name of a tool or a field in the form of the tables. No name in them is longer than 64
/// letters.
pub(crate) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | '.')).take(65);
    let mut plain = String::with_capacity(name.len().min(65));
    plain.extend(letters.map(|c| c.to_ascii_lowercase()));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_inside_a_shell_line_stays_a_shell_line() {
        let line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\nEOF\n";
        let facts = of("Bash", &json!({"command": line}).into(), Path::new("/"), None);
        let command = Some(line.to_owned());
        assert_eq!(facts, Facts { kind: ToolKind::Shell, command, ..Facts::default() });
    }

    #[test]
    fn odd_input_has_fewer_facts_and_no_panic() {
        for input in [json!(null), json!(5), json!([]), json!({"command": {"a": null}, "path": {"path": 5}})]
        {
            for name in ["Bash", "Read", "apply_patch", "mcp__a__b", "\0"] {
                let facts = of(name, &input.clone().into(), Path::new(""), None);
                assert_eq!((facts.command, facts.paths), (None, vec![]), "{name} {input}");
            }
        }
    }
}
