//! The context of an event: conversation, directory, tokens, time. And the messages of a conversation, as hooks read and
//! write them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

named! {
    /// The agent that caused an event.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum InvokedBy {
        /// The agent that the user talks to.
        #[default]
        Main = "main",
        /// An agent that another agent started.
        Subagent = "subagent",
    }
}

/// Tokens of a conversation. Build it with `..Usage::default()`: a version may add fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens sent to the model so far.
    pub input_tokens: u64,
    /// Tokens that the model produced so far.
    pub output_tokens: u64,
    /// Tokens in the context window now.
    pub current_context_window: u64,
    /// Tokens that the context window can hold; 0: not known.
    pub max_context_window: u64,
    /// The numbers above that were not given. They are 0, and stay absent where the usage is written.
    pub absent: AbsentTokens,
}

/// The numbers of a [`Usage`] that were not given (default: none).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbsentTokens {
    /// [`Usage::input_tokens`].
    pub input_tokens: bool,
    /// [`Usage::output_tokens`].
    pub output_tokens: bool,
    /// [`Usage::current_context_window`].
    pub current_context_window: bool,
    /// [`Usage::max_context_window`].
    pub max_context_window: bool,
}

impl Usage {
    /// Returns the share of the context window that is in use: 1 is full, and an agent may report more than
    /// that. `None` if the window's size is unknown (0), or the tokens in use were not given.
    pub fn share(self) -> Option<f64> {
        // Tokens are counted in millions; a float is exact far beyond.
        let share = self.current_context_window as f64 / self.max_context_window as f64;
        (self.max_context_window > 0 && !self.absent.current_context_window).then_some(share)
    }
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

/// The payload with which an agent called its hook command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPayload {
    /// The agent's name of the event, such as `PreToolUse`.
    pub event: String,
    /// The bytes of the JSON object.
    pub json: Vec<u8>,
}

/// The conversation, directory, agent and time of an event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    /// The time of the event, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The token budget, when the agent knows it.
    pub budget: Option<TokenBudget>,
    /// The payload of the agent, if the event came to a hook command. Hooks that were written for an agent
    /// read fields of it that an event does not have.
    pub payload: Option<Arc<AgentPayload>>,
}

impl Context {
    /// Creates a context of the main agent in this conversation and directory, now.
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
            payload: None,
        }
    }
}

/// Returns the time now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Formats a time in milliseconds since 1970 by RFC 3339, in UTC, such as `2025-04-27T18:42:31Z`.
pub(crate) fn rfc3339(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or_default().to_string()
}

named! {
    /// The author of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Role {
        /// The user.
        User = "user",
        /// The agent's model.
        Assistant = "assistant",
    }
}

impl Role {
    /// The names of all roles, for messages.
    pub(crate) const NAMES: &'static str = "\"user\" or \"assistant\"";

    /// Returns the role of this name; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant].into_iter().find(|role| role.as_str() == name)
    }
}

/// One message of a conversation, as `mutate` writes it. It has only text: an agent writes a tool call and its
/// result as text, so that no result can lose its call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// Creates a message of this role.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_base_coat_writes_it() {
        assert_eq!(rfc3339(1_745_779_351_000), "2025-04-27T18:42:31Z");
        assert_eq!(rfc3339(u64::MAX), "1970-01-01T00:00:00Z");
    }
}
