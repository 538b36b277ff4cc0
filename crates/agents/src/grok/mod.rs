//! xAI's Grok Build, checked with 1.0: Claude Code's events and answers, in files of its own and in those of Claude Code
//! and Cursor, and payloads in two spellings.

use crate::finding::{contents_of, shown};
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "grok",
    title: "Grok Build",
    process: ProcessSigns {
        variables: &["GROK_AGENT"],
        processes: &["grok", "grok-native"],
        packages: &["@xai-official/grok"],
        ..ProcessSigns::of(&["grok"])
    },
    places: &[
        at(BOTH, ".grok/hooks", Holds::Files),
        at(HOME, DISABLED, Holds::Beside),
        at(HOME, ".grok/config.toml", Holds::Beside),
        at(HOME, ".grok/trusted_folders.toml", Holds::Beside),
        at(HOME, ".grok/installed-plugins", Holds::Beside),
        at(BOTH, ".claude/settings.json", Holds::HooksOf(&crate::claude::SPEC)),
        at(BOTH, ".cursor/hooks.json", Holds::HooksOf(&crate::cursor::SPEC)),
    ],
    moved_by: Some(MovedBy { variable: "GROK_HOME", directory: ".grok", reads_tilde: false }),
    config: ConfigFormat {
        entry: EntryForm { has_http: true, has_env: true, runs_sh: true, ..EntryForm::GROUPED },
        own_field: Some("workspaceRoot"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 5),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(LeftOut),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, LeftOut),
        // It runs the tool after `ask` if it was told to ask about no tool.
        AgentEvent::before("PreToolUse", Blocks, Honoured, Honoured),
        AgentEvent::after("PostToolUse", Honoured, Honoured),
        AgentEvent::error("PostToolUseFailure", Told, Honoured),
        AgentEvent::error("StopFailure", LeftOut, LeftOut),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    unserved_events: "PermissionDenied StopCancelled SubagentStart SubagentEnd",
    tools: ToolNames {
        names: "Bash=run_terminal_command Read=read_file Write=write Edit=search_replace Grep=grep \
            LS=list_dir WebFetch=web_fetch WebSearch=web_search Agent=spawn_subagent",
        mcp_name: Some("SERVER__TOOL"),
        exit_status: |output| i32::try_from(output.get("exit_code")?.as_i64()?).ok(),
        ..ToolNames::BASE
    },
    tool_success: |_, status| Some(status.is_none_or(|status| status == 0)),
    answers: Answers {
        write: crate::claude::write,
        shows_warnings: false,
        max_context: Some(10_000),
        changed_output,
        effect: |_, answer, specific| {
            let decision = || effect::decision(answer, &["deny", "block"]);
            effect::permission(specific).or_else(decision).filter(Effect::is_blocked)
        },
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "hookEventName": "pre_tool_use", "sessionId": call.session, "workspaceRoot": call.cwd, "timestamp": TIME,
            "permissionMode": "default", "toolName": call.tool, "toolUseId": "call_0", "toolInputTruncated": false,
            "transcriptPath": "",
            "toolInput": {"command": call.line, "description": "run a command"}, "tool_use_id": "call_0",
            "tool_input": {"command": call.line, "description": "run a command"}, "permission_mode": "default",
        }))
    },
    next_steps: &[(
        &Level::IN_PROJECT,
        "type /hooks-trust in grok: it runs the hooks of a project only in a trusted folder",
    )],
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

/// The names of the hooks that its user has switched off in `/hooks`.
const DISABLED: &str = ".grok/disabled-hooks";

/// Checks that the entry is not switched off.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let Some(file) = SPEC.path(conditions.surroundings, Level::User, DISABLED) else { return };
    let text = contents_of(&file).unwrap_or_default();
    let own = conditions.file.file_stem().unwrap_or_default().to_string_lossy();
    if String::from_utf8_lossy(&text).contains(&format!("/{own}:")) {
        let message = format!("{} switches hooks of this file off", shown(&file));
        found.fail("switch", message, "switch them on in /hooks of grok");
    }
}

/// Returns the new output in the shape of the old one, as the tool has it. The model reads `output_for_prompt` of a command,
/// and any text of a tool of an MCP server.
fn changed_output(_tool: &str, was: &Value, new: &Value) -> ChangedOutput {
    if was.get("type") == new.get("type") {
        return ChangedOutput::Whole(new.clone());
    }
    let mut changed = was.clone();
    match changed.as_object_mut().filter(|it| it.contains_key("output_for_prompt")) {
        Some(fields) => {
            fields.extend(object([("output_for_prompt", text(new).into()), ("output", json!([]))]));
            ChangedOutput::Whole(changed)
        }
        None => ChangedOutput::Told(output::filled(new)),
    }
}
