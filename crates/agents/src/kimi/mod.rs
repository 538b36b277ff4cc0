//! Kimi Code, checked with 2.1: Claude Code's names of events and tools, in a TOML file. Its hooks can block
//! a tool call, block or add to a message, and make the agent go on once. It ignores every other answer, and
//! does not wait for a hook after a tool call.

mod hook;
mod hooks_table;
mod reply;

use std::time::Duration;

use serde_json::json;

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "kimi",
    title: "Kimi Code",
    process: ProcessSigns {
        // It sets no variable for its commands.
        variables: &[],
        commands: &["kimi"],
        processes: &["kimi", "kimi-code"],
        packages: &["@moonshot-ai/kimi-code"],
    },
    project_variable: None,
    places: &[
        at(HOME, ".kimi-code/config.toml", Holds::Hooks),
        at(HOME, ".kimi-code/plugins", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "KIMI_CODE_HOME", directory: ".kimi-code", reads_tilde: false }),
    command_files: &[],
    sessions: None,
    config: ConfigFormat {
        is_toml: true,
        parser: Some(ParserRules { reads_mark: false, check: hooks_table::check }),
        entry: EntryForm {
            groups: Groups::None,
            has_type: false,
            runs_sh: true,
            takes_null_matcher: false,
            longest_timeout: Some(LONGEST),
            ..EntryForm::GROUPED
        },
        ignores_whole_file: true,
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(LeftOut),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("PreToolUse", Blocks, Blocks, LeftOut),
        AgentEvent::after("PostToolUse", LeftOut, LeftOut).inject(LeftOut),
        AgentEvent::error("PostToolUseFailure", LeftOut, LeftOut),
        AgentEvent::error("StopFailure", LeftOut, LeftOut),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop").follow_up(LeftOut),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(LeftOut),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    // It waits for no answer at these.
    other_events: &[
        AgentEvent::other("PermissionResult", "permission_result"),
        AgentEvent::other("UserPromptQueued", "user_prompt_queued"),
        AgentEvent::other("TurnStarted", "turn_started"),
        AgentEvent::other("Interrupt", "interrupt"),
        AgentEvent::other("SessionHeartbeat", "session_heartbeat"),
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
        AgentEvent::other("TaskStarted", "task_started"),
    ],
    unserved_events: &[],
    tools: ToolNames {
        names: &[
            ("Bash", "Bash"),
            ("Read", "Read"),
            ("Write", "Write"),
            ("Edit", "Edit"),
            ("Glob", "Glob"),
            ("Grep", "Grep"),
            ("WebFetch", "FetchURL"),
            ("WebSearch", "WebSearch"),
            ("Agent", "Agent"),
        ],
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Edit", "file_path", "path"),
        ],
        mcp_name: Some("mcp__SERVER__TOOL"),
        ..ToolNames::BASE
    },
    tool_success: |_, _| Some(true),
    // It asks the hooks once at the end of a turn.
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        follow_up: reply::deny,
        // It reads no `systemMessage`, and gives its model any output at `UserPromptSubmit`.
        shows_warnings: false,
        effect: |_, _, specific| effect::permission(specific).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "cwd": call.cwd,
            "client_type": hook::CLIENT, "tool_name": call.tool, "tool_input": {"command": call.line},
            "tool_call_id": "call_0",
        })
    },
    hooks: Some(CommandHooks {
        encode: hook::encode,
        outcome: hook::outcome,
        matcher: |_, pattern| Rule::regex(pattern),
        has_failure_event: true,
        project_variables: &[],
        plugin_variables: &[],
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[],
    doctor: DoctorRules::BASE,
};

/// The longest timeout. Kimi Code ignores every hook of a file with a longer one.
const LONGEST: Duration = Duration::from_secs(600);
