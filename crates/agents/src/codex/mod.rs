//! Codex, checked with 0.169.

mod sessions;
mod trust;

use serde::Deserialize;

use crate::config::json_error;
use crate::event::ToolResult;
use crate::spec::prelude::*;
use crate::text;

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
        processes: &["codex", "codex-x86_64-unknown-linux-musl", "codex-aarch64-unknown-linux-musl"],
        packages: &["@openai/codex"],
        ..ProcessSigns::of(&["codex"])
    },
    places: &[
        at(BOTH, ".codex/hooks.json", Holds::Hooks),
        at(BOTH, ".codex/config.toml", Holds::Settings),
        at(BOTH, ".codex/hooks", Holds::Beside),
        // Its own documentation: managed configuration.
        at(SYSTEM, "/etc/codex/requirements.toml", Holds::TomlHooks),
    ],
    moved_by: Some(MovedBy { variable: "CODEX_HOME", directory: ".codex", reads_tilde: false }),
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        parser: Some(ParserRules { reads_mark: false, check }),
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
    tools: ToolNames {
        names: "Bash",
        // It knows Edit and Write for its apply_patch.
        claude_names: ClaudeNames::InMatchers,
        mcp_name: Some("mcp__SERVER__TOOL"),
        exit_status: output::in_first_lines,
        // Its PreToolUse fires for exec_command alone.
        unseen_input: Some("write_stdin"),
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let is_error = output.get("isError").and_then(|it| it.as_bool());
        is_error.map(|is_error| !is_error).or(status.map(|status| status == 0))
    },
    answers: Answers {
        write,
        takes_input,
        code: CodePlace::SystemMessage,
        exit_2_needs_words: true,
        effect: |_, answer, specific| Some(effect(answer, specific)),
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
        encode,
        outcome,
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
    next_steps: &[
        (BOTH, "start codex and approve the hooks in /hooks: until then it silently runs none"),
        (PROJECT, "trust the project when codex asks: it reads the project's hooks only then"),
    ],
    doctor: DoctorRules {
        check: trust::check,
        off_words: &["--disable hooks", "--disable=hooks", "features.hooks", "features disable hooks"],
        ..DoctorRules::BASE
    },
    ..Spec::BASE
};

const STYLE: Style = Style { input_needs_allow: true, allows: false, text: Text::Context, ..claude::CLAUDE };

const MODES: [&str; 5] = ["default", "plan", "acceptEdits", "dontAsk", "bypassPermissions"];

/// The hooks of Codex, in Claude Code's shape. A changed input counts only beside `permissionDecision:
/// allow`.
fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let context = &event.context;
    let mut it = Payload::new();
    it.put("session_id", context.conversation_id.as_str());
    if !matches!(name, "SessionStart" | "SessionEnd") {
        it.put("turn_id", "");
    }
    it.put("transcript_path", session.transcript_path.clone());
    it.put("cwd", context.cwd.as_str());
    it.put("hook_event_name", name);
    if name != "SessionEnd" {
        it.put("model", "");
        it.put("permission_mode", payload::mode(event, session, &MODES));
    }
    it.event(&SPEC, name, event, payload::TOOL);
    it.known("tool_use_id", event.tool_call().and_then(|call| call.id.as_deref()));
    match &event.data {
        EventData::AfterToolCall(result) => {
            it.known("tool_response", Some(output(result)).filter(|output| !output.is_null()));
        }
        EventData::AgentStop(stop) => it.put("last_assistant_message", payload::last_messages(stop).0),
        _ => {}
    }
    it.done()
}

/// Returns the output of the shell tool as text, and that of other tools unchanged.
fn output(result: &ToolResult) -> Value {
    let output = result.output.value();
    if claude::tool_name(&result.call.name) == "Bash" && output.is_object() {
        return payload::text_of(output).into();
    }
    output.clone()
}

fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    claude::by_exit_code(event, ended.exit_code, ended.stderr, || claude::read(event, ended.stdout, &STYLE))
}

/// Writes the answers to Codex. It runs the tool if an answer has one field too many or no reason, and it does not
/// ask its user. So a block is `deny` with a reason, a change is `allow` with the input, and nothing else is
/// beside them.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall => specific(event, permission("deny", reason)),
            EventKind::PermissionRequest => denied(event, reason),
            EventKind::PreCompact => stop(reason),
            _ => decision("block", reason),
        },
        Decision::Pass => {
            let mut fields = plan.changed.as_ref().map(allowed).unwrap_or_default();
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}

/// Returns the fields of a changed input, which counts only beside `allow`.
fn allowed(input: &Value) -> Map<String, Value> {
    object([("permissionDecision", json!("allow")), ("updatedInput", input.clone())])
}

/// Returns true if the shell tool gets its line: Codex asks it for one.
fn takes_input(was: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    !was.contains_key("command") || new.get("command").is_some_and(Value::is_string)
}

/// Returns the effect of an answer: `deny` with a reason and nothing beside it, or `decision: block` in the
/// same way.
fn effect(answer: &Map<String, Value>, specific: Option<&Map<String, Value>>) -> Effect {
    const KNOWN: [&str; 4] = ["decision", "reason", "hookSpecificOutput", "systemMessage"];
    const SPECIFIC: [&str; 3] = ["hookEventName", "permissionDecision", "permissionDecisionReason"];
    let Some(block) = effect::permission(specific).or_else(|| effect::decision(answer, &["block"])) else {
        return Effect::runs("no deny with a reason for this event in what the command printed");
    };
    let Effect::Blocked(reason) = &block else {
        return Effect::runs("Codex does not ask: it runs what a hook asks about");
    };
    let stray = |fields: &Map<String, Value>, known: &[&str]| {
        fields.keys().find(|name| !known.contains(&name.as_str())).map(|name| text::escape(name, 64))
    };
    let stray = stray(answer, &KNOWN).or_else(|| specific.and_then(|it| stray(it, &SPECIFIC)));
    match stray {
        Some(name) => Effect::runs(format!("Codex throws away a block that has a field {name:?}")),
        None if reason.trim().is_empty() => Effect::runs("Codex throws away a block without a reason"),
        None => block,
    }
}

/// Returns the reason why Codex refuses this file.
///
/// Codex's `hooks.json`, as its parser reads it (0.169). It refuses the whole file for an unknown key beside
/// `hooks` and `description`, and for any malformed entry, and then runs no hook.
fn check(text: &str) -> Option<String> {
    serde_json::from_str::<CodexFile>(text).err().map(|error| json_error(&error, SPEC.title))
}

/// The file. A duplicate key is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the errors of the parser count")]
struct CodexFile {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    hooks: CodexEvents,
}

/// The events. Codex ignores others.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct CodexEvents {
    pre_tool_use: Vec<CodexGroup>,
    permission_request: Vec<CodexGroup>,
    post_tool_use: Vec<CodexGroup>,
    pre_compact: Vec<CodexGroup>,
    post_compact: Vec<CodexGroup>,
    session_start: Vec<CodexGroup>,
    session_end: Vec<CodexGroup>,
    user_prompt_submit: Vec<CodexGroup>,
    subagent_start: Vec<CodexGroup>,
    subagent_stop: Vec<CodexGroup>,
    stop: Vec<CodexGroup>,
    interrupt: Vec<CodexGroup>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexGroup {
    matcher: Option<String>,
    hooks: Vec<CodexEntry>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only the errors of the parser count")]
enum CodexEntry {
    #[serde(rename_all = "camelCase")]
    Command {
        command: String,
        #[serde(default, alias = "command_windows")]
        command_windows: Option<String>,
        #[serde(default)]
        timeout: Option<u64>,
        #[serde(default)]
        r#async: bool,
        #[serde(default)]
        status_message: Option<String>,
    },
    McpTool {},
    Prompt {},
    Agent {},
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_codex_is_what_it_expects_or_it_runs_none() {
        for (list, want) in [
            ("[]", None),
            ("5", Some("invalid type")),
            ("null", Some("invalid type")),
            ("[5]", Some("invalid type")),
            ("[], \"Stop\": []", Some("duplicate field")),
            ("[{}]", None),
            ("[{\"matcher\": null, \"other\": 1, \"other\": 2}]", None),
            ("[{\"matcher\": \"a\", \"matcher\": \"b\"}]", Some("duplicate field")),
            ("[{\"matcher\": 5}]", Some("invalid type")),
            ("[{\"hooks\": null}]", Some("invalid type")),
            ("[{\"hooks\": [{\"type\": \"prompt\"}, {\"type\": \"agent\", \"x\": 1}]}]", None),
            ("[{\"hooks\": [{\"type\": \"http\", \"url\": \"x\"}]}]", Some("unknown variant")),
            ("[{\"hooks\": [{\"command\": \"x\"}]}]", Some("missing field")),
            ("[{\"hooks\": [{\"type\": \"command\"}]}]", Some("missing field")),
        ] {
            let text = format!("{{\"hooks\": {{\"Stop\": {list}}}}}");
            let found = check(&text);
            match want {
                None => assert_eq!(found, None, "{text}"),
                Some(want) => assert!(found.as_ref().is_some_and(|it| it.contains(want)), "{text} {found:?}"),
            }
        }
        for (keys, is_read) in [
            ("\"timeout\": 5", true),
            ("\"timeout\": null", true),
            ("\"timeout\": 1.5", false),
            ("\"timeout\": \"5\"", false),
            ("\"timeout\": -1", false),
            ("\"timeoutSec\": \"5\"", true),
            ("\"async\": \"x\"", false),
            ("\"statusMessage\": 5", false),
            ("\"status_message\": 5", true),
            ("\"commandWindows\": 5", false),
            ("\"command_windows\": 5", false),
            ("\"command\": \"y\"", false),
            ("\"type\": \"command\"", false),
            ("\"other\": [1]", true),
        ] {
            let entry = format!("{{\"type\": \"command\", \"command\": \"x\", {keys}}}");
            let text = format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{entry}]}}]}}}}");
            assert_eq!(check(&text).is_none(), is_read, "{text}");
        }
    }

    #[test]
    fn all_that_hookbox_knows_of_an_event_of_codex_is_checked() {
        for event in SPEC.events {
            let text = format!("{{\"hooks\": {{\"{}\": [5]}}}}", event.name);
            assert!(check(&text).is_some(), "{text}");
        }
    }
}
