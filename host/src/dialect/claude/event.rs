//! The events of Claude Code and of hookbox, in both directions.

use crate::event::{ErrorSource, Event, EventData, EventName, InvokedBy};

/// Returns the event of hookbox for Claude Code's event `name`; `None` if hookbox has none (`Setup`,
/// `PostToolBatch` …).
///
/// Several names may be one event; [`name`] tells them apart. The case of a name counts.
pub fn event_name(name: &str) -> Option<EventName> {
    Some(match name {
        "SessionStart" => EventName::SessionStart,
        "SessionEnd" => EventName::SessionEnd,
        "UserPromptSubmit" => EventName::UserMessageSend,
        "PreToolUse" => EventName::BeforeToolCall,
        "PostToolUse" => EventName::AfterToolCall,
        "PostToolUseFailure" | "StopFailure" => EventName::OnError,
        "Stop" | "SubagentStop" => EventName::AgentStop,
        "PreCompact" => EventName::PreCompact,
        "PostCompact" => EventName::PostCompact,
        "PermissionRequest" => EventName::Other("permission_request".to_owned()),
        "Notification" => EventName::Other("notification".to_owned()),
        _ => return None,
    })
}

/// Returns Claude Code's name of this event (`hook_event_name`); `None` if Claude Code has no such event.
///
/// As in Claude Code, `PostToolUse` comes only after a call that succeeded. A failed call is a
/// `PostToolUseFailure`, for which the agent sends `on_error`. A subagent that would stop is a
/// `SubagentStop`.
pub fn name(event: &Event) -> Option<&'static str> {
    Some(match &event.data {
        EventData::SessionStart { .. } => "SessionStart",
        EventData::SessionEnd { .. } => "SessionEnd",
        EventData::UserMessageSend { .. } => "UserPromptSubmit",
        EventData::BeforeToolCall(_) => "PreToolUse",
        EventData::AfterToolCall(result) if result.success != Some(false) => "PostToolUse",
        EventData::OnError(error) => match error.source {
            ErrorSource::Tool(_) => "PostToolUseFailure",
            ErrorSource::Turn(_) => "StopFailure",
            ErrorSource::Hook(_) => return None,
        },
        EventData::AgentStop(_) if event.context.invoked_by == InvokedBy::Subagent => "SubagentStop",
        EventData::AgentStop(_) => "Stop",
        EventData::PreCompact { .. } => "PreCompact",
        EventData::PostCompact { .. } => "PostCompact",
        EventData::Other { name, .. } => match name.as_str() {
            "permission_request" => "PermissionRequest",
            "notification" => "Notification",
            "subagent_stop" => "SubagentStop",
            _ => return None,
        },
        EventData::AfterToolCall(_)
        | EventData::AfterTurn(_)
        | EventData::TurnEnd { .. }
        | EventData::OnBudgetExceeded { .. } => return None,
    })
}

/// The names by which an answer may call this event (`hookEventName`).
pub(super) fn names(event: &EventName) -> &'static [&'static str] {
    match event {
        EventName::SessionStart => &["SessionStart"],
        EventName::SessionEnd => &["SessionEnd"],
        EventName::UserMessageSend => &["UserPromptSubmit"],
        EventName::BeforeToolCall => &["PreToolUse"],
        EventName::AfterToolCall => &["PostToolUse"],
        EventName::OnError => &["PostToolUseFailure", "StopFailure"],
        EventName::AgentStop => &["Stop", "SubagentStop"],
        EventName::PreCompact => &["PreCompact"],
        EventName::PostCompact => &["PostCompact"],
        EventName::Other(name) => match name.as_str() {
            "permission_request" => &["PermissionRequest"],
            "notification" => &["Notification"],
            "subagent_stop" => &["SubagentStop"],
            _ => &[],
        },
        EventName::AfterTurn | EventName::TurnEnd | EventName::OnBudgetExceeded => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_the_event_that_has_it() {
        for event in EventName::ALL {
            for name in names(&event) {
                assert_eq!(event_name(name), Some(event.clone()), "{name}");
            }
        }
        for name in ["", "stop", "before_tool_call", "Setup", "PostToolBatch", "OnBudgetExceeded"] {
            assert_eq!(event_name(name), None, "{name}");
        }
    }
}
