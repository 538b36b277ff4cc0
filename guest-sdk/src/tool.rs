//! Tool calls and their results.

pub use hookbox_calls::{CallFacts, File, FileUse, ToolKind};

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
        crate::native::facts::tool_call(name.into(), input, "/")
    }

    /// Returns the directory in which a shell tool runs its line, if the input names one: absolute, or from the agent's.
    pub fn directory(&self) -> Option<String> {
        // Most inputs of a shell tool have nothing but the line.
        let input = Some(&self.input).filter(|_| self.kind == ToolKind::Shell)?.parse::<Value>().ok()?;
        let (kind, command) = (self.kind, self.command.as_deref());
        let call = hookbox_calls::Call { name: &self.name, kind, command, input: &input };
        hookbox_calls::directory(&call).map(str::to_owned)
    }
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
            let input = call.input.parse().unwrap_or_default();
            let paths: Vec<&str> = call.paths.iter().map(|it| it.path.as_str()).collect();
            let (kind, command) = (call.kind, call.command.as_deref());
            let call = hookbox_calls::Call { name: &call.name, kind, command, input: &input };
            hookbox_calls::facts(&call, &paths, &self.cwd)
        }
    }

    /// Returns the command lines that a guard has to judge, because the call of this event may run them.
    pub fn lines_of(&self, call: &ToolCall) -> Vec<String> {
        match (&call.command, call.kind) {
            (Some(line), _) => vec![line.clone()],
            (None, ToolKind::Shell | ToolKind::Other | ToolKind::Mcp) => self.facts_of(call).lines,
            (None, _) => Vec::new(),
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
            (ToolKind::Mcp, json!({"args": "{\"cmd\": [\"rm\", \"a b\"]}"}), vec!["rm 'a b'"]),
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
}
