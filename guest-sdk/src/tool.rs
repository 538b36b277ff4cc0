//! Tool calls and their results.

use crate::{Document, Value};

/// The kind of a tool, independent of the agent's name for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolKind {
    /// Runs a command line.
    Shell,
    /// Reads files.
    Read,
    /// Creates or replaces files.
    Write,
    /// Changes files in place.
    Edit,
    /// Searches or lists files.
    Search,
    /// Fetches from the network.
    Fetch,
    /// A tool of an MCP server.
    Mcp,
    /// Starts another agent.
    Agent,
    /// Anything else.
    #[default]
    Other,
}

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
        // By its spellings, because the input may be a megabyte that stays with hookbox.
        let spellings = [
            "/workdir",
            "/cwd",
            "/working_directory",
            "/workingDirectory",
            "/directory",
            "/dir_path",
            "/dir",
        ];
        let text = |field: &str| self.input.get::<String>(field).ok().flatten();
        let named = spellings.into_iter().filter(|_| self.kind == ToolKind::Shell).find_map(text);
        named.filter(|it| !it.is_empty())
    }

    /// Returns the command lines that a guard has to judge, because this call may run them.
    ///
    /// Without a [`command`](Self::command), a shell tool has its input in an unknown shape: each text of it is a
    /// line, and all texts together are one, so that odd input skips no guard. An unknown tool, or one of an MCP
    /// server, may be a shell by another name, run code, or remove and show files: its lines have the same effect.
    pub fn command_lines(&self) -> Vec<String> {
        match (&self.command, self.kind) {
            (Some(line), _) => vec![line.clone()],
            (None, ToolKind::Shell) => texts(&self.input),
            (None, ToolKind::Other | ToolKind::Mcp) => {
                let mut texts = Vec::new();
                named_texts("", &self.input.parse().unwrap_or_default(), &mut texts);
                hookbox_shell::lines_of_call(&self.name, &texts)
            }
            (None, _) => Vec::new(),
        }
    }
}

/// Adds every text in a value, with the plain name of its field. A text that is JSON is read as well.
fn named_texts(field: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            if text.trim_start().starts_with(['{', '['])
                && let Ok(inner) = serde_json::from_str::<Value>(text)
            {
                named_texts(field, &inner, found);
            }
            found.push((field.to_owned(), text.clone()));
        }
        Value::Array(values) => values.iter().for_each(|it| named_texts(field, it, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let plain: String = name.chars().filter(|it| !matches!(it, '_' | '-' | '.')).collect();
                named_texts(&plain.to_ascii_lowercase(), value, found);
            }
        }
        _ => {}
    }
}

/// Returns every text in an input, and all of them as the words of one line.
fn texts(input: &Document) -> Vec<String> {
    let Ok(value) = input.parse::<Value>() else { return vec![input.text()] };
    let (mut found, mut waiting) = (Vec::new(), vec![&value]);
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            // The last one is the next.
            Value::Array(values) => waiting.extend(values.iter().rev()),
            Value::Object(fields) => waiting.extend(fields.values().rev()),
            _ => {}
        }
    }
    found.push(found.join(" "));
    found
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
        for (kind, input, lines) in [
            (ToolKind::Shell, json!({"argv": ["rm", {"of": "x"}], "n": 1}), vec!["rm", "x", "rm x"]),
            (ToolKind::Shell, json!("ls"), vec!["ls", "ls"]),
            (ToolKind::Mcp, json!({"cmd": "ls", "text": "rm"}), vec!["ls"]),
            (ToolKind::Other, json!({"command": ["ls"], "script": "make"}), vec!["ls", "make"]),
            (ToolKind::Mcp, json!({"args": "{\"cmd\": [\"rm\", \"a b\"]}"}), vec!["rm 'a b'"]),
            (ToolKind::Write, json!({"command": "ls"}), vec![]),
        ] {
            let call = ToolCall { kind, input: input.clone().into(), ..ToolCall::default() };
            assert_eq!(call.command_lines(), lines, "{kind:?} {input}");
            let call = ToolCall { command: Some("pwd".to_owned()), ..call };
            assert_eq!(call.command_lines(), ["pwd"]);
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
