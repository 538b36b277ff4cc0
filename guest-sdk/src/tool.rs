//! Tool calls and their results.

use std::path::{Component, Path, PathBuf};

pub use hookbox_calls::{CallFacts, File, FileUse, ToolKind};
use hookbox_calls::{as_shell, command_of, decoded, kind_of_call, named};

use crate::{Context, Document, Value};

/// A path that a file tool names, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, without `.` and `..`, with symlinks followed as far as they exist.
    pub path: String,
    /// True if it is in the working directory.
    pub inside: bool,
}

/// A tool call. `kind`, `command` and `paths` are facts that hookbox derives, so that a guard need not handle
/// every agent's spelling. `name` and `input` come from the agent, unchanged.
#[derive(Debug, Default)]
pub struct ToolCall {
    /// The call's id, when the agent gave one.
    pub id: Option<String>,
    /// The tool's name as the agent spells it; empty when it was not given.
    pub name: String,
    /// The kind of the tool.
    pub kind: ToolKind,
    /// The shell line of a shell tool.
    pub command: Option<String>,
    /// The paths of a file tool; empty for a shell line.
    pub paths: Vec<ResolvedPath>,
    /// The input. Input that is not JSON is a JSON string.
    pub input: Document,
}

impl ToolCall {
    /// Makes a call of this tool with this input, for tests. The facts are derived as in
    /// [`native`](crate::native), with `/` as the working directory.
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self::derived(name.into(), input, "/")
    }

    /// Makes a call with the facts that the host would derive, by an agent that works in `cwd`.
    pub(crate) fn derived(name: String, input: Value, cwd: &str) -> Self {
        let read = decoded(&input);
        let kind = kind_of_call(&name, &read);
        let command = if kind == ToolKind::Shell { command_of(&name, &read) } else { None };
        let paths = if kind.is_of_files() { paths(&name, &read, Path::new(cwd)) } else { Vec::new() };
        Self { id: None, name, kind, command, paths, input: input.into() }
    }

    /// Returns the directory in which a shell tool runs its line, if the input names one: absolute, or from the agent's.
    pub fn directory(&self) -> Option<String> {
        // Most inputs of a shell tool have nothing but the line.
        let input = Some(&self.input).filter(|_| self.kind == ToolKind::Shell)?.parse::<Value>().ok()?;
        let input = decoded(&input);
        let (kind, command) = (self.kind, self.command.as_deref());
        let call = hookbox_calls::Call { name: &self.name, kind, command, input: &input };
        hookbox_calls::directory(&call).map(str::to_owned)
    }
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

impl Context {
    /// Returns the lines that the call of this event may run, and the files that it uses, whatever its tool is.
    ///
    /// A line is the [`command`](ToolCall::command) of a shell tool. An unknown tool, or one of an MCP server, may be a shell
    /// by another name, run code, or remove and show files: its lines have the same effect.
    ///
    /// In a component the host reads the call.
    pub fn facts_of(&self, call: &ToolCall) -> CallFacts {
        #[cfg(target_arch = "wasm32")]
        {
            let _ = call;
            crate::component::facts::read_call()
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let input: Value = call.input.parse().unwrap_or_default();
            let input = decoded(&input);
            let paths: Vec<&str> = call.paths.iter().map(|it| it.path.as_str()).collect();
            let (kind, command) = (call.kind, call.command.as_deref());
            let call = hookbox_calls::Call { name: &call.name, kind, command, input: &input };
            hookbox_calls::facts(&call, &paths, &self.cwd)
        }
    }

    /// Returns the command lines that a guard has to judge, because the call of this event may run them.
    pub fn lines_of(&self, call: &ToolCall) -> Vec<String> {
        match (&call.command, call.kind) {
            // A text that should be an object has a line that cannot be read beside it.
            (Some(line), _) if !line.trim_start().starts_with('{') => vec![as_shell(&call.name, line)],
            (_, ToolKind::Shell | ToolKind::Other | ToolKind::Mcp) => self.facts_of(call).lines,
            _ => Vec::new(),
        }
    }
}

/// A tool call that is over. This includes a call that a hook blocked, with `success` false and the reason as
/// `error`.
#[derive(Debug, Default)]
pub struct ToolResult {
    /// The call, with the input that the tool really got.
    pub call: ToolCall,
    /// The output of the tool.
    pub output: Document,
    /// True if the tool succeeded.
    pub success: Option<bool>,
    /// The error.
    pub error: Option<String>,
    /// The duration, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The exit status of a command.
    pub exit_status: Option<i32>,
    /// The cost, in tokens.
    pub cost_tokens: Option<u64>,
}

impl ToolResult {
    /// Makes the result of a call with this output, for tests.
    pub fn new(call: ToolCall, output: Value) -> Self {
        Self { call, output: output.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_the_lines_that_it_may_run() {
        let cx = Context::default();
        for (kind, input, lines) in [
            (ToolKind::Shell, json!({"argv": ["rm", {"of": "x"}], "n": 1}), vec!["rm", "x", "rm x"]),
            (ToolKind::Shell, json!("ls"), vec!["ls", "ls"]),
            (ToolKind::Mcp, json!({"cmd": "ls", "text": "rm"}), vec!["ls"]),
            (ToolKind::Other, json!({"command": ["ls"], "script": "make"}), vec!["ls", "make", "ls\nmake"]),
            (ToolKind::Mcp, json!({"args": "{\"cmd\": [\"rm\", \"a\"]}"}), vec!["rm a"]),
            (ToolKind::Write, json!({"command": "ls"}), vec![]),
        ] {
            let call = ToolCall { kind, input: input.clone().into(), ..ToolCall::default() };
            assert_eq!(cx.lines_of(&call), lines, "{kind:?} {input}");
            let call = ToolCall { command: Some("pwd".to_owned()), ..call };
            assert_eq!(cx.lines_of(&call), ["pwd"]);
        }
    }

    #[test]
    fn a_shell_tool_may_name_its_directory() {
        for (kind, input, directory) in [
            (ToolKind::Shell, json!({"cmd": "ls", "workdir": "/srv"}), Some("/srv")),
            (ToolKind::Shell, json!({"command": "ls", "cwd": ""}), None),
            (ToolKind::Shell, json!({"command": "ls"}), None),
            (ToolKind::Read, json!({"cwd": "/srv"}), None),
        ] {
            let call = ToolCall { kind, input: input.into(), ..ToolCall::default() };
            assert_eq!(call.directory().as_deref(), directory);
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
            let call = ToolCall::derived("write".to_owned(), json!({"file_path": path}), "/no/such/work");
            assert_eq!(call.paths, [ResolvedPath { path: expected.to_owned(), inside }]);
        }
    }
}
