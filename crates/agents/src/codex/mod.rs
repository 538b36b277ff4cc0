//! Codex, checked with 0.169.

mod hook;
mod hooks_file;
mod reply;
mod script;
mod sessions;
mod trust;

use std::time::Duration;

use serde_json::json;

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "codex",
    title: "Codex",
    process: ProcessSigns {
        variables: &[
            // openai/codex: codex-rs/core/src/spawn.rs.
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            // openai/codex: codex-rs/protocol/src/shell_environment.rs.
            "CODEX_THREAD_ID",
            // openai/codex: codex-rs/core/src/unified_exec/process_manager.rs.
            "CODEX_CI",
        ],
        commands: &["codex"],
        processes: &["codex", "codex-x86_64-unknown-linux-musl", "codex-aarch64-unknown-linux-musl"],
        packages: &["@openai/codex"],
    },
    project_variable: None,
    places: &[
        at(BOTH, ".codex/hooks.json", Holds::Hooks),
        at(BOTH, ".codex/config.toml", Holds::Settings),
        at(BOTH, ".codex/hooks", Holds::Beside),
        // Its own documentation: managed configuration.
        at(SYSTEM, "/etc/codex/requirements.toml", Holds::TomlHooks),
    ],
    moved_by: Some(MovedBy { variable: "CODEX_HOME", directory: ".codex", reads_tilde: false }),
    command_files: &[],
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        parser: Some(ParserRules { reads_mark: false, check: hooks_file::check }),
        entry: EntryForm {
            has_args: true,
            takes_null_timeout: true,
            longest_timeout: None,
            ..EntryForm::GROUPED
        },
        reads_above: Above::All,
        // In a project that its user trusts.
        repository_switch: Some("[features] hooks = false in its .codex/config.toml"),
        ..ConfigFormat::BASE
    },
    wait: Wait {
        session_end: SessionEndWait::AtMost { most: Duration::from_secs(3), usual: Duration::from_secs(1) },
        ..Wait::new(Unit::Seconds, 600)
    },
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("PreToolUse", Blocks, Honoured, Honoured),
        AgentEvent::after("PostToolUse", Honoured, Blocks),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(Honoured).inject(LeftOut),
        AgentEvent::new("PostCompact", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
    ],
    other_events: &[
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
        AgentEvent::other("Interrupt", "interrupt"),
        AgentEvent::other("PreModelRequest", "pre_model_request"),
        AgentEvent::other("PostModelRequest", "post_model_request"),
    ],
    unserved_events: &[],
    tools: ToolNames {
        names: &[("Bash", "Bash")],
        // It knows Edit and Write for its apply_patch.
        claude_names: ClaudeNames::InMatchers,
        mcp_name: Some("mcp__SERVER__TOOL"),
        exit_status: exit_status::in_first_lines,
        // Its PreToolUse fires for exec_command alone.
        unseen_input: Some("write_stdin"),
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let is_error = output.get("isError").and_then(|it| it.as_bool());
        is_error.map(|is_error| !is_error).or(status.map(|status| status == 0))
    },
    counts_follow_ups: false,
    answers: Answers {
        write: reply::write,
        takes_input: reply::takes_input,
        code: CodePlace::SystemMessage,
        exit_2_needs_words: true,
        effect: |_, answer, specific| Some(reply::effect(answer, specific)),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "turn_id": call.session, "model": "none", "permission_mode": "default",
            "tool_input": {"command": call.line}, "tool_use_id": "call_0",
        }))
    },
    hooks: Some(CommandHooks {
        optional_fields: &["agent_id", "agent_type"],
        encode: hook::encode,
        outcome: hook::outcome,
        // A list of names has no comma and no space.
        matcher: |_, pattern| match pattern.chars().all(|c| c.is_ascii_alphanumeric() || "_-|".contains(c)) {
            true => Rule::names(pattern),
            false => Rule::regex(pattern),
        },
        has_javascript_matchers: false,
        // Its own hooks know a patch, and few other tools.
        sees_single_files: false,
        plugin_variables: &["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"],
        manifest: Some(".codex-plugin/plugin.json"),
        ..CommandHooks::BASE
    }),
    plugin: None,
    next_steps: &[
        (BOTH, "start codex and approve the hooks in /hooks: until then it silently runs none"),
        (PROJECT, "trust the project when codex asks: it reads the project's hooks only then"),
    ],
    doctor: DoctorRules {
        check: trust::check,
        off_words: &["--disable hooks", "--disable=hooks", "features.hooks"],
        ..DoctorRules::BASE
    },
};
