//! Qwen Code, checked with 0.24: Claude Code's names of the events, and Gemini CLI's names of the tools.

mod aliases;
mod hook;
mod reply;

use serde_json::{Map, Value, json};

use crate::dialect::claude::{MatcherError, compile};
use crate::gemini_family::{DISABLED, ENABLED, folder_trust};
use crate::spec::prelude::*;

/// The system's settings, which override those of users and projects.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/QwenCode/settings.json"
} else {
    "/etc/qwen-code/settings.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "qwen",
    title: "Qwen Code",
    process: ProcessSigns {
        // QwenLM/qwen-code: packages/core/src/services/shellExecutionService.ts.
        variables: &["QWEN_CODE"],
        commands: &["qwen"],
        processes: &["qwen"],
        packages: &["@qwen-code/qwen-code"],
    },
    project_variable: Some("QWEN_PROJECT_DIR"),
    places: &[
        at(BOTH, ".qwen/settings.json", Holds::Hooks),
        at(BOTH, ".qwen/hooks", Holds::Beside),
        at(HOME, ".qwen/trustedFolders.json", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    moved_by: Some(MovedBy { variable: "QWEN_HOME", directory: ".qwen", reads_tilde: true }),
    command_files: &[braced(".qwen/commands")],
    sessions: None,
    config: ConfigFormat {
        reads_comments: true,
        parser: Some(ParserRules { reads_mark: true, check: |_| None }),
        entry: EntryForm { has_env: true, ..EntryForm::GROUPED },
        disable_settings: &[DisableSetting::ALL, ENABLED, DISABLED],
        former_settings: &["enabled", "disabled", "notifications"],
        repository_switch: Some("\"disableAllHooks\": true in its .qwen/settings.json"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::SecondsBelow1000, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        // It fires again after each round of tools, with an empty message.
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured).unless_empty(),
        AgentEvent::before("PreToolUse", Honoured, Blocks, LeftOut),
        AgentEvent::after("PostToolUse", Honoured, Blocks),
        AgentEvent::error("PostToolUseFailure", Told, Honoured),
        AgentEvent::new("PostToolBatch", EventKind::AfterTurn).inject(Honoured),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    other_events: &[
        AgentEvent::other("InstructionsLoaded", "instructions_loaded"),
        AgentEvent::stoppable("UserPromptExpansion", "user_prompt_expansion").inject(Honoured),
        AgentEvent::other("PermissionDenied", "permission_denied"),
        AgentEvent::other("MessageDisplay", "message_display"),
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(Honoured),
        AgentEvent::stoppable("TodoCreated", "todo_created"),
        AgentEvent::stoppable("TodoCompleted", "todo_completed"),
        AgentEvent::other("SessionDelete", "session_delete"),
    ],
    unserved_events: &[],
    tools: ToolNames {
        names: &[
            ("Bash", "run_shell_command"),
            ("Read", "read_file"),
            ("Write", "write_file"),
            ("Edit", "edit"),
            ("Glob", "glob"),
            ("Grep", "grep_search"),
            ("LS", "list_directory"),
            ("WebFetch", "web_fetch"),
            ("WebSearch", "web_search"),
            ("Agent", "agent"),
        ],
        mcp_name: Some("mcp__SERVER__TOOL"),
        aliases: aliases::aliases,
        failed_output,
        exit_status: exit_status::in_last_lines,
        ..ToolNames::BASE
    },
    tool_success: |_, status| Some(status.is_none_or(|status| status == 0)),
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        stop_replaces_failed: true,
        effect: |_, answer, specific| {
            let decision = || effect::decision(answer, &["block", "deny"]);
            effect::permission(specific).or_else(decision).or_else(|| effect::stop(answer))
        },
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "timestamp": TIME, "permission_mode": "default", "prompt_id": call.session,
            "tool_use_id": "toolu_000", "tool_call_id": "call_0",
            "tool_input": {"command": call.line, "description": "run a command", "is_background": false},
        }))
    },
    hooks: Some(CommandHooks {
        encode: hook::encode,
        outcome: hook::outcome,
        matcher: |_, pattern| matcher(pattern.trim()),
        has_failure_event: true,
        output_fields: &["llmContent", "returnDisplay"],
        output_text_fields: &["llmContent"],
        session_variable: Some("QWEN_CODE_SESSION_ID"),
        project_variables: &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        manifest: Some("qwen-extension.json"),
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[(
        &Level::IN_PROJECT,
        "start qwen in ROOT: it does not look above the directory where it starts",
    )],
    doctor: DoctorRules { check: folder_trust::check_qwen, ..DoctorRules::BASE },
};

/// Returns the text of a failed call of a batch.
fn failed_output(call: &Map<String, Value>) -> Option<Value> {
    let has_failed = call.get("status").is_some_and(|status| status != "success");
    let response = call.get("tool_response").filter(|_| has_failed)?;
    Some(response.get("error").unwrap_or(response).clone())
}

/// Reads a matcher: names separated by `|`, such as `Bash`, `Shell` and `ShellTool` for one tool, and otherwise an
/// expression that may match anywhere in the tool's own name.
fn matcher(pattern: &str) -> Result<Rule, MatcherError> {
    let is_list = pattern.contains('|') && !pattern.starts_with(['^', '(']);
    let parts = || pattern.split('|').map(str::trim).filter(|part| !part.is_empty());
    if pattern == ".*" || (is_list && parts().any(|part| matches!(part, "*" | ".*"))) {
        return Ok(Rule::All);
    }
    let (names, expression) = if is_list {
        (parts().map(str::to_owned).collect(), parts().collect::<Vec<_>>().join("|"))
    } else {
        (vec![pattern.to_owned()], pattern.to_owned())
    };
    let regex = Some(compile(&expression)?).filter(|_| !expression.is_empty());
    Ok(Rule::Listed { names, regex })
}
