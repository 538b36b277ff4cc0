//! Events: their names and their data. A value that the agent did not give is `None`, never an invented default.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Document, Value};

/// The name of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
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
    /// An event that this version has no case for, in snake case, such as `notification`.
    Other(String),
}

impl Event {
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

    /// The name in snake case, as kodelet writes it.
    pub fn as_str(&self) -> &str {
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
            Self::Other(name) => name,
        }
    }

    /// The event of this name, in either spelling: `before_tool_call` or `PreToolUse`.
    pub fn named(name: &str) -> Self {
        match name {
            "SessionStart" => Self::SessionStart,
            "SessionEnd" => Self::SessionEnd,
            "PreToolUse" => Self::BeforeToolCall,
            "PostToolUse" => Self::AfterToolCall,
            "OnError" => Self::OnError,
            "PreCompact" => Self::PreCompact,
            "PostCompact" => Self::PostCompact,
            "OnBudgetExceeded" => Self::OnBudgetExceeded,
            _ => Self::ALL
                .into_iter()
                .find(|event| event.as_str() == name)
                .unwrap_or_else(|| Self::Other(name.to_owned())),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who caused an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvokedBy {
    /// The agent that the user talks to.
    #[default]
    Main,
    /// An agent that another agent started.
    Subagent,
}

/// How many tokens a conversation has used, and how much room is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens sent to the model so far.
    pub input_tokens: u64,
    /// Tokens that the model produced so far.
    pub output_tokens: u64,
    /// Tokens that the context window holds now.
    pub current_context_window: u64,
    /// Tokens that it can hold.
    pub max_context_window: u64,
}

impl Usage {
    /// The part of the context window that is spent, usually from 0 to 1; `None` where its size is not known.
    pub fn ratio(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "windows are far smaller than 2^53 tokens")]
        (self.max_context_window > 0)
            .then(|| self.current_context_window as f64 / self.max_context_window as f64)
    }
}

/// The part of the context window that is spent: what a budget guard looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBudget {
    /// Tokens in the context window now.
    pub used_tokens: u64,
    /// Tokens at which it is full.
    pub effective_limit: u64,
}

/// Where an event happened. It comes with every event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The conversation.
    pub conversation_id: String,
    /// The agent's working directory. A component cannot open it unless that was granted.
    pub cwd: String,
    /// The main agent or a subagent.
    pub invoked_by: InvokedBy,
    /// The recipe that the conversation runs, if any.
    pub recipe_name: Option<String>,
    /// The agent's name, such as `backend-dev`.
    pub agent: Option<String>,
    /// The repository, such as `org/repo`.
    pub repository: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The agent's mode, such as `plan` or `auto`.
    pub mode: Option<String>,
    /// When it happened, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The token budget, when the agent knows it.
    pub budget: Option<TokenBudget>,
}

/// One message of a conversation.
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

    /// A message of the assistant.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: "assistant".to_owned(), content: content.into() }
    }
}

/// What a tool does, whatever an agent calls it.
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
    /// Whether it lies in the working directory.
    pub inside: bool,
}

/// A tool call. `kind`, `command` and `paths` are facts, worked out so that a guard need not know every agent's
/// spelling; `name` and `input` are what the agent said, unchanged.
#[derive(Debug, Default)]
pub struct ToolCall {
    /// The call's id, when the agent gave one.
    pub id: Option<String>,
    /// The tool's name as the agent spells it; empty when it was not given.
    pub name: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The shell line of a shell tool.
    pub command: Option<String>,
    /// The paths of a file tool; empty for a shell line.
    pub paths: Vec<ResolvedPath>,
    /// The input. Input that is not JSON is a JSON string.
    pub input: Document,
}

impl ToolCall {
    /// A call of this tool with this input, for tests: the facts are worked out as [`native`](crate::native) does,
    /// from `/` as the working directory.
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        crate::native::facts::tool_call(name.into(), input, "/")
    }
}

/// A tool call that is over. A call that a hook blocked is here too, with `success` false and the reason as `error`.
#[derive(Debug, Default)]
pub struct ToolResult {
    /// The call, with the input that the tool really got.
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
    /// The result of a call that gave `output` back, for tests.
    pub fn new(call: ToolCall, output: Value) -> Self {
        Self { call, output: output.into(), ..Self::default() }
    }
}

/// A session begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionStart {
    /// Why: `startup`, `resume`, `rotate` …
    pub source: Option<String>,
}

/// A session ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnd {
    /// Why: `exit`, `rotate` …
    pub reason: Option<String>,
}

/// The user sends a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserMessage {
    /// Its text.
    pub message: String,
}

/// What failed.
#[derive(Debug)]
pub enum ErrorSource {
    /// A tool call.
    Tool(ToolCall),
    /// A turn, by its number where that is known.
    Turn(Option<u64>),
    /// Another hook, by its name.
    Hook(String),
}

/// Something failed.
#[derive(Debug)]
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

/// The model has answered, with or without tool calls.
#[derive(Debug, Default)]
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
    /// The conversation, a JSON array of messages; empty without the right `conversation`, and natively.
    pub messages: Document,
}

/// A turn of the user is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEnd {
    /// What the agent said last.
    pub response: Option<String>,
    /// The turn, from 1.
    pub turn_number: Option<u64>,
}

/// The agent would stop: it has no more tool calls to make.
#[derive(Debug, Default)]
pub struct AgentStop {
    /// The conversation, a JSON array of messages; empty without the right `conversation`.
    pub messages: Document,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The recipe that started the session.
    pub invoked_recipe: Option<String>,
    /// Whether the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// At which share of the window it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// How many times in a row hooks have already made this agent go on; always 0 natively, where no agent says it.
    pub follow_ups: u32,
}

/// The conversation is about to be compacted.
#[derive(Debug, Default)]
pub struct PreCompact {
    /// Why: `auto`, `manual` …
    pub trigger: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The conversation, a JSON array of messages; empty without the right `conversation`.
    pub messages: Document,
}

/// The conversation has been compacted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostCompact {
    /// Why: `auto`, `manual` …
    pub trigger: Option<String>,
    /// What is left of it; absent without the right `conversation`.
    pub summary: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
}

/// The token budget has passed a threshold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetExceeded {
    /// Tokens.
    pub usage: Option<Usage>,
    /// The threshold that was passed, as a share of the window from 0 to 1.
    pub threshold: Option<f64>,
}

/// What happened, with its data.
#[derive(Debug)]
pub(crate) enum EventData {
    SessionStart(SessionStart),
    SessionEnd(SessionEnd),
    UserMessageSend(UserMessage),
    BeforeToolCall(ToolCall),
    AfterToolCall(ToolResult),
    OnError(ErrorEvent),
    AfterTurn(AfterTurn),
    TurnEnd(TurnEnd),
    AgentStop(AgentStop),
    PreCompact(PreCompact),
    PostCompact(PostCompact),
    OnBudgetExceeded(BudgetExceeded),
    Other { name: String, data: Document },
}
