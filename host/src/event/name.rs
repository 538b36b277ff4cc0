//! The names of the events, and what each lets a hook do.

use std::fmt;
use std::str::FromStr;

use hookbox_shell::is_in;
use hookbox_system::text;

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

/// Makes the events from rows: the event, its name in snake case, its name in the Base Coat specification if that has the
/// event, and the answers that it allows.
macro_rules! events {
    ($(#[$doc:meta] $Event:ident: $name:literal, $base_coat:expr, $allows:expr;)*) => {
        /// The name of an event.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum EventName {
            $(#[$doc] $Event,)*
            /// An event that this version has no case for, such as `notification`.
            Other(String),
        }

        impl EventName {
            /// Every event that has a name of its own, in the order of a session.
            pub const ALL: [Self; 12] = [$(Self::$Event),*];

            /// Returns the name of an event that is not `Other`.
            fn known_str(&self) -> &'static str {
                match self {
                    $(Self::$Event => $name,)*
                    Self::Other(_) => "",
                }
            }

            /// Returns the name in the Base Coat specification, if that has the event.
            pub fn base_coat(&self) -> Option<&'static str> {
                match self {
                    $(Self::$Event => $base_coat,)*
                    Self::Other(_) => None,
                }
            }

            /// Returns the answers that this event allows.
            pub fn allows(&self) -> Allows {
                match self {
                    $(Self::$Event => $allows,)*
                    Self::Other(name) => Self::of_agents(name).unwrap_or_default(),
                }
            }
        }
    };
}

events! {
    /// A session begins.
    SessionStart: "session_start", Some("SessionStart"), Allows::INJECT;
    /// A session ends.
    SessionEnd: "session_end", Some("SessionEnd"), Allows::NONE;
    /// The user sends a message.
    UserMessageSend: "user_message_send", None, Allows { block: true, modify: true, inject: true, ..Allows::NONE };
    /// A tool is about to run.
    BeforeToolCall: "before_tool_call", Some("PreToolUse"), Allows { block: true, ask: true, modify: true, inject: true, allow: true, ..Allows::NONE };
    /// A tool has run, or was blocked.
    AfterToolCall: "after_tool_call", Some("PostToolUse"), Allows { block: true, modify: true, inject: true, ..Allows::NONE };
    /// A tool, a turn or a hook failed.
    OnError: "on_error", Some("OnError"), Allows { modify: true, inject: true, ..Allows::NONE };
    /// The model has answered.
    AfterTurn: "after_turn", None, Allows { inject: true, mutate: true, callback: true, ..Allows::NONE };
    /// A turn of the user is over.
    TurnEnd: "turn_end", None, Allows::NONE;
    /// The agent would stop.
    AgentStop: "agent_stop", None, Allows { follow_up: true, mutate: true, callback: true, ..Allows::NONE };
    /// The conversation is about to be compacted.
    PreCompact: "pre_compact", Some("PreCompact"), Allows { block: true, inject: true, ..Allows::NONE };
    /// The conversation has been compacted.
    PostCompact: "post_compact", Some("PostCompact"), Allows::INJECT;
    /// The token budget has passed a threshold.
    OnBudgetExceeded: "on_budget_exceeded", Some("OnBudgetExceeded"), Allows { block: true, inject: true, callback: true, ..Allows::NONE };
}

impl EventName {
    /// Events that some agents have. A hook may name them, and gets the agent's own data.
    const OF_AGENTS: [(&'static str, Allows); 4] = [
        (
            "subagent_stop permission_denied permission_result notification instructions_loaded \
            directory_added cwd_changed file_changed workspace_open worktree_remove user_prompt_queued \
            turn_started interrupt pre_model_request post_model_request pre_model_switch \
            post_model_switch before_tool_selection after_tab_file_edit after_agent_thought \
            message_display task_started session_heartbeat session_delete",
            Allows::NONE,
        ),
        // An agent that asks its user about a tool call takes a no.
        (
            "permission_request config_change before_model before_read_file before_tab_file_read \
            teammate_idle task_created task_completed todo_created todo_completed elicitation \
            elicitation_result",
            Allows::BLOCK,
        ),
        ("setup", Allows::INJECT),
        ("user_prompt_expansion subagent_start", Allows { block: true, ..Allows::INJECT }),
    ];

    /// Returns the answers that an event of some agents allows, if it is one.
    fn of_agents(name: &str) -> Option<Allows> {
        Self::OF_AGENTS.iter().find(|(names, _)| is_in(names, name)).map(|(_, allows)| *allows)
    }

    /// Returns every event that a hook may name.
    pub(crate) fn subscribable() -> impl Iterator<Item = Self> {
        let of_agents = Self::OF_AGENTS.into_iter().flat_map(|(names, _)| names.split_ascii_whitespace());
        let of_agents = of_agents.map(|name| Self::Other(name.to_owned()));
        Self::ALL.into_iter().chain(of_agents)
    }

    /// Returns the name in snake case, as kodelet writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.known_str(),
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
        let of_agents = Self::OF_AGENTS.iter().flat_map(|(names, _)| names.split_ascii_whitespace());
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
        if Self::of_agents(name).is_some() {
            return Ok(Self::Other(name.to_owned()));
        }
        Err(UnknownEvent { name: name.to_owned(), nearest: Self::nearest(name) })
    }
}

hookbox_system::serde_by_text!(EventName);

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
