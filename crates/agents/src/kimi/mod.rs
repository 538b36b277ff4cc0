//! Kimi Code, checked with 2.1: Claude Code's names of events and tools, in a TOML file. Its hooks can block
//! a tool call, block or add to a message, and make the agent go on once. It ignores every other answer, and
//! does not wait for a hook after a tool call.

use serde::Deserialize;

use crate::dialect::claude::compile;
use crate::spec::prelude::*;
use crate::text;

pub(crate) static SPEC: Spec = Spec {
    name: "kimi",
    title: "Kimi Code",
    // It sets no variable for its commands.
    process: ProcessSigns {
        processes: &["kimi", "kimi-code"],
        packages: &["@moonshot-ai/kimi-code"],
        ..ProcessSigns::of(&["kimi"])
    },
    places: &[
        at(HOME, ".kimi-code/config.toml", Holds::Hooks),
        at(HOME, ".kimi-code/plugins", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "KIMI_CODE_HOME", directory: ".kimi-code", reads_tilde: false }),
    config: ConfigFormat {
        is_toml: true,
        parser: Some(ParserRules { reads_mark: false, check }),
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
    tools: ToolNames {
        names: "Bash Read Write Edit Glob Grep WebFetch=FetchURL WebSearch Agent",
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Edit", "file_path", "path"),
        ],
        mcp_name: Some("mcp__SERVER__TOOL"),
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        follow_up: deny,
        // It reads no `systemMessage`, and gives its model any output at `UserPromptSubmit`.
        shows_warnings: false,
        effect: |_, _, specific| effect::permission(specific).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "cwd": call.cwd,
            "client_type": CLIENT, "tool_name": call.tool, "tool_input": {"command": call.line},
            "tool_call_id": "call_0",
        })
    },
    hooks: Some(CommandHooks {
        encode,
        outcome,
        matcher: |_, pattern| Rule::regex(pattern),
        has_failure_event: true,
        project_variables: &[],
        plugin_variables: &[],
        ..CommandHooks::BASE
    }),
    ..Spec::BASE
};

/// The longest timeout. Kimi Code ignores every hook of a file with a longer one.
const LONGEST: Duration = Duration::from_secs(600);

/// The client that its payloads name.
const CLIENT: &str = "kimi_code_cli";

/// The longest output in a payload, in characters.
const MAX_OUTPUT: usize = 2000;

const STYLE: Style = Style { allows: false, text: Text::Context, ..claude::CLAUDE };

/// The hooks of Kimi Code: Claude Code's names of the fields, and few answers.
fn encode(name: &str, event: &Event, _: &Session) -> Option<Value> {
    let mut it = Payload::new();
    it.put("hook_event_name", name);
    it.put("session_id", event.context.conversation_id.as_str());
    it.put("cwd", event.context.cwd.as_str());
    it.put("client_type", CLIENT);
    it.event(&SPEC, name, event, payload::TOOL);
    it.known("tool_call_id", event.tool_call().and_then(|call| call.id.as_deref()));
    match &event.data {
        EventData::SessionStart { .. } => {
            it.put("model", "");
            it.put("profile", "agent");
        }
        EventData::UserMessageSend { message } => {
            it.put("prompt", json!([{"type": "text", "text": message.as_deref().unwrap_or_default()}]));
            it.put("is_steer", false);
        }
        EventData::AfterToolCall(result) => {
            let output = payload::text_of(result.output.value());
            it.put("tool_output", output.chars().take(MAX_OUTPUT).collect::<String>());
        }
        EventData::OnError(error) => match &error.source {
            ErrorSource::Tool(_) => {
                let code = error.kind.as_deref().unwrap_or("internal");
                it.put("error", json!({"code": code, "message": error.message.as_str(), "retryable": false}));
            }
            _ => {
                it.put("error_type", error.kind.as_deref().unwrap_or("Error"));
                it.put("error_message", error.message.as_str());
            }
        },
        EventData::AgentStop(stop) if name == "SubagentStop" => {
            it.0.shift_remove("stop_hook_active");
            it.known("response", payload::last_messages(stop).0);
        }
        _ => {}
    }
    it.done()
}

fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    claude::by_exit_code(event, ended.exit_code, ended.stderr, || claude::read(event, ended.stdout, &STYLE))
}

/// Writes the answers to Kimi Code, which reads `permissionDecision: "deny"` at each event that it waits for, and
/// `message` at `UserPromptSubmit`. There it gives its model any other output as well.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => deny(event, reason),
        Decision::Pass if event.event == EventKind::UserMessageSend => {
            optional("message", plan.context.as_deref())
        }
        Decision::Pass => Map::new(),
    }
}

/// Returns a block. At `Stop` the agent goes on with its reason.
fn deny(event: &AgentEvent, reason: &str) -> Map<String, Value> {
    specific(event, permission("deny", reason))
}

/// Returns the reason why Kimi Code ignores the hooks of this file, or one of them.
/// Kimi Code 2.1 reads `[[hooks]]` tables of `config.toml`. For one malformed entry it
/// ignores all hooks and goes on with a warning.
fn check(toml: &str) -> Option<String> {
    let file: KimiFile = match toml::from_str(toml) {
        Ok(file) => file,
        Err(error) => return Some(text::escape(error.to_string().trim(), 500)),
    };
    file.hooks
        .iter()
        .enumerate()
        .find_map(|(at, entry)| entry.problem().map(|what| format!("hooks[{at}]: {what}")))
}

#[derive(Deserialize)]
struct KimiFile {
    #[serde(default)]
    hooks: Vec<KimiEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KimiEntry {
    event: String,
    matcher: Option<String>,
    command: String,
    timeout: Option<u64>,
}

impl KimiEntry {
    fn problem(&self) -> Option<String> {
        let is_known = SPEC.has_event(&self.event);
        let longest = LONGEST.as_secs();
        if !is_known {
            return Some(format!(
                "unknown event \"{}\": it ignores all hooks",
                text::escape(&self.event, 64)
            ));
        }
        if self.command.is_empty() {
            return Some("expected a command: it ignores all hooks".to_owned());
        }
        if self.timeout.is_some_and(|it| !(1..=longest).contains(&it)) {
            return Some(format!("expected a timeout from 1 to {longest} seconds: it ignores all hooks"));
        }
        let matcher = self.matcher.as_deref().unwrap_or_default();
        compile(matcher).is_err().then(|| {
            format!("the matcher \"{}\" is not an expression: it matches nothing", text::escape(matcher, 64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_malformed_entry_is_an_error_of_the_whole_file() {
        let entry = |more: &str| format!("[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n{more}");
        for (toml, want) in [
            (entry(""), None),
            (entry("timeout = 600\nmatcher = \"Bash|Write\""), None),
            (entry("timeout = 601"), Some("1 to 600")),
            (entry("timeout = 0"), Some("1 to 600")),
            (entry("timeout = 0.5"), Some("timeout")),
            (entry("extra = 1"), Some("unknown field")),
            (entry("matcher = \"*\""), Some("matches nothing")),
            (entry("").replace("Stop", "Stopp"), Some("unknown event \"Stopp\"")),
            (entry("").replace("\"x\"", "\"\""), Some("expected a command")),
            ("[[hooks]]\nevent = \"Stop\"\n".to_owned(), Some("missing field")),
            ("hooks = 5".to_owned(), Some("line 1")),
            ("hooks = [{event = \"TurnStarted\", command = \"x\"}]".to_owned(), None),
            ("default_model = \"k2\"\n[providers.x]\ntype = \"kimi\"\n".to_owned(), None),
        ] {
            let found = check(&toml);
            assert_eq!(found.is_some(), want.is_some(), "{toml} {found:?}");
            assert!(found.as_deref().is_none_or(|it| it.contains(want.unwrap())), "{toml} {found:?}");
        }
    }
}
