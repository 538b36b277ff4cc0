//! Events: their names and their data. A value that the agent did not give is `None`, never an invented
//! default.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Document, ToolCall, ToolResult};

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

/// The cause of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvokedBy {
    /// The agent that the user talks to.
    #[default]
    Main,
    /// An agent that another agent started.
    Subagent,
}

/// The tokens that a conversation has used, and the room that is left.
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
    /// Returns the used part of the context window, usually from 0 to 1; `None` if its size is not known.
    pub fn ratio(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "windows are far smaller than 2^53 tokens")]
        (self.max_context_window > 0)
            .then(|| self.current_context_window as f64 / self.max_context_window as f64)
    }
}

/// The used part of the context window, for guards of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBudget {
    /// Tokens in the context window now.
    pub used_tokens: u64,
    /// Tokens at which it is full.
    pub effective_limit: u64,
}

/// The context of an event. It comes with every event.
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
    /// The time, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The token budget, if the agent gives it.
    pub budget: Option<TokenBudget>,
}

impl Context {
    /// Returns the repository, or the working directory if there is none. A key of the store that contains it
    /// mixes no repositories; the working directory alone follows the model's `cd`.
    pub fn place(&self) -> &str {
        self.repository.as_ref().unwrap_or(&self.cwd)
    }
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

/// A session begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionStart {
    /// The reason: `startup`, `resume`, `rotate` …
    pub source: Option<String>,
}

/// A session ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnd {
    /// The reason: `exit`, `rotate` …
    pub reason: Option<String>,
}

/// The user sends a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserMessage {
    /// The text.
    pub message: String,
}

/// The source of an error.
#[derive(Debug)]
pub enum ErrorSource {
    /// A tool call.
    Tool(ToolCall),
    /// A turn, with its number if it is known.
    Turn(Option<u64>),
    /// Another hook, by its name.
    Hook(String),
}

/// Something failed.
#[derive(Debug)]
pub struct ErrorEvent {
    /// The source.
    pub source: ErrorSource,
    /// The message.
    pub message: String,
    /// The class of the error, if the agent has one.
    pub kind: Option<String>,
    /// The number of the attempt, from 1.
    pub attempt: Option<u32>,
}

/// The model has answered, with or without tool calls.
#[derive(Debug, Default)]
pub struct AfterTurn {
    /// The turn, from 1.
    pub turn_number: Option<u64>,
    /// True if the answer used tools.
    pub tools_used: Option<bool>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// True if the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// At which share of the window it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// The conversation, a JSON array of messages; empty without the right `conversation`, and natively.
    pub messages: Document,
}

/// A turn of the user is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEnd {
    /// The last response of the agent.
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
    /// True if the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// At which share of the window it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// The number of times in a row that hooks have already made this agent go on; always 0 in a native hook,
    /// since no agent gives it.
    pub follow_ups: u32,
}

/// The conversation is about to be compacted.
#[derive(Debug, Default)]
pub struct PreCompact {
    /// The reason: `auto`, `manual` …
    pub trigger: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The conversation, a JSON array of messages; empty without the right `conversation`.
    pub messages: Document,
}

/// The conversation has been compacted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostCompact {
    /// The reason: `auto`, `manual` …
    pub trigger: Option<String>,
    /// The summary that replaces it; absent without the right `conversation`.
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

/// An event, with its data.
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
