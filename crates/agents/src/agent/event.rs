//! An event of an agent, and the effect of each answer at it.

use std::fmt;

use crate::event::EventName;

/// An event of hookbox that other agents have as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user sends a message.
    UserMessageSend,
    /// A tool is about to run.
    BeforeToolCall,
    /// A tool has run.
    AfterToolCall,
    /// A tool or a turn failed.
    OnError,
    /// The model has answered.
    AfterTurn,
    /// The agent would stop.
    AgentStop,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation has been compacted.
    PostCompact,
    /// The agent asks its user for a permission.
    PermissionRequest,
    /// The agent notifies its user.
    Notification,
    /// Another event, by hookbox's name: hooks get the agent's data as it is.
    Other(&'static str),
}

impl EventKind {
    /// Returns the name of hookbox's event, such as `before_tool_call`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
            Self::UserMessageSend => "user_message_send",
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::OnError => "on_error",
            Self::AfterTurn => "after_turn",
            Self::AgentStop => "agent_stop",
            Self::PreCompact => "pre_compact",
            Self::PostCompact => "post_compact",
            Self::PermissionRequest => "permission_request",
            Self::Notification => "notification",
            Self::Other(name) => name,
        }
    }

    /// Returns hookbox's event.
    pub fn event_name(self) -> EventName {
        self.as_str().parse().unwrap_or_else(|_| EventName::Other(self.as_str().to_owned()))
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The effect of one kind of answer at an event of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No hook can give this answer at this event, whatever the agent.
    Never,
    /// The agent does what the hook asks for.
    Honoured,
    /// It becomes a block with a reason. The agent cannot do it, and must not go on as if no hook had
    /// answered.
    Blocks,
    /// The model gets it as text; the agent takes nothing else there.
    Told,
    /// It has no effect, and there is nothing to stop instead: a warning.
    LeftOut,
}

impl Fate {
    /// Returns the word for it in the documentation; empty if no hook can give the answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Honoured => "yes",
            Self::Blocks => "block",
            Self::Told => "told",
            Self::LeftOut => "left out",
        }
    }
}

/// An event of an agent that is an event of hookbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    /// The agent's own name, such as `PreToolUse`.
    pub name: &'static str,
    /// The event of hookbox.
    pub event: EventKind,
    /// The effect of a block.
    pub block: Fate,
    /// The effect of a question to the user.
    pub ask: Fate,
    /// True if a hook can spare the user the agent's own question.
    pub allow: bool,
    /// The effect of a change to the input, the output, the message or the error.
    pub modify: Fate,
    /// The effect of text for the model.
    pub inject: Fate,
    /// The effect of messages with which the agent goes on.
    pub follow_up: Fate,
    /// True if `hookbox install` adds an entry for it, unless its user names other events.
    pub is_usual: bool,
    /// True if hooks do not see it with an empty message.
    pub is_nothing_if_empty: bool,
}

impl AgentEvent {
    /// Creates an event at which no answer has an effect.
    pub(crate) const fn new(name: &'static str, event: EventKind) -> Self {
        let never = Fate::Never;
        Self {
            name,
            event,
            block: never,
            ask: never,
            allow: false,
            modify: never,
            inject: never,
            follow_up: never,
            is_usual: true,
            is_nothing_if_empty: false,
        }
    }

    /// Creates an event that hooks get as it is, and that is installed only by name or for a hook that
    /// subscribes to it.
    pub(crate) const fn other(name: &'static str, event: &'static str) -> Self {
        Self::new(name, EventKind::Other(event)).unusual()
    }

    /// Creates such an event that exit code 2 stops.
    pub(crate) const fn stoppable(name: &'static str, event: &'static str) -> Self {
        Self::other(name, event).block(Fate::Honoured)
    }

    /// Creates an event before a tool call, which every agent can block.
    pub(crate) const fn before(name: &'static str, ask: Fate, modify: Fate, inject: Fate) -> Self {
        Self::new(name, EventKind::BeforeToolCall)
            .block(Fate::Honoured)
            .ask(ask)
            .modify(modify)
            .inject(inject)
    }

    /// Creates an event after a tool call.
    pub(crate) const fn after(name: &'static str, block: Fate, modify: Fate) -> Self {
        Self::new(name, EventKind::AfterToolCall).block(block).modify(modify).inject(Fate::Honoured)
    }

    /// Creates an event of a user's message, which every agent can block.
    pub(crate) const fn message(name: &'static str, modify: Fate, inject: Fate) -> Self {
        Self::new(name, EventKind::UserMessageSend).block(Fate::Honoured).modify(modify).inject(inject)
    }

    /// Creates an event of a failed tool or turn.
    pub(crate) const fn error(name: &'static str, modify: Fate, inject: Fate) -> Self {
        Self::new(name, EventKind::OnError).modify(modify).inject(inject)
    }

    /// Creates an event of an agent that would stop, and that goes on with a hook's message.
    pub(crate) const fn stop(name: &'static str) -> Self {
        Self::new(name, EventKind::AgentStop).follow_up(Fate::Honoured)
    }

    pub(crate) const fn block(self, block: Fate) -> Self {
        Self { block, ..self }
    }

    pub(crate) const fn ask(self, ask: Fate) -> Self {
        Self { ask, ..self }
    }

    /// Returns the same event, at which the agent takes the answer `allow`.
    pub(crate) const fn takes_allow(self) -> Self {
        Self { allow: true, ..self }
    }

    pub(crate) const fn modify(self, modify: Fate) -> Self {
        Self { modify, ..self }
    }

    pub(crate) const fn inject(self, inject: Fate) -> Self {
        Self { inject, ..self }
    }

    pub(crate) const fn follow_up(self, follow_up: Fate) -> Self {
        Self { follow_up, ..self }
    }

    /// Returns the same event, which is installed only by name.
    pub(crate) const fn unusual(self) -> Self {
        Self { is_usual: false, ..self }
    }

    /// Returns the same event, which hooks do not see with an empty message.
    pub(crate) const fn unless_empty(self) -> Self {
        Self { is_nothing_if_empty: true, ..self }
    }
}

/// Returns true if an agent's event of this name is the stop of a subagent, which is hookbox's `agent_stop` as well.
pub(crate) fn is_of_subagent(name: &str) -> bool {
    name.eq_ignore_ascii_case("subagentStop")
}

/// Returns true if an agent's event of this name is about a tool that has run or failed.
pub(crate) fn is_after_tool(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("posttooluse")
}

/// Returns true for a name in PascalCase. Copilot CLI has each event in two styles; at these it writes and
/// reads what Claude Code does.
pub(crate) fn is_pascal(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}
