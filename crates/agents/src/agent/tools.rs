//! The tools of the agents in each other's words. Claude Code's words stand between them: what is known of a tool of any
//! agent is first told in them, and then in those of the agent whose hook it is.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::agent::{Agent, is_pascal};
use crate::dialect::claude;
use crate::event::{Event, ToolCall};
use crate::facts;

/// What the agents call one tool; `None` where an agent has no such tool, so that the name stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// Claude Code's name. Codex calls its shell tool so, too, and Copilot CLI the tools of its PascalCase style.
    pub claude: &'static str,
    /// Gemini CLI's name.
    pub gemini: Option<&'static str>,
    /// Qwen Code's name.
    pub qwen: Option<&'static str>,
    /// Copilot CLI's name, in its camelCase style.
    pub copilot: Option<&'static str>,
    /// Cursor's name.
    pub cursor: Option<&'static str>,
}

const fn tools(
    claude: &'static str,
    gemini: Option<&'static str>,
    qwen: Option<&'static str>,
    copilot: Option<&'static str>,
    cursor: Option<&'static str>,
) -> Tools {
    Tools { claude, gemini, qwen, copilot, cursor }
}

/// The tools that several agents have. What of another agent's names is which of them stands in the table of
/// [`facts::claude_name`].
pub const TOOLS: [Tools; 11] = [
    tools("Bash", Some("run_shell_command"), Some("run_shell_command"), Some("bash"), Some("Shell")),
    tools("Read", Some("read_file"), Some("read_file"), Some("view"), Some("Read")),
    tools("Write", Some("write_file"), Some("write_file"), Some("create"), Some("Write")),
    tools("Edit", Some("replace"), Some("edit"), Some("edit"), Some("Write")),
    tools("MultiEdit", None, None, None, Some("Write")),
    tools("Glob", Some("glob"), Some("glob"), Some("glob"), None),
    tools("Grep", Some("grep_search"), Some("grep_search"), Some("grep"), Some("Grep")),
    tools("LS", Some("list_directory"), Some("list_directory"), None, None),
    tools("WebFetch", Some("web_fetch"), Some("web_fetch"), Some("web_fetch"), None),
    tools("WebSearch", Some("google_web_search"), Some("web_search"), None, None),
    tools("Agent", None, Some("agent"), Some("task"), Some("Task")),
];

impl Tools {
    /// The name of this tool in an agent; Copilot CLI's in its camelCase style.
    pub fn of(&self, agent: Agent) -> Option<&'static str> {
        match agent {
            Agent::Claude => Some(self.claude),
            Agent::Codex => (self.claude == "Bash").then_some(self.claude),
            Agent::Gemini => self.gemini,
            Agent::Qwen => self.qwen,
            Agent::Copilot => self.copilot,
            Agent::Cursor => self.cursor,
            Agent::OpenCode => None,
        }
    }
}

/// Fields of Copilot CLI's tools, in Claude Code's words and in its own.
const COPILOT_FIELDS: [(&str, &str, &str); 6] = [
    ("Read", "file_path", "path"),
    ("Write", "file_path", "path"),
    ("Write", "content", "file_text"),
    ("Edit", "file_path", "path"),
    ("Edit", "old_string", "old_str"),
    ("Edit", "new_string", "new_str"),
];

/// What a hook of this agent at its event `event` expects the tool `name` to be called: the agent's name where it has
/// such a tool, else the name as it is.
pub fn tool_name<'n>(agent: Agent, event: &str, name: &'n str) -> Cow<'n, str> {
    let takes_claudes = match agent {
        Agent::Claude => true,
        Agent::Copilot => is_pascal(event),
        _ => false,
    };
    if takes_claudes {
        return claude::tool_name(name);
    }
    if is_name_of(agent, name) {
        return Cow::Borrowed(name);
    }
    if let Some((server, tool)) = facts::mcp_names(name).next() {
        let own = match (agent, server) {
            (Agent::Gemini, Some(server)) => Some(format!("mcp_{server}_{tool}")),
            (Agent::Codex | Agent::Qwen, Some(server)) => Some(format!("mcp__{server}__{tool}")),
            (Agent::Cursor, _) => Some(format!("MCP:{tool}")),
            _ => None,
        };
        return own.filter(|own| own != name).map_or(Cow::Borrowed(name), Cow::Owned);
    }
    let claude = claude::tool_name(name);
    let own = TOOLS.iter().find(|it| it.claude == claude).and_then(|it| it.of(agent));
    own.map_or(Cow::Borrowed(name), Cow::Borrowed)
}

/// Every name by which a hook of this agent may mean the tool `name`.
pub(crate) fn names_of(agent: Agent, event: &str, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned(), tool_name(agent, event, name).into_owned()];
    // Copilot CLI's matchers in PascalCase know its own names, too.
    let knows_claudes = matches!(agent, Agent::Claude | Agent::Codex | Agent::Copilot);
    for claude in facts::claude_names(name) {
        // Codex knows Edit and Write for its apply_patch.
        names.extend(
            (knows_claudes && (agent != Agent::Copilot || is_pascal(event))).then(|| claude.to_owned()),
        );
        let own = TOOLS.iter().find(|it| it.claude == claude).and_then(|it| it.of(agent));
        names.extend(own.map(str::to_owned));
    }
    for (server, tool) in facts::mcp_names(name) {
        names.extend(server.map(|server| match agent {
            Agent::Gemini => format!("mcp_{server}_{tool}"),
            _ => format!("mcp__{server}__{tool}"),
        }));
        names.extend((agent == Agent::Cursor).then(|| format!("MCP:{tool}")));
        // Copilot CLI.
        names.extend(server.filter(|_| agent == Agent::Copilot).map(|server| format!("{server}-{tool}")));
    }
    names.sort();
    names.dedup();
    names
}

fn is_name_of(agent: Agent, name: &str) -> bool {
    TOOLS.iter().any(|it| it.of(agent) == Some(name))
}

/// Whether the call stands in the words of the hook's agent already.
fn is_own(agent: Agent, event: &Event, call: &ToolCall) -> bool {
    event.context.agent.as_deref() == Some(agent.as_str()) || is_name_of(agent, &call.name)
}

/// The tool's name and input as a hook of this agent at its event `name` expects them.
pub(crate) fn call(agent: Agent, name: &str, event: &Event, call: &ToolCall) -> (String, Value) {
    if is_own(agent, event, call) {
        let input = call.input.value().clone();
        return match agent {
            // It tells its own names in both styles of its configuration.
            Agent::Copilot => (tool_name(agent, name, &call.name).into_owned(), input),
            _ => (call.name.clone(), input),
        };
    }
    let (claude, input) = claude::call(call, &event.context.cwd);
    (tool_name(agent, name, &call.name).into_owned(), renamed(agent, &claude, input, |it| (it.1, it.2)))
}

/// What a hook of this agent would make of the input, as the tool that was called takes it.
pub(crate) fn restore(agent: Agent, event: &Event, call: &ToolCall, updated: Value) -> Value {
    if is_own(agent, event, call) {
        return updated;
    }
    let claude = claude::tool_name(&call.name).into_owned();
    let updated = renamed(agent, &claude, updated, |it| (it.2, it.1));
    claude::restore(call, &event.context.cwd, updated)
}

/// The input that the hook was shown with these fields over it, as Gemini CLI does it.
pub(crate) fn merged(agent: Agent, name: &str, event: &Event, call: &ToolCall, updated: Value) -> Value {
    let (_, shown) = self::call(agent, name, event, call);
    match (shown, updated) {
        (Value::Object(mut shown), Value::Object(updated)) => {
            shown.extend(updated);
            Value::Object(shown)
        }
        (_, updated) => updated,
    }
}

type Field = (&'static str, &'static str, &'static str);

/// The input with the fields of one agent in the place of another's.
fn renamed(
    agent: Agent,
    claude: &str,
    input: Value,
    way: fn(&Field) -> (&'static str, &'static str),
) -> Value {
    let Value::Object(input) = input else { return input };
    let fields = COPILOT_FIELDS.iter().filter(|it| agent == Agent::Copilot && it.0 == claude).map(way);
    let fields: Vec<_> = fields.collect();
    let to = |field: String| {
        let own = fields.iter().find(|(from, _)| *from == field).map(|(_, to)| (*to).to_owned());
        own.filter(|own| !input.contains_key(own)).unwrap_or(field)
    };
    let renamed: Map<String, Value> =
        input.iter().map(|(key, value)| (to(key.clone()), value.clone())).collect();
    Value::Object(renamed)
}
