//! Events: what happens in an agent's life, with its data.
//!
//! One list serves every dialect. A value that the agent did not give is `None` (or an empty name, or a null
//! document) and stays absent in every dialect.

mod context;
mod document;
mod name;
#[cfg(feature = "component")]
mod readings;
mod tool;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use context::{AbsentTokens, AgentPayload, Context, InvokedBy, Message, Role, TokenBudget, Usage};
pub(crate) use context::{now_ms, rfc3339};
pub use document::{Document, DocumentError};
pub use hookbox_calls::{CallFacts, File, FileUse, ToolKind};
pub use name::{Allows, EventName, UnknownEvent};
#[cfg(feature = "component")]
pub(crate) use readings::Readings;
pub use tool::{Facts, ResolvedPath, ToolCall, ToolResult, kind_of_pattern};

/// The thing that failed.
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
#[non_exhaustive]
pub struct ErrorEvent {
    /// The thing that failed.
    pub source: ErrorSource,
    /// The text of the error.
    pub message: String,
    /// The class of the error, where the agent has one.
    pub kind: Option<String>,
    /// The number of this attempt, from 1.
    pub attempt: Option<u32>,
}

impl ErrorEvent {
    /// Creates an error with this text.
    pub fn new(source: ErrorSource, message: impl Into<String>) -> Self {
        Self { source, message: message.into(), kind: None, attempt: None }
    }
}

/// The model has answered. Build it with `..AfterTurn::default()`: a version may add fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AfterTurn {
    /// The turn, from 1.
    pub turn_number: Option<u64>,
    /// True if the answer used tools.
    pub tools_used: Option<bool>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// True if the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// The share of the window at which it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// The conversation. Components see it with the right `conversation`; kodelet's payload has no such
    /// field.
    pub messages: Document,
}

/// The agent would stop. Build it with `..AgentStop::default()`: a version may add fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentStop {
    /// The conversation, a JSON array of messages.
    pub messages: Document,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The recipe that started the session.
    pub invoked_recipe: Option<String>,
    /// True if the agent compacts by itself.
    pub auto_compact_enabled: Option<bool>,
    /// The share of the window at which it does, from 0 to 1.
    pub auto_compact_threshold: Option<f64>,
    /// The number of times in a row that hooks have made this agent go on. A session counts it.
    pub follow_ups: u32,
}

/// The data of an event, by its name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventData {
    /// A session begins.
    SessionStart {
        /// The reason: `startup`, `resume`, `rotate` …
        source: Option<String>,
    },
    /// A session ends.
    SessionEnd {
        /// The reason: `exit`, `rotate` …
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
        /// The last text of the agent.
        response: Option<String>,
        /// The turn, from 1.
        turn_number: Option<u64>,
    },
    /// The agent would stop.
    AgentStop(AgentStop),
    /// The conversation is about to be compacted.
    PreCompact {
        /// The reason: `auto`, `manual` …
        trigger: Option<String>,
        /// Tokens.
        usage: Option<Usage>,
        /// The conversation, a JSON array of messages.
        messages: Document,
    },
    /// The conversation has been compacted.
    PostCompact {
        /// The reason: `auto`, `manual` …
        trigger: Option<String>,
        /// The summary that replaces it.
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

impl EventData {
    /// Returns the event's name.
    pub fn name(&self) -> EventName {
        match self {
            Self::SessionStart { .. } => EventName::SessionStart,
            Self::SessionEnd { .. } => EventName::SessionEnd,
            Self::UserMessageSend { .. } => EventName::UserMessageSend,
            Self::BeforeToolCall(_) => EventName::BeforeToolCall,
            Self::AfterToolCall(_) => EventName::AfterToolCall,
            Self::OnError(_) => EventName::OnError,
            Self::AfterTurn(_) => EventName::AfterTurn,
            Self::TurnEnd { .. } => EventName::TurnEnd,
            Self::AgentStop(_) => EventName::AgentStop,
            Self::PreCompact { .. } => EventName::PreCompact,
            Self::PostCompact { .. } => EventName::PostCompact,
            Self::OnBudgetExceeded { .. } => EventName::OnBudgetExceeded,
            Self::Other { name, .. } => EventName::Other(name.clone()),
        }
    }

    /// Returns the value that hooks may change, after its [name](EventName::changeable).
    pub fn changeable(&self) -> Option<(&'static str, Value)> {
        let value = match self {
            Self::BeforeToolCall(call) => call.input.value().clone(),
            Self::AfterToolCall(result) => result.output.value().clone(),
            Self::UserMessageSend { message } => json!(message),
            Self::OnError(error) => json!(error.message),
            _ => return None,
        };
        Some((self.name().changeable()?, value))
    }

    /// Returns the token usage, if the event has one.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::AfterTurn(AfterTurn { usage, .. })
            | Self::AgentStop(AgentStop { usage, .. })
            | Self::PreCompact { usage, .. }
            | Self::PostCompact { usage, .. }
            | Self::OnBudgetExceeded { usage, .. } => *usage,
            _ => None,
        }
    }
}

/// One event: its context and its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The context: conversation, directory, agent, time.
    pub context: Arc<Context>,
    /// The data.
    pub data: EventData,
}

impl Event {
    /// Returns the event's name.
    pub fn name(&self) -> EventName {
        self.data.name()
    }

    /// Returns the tool call that the event is about, if it is about one.
    pub fn tool_call(&self) -> Option<&ToolCall> {
        match &self.data {
            EventData::BeforeToolCall(call) => Some(call),
            EventData::AfterToolCall(result) => Some(&result.call),
            EventData::OnError(ErrorEvent { source: ErrorSource::Tool(call), .. }) => Some(call),
            _ => None,
        }
    }

    /// Returns the lines that the tool call may run, and the files that it uses; `None` without a call. The facts of the
    /// [call](ToolCall::facts) have to be filled in.
    pub fn call_facts(&self) -> Option<CallFacts> {
        self.tool_call().map(|call| call.facts_in(&self.context.cwd))
    }

    /// Mutable version of [`Event::tool_call`].
    pub fn tool_call_mut(&mut self) -> Option<&mut ToolCall> {
        match &mut self.data {
            EventData::BeforeToolCall(call) => Some(call),
            EventData::AfterToolCall(result) => Some(&mut result.call),
            EventData::OnError(ErrorEvent { source: ErrorSource::Tool(call), .. }) => Some(call),
            _ => None,
        }
    }

    /// Returns the token usage, if the event has one.
    pub fn usage(&self) -> Option<Usage> {
        self.data.usage()
    }

    /// Returns the token budget: the context's, else the one of the event's usage if that has the window's
    /// size.
    pub fn budget(&self) -> Option<TokenBudget> {
        let told = self.usage().filter(|usage| usage.share().is_some());
        self.context.budget.or_else(|| told.map(TokenBudget::from))
    }
}
