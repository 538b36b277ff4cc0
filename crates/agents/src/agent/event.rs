//! One event of an agent, and what becomes of each answer there.

use super::Agent;
use crate::event::EventName;

/// What becomes of an answer that a hook gave, in an agent, at one of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No hook can give this answer at this event, whatever the agent.
    Never,
    /// The agent does what the hook asks for.
    Honoured,
    /// It becomes a block that says why: the agent cannot do it, and what the hook wanted changed or asked about must
    /// not go on as if no hook had spoken.
    Blocks,
    /// The model is told; the agent takes nothing else there.
    Told,
    /// It cannot be expressed, and there is nothing to stop instead: a warning.
    LeftOut,
}

impl Fate {
    /// The word for it in the documentation; empty where there is no such answer.
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

impl Agent {
    /// Its names of events that hookbox does not have, or whose data it does not know.
    pub(crate) fn other_events(self) -> &'static [&'static str] {
        match self {
            Self::Claude | Self::Qwen => &[
                "Setup",
                "SubagentStart",
                "PostToolBatch",
                "PermissionDenied",
                "UserPromptExpansion",
                "TaskCreated",
                "TaskCompleted",
                "TeammateIdle",
                "TodoCreated",
                "TodoCompleted",
                "InstructionsLoaded",
                "ConfigChange",
                "CwdChanged",
                "FileChanged",
                "WorktreeCreate",
                "WorktreeRemove",
                "Elicitation",
                "ElicitationResult",
                "MessageDisplay",
                "SessionDelete",
            ],
            Self::Codex => &["SubagentStart", "Interrupt", "PreModelRequest", "PostModelRequest"],
            Self::Gemini => &["BeforeModel", "AfterModel", "BeforeToolSelection"],
            Self::Copilot => &["subagentStart", "SubagentStart"],
            Self::OpenCode => &[],
            Self::Cursor => &[
                "beforeShellExecution",
                "afterShellExecution",
                "beforeMCPExecution",
                "afterMCPExecution",
                "afterFileEdit",
                "beforeReadFile",
                "beforeTabFileRead",
                "afterTabFileEdit",
                "afterAgentResponse",
                "afterAgentThought",
                "subagentStart",
                "workspaceOpen",
            ],
        }
    }
}

/// An event of an agent that is an event of hookbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    /// The agent's own name, such as `PreToolUse`.
    pub name: &'static str,
    /// The name of hookbox's event, such as `before_tool_call`.
    pub event: &'static str,
    /// What becomes of a block.
    pub block: Fate,
    /// What becomes of a question to the user.
    pub ask: Fate,
    /// What becomes of a change of what the event is about.
    pub modify: Fate,
    /// What becomes of text for the model.
    pub inject: Fate,
    /// What becomes of messages with which the agent goes on.
    pub follow_up: Fate,
}

/// Whether an event of Copilot CLI is of its PascalCase style, in which it speaks as Claude Code does.
pub(crate) fn is_pascal(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

impl AgentEvent {
    /// An event at which no answer has an effect.
    pub(crate) const fn new(name: &'static str, event: &'static str) -> Self {
        let never = Fate::Never;
        Self { name, event, block: never, ask: never, modify: never, inject: never, follow_up: never }
    }

    pub(crate) const fn block(self, block: Fate) -> Self {
        Self { block, ..self }
    }

    pub(crate) const fn ask(self, ask: Fate) -> Self {
        Self { ask, ..self }
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

    /// The event of hookbox that it is.
    pub fn event_name(&self) -> EventName {
        self.event.parse().unwrap_or_else(|_| EventName::Other(self.event.to_owned()))
    }

    /// Whether it is the stop of a subagent, which is hookbox's `agent_stop`, too.
    pub(crate) fn is_of_subagent(&self) -> bool {
        self.name.eq_ignore_ascii_case("subagentStop")
    }
}
