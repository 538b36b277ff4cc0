//! The events of a hook's agent and those of hookbox, in relation to each other.

use crate::agent::Agent;
use crate::agent::event::{EventKind, is_after_tool, is_of_subagent};
use crate::event::{ErrorSource, Event, EventData, EventName, InvokedBy};
use crate::spec::{Spec, ToolEvent};
use crate::text;

/// A name for which hookbox sends no event.
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
    /// The agent has the event, but hookbox has not, or does not know its payload.
    #[error("hookbox has no event for {agent}'s {name}")]
    OnlyThere {
        /// The name.
        name: String,
        /// The agent's name in a sentence.
        agent: &'static str,
    },
}

/// Returns the agent's event of this name that exists only for some kinds of tools.
pub(super) fn tool_event(spec: &Spec, name: &str) -> Option<&'static ToolEvent> {
    spec.hooks.as_ref()?.tool_events.iter().find(|it| it.name == name)
}

/// Returns the event of hookbox to which a hook at this agent's event subscribes. Case counts.
///
/// # Errors
///
/// [`Unknown`] if there is none.
pub fn event_name(agent: Agent, name: &str) -> Result<EventName, Unknown> {
    let spec = agent.spec();
    let has_others = spec.hooks.as_ref().is_some_and(|it| it.has_other_events);
    let is_known = |it: &EventKind| match it {
        EventKind::AfterTurn => false,
        EventKind::Other(_) => has_others,
        _ => true,
    };
    let known = || Some(spec.event(name)?.event).filter(is_known);
    let event = tool_event(spec, name).map(|it| it.event).or_else(known);
    if let Some(event) = event.filter(|_| spec.hooks.is_some()) {
        return Ok(event.event_name());
    }
    if spec.hooks.is_none() || spec.has_event(name) {
        return Err(Unknown::OnlyThere { name: text::escape(name, 80), agent: spec.title });
    }
    let served = spec.events.iter().chain(spec.other_events).map(|it| it.name);
    let names = served.chain(spec.unserved_events.iter().copied());
    Err(Unknown::Nowhere {
        name: text::escape(name, 80),
        agent: spec.title,
        nearest: text::nearest(name, names).unwrap_or("PreToolUse"),
    })
}

/// Returns true if an event is the agent's event `name`. Several of these may be one event of hookbox.
pub(super) fn is(agent: Agent, name: &str, event: &Event) -> bool {
    let spec = agent.spec();
    let Some(hooks) = &spec.hooks else { return false };
    if event_name(agent, name).as_ref() != Ok(&event.name()) {
        return false;
    }
    if let Some(it) = tool_event(spec, name) {
        let kind = event.tool_call().map(|call| hookbox_calls::kind_of(&call.name));
        return kind.is_some_and(|kind| it.kinds.contains(&kind)) && has_worked(&event.data);
    }
    if is_sent(spec, name, event) {
        return true;
    }
    match &event.data {
        EventData::AgentStop(_) => is_of_subagent(name) == (event.context.invoked_by == InvokedBy::Subagent),
        EventData::OnError(error) => match error.source {
            ErrorSource::Tool(_) => is_after_tool(name),
            ErrorSource::Turn(_) => !is_after_tool(name),
            ErrorSource::Hook(_) => false,
        },
        // A further event before a call is that of some calls, which only the agent itself tells apart.
        EventData::BeforeToolCall(_) => {
            let mut before = spec.events.iter().filter(|it| it.event == EventKind::BeforeToolCall);
            before.next().is_none_or(|it| it.name.eq_ignore_ascii_case(name))
        }
        EventData::AfterToolCall(_) if hooks.has_failure_event => has_worked(&event.data),
        _ => true,
    }
}

/// Returns true if the agent at work is this one, and sent its event of this name.
fn is_sent(spec: &Spec, name: &str, event: &Event) -> bool {
    let context = &event.context;
    let sent = context.payload.as_ref().is_some_and(|payload| payload.event == name);
    sent && context.agent.as_deref() == Some(spec.name)
}

fn has_worked(data: &EventData) -> bool {
    !matches!(data, EventData::AfterToolCall(result) if result.success == Some(false))
}
