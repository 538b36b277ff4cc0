//! Gemini CLI, checked with 0.61.

mod hook;
mod reply;
mod sessions;

use serde_json::json;

use crate::dialect::claude::compile;
use crate::gemini_family::{DISABLED, ENABLED, folder_trust};
use crate::spec::prelude::*;

/// The system's settings, which override those of users and projects.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "gemini",
    title: "Gemini CLI",
    process: ProcessSigns {
        // google-gemini/gemini-cli: docs/tools/shell.md.
        variables: &["GEMINI_CLI"],
        commands: &["gemini"],
        processes: &["gemini"],
        packages: &["@google/gemini-cli"],
    },
    project_variable: Some("GEMINI_PROJECT_DIR"),
    places: &[
        at(BOTH, ".gemini/settings.json", Holds::Hooks),
        at(BOTH, ".gemini/hooks", Holds::Beside),
        at(HOME, ".gemini/trustedFolders.json", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    moved_by: Some(MovedBy { variable: "GEMINI_CLI_HOME", directory: "", reads_tilde: false }),
    command_files: &[braced(".gemini/commands")],
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        reads_comments: true,
        parser: Some(ParserRules { reads_mark: false, check: |_| None }),
        entry: EntryForm { name_key: Some("name"), has_env: true, ..EntryForm::GROUPED },
        disable_settings: &[ENABLED, DISABLED],
        former_settings: &["enabled", "disabled", "notifications"],
        repository_switch: Some("\"hooksConfig\": {\"enabled\": false} in its .gemini/settings.json"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Milliseconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("BeforeAgent", Blocks, Honoured),
        AgentEvent::before("BeforeTool", Honoured, Honoured, LeftOut),
        AgentEvent::after("AfterTool", Honoured, Blocks),
        // It fires for every piece of an answer.
        AgentEvent::new("AfterModel", EventKind::AfterTurn).inject(LeftOut).unusual(),
        AgentEvent::stop("AfterAgent"),
        // It fires before every call of the model.
        AgentEvent::new("PreCompress", EventKind::PreCompact).block(LeftOut).inject(LeftOut).unusual(),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    other_events: &[
        AgentEvent::stoppable("BeforeModel", "before_model"),
        AgentEvent::other("BeforeToolSelection", "before_tool_selection"),
    ],
    unserved_events: &[],
    tools: ToolNames {
        names: &[
            ("Bash", "run_shell_command"),
            ("Read", "read_file"),
            ("Write", "write_file"),
            ("Edit", "replace"),
            ("Glob", "glob"),
            ("Grep", "grep_search"),
            ("LS", "list_directory"),
            ("WebFetch", "web_fetch"),
            ("WebSearch", "google_web_search"),
        ],
        mcp_name: Some("mcp_SERVER_TOOL"),
        mcp_aliases: &["mcp_SERVER_TOOL"],
        exit_status: exit_status::in_last_lines,
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let is_error = output.get("error").is_some_and(|error| !error.is_null());
        if is_error { Some(false) } else { status.map(|status| status == 0) }
    },
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        // It puts the new fields over the old ones, so that none can be taken away.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        effect: |_, answer, _| effect::decision(answer, &["block", "deny"]).or_else(|| effect::stop(answer)),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "timestamp": TIME,
            "tool_input": {"command": call.line, "description": "run a command", "is_background": false},
        }))
    },
    hooks: Some(CommandHooks {
        encode: hook::encode,
        outcome: hook::outcome,
        matcher: |_, pattern| {
            let word = pattern.trim();
            Ok(Rule::Word { word: word.to_owned(), regex: compile(word)? })
        },
        merges_input: true,
        optional_fields: &["mcp_context"],
        output_fields: &["llmContent", "returnDisplay"],
        output_text_fields: &["llmContent"],
        session_variable: Some("GEMINI_SESSION_ID"),
        cwd_variable: Some("GEMINI_CWD"),
        project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        manifest: Some("gemini-extension.json"),
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[
        (&Level::ALL, "trust the folder when gemini asks: in an untrusted folder it runs no hooks"),
        (&Level::IN_PROJECT, "start gemini in ROOT: it does not look above the directory where it starts"),
    ],
    doctor: DoctorRules { check: folder_trust::check_gemini, ..DoctorRules::BASE },
};
