//! Qwen Code, checked with 0.24: Claude Code's names of the events, and Gemini CLI's names of the tools.

use crate::dialect::claude::{MatcherError, compile};
use crate::gemini_family::{self, DISABLED, ENABLED, STYLE, answer_in, printed};
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
    // QwenLM/qwen-code: packages/core/src/services/shellExecutionService.ts.
    process: ProcessSigns {
        variables: &["QWEN_CODE"],
        packages: &["@qwen-code/qwen-code"],
        ..ProcessSigns::of(&["qwen"])
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
    tools: ToolNames {
        names: "Bash=run_shell_command Read=read_file Write=write_file Edit=edit Glob=glob \
            Grep=grep_search LS=list_directory WebFetch=web_fetch WebSearch=web_search Agent=agent",
        mcp_name: Some("mcp__SERVER__TOOL"),
        aliases,
        failed_output,
        exit_status: output::in_last_lines,
        ..ToolNames::BASE
    },
    tool_success: |_, status| Some(status.is_none_or(|status| status == 0)),
    answers: Answers {
        write,
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
        encode,
        outcome,
        matcher: |_, pattern| matcher(pattern.trim()),
        has_failure_event: true,
        output_fields: &["llmContent", "returnDisplay"],
        output_text_fields: &["llmContent"],
        session_variable: Some("QWEN_CODE_SESSION_ID"),
        project_variables: &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        manifest: Some("qwen-extension.json"),
        ..CommandHooks::BASE
    }),
    next_steps: &[(
        &Level::IN_PROJECT,
        "start qwen in ROOT: it does not look above the directory where it starts",
    )],
    doctor: DoctorRules { check: gemini_family::check_qwen, ..gemini_family::DOCTOR },
    ..Spec::BASE
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

const MODES: [&str; 5] = ["default", "plan", "auto-edit", "auto", "yolo"];

/// The hooks of Qwen Code, with Claude Code's names of the events, and Gemini CLI's names of the tools and
/// words for a decision.
fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut it = Payload::begun(name, event, session);
    it.put("permission_mode", payload::mode(event, session, &MODES));
    if !matches!(name, "SessionStart" | "SessionEnd" | "Notification") {
        it.put("prompt_id", "");
    }
    it.event(&SPEC, name, event, payload::TOOL);
    let id = event.tool_call().and_then(|call| call.id.as_deref());
    it.known("tool_use_id", id);
    it.known("tool_call_id", id);
    match &event.data {
        EventData::SessionStart { .. } => it.put("model", ""),
        EventData::UserMessageSend { message } => it.known("submitted_prompt", message.as_deref()),
        EventData::AfterToolCall(result) => {
            it.put("tool_response", payload::with_display(result.output.value()));
            it.known("duration_ms", result.duration_ms);
        }
        EventData::OnError(error) => {
            if let ErrorSource::Tool(_) = &error.source {
                it.put("is_interrupt", error.kind.as_deref() == Some("interrupt"));
            }
            it.put("error", error.message.as_str());
        }
        EventData::AgentStop(stop) => {
            it.put("last_assistant_message", payload::last_messages(stop).0.unwrap_or_default());
            it.put("background_tasks", json!([]));
            it.put("crons", json!([]));
            if let Some(usage) = stop.usage {
                it.known("context_usage", usage.share());
                it.put("context_limit", usage.max_context_window);
                it.put("input_tokens", usage.current_context_window);
            }
        }
        EventData::PreCompact { .. } => it.put("custom_instructions", ""),
        EventData::PostCompact { summary, .. } => it.known("compact_summary", summary.as_deref()),
        _ => {}
    }
    it.done()
}

fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    // It reads an answer on standard error as well.
    if ended.exit_code == 2
        && let Some(answer) = answer_in(ended.stderr.as_bytes(), event, &STYLE)
    {
        return Ok(answer);
    }
    claude::by_answer(event, ended.exit_code, ended.stdout, ended.stderr, || printed(event, ended, &STYLE))
}

/// Writes the answers to Qwen Code. It changes no input. After a tool call, and after a batch with a failed call, it
/// knows only `continue: false`, whose reason replaces the output.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Ask(reason) => specific(event, permission("ask", reason)),
        Decision::Block(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall => specific(event, permission("deny", reason)),
            EventKind::PermissionRequest => denied(event, reason),
            EventKind::AfterToolCall | EventKind::AfterTurn => stop(reason),
            _ => decision("block", reason),
        },
        Decision::Pass => specific(event, context(plan)),
    }
}

/// Tools whose name for people is their own in PascalCase, without `omni_`.
const REGULAR: &str = "artifact ask_user_question create_sub_session cron_create cron_delete cron_list display_image \
    enter_plan_mode enter_worktree exec exit_plan_mode exit_worktree image_gen list_agents loop_wakeup lsp \
    monitor notebook_edit omni_caption_audio omni_caption_image omni_clip_audio omni_clip_image \
    omni_clip_video omni_convert_image omni_downsample_audio omni_downsample_image omni_downscale_video \
    omni_extract_audio omni_extract_keyframes omni_ocr_image omni_recall_media_memory omni_transcribe_audio \
    omni_understand_video_segments propose_goal read_mcp_resource record_artifact record_source \
    report_findings request_shutdown save_memory send_message skill structured_output task_create task_list \
    task_stop task_update team_create team_delete team_plan_approval tool_call tool_search update_goal \
    web_fetch web_search workflow zoom_image";

/// The other tools, with the name for people and more names.
const SPECIAL: [(&str, &str, &[&str]); 10] = [
    ("agent", "Agent", &["Task", "TaskTool", "task"]),
    ("edit", "Edit", &["replace"]),
    ("get_goal", "Goal", &["GetGoal"]),
    ("glob", "Glob", &["FindFiles"]),
    ("grep_search", "Grep", &["SearchFiles", "search_file_content"]),
    ("list_directory", "ListFiles", &["ReadFolder"]),
    ("read_file", "ReadFile", &["Read"]),
    ("run_shell_command", "Shell", &["Bash"]),
    ("todo_write", "TodoWrite", &["TodoList", "TodoListTool"]),
    ("write_file", "WriteFile", &["Write"]),
];

/// Returns the further names of Qwen Code's tool `name`; none for any other tool.
///
/// Further names by which a matcher of Qwen Code may mean one of its tools (0.24): the name for people, the
/// same with `Tool` at its end, names of former versions, and some of Claude Code's.
fn aliases(name: &str) -> Vec<String> {
    let special = SPECIAL.iter().find(|(tool, ..)| *tool == name);
    let (shown, others) = match special {
        Some((_, shown, others)) => ((*shown).to_owned(), *others),
        None if REGULAR.split(' ').any(|tool| tool == name) => (pascal_case(name), &[][..]),
        None => return Vec::new(),
    };
    let others = others.iter().map(|it| (*it).to_owned());
    [format!("{shown}Tool"), shown].into_iter().chain(others).collect()
}

fn pascal_case(name: &str) -> String {
    let words = name.strip_prefix("omni_").unwrap_or(name).split('_');
    let capital = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_ascii_uppercase() + rest
    };
    words.map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_that_the_agents_share_has_its_names() {
        for tool in SPEC.tools.own() {
            assert!(!aliases(tool).is_empty(), "{tool}");
        }
        for tool in ["Bash", "mcp__t__echo", ""] {
            assert!(aliases(tool).is_empty(), "{tool}");
        }
    }

    #[test]
    fn a_tool_is_known_by_its_name_for_people_and_by_former_names() {
        for (tool, want) in [
            ("cron_create", &["CronCreateTool", "CronCreate"][..]),
            ("omni_clip_image", &["ClipImageTool", "ClipImage"]),
            ("run_shell_command", &["ShellTool", "Shell", "Bash"]),
        ] {
            assert_eq!(aliases(tool), want, "{tool}");
        }
    }
}
