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
        _ => EventName::Other(OTHERS.iter().find(|(claude, _)| *claude == name)?.1.to_owned()),
    })
}

/// Claude Code's events that hookbox passes on as they are, each with its name here. The payload of `WorktreeCreate` is
/// answered with a directory, so it is not among them.
const OTHERS: [(&str, &str); 20] = [
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

/// Returns Claude Code's name of another event.
fn other(name: &str) -> Option<&'static str> {
    OTHERS.iter().find(|(_, own)| *own == name).map(|(claude, _)| *claude)
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
            "subagent_stop" => "SubagentStop",
            name => other(name)?,
        },
        EventData::AfterToolCall(_)
        | EventData::AfterTurn(_)
        | EventData::TurnEnd { .. }
        | EventData::OnBudgetExceeded { .. } => return None,
    })
}

/// The names by which an answer may call this event (`hookEventName`).
pub(crate) fn names(event: &EventName) -> Vec<&'static str> {
    match event {
        EventName::SessionStart => vec!["SessionStart"],
        EventName::SessionEnd => vec!["SessionEnd"],
        EventName::UserMessageSend => vec!["UserPromptSubmit"],
        EventName::BeforeToolCall => vec!["PreToolUse"],
        EventName::AfterToolCall => vec!["PostToolUse"],
        EventName::OnError => vec!["PostToolUseFailure", "StopFailure"],
        EventName::AgentStop => vec!["Stop", "SubagentStop"],
        EventName::PreCompact => vec!["PreCompact"],
        EventName::PostCompact => vec!["PostCompact"],
        EventName::Other(name) if name == "subagent_stop" => vec!["SubagentStop"],
        EventName::Other(name) => other(name).into_iter().collect(),
        EventName::AfterTurn | EventName::TurnEnd | EventName::OnBudgetExceeded => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_the_event_that_has_it() {
        let others = OTHERS.map(|(_, name)| EventName::Other(name.to_owned()));
        for event in EventName::ALL.into_iter().chain(others) {
            for name in names(&event) {
                assert_eq!(event_name(name), Some(event.clone()), "{name}");
            }
        }
        for name in ["", "stop", "before_tool_call", "WorktreeCreate", "PostToolBatch", "OnBudgetExceeded"] {
            assert_eq!(event_name(name), None, "{name}");
        }
    }
}
