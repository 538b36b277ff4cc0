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
