//! Claude Code, checked with 2.1.

mod hook;
mod reply;
mod sessions;
mod settings;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::finding::Examination;
use crate::spec::Conditions;
use crate::spec::prelude::*;

/// The settings of an organization, as its documentation names them.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "claude",
    title: "Claude Code",
    process: ProcessSigns {
        variables: &[
            // Its documentation of variables: "set to 1 in shell environments that Claude Code spawns".
            "CLAUDECODE",
            // The same page, since 2.1.172; commands, hooks and status lines have it.
            "CLAUDE_CODE_CHILD_SESSION",
            // It sets this for itself, and its child processes inherit it.
            "CLAUDE_CODE_ENTRYPOINT",
        ],
        commands: &["claude"],
        processes: &["claude"],
        packages: &["@anthropic-ai/claude-code"],
    },
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    places: &[
        at(BOTH, ".claude/settings.json", Holds::Hooks),
        at(LOCAL, ".claude/settings.local.json", Holds::Hooks),
        at(BOTH, ".claude/hooks", Holds::Beside),
        at(HOME, ".claude/plugins", Holds::Plugins),
        at(HOME, ".claude.json", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    moved_by: Some(MovedBy { variable: "CLAUDE_CONFIG_DIR", directory: ".claude", reads_tilde: false }),
    command_files: &[quoted(".claude/skills"), quoted(".claude/commands"), quoted(".claude/agents")],
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        parser: Some(ParserRules { reads_mark: true, check: settings::check }),
        entry: EntryForm {
            // Seen in 2.1.329: a program that is gone blocks the call.
            blocks_without_program: Some(("onFailure", "block")),
            has_args: true,
            runs_sh: true,
            takes_null_matcher: false,
            ..EntryForm::GROUPED
        },
        disable_settings: &[
            DisableSetting::ALL,
            DisableSetting {
                within: None,
                key: "allowManagedHooksOnly",
                leaves_out: LeavesOut::AllButManaged,
                shown: "\"allowManagedHooksOnly\": true",
            },
        ],
        ignores_whole_file: true,
        env_key: Some("env"),
        plugins_key: Some("enabledPlugins"),
        takes_strongest_switch: true,
        // Seen in 2.1.329, with `disableAllHooks` in a project.
        keeps_system_hooks: true,
        repository_switch: Some("\"disableAllHooks\": true in its .claude/settings.json"),
        ..ConfigFormat::BASE
    },
    wait: Wait {
        session_end: SessionEndWait::AtLeast(Duration::from_millis(1500)),
        ..Wait::new(Unit::Seconds, 600)
    },
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("PreToolUse", Honoured, Honoured, Honoured).takes_allow(),
        // A shell line of a skill or a command file, since 2.1.332; older versions ignore the entry. Its bundle: a question
        // and a changed input stop the line, too.
        AgentEvent::before("PreSkillShellCommand", Blocks, Blocks, LeftOut),
        AgentEvent::after("PostToolUse", Honoured, Honoured),
        AgentEvent::error("PostToolUseFailure", Told, Honoured),
        AgentEvent::error("StopFailure", LeftOut, LeftOut),
        AgentEvent::new("PostToolBatch", EventKind::AfterTurn).inject(Honoured),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(Honoured).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    // Its documentation says which of them exit code 2 stops.
    other_events: &[
        AgentEvent::other("Setup", "setup").inject(Honoured),
        AgentEvent::other("InstructionsLoaded", "instructions_loaded"),
        AgentEvent::stoppable("ConfigChange", "config_change"),
        AgentEvent::other("CwdChanged", "cwd_changed"),
        AgentEvent::other("DirectoryAdded", "directory_added"),
        AgentEvent::other("FileChanged", "file_changed"),
        AgentEvent::stoppable("UserPromptExpansion", "user_prompt_expansion").inject(Honoured),
        AgentEvent::other("PermissionDenied", "permission_denied"),
        AgentEvent::other("MessageDisplay", "message_display"),
        AgentEvent::other("PreModelSwitch", "pre_model_switch"),
        AgentEvent::other("PostModelSwitch", "post_model_switch"),
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(Honoured),
        AgentEvent::stoppable("TeammateIdle", "teammate_idle"),
        AgentEvent::stoppable("TaskCreated", "task_created"),
        AgentEvent::stoppable("TaskCompleted", "task_completed"),
        AgentEvent::stoppable("Elicitation", "elicitation"),
        AgentEvent::stoppable("ElicitationResult", "elicitation_result"),
        AgentEvent::other("WorktreeRemove", "worktree_remove"),
    ],
    // A hook's output there is the directory of the new worktree: an entry replaces git.
    unserved_events: &["WorktreeCreate"],
    tools: ToolNames {
        names: &[
            ("Bash", "Bash"),
            ("Read", "Read"),
            ("Write", "Write"),
            ("Edit", "Edit"),
            ("MultiEdit", "MultiEdit"),
            ("Glob", "Glob"),
            ("Grep", "Grep"),
            ("LS", "LS"),
            ("WebFetch", "WebFetch"),
            ("WebSearch", "WebSearch"),
            ("Agent", "Agent"),
        ],
        claude_names: ClaudeNames::Always,
        failed_output,
        ..ToolNames::BASE
    },
    tool_success: |_, _| Some(true),
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        code: CodePlace::SystemMessage,
        asks_with_changed_input: true,
        // It shows the model 2,000 characters of a longer text, and a file (2.1.329).
        max_context: Some(10_000),
        changed_output: reply::changed_output,
        effect: |_, answer, specific| {
            effect::permission(specific).or_else(|| effect::decision(answer, &["block"]))
        },
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "prompt_id": call.session, "permission_mode": "default", "tool_use_id": "toolu_000",
        }))
    },
    hooks: Some(CommandHooks {
        encode: hook::encode,
        optional_fields: &["prompt_id", "agent_id", "agent_type", "mcp_server"],
        has_failure_event: true,
        has_other_events: true,
        restores_changes: false,
        session_variable: Some("CLAUDE_CODE_SESSION_ID"),
        env_file_variable: Some("CLAUDE_ENV_FILE"),
        manifest: Some(".claude-plugin/plugin.json"),
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[
        (&Level::IN_PROJECT, "trust the folder when claude asks: it runs the hooks of a project only then"),
        (&Level::IN_PROJECT, "start claude in ROOT: it does not look above the directory where it starts"),
    ],
    doctor: DoctorRules {
        check: check_folder,
        off_words: &["--bare", "--setting-sources"],
        ..DoctorRules::BASE
    },
};

/// The beginnings of what failed tools say.
const FAILED: [&str; 3] = ["Exit code ", "Error", "<tool_use_error>"];

/// Returns the text of a failed call. Its batch does not report which calls failed: an error is text, and begins in one of
/// a few ways or is from an MCP server, whose other outputs are lists.
fn failed_output(call: &Map<String, Value>) -> Option<Value> {
    let text = call.get("tool_response")?.as_str()?;
    let name = call.get("tool_name").and_then(Value::as_str);
    let is_mcp = name.is_some_and(|name| name.starts_with("mcp__"));
    (is_mcp || FAILED.iter().any(|it| text.starts_with(it))).then(|| text.into())
}

/// Warns about the trust in a project's folder, which Claude Code 2.1 keeps in a file of many other things.
fn check_folder(conditions: &Conditions<'_>, found: &mut Examination) {
    if conditions.level.is_in_project() {
        let message = "Claude Code runs the hooks of a project only in a folder that you trust; whether you do cannot be seen here";
        found.warn("trust", message, "start claude there and trust the folder");
    }
}
