//! The names of the events, and what each lets a hook do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use hookbox_system::text;

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
    /// Spare the user a question of the agent's own.
    pub allow: bool,
}

impl Allows {
    const NONE: Self = Self {
        block: false,
        ask: false,
        modify: false,
        inject: false,
        follow_up: false,
        mutate: false,
        callback: false,
        allow: false,
    };
    const BLOCK: Self = Self { block: true, ..Self::NONE };
    const INJECT: Self = Self { inject: true, ..Self::NONE };
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

    /// Events that some agents have. A hook may name them, and gets the agent's own data.
    const OF_AGENTS: [(&'static str, Allows); 39] = [
        ("subagent_stop", Allows::NONE),
        // An agent that asks its user about a tool call takes a no.
        ("permission_request", Allows::BLOCK),
        ("permission_denied", Allows::NONE),
        ("permission_result", Allows::NONE),
        ("notification", Allows::NONE),
        ("setup", Allows::INJECT),
        ("config_change", Allows::BLOCK),
        ("instructions_loaded", Allows::NONE),
        ("directory_added", Allows::NONE),
        ("cwd_changed", Allows::NONE),
        ("file_changed", Allows::NONE),
        ("workspace_open", Allows::NONE),
        ("worktree_remove", Allows::NONE),
        ("user_prompt_expansion", Allows { block: true, ..Allows::INJECT }),
        ("user_prompt_queued", Allows::NONE),
        ("turn_started", Allows::NONE),
        ("interrupt", Allows::NONE),
        ("before_model", Allows::BLOCK),
        ("pre_model_request", Allows::NONE),
        ("post_model_request", Allows::NONE),
        ("pre_model_switch", Allows::NONE),
        ("post_model_switch", Allows::NONE),
        ("before_tool_selection", Allows::NONE),
        ("before_read_file", Allows::BLOCK),
        ("before_tab_file_read", Allows::BLOCK),
        ("after_tab_file_edit", Allows::NONE),
        ("after_agent_thought", Allows::NONE),
        ("message_display", Allows::NONE),
        ("subagent_start", Allows { block: true, ..Allows::INJECT }),
        ("teammate_idle", Allows::BLOCK),
        ("task_created", Allows::BLOCK),
        ("task_started", Allows::NONE),
        ("task_completed", Allows::BLOCK),
        ("todo_created", Allows::BLOCK),
        ("todo_completed", Allows::BLOCK),
        ("elicitation", Allows::BLOCK),
        ("elicitation_result", Allows::BLOCK),
        ("session_heartbeat", Allows::NONE),
        ("session_delete", Allows::NONE),
    ];

    /// Returns every event that a hook may name.
    pub(crate) fn subscribable() -> impl Iterator<Item = Self> {
        let of_agents = Self::OF_AGENTS.into_iter().map(|(name, _)| Self::Other(name.to_owned()));
        Self::ALL.into_iter().chain(of_agents)
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
            Self::Other(name) => {
                let known = Self::OF_AGENTS.iter().find(|(known, _)| known == name);
                known.map_or(none, |(_, allows)| *allows)
            }
            Self::SessionEnd | Self::TurnEnd => none,
            Self::UserMessageSend => Allows { block: true, modify: true, inject: true, ..none },
            Self::BeforeToolCall => {
                Allows { block: true, ask: true, modify: true, inject: true, allow: true, ..none }
            }
            Self::AfterToolCall => Allows { block: true, modify: true, inject: true, ..none },
            Self::OnError => Allows { modify: true, inject: true, ..none },
            Self::AfterTurn => Allows { inject: true, mutate: true, callback: true, ..none },
            Self::AgentStop => Allows { follow_up: true, mutate: true, callback: true, ..none },
            Self::PreCompact => Allows { block: true, inject: true, ..none },
            Self::OnBudgetExceeded => Allows { block: true, inject: true, callback: true, ..none },
        }
    }

    /// Returns the name of the value that hooks may change at this event: `input`, `output`, `message` or `error`.
    pub fn changeable(&self) -> Option<&'static str> {
        match self {
            Self::BeforeToolCall => Some("input"),
            Self::AfterToolCall => Some("output"),
            Self::UserMessageSend => Some("message"),
            Self::OnError => Some("error"),
            _ => None,
        }
    }

    /// Returns the known name that was probably meant by `name`, for a hint.
    pub fn nearest(name: &str) -> Option<&'static str> {
        let known = Self::ALL.iter().flat_map(|event| [Some(event.known_str()), event.base_coat()]);
        let of_agents = Self::OF_AGENTS.iter().map(|(name, _)| *name);
        text::nearest(name, known.flatten().chain(of_agents))
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
    /// The name that was probably meant.
    pub nearest: Option<&'static str>,
}

impl FromStr for EventName {
    type Err = UnknownEvent;

    /// Reads either spelling, `before_tool_call` or `PreToolUse`. Case matters.
    fn from_str(name: &str) -> Result<Self, UnknownEvent> {
        if let Some(event) = Self::ALL.iter().find(|e| e.as_str() == name || e.base_coat() == Some(name)) {
            return Ok(event.clone());
        }
        if Self::OF_AGENTS.iter().any(|(known, _)| *known == name) {
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
            ("before_tool_cal", Some("before_tool_call")),
            ("before_tool", Some("before_tool_call")),
            ("PreTooluse", Some("PreToolUse")),
            ("agentstop", Some("agent_stop")),
            ("ConfigChange", Some("config_change")),
            ("nope", None),
        ] {
            assert_eq!(wrong.parse::<EventName>().unwrap_err().nearest, near);
        }
    }
}
