//! The facts of a tool call, worked out without the host.

use std::path::{Component, Path, PathBuf};

use hookbox_calls::{ToolKind, command_of, kind_of, named};
use serde_json::Value;

use crate::{ResolvedPath, ToolCall};

/// A call of this tool with its facts, by an agent that works in `cwd`.
pub(crate) fn tool_call(name: String, input: Value, cwd: &str) -> ToolCall {
    let kind = kind_of(&name);
    let command = if kind == ToolKind::Shell { command_of(&name, &input) } else { None };
    let paths = if kind.is_of_files() { paths(&name, &input, Path::new(cwd)) } else { Vec::new() };
    ToolCall { id: None, name, kind, command, paths, input: input.into() }
}

fn paths(name: &str, input: &Value, cwd: &Path) -> Vec<ResolvedPath> {
    let here = resolve(cwd);
    let resolved = named(name, input).into_iter().map(|path| resolve(&cwd.join(path)));
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
