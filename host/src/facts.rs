//! Facts about a tool call, worked out once, so that a guard works with every agent and need not parse.
//!
//! Agents name the same tool differently: `Bash`, `bash`, `shell`, `run_shell_command`. The crate `hookbox-calls` has the
//! kind of each name, and reads its input. Here the file system and the work tree come in.

mod checkout;
mod command_files;
mod paths;

use std::path::Path;

use hookbox_calls::{command_of, decoded, kind_of_call};

pub use self::checkout::Checkout;
pub(crate) use self::checkout::main_tree;
pub use self::command_files::CommandFiles;
pub(crate) use self::command_files::shell_line;
pub(crate) use self::paths::expand;

use crate::event::{Document, Facts, ToolKind};

/// Returns the facts of a call of `name` with `input`, by an agent that works in `cwd` for a user with this
/// `home`.
///
/// * `command`: for a shell tool, the line ([`command_of`](hookbox_calls::command_of)).
/// * `paths`: for tools that read, write, edit or search files, what their path fields and the file lines of
///   an `apply_patch` name. Relative paths start at `cwd`, `~` is `home`, and symlinks are followed the way
///   the kernel does it, before `..` is taken away; what does not exist is appended as it stands. At most 256
///   paths. A path that cannot be followed to its end within the bounds is never `inside`.
///
/// It reads the file system (`lstat`, `readlink`), so the facts can be outdated a moment later.
pub fn of(name: &str, input: &Document, cwd: &Path, home: Option<&Path>) -> Facts {
    let input = decoded(input.value());
    let kind = kind_of_call(name, &input);
    let mut facts = Facts { kind, ..Facts::default() };
    match kind {
        ToolKind::Shell => facts.command = command_of(name, &input),
        ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search => {
            facts.paths = paths::of(name, &input, cwd, home);
        }
        ToolKind::Fetch | ToolKind::Mcp | ToolKind::Agent | ToolKind::Other => {}
    }
    facts
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
