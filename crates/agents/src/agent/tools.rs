//! The agents' names of tools and of their fields, in relation to each other. Claude Code's names are in the
//! middle: a call is first told in them, and then in those of the agent whose hook it is.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::event::is_pascal;
use crate::dialect::claude;
use crate::event::{Event, ToolCall};
use crate::spec::{ClaudeNames, Spec, ToolNames};

/// Claude Code's names of the tools that several agents have. [`hookbox_calls::claude_names`] finds those of another
/// agent's tool.
pub const TOOLS: [&str; 11] =
    ["Bash", "Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "Agent"];

impl ToolNames {
    /// Returns the agent's name of Claude Code's tool.
    pub(crate) fn of(&self, claude: &str) -> Option<&'static str> {
        self.pairs().find(|(it, _)| *it == claude).map(|(_, own)| own)
    }

    /// Returns the agent's own names.
    pub(crate) fn own(&self) -> impl Iterator<Item = &'static str> {
        self.pairs().map(|(_, own)| own)
    }

    fn has(&self, name: &str) -> bool {
        self.own().any(|own| own == name)
    }

    fn pairs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.names.split_ascii_whitespace().map(|it| it.split_once('=').unwrap_or((it, it)))
    }
}

/// Returns the name of an MCP tool by a template; `None` if the template needs a server that is not known.
fn mcp_name(template: &str, server: Option<&str>, tool: &str) -> Option<String> {
    let named = match server {
        Some(server) => template.replace("SERVER", server),
        None => template.to_owned(),
    };
    (!named.contains("SERVER") || server.is_some()).then(|| named.replace("TOOL", tool))
}

/// Returns the name by which a hook at the agent's event `event` expects the tool `name`: the agent's name if
/// it has such a tool, otherwise `name`.
pub(crate) fn tool_name<'n>(spec: &Spec, event: &str, name: &'n str) -> Cow<'n, str> {
    match spec.tools.claude_names {
        ClaudeNames::Always => return claude::tool_name(name),
        ClaudeNames::AtPascalEvents if is_pascal(event) => return claude::tool_name(name),
        _ if spec.tools.has(name) => return Cow::Borrowed(name),
        _ => {}
    }
    if let Some((server, tool)) = hookbox_calls::mcp_names(name).next() {
        let own = spec.tools.mcp_name.and_then(|template| mcp_name(template, server, tool));
        return own.filter(|own| own != name).map_or(Cow::Borrowed(name), Cow::Owned);
    }
    spec.tools.of(&claude::tool_name(name)).map_or(Cow::Borrowed(name), Cow::Borrowed)
}

/// Returns every name by which a matcher at the agent's event `event` may mean the tool `name`.
pub(crate) fn names_of(spec: &Spec, event: &str, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned(), tool_name(spec, event, name).into_owned()];
    let knows_claudes = match spec.tools.claude_names {
        ClaudeNames::Never => false,
        ClaudeNames::AtPascalEvents => is_pascal(event),
        ClaudeNames::InMatchers | ClaudeNames::Always => true,
    };
    for claude in hookbox_calls::claude_names(name) {
        names.extend(knows_claudes.then(|| claude.to_owned()));
        names.extend(spec.tools.of(claude).map(str::to_owned));
    }
    for (server, tool) in hookbox_calls::mcp_names(name) {
        names.extend(spec.tools.mcp_aliases.iter().filter_map(|template| mcp_name(template, server, tool)));
    }
    names.sort();
    names.dedup();
    names
}

/// Returns true if the call is in the words of the hook's agent already.
fn is_own(spec: &Spec, event: &Event, call: &ToolCall) -> bool {
    event.context.agent.as_deref() == Some(spec.name) || spec.tools.has(&call.name)
}

/// Returns the tool's name and input as a hook at the agent's event `name` expects them.
pub(crate) fn call(spec: &Spec, name: &str, event: &Event, call: &ToolCall) -> (String, Value) {
    if is_own(spec, event, call) {
        let input = call.input.value().clone();
        // Copilot CLI writes its own names in both styles.
        return match spec.tools.claude_names {
            ClaudeNames::AtPascalEvents => (tool_name(spec, name, &call.name).into_owned(), input),
            _ => (call.name.clone(), input),
        };
    }
    let (claude, input) = claude::call(call, &event.context.cwd);
    (tool_name(spec, name, &call.name).into_owned(), renamed(spec, &claude, input, |it| (it.1, it.2)))
}

/// Returns the input that a hook of this agent changed, as the tool that was called takes it.
pub(crate) fn restore(spec: &Spec, event: &Event, call: &ToolCall, updated: Value) -> Value {
    if is_own(spec, event, call) {
        return updated;
    }
    let claude = claude::tool_name(&call.name).into_owned();
    let updated = renamed(spec, &claude, updated, |it| (it.2, it.1));
    claude::restore(call, &event.context.cwd, updated)
}

/// Returns the input of which the hook saw a form, with these fields put over it.
pub(crate) fn merged(spec: &Spec, name: &str, event: &Event, call: &ToolCall, updated: Value) -> Value {
    let (_, shown) = self::call(spec, name, event, call);
    match (shown, updated) {
        (Value::Object(mut shown), Value::Object(updated)) => {
            shown.extend(updated);
            Value::Object(shown)
        }
        (_, updated) => updated,
    }
}

type Field = (&'static str, &'static str, &'static str);

/// Renames the fields of a tool's input from one agent's names to another's.
fn renamed(
    spec: &Spec,
    claude: &str,
    input: Value,
    direction: fn(&Field) -> (&'static str, &'static str),
) -> Value {
    let Value::Object(input) = input else { return input };
    let fields: Vec<_> = spec.tools.fields.iter().filter(|it| it.0 == claude).map(direction).collect();
    let to = |field: String| {
        let own = fields.iter().find(|(from, _)| *from == field).map(|(_, to)| (*to).to_owned());
        own.filter(|own| !input.contains_key(own)).unwrap_or(field)
    };
    let renamed: Map<String, Value> =
        input.iter().map(|(key, value)| (to(key.clone()), value.clone())).collect();
    Value::Object(renamed)
}
