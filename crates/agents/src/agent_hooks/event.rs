//! Which event of an agent an event is, and the other way round.

use crate::agent::Agent;
use crate::dialect::claude;
use crate::event::{ErrorSource, Event, EventData, EventName, InvokedBy, ToolKind};
use crate::facts;
use crate::text;

/// A name that hookbox sends no event for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The agent has no event of this name.
    #[error("unknown event \"{name}\" of {agent}: the nearest is {nearest}")]
    Nowhere {
        /// The name, cut and escaped.
        name: String,
        /// The agent's name in a sentence.
        agent: &'static str,
        /// The nearest name that exists.
        nearest: &'static str,
    },
    /// The agent has it, and hookbox has not, or does not know what a hook reads there.
    #[error("hookbox has no event for {agent}'s {name}")]
    OnlyThere {
        /// The name.
        name: String,
        /// The agent's name in a sentence.
        agent: &'static str,
    },
}

/// Cursor's events of single tools.
const OF_SINGLE_TOOLS: [(&str, EventName, &[ToolKind]); 5] = [
    ("beforeShellExecution", EventName::BeforeToolCall, &[ToolKind::Shell]),
    ("afterShellExecution", EventName::AfterToolCall, &[ToolKind::Shell]),
    ("beforeMCPExecution", EventName::BeforeToolCall, &[ToolKind::Mcp]),
    ("afterMCPExecution", EventName::AfterToolCall, &[ToolKind::Mcp]),
    ("afterFileEdit", EventName::AfterToolCall, &[ToolKind::Write, ToolKind::Edit]),
];

/// The event of hookbox that a hook of this agent's event `name` subscribes to. Letters count as they stand.
///
/// # Errors
///
/// [`Unknown`] where there is none.
pub fn event_name(agent: Agent, name: &str) -> Result<EventName, Unknown> {
    let single = OF_SINGLE_TOOLS.iter().find(|(it, ..)| agent == Agent::Cursor && *it == name);
    let known = match agent {
        Agent::Claude => claude::event_name(name),
        // Its hooks are functions.
        Agent::OpenCode => None,
        _ => agent
            .event(name)
            .map(crate::agent::AgentEvent::event_name)
            .filter(|it| *it != EventName::AfterTurn),
    };
    if let Some(event) = single.map(|(_, event, _)| event.clone()).or(known) {
        return Ok(event);
    }
    if agent.other_events().contains(&name) || agent == Agent::OpenCode {
        return Err(Unknown::OnlyThere { name: text::escape(name, 80), agent: agent.title() });
    }
    let names = agent.events().iter().map(|it| it.name).chain(agent.other_events().iter().copied());
    Err(Unknown::Nowhere {
        name: text::escape(name, 80),
        agent: agent.title(),
        nearest: text::nearest(name, names).unwrap_or("PreToolUse"),
    })
}

/// Whether an event is the agent's event `name`: several of them may be one event of hookbox.
pub(super) fn is(agent: Agent, name: &str, event: &Event) -> bool {
    if agent == Agent::Claude {
        return claude::name(event) == Some(name);
    }
    if event_name(agent, name).as_ref() != Ok(&event.name()) {
        return false;
    }
    let single = OF_SINGLE_TOOLS.iter().find(|(it, ..)| agent == Agent::Cursor && *it == name);
    if let Some((.., kinds)) = single {
        let kind = event.tool_call().map(|call| facts::kind_of(&call.name));
        return kind.is_some_and(|kind| kinds.contains(&kind)) && worked(&event.data);
    }
    let is_of_subagent = name.eq_ignore_ascii_case("subagentStop");
    match &event.data {
        EventData::AgentStop(_) => is_of_subagent == (event.context.invoked_by == InvokedBy::Subagent),
        EventData::OnError(error) => {
            let is_of_tool = name.to_ascii_lowercase().starts_with("posttooluse");
            match error.source {
                ErrorSource::Tool(_) => is_of_tool,
                ErrorSource::Turn(_) => !is_of_tool,
                ErrorSource::Hook(_) => false,
            }
        }
        // These have an event of its own for a call that failed.
        EventData::AfterToolCall(_) if matches!(agent, Agent::Qwen | Agent::Cursor) => worked(&event.data),
        _ => true,
    }
}

fn worked(data: &EventData) -> bool {
    !matches!(data, EventData::AfterToolCall(result) if result.success == Some(false))
}
