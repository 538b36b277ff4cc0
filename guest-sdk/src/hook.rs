//! The [`Hook`] trait.

use crate::event::EventData;
use crate::{
    AfterTurn, AgentStop, Answer, BudgetExceeded, Context, Document, Error, ErrorEvent, Manifest,
    PostCompact, PreCompact, SessionEnd, SessionStart, ToolCall, ToolResult, TurnEnd, UserMessage,
};

/// A hook: its manifest, and one method per event. It gets the events of its manifest; a method that is not
/// written passes.
///
/// Every call has a fresh instance: memory does not last from one call to the next.
///
/// # Errors
///
/// An `Err` of any method is a failure of the hook, never a decision: the hook's `on_failure` decides.
pub trait Hook {
    /// Returns the manifest. It is called without any right; it must return the same every time.
    fn manifest() -> Manifest;

    /// A session begins. It may inject.
    fn session_start(_cx: &Context, _event: &SessionStart) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// A session ends.
    fn session_end(_cx: &Context, _event: &SessionEnd) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The user sends a message. It may block, modify and inject.
    fn user_message_send(_cx: &Context, _event: &UserMessage) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// A tool is about to run. It may block, ask, modify the input and inject.
    fn before_tool_call(_cx: &Context, _call: &ToolCall) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// A tool has run, or was blocked. The hook may block (the agent must change course), modify the output
    /// and inject.
    fn after_tool_call(_cx: &Context, _result: &ToolResult) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// Something failed. It may modify the error's text and inject.
    fn on_error(_cx: &Context, _event: &ErrorEvent) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The model has answered. It may inject, mutate and call back.
    fn after_turn(_cx: &Context, _event: &AfterTurn) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// A turn of the user is over.
    fn turn_end(_cx: &Context, _event: &TurnEnd) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The agent would stop. It may follow up, mutate and call back.
    fn agent_stop(_cx: &Context, _event: &AgentStop) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The conversation is about to be compacted. It may block and inject.
    fn pre_compact(_cx: &Context, _event: &PreCompact) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The conversation has been compacted. It may inject.
    fn post_compact(_cx: &Context, _event: &PostCompact) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// The token budget has passed a threshold. It may block, inject and call back.
    fn on_budget_exceeded(_cx: &Context, _event: &BudgetExceeded) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }

    /// An event that this version has no case for, such as `notification`; `data` is a JSON object.
    fn other(_cx: &Context, _name: &str, _data: &Document) -> Result<Answer, Error> {
        Ok(Answer::pass())
    }
}

/// Calls the method of this event.
pub(crate) fn dispatch<H: Hook>(cx: &Context, data: &EventData) -> Result<Answer, Error> {
    match data {
        EventData::SessionStart(event) => H::session_start(cx, event),
        EventData::SessionEnd(event) => H::session_end(cx, event),
        EventData::UserMessageSend(event) => H::user_message_send(cx, event),
        EventData::BeforeToolCall(call) => H::before_tool_call(cx, call),
        EventData::AfterToolCall(result) => H::after_tool_call(cx, result),
        EventData::OnError(event) => H::on_error(cx, event),
        EventData::AfterTurn(event) => H::after_turn(cx, event),
        EventData::TurnEnd(event) => H::turn_end(cx, event),
        EventData::AgentStop(event) => H::agent_stop(cx, event),
        EventData::PreCompact(event) => H::pre_compact(cx, event),
        EventData::PostCompact(event) => H::post_compact(cx, event),
        EventData::OnBudgetExceeded(event) => H::on_budget_exceeded(cx, event),
        EventData::Other { name, data } => H::other(cx, name, data),
    }
}
