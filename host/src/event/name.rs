//! The names of the events, and what each lets a hook do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text;

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

/// The answers that an event allows. Passing and warning are always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Returns every event that a hook may name.
    pub(crate) fn subscribable() -> impl Iterator<Item = Self> {
        let reserved = Self::RESERVED.into_iter().map(|name| Self::Other(name.to_owned()));
        Self::ALL.into_iter().chain(reserved)
    }

    /// Returns the name in snake case, as kodelet writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.known_str(),
        }
    }

    /// Returns the name of an event that is not `Other`.
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

    /// Returns the name in the Base Coat specification, if that has the event.
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

    /// Returns the answers that this event allows.
    pub fn allows(&self) -> Allows {
        let none = Allows::default();
        match self {
            Self::SessionStart | Self::PostCompact => Allows { inject: true, ..none },
            // An agent that asks its user about a tool call takes a no.
            Self::Other(name) if name == "permission_request" => Allows { block: true, ..none },
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

    /// Returns the known name that is nearest to `name`, for a hint.
    pub fn nearest(name: &str) -> &'static str {
        let known = Self::ALL.iter().flat_map(|event| [Some(event.known_str()), event.base_coat()]);
        text::nearest(name, known.flatten()).unwrap_or("before_tool_call")
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a name that no event has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown event {name:?}")]
#[non_exhaustive]
pub struct UnknownEvent {
    /// The name that was given.
    pub name: String,
    /// The nearest name that exists.
    pub nearest: &'static str,
}

impl FromStr for EventName {
    type Err = UnknownEvent;

    /// Reads either spelling, `before_tool_call` or `PreToolUse`. Case matters.
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

impl<'de> Deserialize<'de> for EventName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
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
}
