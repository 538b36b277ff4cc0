//! The events of Claude Code and of hookbox, in both directions.

use crate::event::{ErrorSource, Event, EventData, EventName, InvokedBy};

/// Returns the event of hookbox for Claude Code's event `name`; `None` if hookbox has none (`Setup`,
/// `PostToolBatch` …).
///
/// Several names may be one event; [`name`] tells them apart. The case of a name counts.
pub fn event_name(name: &str) -> Option<EventName> {
    EVENTS.iter().find(|(claude, _)| *claude == name)?.1.parse().ok()
}

/// Claude Code's events, each with its name here; the usual name of an event is its first. The payload of
/// `WorktreeCreate` is answered with a directory, so it is not among them.
const EVENTS: [(&str, &str); 32] = [
    ("SessionStart", "session_start"),
    ("SessionEnd", "session_end"),
    ("UserPromptSubmit", "user_message_send"),
    ("PreToolUse", "before_tool_call"),
    ("PostToolUse", "after_tool_call"),
    ("PostToolUseFailure", "on_error"),
    ("StopFailure", "on_error"),
    ("Stop", "agent_stop"),
    ("SubagentStop", "agent_stop"),
    ("SubagentStop", "subagent_stop"),
    ("PreCompact", "pre_compact"),
    ("PostCompact", "post_compact"),
    ("PermissionRequest", "permission_request"),
    ("Notification", "notification"),
    ("Setup", "setup"),
    ("InstructionsLoaded", "instructions_loaded"),
    ("ConfigChange", "config_change"),
    ("CwdChanged", "cwd_changed"),
    ("DirectoryAdded", "directory_added"),
    ("FileChanged", "file_changed"),
    ("UserPromptExpansion", "user_prompt_expansion"),
    ("PermissionDenied", "permission_denied"),
    ("MessageDisplay", "message_display"),
    ("PreModelSwitch", "pre_model_switch"),
    ("PostModelSwitch", "post_model_switch"),
    ("SubagentStart", "subagent_start"),
    ("TeammateIdle", "teammate_idle"),
    ("TaskCreated", "task_created"),
    ("TaskCompleted", "task_completed"),
    ("Elicitation", "elicitation"),
    ("ElicitationResult", "elicitation_result"),
    ("WorktreeRemove", "worktree_remove"),
];

/// Returns Claude Code's name of this event (`hook_event_name`); `None` if Claude Code has no such event.
///
/// As in Claude Code, `PostToolUse` comes only after a call that succeeded. A failed call is a
/// `PostToolUseFailure`, for which the agent sends `on_error`. A subagent that would stop is a
/// `SubagentStop`.
pub fn name(event: &Event) -> Option<&'static str> {
    match &event.data {
        EventData::AfterToolCall(result) if result.success == Some(false) => None,
        EventData::OnError(error) => match error.source {
            ErrorSource::Tool(_) => Some("PostToolUseFailure"),
            ErrorSource::Turn(_) => Some("StopFailure"),
            ErrorSource::Hook(_) => None,
        },
        EventData::AgentStop(_) if event.context.invoked_by == InvokedBy::Subagent => Some("SubagentStop"),
        _ => names(&event.name()).first().copied(),
    }
}

/// The names by which an answer may call this event (`hookEventName`).
pub(crate) fn names(event: &EventName) -> Vec<&'static str> {
    EVENTS.iter().filter(|(_, own)| *own == event.as_str()).map(|(claude, _)| *claude).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_the_event_that_has_it() {
        for event in EventName::subscribable() {
            for name in names(&event) {
                let is_one = event_name(name) == Some(event.clone()) || event.as_str() == "subagent_stop";
                assert!(is_one, "{name}");
            }
        }
        for (name, own) in EVENTS {
            assert!(event_name(name).is_some(), "{name} {own}");
        }
        for name in ["", "stop", "before_tool_call", "WorktreeCreate", "PostToolBatch", "OnBudgetExceeded"] {
            assert_eq!(event_name(name), None, "{name}");
        }
    }
}
