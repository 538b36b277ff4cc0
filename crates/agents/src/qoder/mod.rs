//! Qoder CLI, checked with 1.1: Claude Code's events, answers, tools and session files.

use crate::claude::{changed_output, write};
use crate::gemini_family::ENABLED;
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "qoder",
    title: "Qoder",
    process: ProcessSigns {
        variables: &["QODER_CLI"],
        packages: &["@qoder-ai/qodercli"],
        ..ProcessSigns::of(&["qodercli"])
    },
    project_variable: Some("QODER_PROJECT_DIR"),
    places: &[
        at(BOTH, ".qoder/settings.json", Holds::Hooks),
        at(LOCAL, ".qoder/settings.local.json", Holds::Hooks),
        at(HOME, ".qoder/plugins", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "QODER_CONFIG_DIR", directory: ".qoder", reads_tilde: false }),
    sessions: Some(&crate::claude::sessions::QODER),
    config: ConfigFormat {
        reads_comments: true,
        parser: Some(ParserRules { reads_mark: true, check: |_| None }),
        entry: EntryForm { has_args: true, has_http: true, has_env: true, ..EntryForm::GROUPED },
        disable_settings: &[DisableSetting::ALL, ENABLED],
        former_settings: &["enabled", "disabled", "notifications"],
        repository_switch: Some("\"disableAllHooks\": true in its .qoder/settings.json"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        // It runs the tool after `ask` if it was told to ask about no tool.
        AgentEvent::before("PreToolUse", Blocks, Honoured, Honoured),
        AgentEvent::after("PostToolUse", Honoured, Honoured),
        AgentEvent::error("PostToolUseFailure", Told, Honoured),
        AgentEvent::error("StopFailure", LeftOut, LeftOut),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    unserved_events: "Setup SubagentStart ConfigChange TeammateIdle InstructionsLoaded CwdChanged \
        FileChanged WorktreeCreate WorktreeRemove Elicitation ElicitationResult TaskCreated TaskCompleted \
        PermissionDenied",
    tools: ToolNames {
        names: "Bash Read Write Edit Glob Grep WebFetch WebSearch Agent",
        mcp_name: Some("mcp__SERVER__TOOL"),
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        // It takes a text for the output of any tool.
        changed_output: |tool, was, new| match changed_output(tool, was, new) {
            ChangedOutput::Stops => ChangedOutput::Whole(text(new).into()),
            changed => changed,
        },
        effect: |_, _, specific| effect::permission(specific).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "permission_mode": "default", "tool_use_id": "toolu_000",
            "tool_input": {"command": call.line, "description": "run a command"},
        }))
    },
    next_steps: &[(
        &Level::IN_PROJECT,
        "trust the folder when qodercli asks: it runs the hooks of a project only then",
    )],
    doctor: DoctorRules { off_words: &["--bare", "--setting-sources"], ..DoctorRules::BASE },
    ..Spec::BASE
};
