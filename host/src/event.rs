//! Events: what happens in an agent's life, with its data.
//!
//! One list serves every dialect. A value that the agent did not give is `None` (or an empty name, or a null
//! document) and stays absent in every dialect.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The name of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventName {
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user sends a message.
    UserMessageSend,
    /// A tool is about to run.
    BeforeToolCall,
    /// A tool has run, or was blocked.
    AfterToolCall,
    /// A tool, a turn or a hook failed.
    OnError,
    /// The model has answered.
    AfterTurn,
    /// A turn of the user is over.
    TurnEnd,
    /// The agent would stop.
    AgentStop,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation has been compacted.
    PostCompact,
    /// The token budget has passed a threshold.
    OnBudgetExceeded,
    /// An event that this version has no case for, such as `notification`.
    Other(String),
}

/// What an event lets a hook do. Passing and warning are always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allows {
    /// Stop it.
    pub block: bool,
    /// Let the user decide.
    pub ask: bool,
    /// Change what it is about.
    pub modify: bool,
    /// Give the model text.
    pub inject: bool,
    /// Make the agent go on.
    pub follow_up: bool,
    /// Replace the conversation.
    pub mutate: bool,
    /// Run a recipe.
    pub callback: bool,
}

impl EventName {
    /// Every event that has a name of its own, in the order of a session.
    pub const ALL: [Self; 12] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserMessageSend,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::OnError,
        Self::AfterTurn,
        Self::TurnEnd,
        Self::AgentStop,
        Self::PreCompact,
        Self::PostCompact,
        Self::OnBudgetExceeded,
    ];

    /// Events of other agents that a hook may name although hookbox itself does not send them yet.
    const RESERVED: [&'static str; 3] = ["subagent_stop", "permission_request", "notification"];

    /// The name in snake case, as kodelet writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.known_str(),
        }
    }

    /// The name of an event that is not `Other`.
    fn known_str(&self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
            Self::UserMessageSend => "user_message_send",
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::OnError => "on_error",
            Self::AfterTurn => "after_turn",
            Self::TurnEnd => "turn_end",
            Self::AgentStop => "agent_stop",
            Self::PreCompact => "pre_compact",
            Self::PostCompact => "post_compact",
            Self::OnBudgetExceeded => "on_budget_exceeded",
            Self::Other(_) => "",
        }
    }

    /// The name in the Base Coat specification, for the events that it has.
    pub fn base_coat(&self) -> Option<&'static str> {
        Some(match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::BeforeToolCall => "PreToolUse",
            Self::AfterToolCall => "PostToolUse",
            Self::OnError => "OnError",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::OnBudgetExceeded => "OnBudgetExceeded",
            _ => return None,
        })
    }

    /// What a hook may do at this event (design, section 4).
    pub fn allows(&self) -> Allows {
        let none = Allows::default();
        match self {
            Self::SessionStart | Self::PostCompact => Allows { inject: true, ..none },
            Self::SessionEnd | Self::TurnEnd | Self::Other(_) => none,
            Self::UserMessageSend => Allows { block: true, modify: true, inject: true, ..none },
            Self::BeforeToolCall => Allows { block: true, ask: true, modify: true, inject: true, ..none },
            Self::AfterToolCall => Allows { block: true, modify: true, inject: true, ..none },
            Self::OnError => Allows { modify: true, inject: true, ..none },
            Self::AfterTurn => Allows { inject: true, mutate: true, callback: true, ..none },
            Self::AgentStop => Allows { follow_up: true, mutate: true, callback: true, ..none },
            Self::PreCompact => Allows { block: true, inject: true, ..none },
            Self::OnBudgetExceeded => Allows { block: true, inject: true, callback: true, ..none },
        }
    }

    /// The known name that is nearest to `name`, for a hint.
    pub fn nearest(name: &str) -> &'static str {
        let wanted = name.to_ascii_lowercase();
        Self::ALL
            .iter()
            .flat_map(|event| [Some(event.known_str()), event.base_coat()])
            .flatten()
            .min_by_key(|known| distance(&wanted, &known.to_ascii_lowercase()))
            .unwrap_or("before_tool_call")
    }
}

/// How many letters to insert, delete or replace to get from one word to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&to) {
            let here = (diagonal + usize::from(a != *b)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no event's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown event {name:?}")]
pub struct UnknownEvent {
    /// The name that was given.
    pub name: String,
    /// The nearest name that exists.
    pub nearest: &'static str,
}

impl FromStr for EventName {
    type Err = UnknownEvent;

    /// Reads either spelling, `before_tool_call` or `PreToolUse`; letters count as they stand.
    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        if let Some(event) = Self::ALL.iter().find(|e| e.as_str() == name || e.base_coat() == Some(name)) {
            return Ok(event.clone());
        }
        if Self::RESERVED.contains(&name) {
            return Ok(Self::Other(name.to_owned()));
        }
        Err(UnknownEvent { name: name.to_owned(), nearest: Self::nearest(name) })
    }
}

impl Serialize for EventName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Who caused an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvokedBy {
    /// The agent that the user talks to.
    #[default]
    Main,
    /// An agent that another agent started.
    Subagent,
}

impl InvokedBy {
    /// `main` or `subagent`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
        }
    }
}

/// Tokens of a conversation (kodelet's `UsageInfo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent to the model so far.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that the model produced so far.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens in the context window now.
    #[serde(default)]
    pub current_context_window: u64,
    /// Tokens that the context window can hold.
    #[serde(default)]
    pub max_context_window: u64,
}

/// The part of the context window that is spent (Base Coat's `budget`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBudget {
    /// Tokens in the context window now.
    pub used_tokens: u64,
    /// Tokens at which it is full.
    pub effective_limit: u64,
}

impl From<Usage> for TokenBudget {
    fn from(usage: Usage) -> Self {
        Self { used_tokens: usage.current_context_window, effective_limit: usage.max_context_window }
    }
}

/// Where an event happened. It comes with every event.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The conversation.
    pub conversation_id: String,
    /// The agent's working directory. It is data: hooks run in the process's own directory.
    pub cwd: String,
    /// The main agent or a subagent.
    pub invoked_by: InvokedBy,
    /// The recipe that the conversation runs; an empty name counts as none.
    pub recipe_name: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The repository, such as `org/repo`.
    pub repository: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The agent's mode, such as `plan`.
    pub mode: Option<String>,
    /// When it happened, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The token budget, when the agent knows it.
    pub budget: Option<TokenBudget>,
}

impl Context {
    /// A context of the main agent in this conversation and directory, now.
    pub fn new(conversation_id: impl Into<String>, cwd: impl Into<String>) -> Self {
        Self {
            conversation_id: conversation_id.into(),
            cwd: cwd.into(),
            invoked_by: InvokedBy::Main,
            recipe_name: None,
            agent: None,
            repository: None,
            branch: None,
            mode: None,
            timestamp_ms: now_ms(),
            budget: None,
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// A JSON value that is shared, and whose text is made at most once.
#[derive(Clone)]
pub struct Document(Arc<DocumentInner>);

struct DocumentInner {
    value: Value,
    text: OnceLock<String>,
}

impl Document {
    /// A document of this value.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(DocumentInner { value, text: OnceLock::new() }))
    }

    /// A document of what stands in `text`. Text that is not JSON becomes a JSON string, so that a guard sees
    /// also what a model wrote wrongly.
    pub fn from_text(text: &str) -> Self {
        Self::new(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
    }

    /// The value that was not given.
    pub fn absent() -> Self {
        Self::new(Value::Null)
    }

    /// Whether it was not given, or is null.
    pub fn is_absent(&self) -> bool {
        self.0.value.is_null()
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// The value as JSON text.
    pub fn text(&self) -> &str {
        self.0.text.get_or_init(|| self.0.value.to_string())
    }

    /// The value at a JSON Pointer (RFC 6901).
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        self.0.value.pointer(pointer)
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

/// One message of a conversation, as `mutate` writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `user`, `assistant`, or what else the agent uses.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: "user".to_owned(), content: content.into() }
    }
}

/// What a tool does, whatever an agent calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
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

impl ToolKind {
    /// The name, such as `shell`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::Other => "other",
        }
    }
}

/// A path that a file tool names, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResolvedPath {
    /// Absolute, without `.` and `..`, symlinks followed as far as they exist.
    pub path: String,
    /// Whether it lies in the working directory.
    pub inside: bool,
}

/// What the host worked out about a tool call (see [`crate::facts`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// What the tool does.
    pub kind: ToolKind,
    /// The shell line of a shell tool.
    pub command: Option<String>,
    /// The paths of a file tool; empty for a shell line.
    pub paths: Vec<ResolvedPath>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The call's id (kodelet's `tool_user_id`).
    pub id: Option<String>,
    /// The tool's name; empty when it was not given.
    pub name: String,
    /// The input.
    pub input: Document,
    /// What the host worked out about it. The chain fills it in before the first hook runs, and again when a
    /// hook has changed the input.
    pub facts: Arc<Facts>,
}

impl ToolCall {
    /// A call of this tool with this input.
    pub fn new(name: impl Into<String>, input: impl Into<Document>) -> Self {
        Self { id: None, name: name.into(), input: input.into(), facts: Arc::default() }
    }

    /// A call whose input is what a model wrote: JSON, or what should have been.
    pub fn from_text(name: impl Into<String>, input: &str) -> Self {
        Self::new(name, Document::from_text(input))
    }

    /// The same call with this id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// A tool call that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call, with the input that the tool got.
    pub call: ToolCall,
    /// What the tool gave back.
    pub output: Document,
    /// Whether it worked.
    pub success: Option<bool>,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The exit status of a command.
    pub exit_status: Option<i32>,
    /// What it cost, in tokens.
    pub cost_tokens: Option<u64>,
}

impl ToolResult {
    /// The result of a call that gave `output` back. `success` and `error` are taken from the output where it
    /// is a kodelet `StructuredToolResult`.
    pub fn new(call: ToolCall, output: impl Into<Document>) -> Self {
        let output = output.into();
        let success = output.pointer("/success").and_then(Value::as_bool);
        let error = output.pointer("/error").and_then(Value::as_str).map(str::to_owned);
        Self { call, output, success, error, duration_ms: None, exit_status: None, cost_tokens: None }
    }

    /// The result of a call that a hook blocked: it did not run, and `reason` is its error.
    pub fn blocked(call: ToolCall, reason: &str) -> Self {
        let output = json!({
            "toolName": call.name, "success": false, "error": reason, "timestamp": rfc3339(now_ms()),
        });
        Self::new(call, output)
    }
}

/// A time in milliseconds since 1970 in the form of RFC 3339, in UTC, such as `2025-04-27T18:42:31Z`.
pub(crate) fn rfc3339(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or_default().to_string()
}

/// What failed.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorSource {
    /// A tool call.
    Tool(ToolCall),
    /// A turn, by its number where that is known.
    Turn(Option<u64>),
    /// Another hook, by its name.
    Hook(String),
}

/// Something failed.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorEvent {
    /// What failed.
    pub source: ErrorSource,
    /// What it said.
    pub message: String,
    /// The class of the error, where the agent has one.
    pub kind: Option<String>,
    /// Which try this was, from 1.
    pub attempt: Option<u32>,
}

/// The model has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct AfterTurn {
    /// The turn, from 1.
    pub turn_number: Option<u64>,
    /// Whether the answer used tools.
    pub tools_used: Option<bool>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Whether the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// At which share of the window it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// The conversation. Components see it with the right `conversation`; it is no field of kodelet's.
    pub messages: Document,
}

impl Default for AfterTurn {
    fn default() -> Self {
        Self {
            turn_number: None,
            tools_used: None,
            usage: None,
            auto_compact_enabled: None,
            auto_compact_threshold: None,
            messages: Document::absent(),
        }
    }
}

/// The agent would stop.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentStop {
    /// The conversation, a JSON array of messages.
    pub messages: Document,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The recipe that started the session.
    pub invoked_recipe: Option<String>,
    /// Whether the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// At which share of the window it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// How many times in a row hooks have already made this agent go on. A session counts it.
    pub follow_ups: u32,
}

impl Default for AgentStop {
    fn default() -> Self {
        Self {
            messages: Document::absent(),
            usage: None,
            invoked_recipe: None,
            auto_compact_enabled: None,
            auto_compact_threshold: None,
            follow_ups: 0,
        }
    }
}

/// What happened, with its data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventData {
    /// A session begins.
    SessionStart {
        /// Why: `startup`, `resume`, `rotate` …
        source: Option<String>,
    },
    /// A session ends.
    SessionEnd {
        /// Why: `exit`, `rotate` …
        reason: Option<String>,
    },
    /// The user sends a message.
    UserMessageSend {
        /// Its text.
        message: Option<String>,
    },
    /// A tool is about to run.
    BeforeToolCall(ToolCall),
    /// A tool has run, or was blocked.
    AfterToolCall(ToolResult),
    /// Something failed.
    OnError(ErrorEvent),
    /// The model has answered.
    AfterTurn(AfterTurn),
    /// A turn of the user is over.
    TurnEnd {
        /// What the agent said last.
        response: Option<String>,
        /// The turn, from 1.
        turn_number: Option<u64>,
    },
    /// The agent would stop.
    AgentStop(AgentStop),
    /// The conversation is about to be compacted.
    PreCompact {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
        /// Tokens.
        usage: Option<Usage>,
        /// The conversation, a JSON array of messages.
        messages: Document,
    },
    /// The conversation has been compacted.
    PostCompact {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
        /// What is left of it.
        summary: Option<String>,
        /// Tokens.
        usage: Option<Usage>,
    },
    /// The token budget has passed a threshold.
    OnBudgetExceeded {
        /// Tokens.
        usage: Option<Usage>,
        /// The share of the window that was passed, from 0 to 1.
        threshold: Option<f64>,
    },
    /// An event without a case of its own.
    Other {
        /// Its name, in snake case.
        name: String,
        /// Its data.
        data: Map<String, Value>,
    },
}

/// One event: where it happened and what.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where.
    pub context: Arc<Context>,
    /// What.
    pub data: EventData,
}

impl Event {
    /// The event's name.
    pub fn name(&self) -> EventName {
        match &self.data {
            EventData::SessionStart { .. } => EventName::SessionStart,
            EventData::SessionEnd { .. } => EventName::SessionEnd,
            EventData::UserMessageSend { .. } => EventName::UserMessageSend,
            EventData::BeforeToolCall(_) => EventName::BeforeToolCall,
            EventData::AfterToolCall(_) => EventName::AfterToolCall,
            EventData::OnError(_) => EventName::OnError,
            EventData::AfterTurn(_) => EventName::AfterTurn,
            EventData::TurnEnd { .. } => EventName::TurnEnd,
            EventData::AgentStop(_) => EventName::AgentStop,
            EventData::PreCompact { .. } => EventName::PreCompact,
            EventData::PostCompact { .. } => EventName::PostCompact,
            EventData::OnBudgetExceeded { .. } => EventName::OnBudgetExceeded,
            EventData::Other { name, .. } => EventName::Other(name.clone()),
        }
    }

    /// The tool call that the event is about, if it is about one.
    pub fn tool_call(&self) -> Option<&ToolCall> {
        match &self.data {
            EventData::BeforeToolCall(call) => Some(call),
            EventData::AfterToolCall(result) => Some(&result.call),
            EventData::OnError(ErrorEvent { source: ErrorSource::Tool(call), .. }) => Some(call),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn tool_call_mut(&mut self) -> Option<&mut ToolCall> {
        match &mut self.data {
            EventData::BeforeToolCall(call) => Some(call),
            EventData::AfterToolCall(result) => Some(&mut result.call),
            EventData::OnError(ErrorEvent { source: ErrorSource::Tool(call), .. }) => Some(call),
            _ => None,
        }
    }

    /// The token usage that the event carries, if any.
    pub fn usage(&self) -> Option<Usage> {
        match &self.data {
            EventData::AfterTurn(AfterTurn { usage, .. })
            | EventData::AgentStop(AgentStop { usage, .. })
            | EventData::PreCompact { usage, .. }
            | EventData::PostCompact { usage, .. }
            | EventData::OnBudgetExceeded { usage, .. } => *usage,
            _ => None,
        }
    }

    /// The token budget: the context's, else what the event's usage says.
    pub fn budget(&self) -> Option<TokenBudget> {
        self.context.budget.or_else(|| self.usage().map(TokenBudget::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_in_either_spelling_and_nothing_else() {
        for event in EventName::ALL {
            assert_eq!(event.as_str().parse(), Ok(event.clone()));
            if let Some(name) = event.base_coat() {
                assert_eq!(name.parse(), Ok(event));
            }
        }
        for wrong in ["", "Before_Tool_Call", "pretooluse", "before_tool_call\n"] {
            assert!(wrong.parse::<EventName>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        for (wrong, near) in [
            ("before_tool_cal", "before_tool_call"),
            ("PreTooluse", "PreToolUse"),
            ("agentstop", "agent_stop"),
        ] {
            assert_eq!(wrong.parse::<EventName>().unwrap_err().nearest, near);
        }
    }

    #[test]
    fn input_that_is_not_json_reaches_a_hook_as_a_string() {
        assert_eq!(Document::from_text("{\"a\":1}").value(), &json!({"a": 1}));
        assert_eq!(Document::from_text("{\"a\":").value(), &json!("{\"a\":"));
    }

    #[test]
    fn a_time_is_written_as_base_coat_writes_it() {
        assert_eq!(rfc3339(1_745_779_351_000), "2025-04-27T18:42:31Z");
        assert_eq!(rfc3339(u64::MAX), "1970-01-01T00:00:00Z");
    }
}
