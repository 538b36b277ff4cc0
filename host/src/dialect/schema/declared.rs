//! The files that declare hooks: hooks.json and mcp.json.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};

use super::Shape;
use super::parts::of;

/// The version of the format.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Head {
    /// The version of the format.
    #[schemars(extend("const" = 1))]
    version: Option<u32>,
    /// The schema of the file, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// For people.
    description: Option<String>,
}

/// What happens when a hook fails.
#[derive(JsonSchema)]
#[schemars(rename = "on_failure", rename_all = "snake_case")]
enum OnFailure {
    /// The agent goes on, with a warning.
    Pass,
    /// It is a block.
    Block,
}

/// How long a hook may take.
#[derive(JsonSchema)]
#[schemars(rename = "timeout", untagged)]
enum Timeout {
    /// Seconds, above zero.
    Seconds(#[schemars(extend("exclusiveMinimum" = 0))] f64),
    /// A time such as `500ms`, `2s` or `1m`.
    Text(String),
}

/// How a hook runs, whatever it runs.
#[derive(JsonSchema)]
struct Common {
    /// Its name; else the place in the file, such as `hooks.json#PreToolUse[0]`.
    #[schemars(length(min = 1, max = 100), extend("pattern" = "^[^/]+$"))]
    name: Option<String>,
    /// Lower runs first (default 50).
    priority: Option<i32>,
    /// How long it may take (default 3 s).
    timeout: Option<Timeout>,
    /// What happens when it fails (default `pass`).
    on_failure: Option<OnFailure>,
    /// It also runs after a block, and what it answers is not acted on.
    observe: Option<bool>,
}

/// Tools: names as agents spell them, or kinds such as `kind:shell`.
#[derive(JsonSchema)]
#[schemars(rename = "tools", untagged)]
enum Tools {
    /// Names, parted by `|`; empty or `*` is all.
    Text(String),
    /// A list of names.
    List(Vec<String>),
}

/// What is started.
#[derive(JsonSchema)]
#[schemars(rename = "command_line", untagged)]
enum CommandLine {
    /// A line for a shell.
    Shell(#[schemars(length(min = 1))] String),
    /// A program and its arguments.
    Words(#[schemars(length(min = 1, max = 256))] Vec<String>),
}

/// A command, spoken to in Base Coat's envelopes.
#[derive(JsonSchema)]
#[schemars(rename = "command", deny_unknown_fields)]
struct Command {
    /// What is started.
    command: CommandLine,
    /// For which tools it is.
    matcher: Option<Tools>,
    #[schemars(flatten)]
    common: Common,
}

/// A component.
#[derive(JsonSchema)]
#[schemars(rename = "component", deny_unknown_fields)]
struct Component {
    /// The path of a .wasm file.
    component: String,
    /// For which tools it is.
    matcher: Option<Tools>,
    #[schemars(flatten)]
    common: Common,
}

/// A tool of an MCP server.
#[derive(JsonSchema)]
#[schemars(rename = "tool", deny_unknown_fields)]
struct Tool {
    /// `SERVER.TOOL`, of a server of this root's mcp.json.
    #[schemars(extend("pattern" = "^[^.]+\\..+$"))]
    tool: String,
    /// For which tools it is.
    matcher: Option<Tools>,
    #[schemars(flatten)]
    common: Common,
}

/// A command of a group.
#[derive(JsonSchema)]
#[schemars(rename = "claude_command", deny_unknown_fields)]
struct ClaudeCommand {
    /// The only type that is run.
    #[schemars(extend("const" = "command"))]
    r#type: Option<String>,
    /// What is started.
    command: CommandLine,
    /// Without effect.
    #[schemars(rename = "statusMessage")]
    status_message: Option<String>,
    #[schemars(flatten)]
    common: Common,
}

/// Commands in Claude Code's shape, spoken to in Claude Code's dialect.
#[derive(JsonSchema)]
#[schemars(rename = "claude_group", deny_unknown_fields)]
struct ClaudeGroup {
    /// For which tools: a list of exact names parted by `|`, or a regular expression; empty or `*` is all.
    matcher: Option<String>,
    /// The commands.
    hooks: Vec<ClaudeCommand>,
    /// The priority of those that say none (default 50).
    priority: Option<i32>,
    /// What happens when one of those fails that say nothing of it (default `pass`).
    on_failure: Option<OnFailure>,
    /// They also run after a block, and what they answer is not acted on.
    observe: Option<bool>,
}

/// What runs at an event.
#[derive(JsonSchema)]
#[schemars(rename = "entry", untagged)]
enum Entry {
    /// A command.
    Command(Command),
    /// A component.
    Component(Component),
    /// A tool of an MCP server.
    Tool(Tool),
    /// Commands in Claude Code's shape.
    Group(ClaudeGroup),
}

/// A hooks.json.
#[derive(JsonSchema)]
#[schemars(rename = "hooks", deny_unknown_fields)]
struct Hooks {
    #[schemars(flatten)]
    head: Head,
    /// What runs at each event, by its name in either spelling, or by Claude Code's for groups.
    hooks: BTreeMap<String, Vec<Entry>>,
}

/// A process that is spoken to over standard input and output.
#[derive(JsonSchema)]
#[schemars(rename = "stdio_server", deny_unknown_fields)]
struct StdioServer {
    /// How it is reached.
    #[schemars(extend("const" = "stdio"))]
    r#type: Option<String>,
    /// The program.
    command: String,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Its variables, beside those of this process.
    env: Option<BTreeMap<String, String>>,
}

/// A server behind streamable HTTP.
#[derive(JsonSchema)]
#[schemars(rename = "http_server", deny_unknown_fields)]
struct HttpServer {
    /// How it is reached.
    #[schemars(extend("enum" = ["http", "streamable-http"]))]
    r#type: Option<String>,
    /// Its address.
    url: String,
    /// Headers of each request.
    headers: Option<BTreeMap<String, String>>,
}

/// An MCP server.
#[derive(JsonSchema)]
#[schemars(rename = "server", untagged)]
enum Server {
    /// A process.
    Stdio(StdioServer),
    /// An address.
    Http(HttpServer),
}

/// An mcp.json.
#[derive(JsonSchema)]
#[schemars(rename = "mcp", deny_unknown_fields)]
struct Mcp {
    #[schemars(flatten)]
    head: Head,
    /// The servers, by name.
    #[schemars(rename = "mcpServers")]
    mcp_servers: Option<BTreeMap<String, Server>>,
    /// The tools that each event is sent to, by its name in either spelling.
    hooks: Option<BTreeMap<String, Vec<Tool>>>,
}

pub(super) fn hooks(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Hooks>(generator))
}

pub(super) fn mcp(generator: &mut SchemaGenerator) -> Shape {
    Shape::Whole(of::<Mcp>(generator))
}
