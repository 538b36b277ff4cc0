//! Copilot CLI, checked with 1.0. It has each event in two styles, such as `preToolUse` and `PreToolUse`.

mod folder_trust;
mod hook;
mod reply;
mod sessions;

use serde_json::{Value, json};

use crate::claude;
use crate::event::EventData;
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "copilot",
    title: "Copilot CLI",
    process: ProcessSigns {
        // Seen by others in the processes of Copilot CLI 1.0; its own documentation has neither.
        variables: &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
        commands: &["copilot"],
        processes: &["copilot"],
        packages: &["@github/copilot"],
    },
    project_variable: None,
    places: &[
        at(HOME, ".copilot/hooks", Holds::Files),
        at(HOME, ".copilot/settings.json", Holds::Hooks),
        at(HOME, ".copilot/config.json", Holds::Beside),
        at(PROJECT, ".github/hooks", Holds::Files),
        at(PROJECT, ".github/copilot/settings.json", Holds::Hooks),
        at(PROJECT, ".github/copilot/settings.local.json", Holds::Hooks),
        at(PROJECT, ".claude/settings.json", Holds::HooksOf(&claude::SPEC)),
        at(LOCAL, ".claude/settings.local.json", Holds::HooksOf(&claude::SPEC)),
    ],
    moved_by: Some(MovedBy { variable: "COPILOT_HOME", directory: ".copilot", reads_tilde: false }),
    command_files: &[],
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        entry: EntryForm {
            groups: Groups::Optional,
            command_keys: &["bash", "command"],
            timeout_keys: &["timeoutSec", "timeout"],
            has_version: true,
            has_env: true,
            has_cwd: true,
            ..EntryForm::GROUPED
        },
        disable_settings: &[
            DisableSetting::ALL,
            DisableSetting {
                within: None,
                key: "disabledHooks",
                leaves_out: LeavesOut::Named,
                shown: "\"disabledHooks\"",
            },
        ],
        reads_above: Above::Root,
        repository_switch: Some(
            "\"disableAllHooks\": true in its .github/copilot/settings.json or .claude/settings.json",
        ),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    // The payloads in PascalCase name their event, so these are installed.
    events: &[
        AgentEvent::new("sessionStart", EventKind::SessionStart).inject(Honoured).unusual(),
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("sessionEnd", EventKind::SessionEnd).unusual(),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("userPromptSubmitted", Blocks, Honoured).unusual(),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("preToolUse", Honoured, Honoured, Honoured).takes_allow().unusual(),
        AgentEvent::before("PreToolUse", Honoured, Honoured, Honoured).takes_allow(),
        AgentEvent::after("postToolUse", Honoured, Honoured).unusual(),
        AgentEvent::after("PostToolUse", Honoured, Honoured),
        AgentEvent::error("postToolUseFailure", LeftOut, LeftOut).unusual(),
        AgentEvent::error("PostToolUseFailure", LeftOut, LeftOut),
        AgentEvent::error("errorOccurred", LeftOut, LeftOut).unusual(),
        AgentEvent::error("ErrorOccurred", LeftOut, LeftOut),
        AgentEvent::stop("agentStop").unusual(),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("subagentStop").unusual(),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("preCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut).unusual(),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("permissionRequest", EventKind::PermissionRequest).block(Honoured).unusual(),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
        AgentEvent::new("notification", EventKind::Notification).unusual(),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    other_events: &[
        AgentEvent::other("subagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
    ],
    unserved_events: &[],
    tools: ToolNames {
        names: &[
            ("Bash", "bash"),
            ("Read", "view"),
            ("Write", "create"),
            ("Edit", "edit"),
            ("Glob", "glob"),
            ("Grep", "grep"),
            ("WebFetch", "web_fetch"),
            ("Agent", "task"),
        ],
        // In PascalCase, its matchers know its own names as well.
        claude_names: ClaudeNames::AtPascalEvents,
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Write", "content", "file_text"),
            ("Edit", "file_path", "path"),
            ("Edit", "old_string", "old_str"),
            ("Edit", "new_string", "new_str"),
        ],
        mcp_aliases: &["mcp__SERVER__TOOL", "SERVER-TOOL"],
        exit_status: exit_status::in_shell_mark,
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let kind = output.get("resultType").or_else(|| output.get("result_type"));
        let has_worked = kind.and_then(Value::as_str).map(|kind| kind == "success");
        // A command that fails is a success of the tool.
        if status.is_some_and(|status| status != 0) { Some(false) } else { has_worked }
    },
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        shows_warnings: false,
        changed_output: |_, _, new| {
            ChangedOutput::Whole(json!({"resultType": "success", "textResultForLlm": text(new)}))
        },
        failure_blocks: true,
        effect: |event, answer, specific| {
            let specific = specific.filter(|_| is_pascal(event.name));
            effect::permission(Some(answer)).or_else(|| effect::permission(specific))
        },
        ..Answers::BASE
    },
    sample_call,
    hooks: Some(CommandHooks {
        encode: hook::encode,
        outcome: hook::outcome,
        // In camelCase, an expression for the whole name.
        matcher: |event, pattern| match is_pascal(event) {
            true => Rule::names(pattern),
            false => Rule::regex(&format!("^(?:{pattern})$")),
        },
        // At other events its matchers do not count (seen).
        subject: |event| match &event.data {
            EventData::Other { .. } => rule::subject(event),
            _ => None,
        },
        output_fields: &["resultType", "result_type"],
        output_text_fields: &["textResultForLlm", "text_result_for_llm"],
        project_variables: &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        directory_variable: Some("COPILOT_HOOK_DIR"),
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[(PROJECT, "trust the folder when copilot asks: it reads the repository's hooks only then")],
    doctor: DoctorRules { check: folder_trust::check, ..DoctorRules::BASE },
};

fn sample_call(call: &SampleCall<'_>) -> Value {
    if is_pascal(call.event.name) {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "timestamp": TIME, "cwd": call.cwd,
            "tool_name": call.tool, "tool_input": call.input(),
        })
    } else {
        json!({
            "sessionId": call.session, "timestamp": 1_767_225_600_000_u64, "cwd": call.cwd, "toolName": call.tool,
            "toolArgs": call.input(),
        })
    }
}
