//! Reads the body of a request: the Base Coat envelope of a tool call, with the facts that hookbox adds.

use std::collections::BTreeMap;

use hookbox_calls::ToolKind;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Document;
use crate::bindings::exports::hookbox::hook::types as wit;

/// The event of a request, as the facts need it.
pub(crate) struct Seen {
    /// True after the call.
    pub(crate) is_over: bool,
    pub(crate) name: String,
    pub(crate) kind: ToolKind,
    pub(crate) command: Option<String>,
    pub(crate) input: Value,
    pub(crate) paths: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) settings: BTreeMap<String, String>,
}

/// The envelope (docs/src/events.md).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    hook: String,
    session_id: Option<String>,
    agent: Option<String>,
    repository: Option<String>,
    branch: Option<String>,
    mode: Option<String>,
    budget: Option<Budget>,
    tool: Tool,
    facts: Facts,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Budget {
    used_tokens: u64,
    effective_limit: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    #[serde(default)]
    name: String,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    success: Option<bool>,
    duration_ms: Option<u64>,
    exit_status: Option<i32>,
    cost_tokens: Option<u64>,
}

/// The facts (docs/src/http.md).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    cwd: String,
    timestamp_ms: u64,
    #[serde(default)]
    subagent: bool,
    recipe_name: Option<String>,
    call_id: Option<String>,
    error: Option<String>,
    kind: String,
    command: Option<String>,
    paths: Vec<Path>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Path {
    path: String,
    inside: bool,
}

/// Reads an event that is one of these.
pub(crate) fn read(body: &[u8], subscribed: &[String]) -> Result<(wit::Context, wit::Event, Seen), String> {
    let envelope: Envelope = serde_json::from_slice(body)
        .map_err(|error| format!("not a tool call as hookbox sends it: {error}"))?;
    let Envelope { hook, session_id, agent, repository, branch, mode, budget, tool, facts } = envelope;
    let (is_over, other_name) = match hook.as_str() {
        "PreToolUse" => (false, "before_tool_call"),
        "PostToolUse" => (true, "after_tool_call"),
        _ => return Err("not an event of a tool call".to_owned()),
    };
    if !subscribed.iter().any(|it| *it == hook || it == other_name) {
        return Err(format!("the hook does not subscribe to {other_name}"));
    }
    let kind = ToolKind::ALL.into_iter().find(|it| it.as_str() == facts.kind);
    let kind = kind.ok_or("not a kind of tool")?;
    let (input_value, input) = document(tool.input)?;
    let call = wit::ToolCall {
        id: facts.call_id,
        name: tool.name.clone(),
        kind: wit_kind(kind),
        command: facts.command.clone(),
        paths: facts
            .paths
            .iter()
            .map(|it| wit::ResolvedPath { path: it.path.clone(), inside: it.inside })
            .collect(),
        input,
    };
    let context = wit::Context {
        conversation_id: session_id.unwrap_or_default(),
        cwd: facts.cwd.clone(),
        invoked_by: if facts.subagent { wit::InvokedBy::Subagent } else { wit::InvokedBy::Main },
        recipe_name: facts.recipe_name,
        agent,
        repository,
        branch,
        mode,
        timestamp_ms: facts.timestamp_ms,
        budget: budget
            .map(|it| wit::TokenBudget { used_tokens: it.used_tokens, effective_limit: it.effective_limit }),
    };
    let seen = Seen {
        is_over,
        name: tool.name,
        kind,
        command: facts.command,
        input: input_value,
        paths: facts.paths.into_iter().map(|it| it.path).collect(),
        cwd: facts.cwd,
        settings: facts.settings,
    };
    if !is_over {
        return Ok((context, wit::Event::BeforeToolCall(call), seen));
    }
    let result = wit::ToolResult {
        call,
        output: document(tool.output)?.1,
        success: tool.success,
        error: facts.error,
        duration_ms: tool.duration_ms,
        exit_status: tool.exit_status,
        cost_tokens: tool.cost_tokens,
    };
    Ok((context, wit::Event::AfterToolCall(result), seen))
}

/// Makes the document of a value, which is null if it is not there.
fn document(raw: Option<Box<RawValue>>) -> Result<(Value, wit::Document), String> {
    let text = raw.as_deref().map_or("null", RawValue::get).to_owned();
    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok((value.clone(), wit::Document::new(Document { value, text })))
}

fn wit_kind(kind: ToolKind) -> wit::ToolKind {
    match kind {
        ToolKind::Shell => wit::ToolKind::Shell,
        ToolKind::Read => wit::ToolKind::Read,
        ToolKind::Write => wit::ToolKind::Write,
        ToolKind::Edit => wit::ToolKind::Edit,
        ToolKind::Search => wit::ToolKind::Search,
        ToolKind::Fetch => wit::ToolKind::Fetch,
        ToolKind::Mcp => wit::ToolKind::Mcp,
        ToolKind::Agent => wit::ToolKind::Agent,
        ToolKind::Other => wit::ToolKind::Other,
    }
}
