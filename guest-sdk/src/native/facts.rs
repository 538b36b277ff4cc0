//! The facts of a tool call, worked out without the host: the same words, from a smaller table.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::{ResolvedPath, ToolCall, ToolKind};

/// Tools by the names that agents give them, in lower case.
const KINDS: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Shell,
        &[
            "bash",
            "shell",
            "sh",
            "powershell",
            "run_shell_command",
            "execute_command",
            "exec_command",
            "local_shell",
        ],
    ),
    (
        ToolKind::Read,
        &["read", "read_file", "file_read", "view", "view_image", "read_many_files", "notebookread"],
    ),
    (ToolKind::Write, &["write", "write_file", "file_write", "create"]),
    (
        ToolKind::Edit,
        &[
            "edit",
            "file_edit",
            "multiedit",
            "replace",
            "str_replace",
            "apply_patch",
            "notebookedit",
            "edit_file",
        ],
    ),
    (
        ToolKind::Search,
        &[
            "grep",
            "grep_tool",
            "glob",
            "glob_tool",
            "ls",
            "list_directory",
            "search_file_content",
            "grep_search",
        ],
    ),
    (ToolKind::Fetch, &["webfetch", "web_fetch", "fetch", "websearch", "web_search", "google_web_search"]),
    (ToolKind::Agent, &["task", "agent", "subagent", "spawn_agent"]),
];

/// The fields in which tools name a file or a directory.
const PATH_FIELDS: [&str; 6] =
    ["file_path", "path", "filename", "absolute_path", "notebook_path", "dir_path"];

/// A call of this tool with its facts, by an agent that works in `cwd`.
pub(crate) fn tool_call(name: String, input: Value, cwd: &str) -> ToolCall {
    let kind = kind(&name);
    let command = if kind == ToolKind::Shell { command(&input) } else { None };
    let files = matches!(kind, ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search);
    let paths = if files { paths(&input, Path::new(cwd)) } else { Vec::new() };
    ToolCall { id: None, name, kind, command, paths, input: input.into() }
}

fn kind(name: &str) -> ToolKind {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("mcp__") || lower.starts_with("mcp_") {
        return ToolKind::Mcp;
    }
    let known = KINDS.iter().find(|(_, names)| names.contains(&lower.as_str()));
    known.map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// The shell line; an array of words becomes one.
fn command(input: &Value) -> Option<String> {
    let field = ["command", "cmd", "script"].iter().find_map(|name| input.get(name));
    match field? {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            // `["bash", "-lc", LINE]` is how some agents write a line.
            if let [shell, flag, line] = words.as_slice()
                && shell.ends_with("sh")
                && flag.starts_with('-')
                && flag.ends_with('c')
            {
                return Some((*line).to_owned());
            }
            Some(words.join(" "))
        }
        _ => None,
    }
}

fn paths(input: &Value, cwd: &Path) -> Vec<ResolvedPath> {
    let here = resolve(cwd);
    let named = PATH_FIELDS.iter().filter_map(|name| input.get(name)).filter_map(Value::as_str);
    let resolved = named.filter(|path| !path.is_empty()).map(|path| resolve(&cwd.join(path)));
    resolved
        .map(|path| ResolvedPath {
            inside: path.starts_with(&here),
            path: path.to_string_lossy().into_owned(),
        })
        .collect()
}

/// The path without `.` and `..`, with symlinks followed as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return lexical(&real.join(rest));
        }
    }
    lexical(path)
}

fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shell_line_is_found_whatever_it_is_called() {
        for (name, input, line) in [
            ("bash", json!({"command": "ls -la"}), Some("ls -la")),
            ("Bash", json!({"command": "ls"}), Some("ls")),
            ("exec_command", json!({"cmd": "ls"}), Some("ls")),
            ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), Some("ls | wc")),
            ("shell", json!({"command": ["ls", "-la"]}), Some("ls -la")),
            ("bash", json!("{not JSON"), None),
            ("read_file", json!({"command": "ls"}), None),
        ] {
            assert_eq!(tool_call(name.to_owned(), input, "/").command.as_deref(), line, "{name}");
        }
    }

    #[test]
    fn the_kind_goes_by_the_name() {
        for (name, expected) in [
            ("Write", ToolKind::Write),
            ("apply_patch", ToolKind::Edit),
            ("mcp__github__create_issue", ToolKind::Mcp),
            ("WebFetch", ToolKind::Fetch),
            ("Task", ToolKind::Agent),
            ("", ToolKind::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn a_path_is_absolute_and_knows_whether_it_is_inside() {
        for (path, expected, inside) in [
            ("a.txt", "/no/such/work/a.txt", true),
            ("./x/../a.txt", "/no/such/work/a.txt", true),
            ("../a.txt", "/no/such/a.txt", false),
            ("/etc/../no/such/workshop", "/no/such/workshop", false),
        ] {
            let call = tool_call("write".to_owned(), json!({"file_path": path}), "/no/such/work");
            assert_eq!(call.paths, [ResolvedPath { path: expected.to_owned(), inside }]);
        }
    }
}
