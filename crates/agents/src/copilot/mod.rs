//! Copilot CLI, checked with 1.0. It has each event in two styles, such as `preToolUse` and `PreToolUse`.

mod sessions;

use std::path::Path;

use crate::agent::Agent;
use crate::config::{file, json_value};
use crate::finding::{contents, has, real, shown};
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "copilot",
    title: "Copilot CLI",
    // Seen by others in the processes of Copilot CLI 1.0; its own documentation has neither.
    process: ProcessSigns {
        variables: &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
        packages: &["@github/copilot"],
        ..ProcessSigns::of(&["copilot"])
    },
    places: &[
        at(HOME, ".copilot/hooks", Holds::Files),
        at(HOME, ".copilot/settings.json", Holds::Hooks),
        at(HOME, ".copilot/config.json", Holds::Beside),
        at(SYSTEM, "/etc/github-copilot/policy.d", Holds::Files),
        at(PROJECT, ".github/hooks", Holds::Files),
        at(PROJECT, ".github/copilot/settings.json", Holds::Hooks),
        at(PROJECT, ".github/copilot/settings.local.json", Holds::Hooks),
        at(PROJECT, ".claude/settings.json", Holds::HooksOf(&crate::claude::SPEC)),
        at(LOCAL, ".claude/settings.local.json", Holds::HooksOf(&crate::claude::SPEC)),
    ],
    moved_by: Some(MovedBy { variable: "COPILOT_HOME", directory: ".copilot", reads_tilde: false }),
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        entry: EntryForm {
            groups: Groups::Optional,
            command_keys: &["bash", "command"],
            timeout_keys: &["timeoutSec", "timeout"],
            has_version: true,
            has_env: true,
            has_cwd: true,
            ..EntryForm::GROUPED
        },
        disable_settings: &[
            DisableSetting::ALL,
            DisableSetting {
                within: None,
                key: "disabledHooks",
                leaves_out: LeavesOut::Named,
                shown: "\"disabledHooks\"",
            },
        ],
        reads_above: Above::Root,
        // Seen in 1.0.102, with `disableAllHooks` in a project.
        keeps_system_hooks: true,
        repository_switch: Some(
            "\"disableAllHooks\": true in its .github/copilot/settings.json or .claude/settings.json",
        ),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    // The payloads in PascalCase name their event, so these are installed.
    events: &[
        AgentEvent::new("sessionStart", EventKind::SessionStart).inject(Honoured).unusual(),
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("sessionEnd", EventKind::SessionEnd).unusual(),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("userPromptSubmitted", Blocks, Honoured).unusual(),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("preToolUse", Honoured, Honoured, Honoured).takes_allow().unusual(),
        AgentEvent::before("PreToolUse", Honoured, Honoured, Honoured).takes_allow(),
        AgentEvent::after("postToolUse", Honoured, Honoured).unusual(),
        AgentEvent::after("PostToolUse", Honoured, Honoured),
        AgentEvent::error("postToolUseFailure", LeftOut, LeftOut).unusual(),
        AgentEvent::error("PostToolUseFailure", LeftOut, LeftOut),
        AgentEvent::error("errorOccurred", LeftOut, LeftOut).unusual(),
        AgentEvent::error("ErrorOccurred", LeftOut, LeftOut),
        AgentEvent::stop("agentStop").unusual(),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("subagentStop").unusual(),
        AgentEvent::stop("SubagentStop"),
        AgentEvent::new("preCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut).unusual(),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("permissionRequest", EventKind::PermissionRequest).block(Honoured).unusual(),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
        AgentEvent::new("notification", EventKind::Notification).unusual(),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    other_events: &[
        AgentEvent::other("subagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
        AgentEvent::other("SubagentStart", "subagent_start").block(LeftOut).inject(LeftOut),
    ],
    tools: ToolNames {
        names: "Bash=bash Read=view Write=create Edit=edit Glob=glob Grep=grep WebFetch=web_fetch \
            Agent=task",
        // In PascalCase, its matchers know its own names as well.
        claude_names: ClaudeNames::AtPascalEvents,
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Write", "content", "file_text"),
            ("Edit", "file_path", "path"),
            ("Edit", "old_string", "old_str"),
            ("Edit", "new_string", "new_str"),
        ],
        mcp_aliases: &["mcp__SERVER__TOOL", "SERVER-TOOL"],
        exit_status: output::in_shell_mark,
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let kind = output.get("resultType").or_else(|| output.get("result_type"));
        let has_worked = kind.and_then(Value::as_str).map(|kind| kind == "success");
        // A command that fails is a success of the tool.
        if status.is_some_and(|status| status != 0) { Some(false) } else { has_worked }
    },
    answers: Answers {
        write,
        follow_up: |event, message| {
            let mut answer = decision("block", message);
            if is_pascal(event.name) {
                answer.extend(specific(event, decision("block", message)));
            }
            answer
        },
        shows_warnings: false,
        changed_output: |_, _, new| {
            ChangedOutput::Whole(json!({"resultType": "success", "textResultForLlm": text(new)}))
        },
        failure_blocks: true,
        effect: |event, answer, specific| {
            let specific = specific.filter(|_| is_pascal(event.name));
            effect::permission(Some(answer)).or_else(|| effect::permission(specific))
        },
        ..Answers::BASE
    },
    sample_call,
    hooks: Some(CommandHooks {
        encode,
        outcome,
        // In camelCase, an expression for the whole name.
        matcher: |event, pattern| match is_pascal(event) {
            true => Rule::names(pattern),
            false => Rule::regex(&format!("^(?:{pattern})$")),
        },
        // At other events its matchers do not count (seen).
        subject: |event| match &event.data {
            EventData::Other { .. } => rule::subject(event),
            _ => None,
        },
        output_fields: &["resultType", "result_type"],
        output_text_fields: &["textResultForLlm", "text_result_for_llm"],
        project_variables: &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        directory_variable: Some("COPILOT_HOOK_DIR"),
        ..CommandHooks::BASE
    }),
    next_steps: &[(PROJECT, "trust the folder when copilot asks: it reads the repository's hooks only then")],
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

fn sample_call(call: &SampleCall<'_>) -> Value {
    if is_pascal(call.event.name) {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "timestamp": TIME, "cwd": call.cwd,
            "tool_name": call.tool, "tool_input": call.input(),
        })
    } else {
        json!({
            "sessionId": call.session, "timestamp": 1_767_225_600_000_u64, "cwd": call.cwd, "toolName": call.tool,
            "toolArgs": call.input(),
        })
    }
}

const STYLE: Style = Style {
    approving: &["approve", "allow"],
    decisions: "\"block\", \"deny\", \"allow\" or \"approve\"",
    inputs: &["modifiedArgs", "updatedInput"],
    outputs: &["modifiedResult"],
    is_flat: true,
    names_event: false,
    text: Text::Nothing,
    ..claude::CLAUDE
};

/// The hooks of Copilot CLI, in two styles. A camelCase name of the event in its configuration gives
/// camelCase fields and its own names of tools, a PascalCase one snake_case fields and Claude Code's names.
/// The fields of a tool's input are its own in both. At `preToolUse` every exit code but 0 blocks.
fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let context = &event.context;
    let pascal = is_pascal(name);
    let key = |camel: &'static str, snake: &'static str| if pascal { snake } else { camel };
    let mut it = Payload::new();
    // The payload of a question for a permission is the same in both styles.
    if let EventData::Other { data, .. } = &event.data {
        let mut letters = name.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        it.put("hookName", first.into_iter().chain(letters).collect::<String>());
        it.put("sessionId", context.conversation_id.as_str());
        it.put("timestamp", context.timestamp_ms);
        it.put("cwd", context.cwd.as_str());
        it.rest(data);
        return it.done();
    }
    if pascal {
        it.put("hook_event_name", name);
        it.put("session_id", context.conversation_id.as_str());
        it.put("timestamp", payload::time(event));
    } else {
        it.put("sessionId", context.conversation_id.as_str());
        it.put("timestamp", context.timestamp_ms);
    }
    it.put("cwd", context.cwd.as_str());
    let names = [key("toolName", "tool_name"), key("toolArgs", "tool_input")];
    it.event(&SPEC, name, event, names);
    match &event.data {
        EventData::SessionStart { source } => {
            let source = payload::cause(source.as_deref(), "new");
            it.put("source", if source == "startup" { "new" } else { source });
            it.put(key("initialPrompt", "initial_prompt"), "");
        }
        EventData::AfterToolCall(result) => {
            let output = result.output.value();
            let kind = output.get("resultType").or_else(|| output.get("result_type"));
            let kind = kind.and_then(Value::as_str).unwrap_or_else(|| payload::kind_of_result(result));
            let text = payload::text_of(output);
            it.put(
                key("toolResult", "tool_result"),
                json!({
                    key("resultType", "result_type"): kind,
                    key("textResultForLlm", "text_result_for_llm"): text,
                }),
            );
        }
        EventData::OnError(error) => {
            if let ErrorSource::Tool(_) = &error.source {
                it.put("error", error.message.as_str());
            } else {
                let kind = error.kind.as_deref().unwrap_or("Error");
                it.put("error", json!({"message": error.message, "name": kind}));
            }
        }
        EventData::AgentStop(_) => {
            let transcript = session.transcript_path.as_deref().unwrap_or_default();
            it.put(key("transcriptPath", "transcript_path"), transcript);
            it.put(key("stopReason", "stop_reason"), "end_turn");
        }
        EventData::PreCompact { .. } => {
            it.put(key("customInstructions", "custom_instructions"), "");
        }
        _ => {}
    }
    it.done()
}

fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    let answer = || claude::read(event, ended.stdout, &STYLE);
    if ended.exit_code != 0 && *event == EventName::BeforeToolCall {
        // It reads the reason of an answer as well.
        if let Ok(answer) = answer()
            && matches!(answer.action, Action::Block(_))
            && ended.stderr.trim().is_empty()
        {
            return Ok(answer);
        }
        let reason = match ended.stderr.trim() {
            "" => format!("the hook ended with status {}", ended.exit_code),
            words => words.to_owned(),
        };
        return Ok(claude::blocked(event, reason));
    }
    claude::by_exit_code(event, ended.exit_code, ended.stderr, answer)
}

/// Writes the answers to Copilot CLI in two styles. A camelCase name of the event in its configuration asks for flat
/// fields, a PascalCase one for Claude Code's in the decision about a tool call. Text for the model and a
/// changed output are flat in both.
///
/// VS Code's agent runs the same files, and reads the answers of Claude Code: at a PascalCase event, its fields are beside
/// Copilot CLI's.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let is_pascal = is_pascal(event.name);
    let decided = |fields| if is_pascal { specific(event, fields) } else { fields };
    let result = |output| optional("modifiedResult", Some(output));
    let mut answer = match (&plan.decision, event.event) {
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::BeforeToolCall) => {
            return decided(permission("deny", reason));
        }
        // It knows no block there: the reason replaces the output.
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::AfterToolCall) => {
            let mut answer = result(json!({"resultType": "success", "textResultForLlm": reason}));
            if is_pascal {
                answer.extend(decision("block", reason));
            }
            return answer;
        }
        // Its answer is flat in both styles.
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::PermissionRequest) => {
            return denial(reason);
        }
        (Decision::Block(reason) | Decision::Stop(reason), _) => return decision("block", reason),
        (Decision::Ask(reason), _) => decided(permission("ask", reason)),
        (Decision::Pass, EventKind::BeforeToolCall) => {
            let key = if is_pascal { "updatedInput" } else { "modifiedArgs" };
            let mut fields = allowed(plan);
            fields.extend(optional(key, plan.changed.clone()));
            decided(fields)
        }
        (Decision::Pass, _) => plan.changed.clone().map(result).unwrap_or_default(),
    };
    answer.extend(context(plan));
    // VS Code has no changed output: its model reads it beside the old one.
    let output = plan.changed.as_ref().filter(|_| event.event == EventKind::AfterToolCall).map(text);
    let told: Vec<String> = output.into_iter().chain(plan.context.clone()).collect();
    if !told.is_empty() && is_pascal {
        let own = answer.entry("hookSpecificOutput").or_insert_with(|| json!({"hookEventName": event.name}));
        let told = optional("additionalContext", Some(told.join("\n\n")));
        own.as_object_mut().into_iter().for_each(|own| own.extend(told.clone()));
    }
    answer
}

/// With one of these variables, it runs the hooks of an untrusted folder when it runs without a terminal.
const VARIABLES: [&str; 2] = ["COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"];

/// Checks that Copilot CLI runs the hooks of the project.
/// In an untrusted folder it runs only those of its user and of the system, as seen in 1.0.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    if !conditions.level.is_in_project() {
        return;
    }
    if let Some(name) = VARIABLES.into_iter().find(|name| has(name, "true")) {
        let message = format!("{name}=true: with it Copilot CLI runs the hooks of every folder");
        return found.ok("trust", message);
    }
    // `config.json` is beside the directory of hooks.
    let user = file(Agent::Copilot, Level::User, conditions.surroundings);
    let directory = user.as_deref().and_then(|path| path.ancestors().nth(2));
    let config = directory.and_then(|it| contents(&it.join("config.json"), found)).unwrap_or_default();
    let shown = shown(conditions.project());
    if is_in_list(&config, conditions.project()) {
        return found.ok("trust", format!("Copilot CLI trusts the folder {shown}"));
    }
    let message = format!("Copilot CLI does not trust {shown}, and skips its hooks");
    found.fail("trust", message, "start copilot there and trust the folder for future sessions");
}

/// Returns true if one of the trusted folders of `config.json` contains this project. Copilot CLI 1.0 also
/// reads the older spelling of the key.
fn is_in_list(config: &[u8], project: &Path) -> bool {
    // Copilot CLI writes comments into this file, though it reads none in its settings.
    let config = json_value(config);
    let lists = ["trustedFolders", "trusted_folders"].map(|key| config.get(key).and_then(Value::as_array));
    let folders = lists.into_iter().flatten().flatten().filter_map(Value::as_str).map(Path::new);
    let project = real(project);
    folders.filter(|it| it.is_absolute()).any(|it| project.starts_with(real(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copilot_trusts_what_is_below_a_folder_of_its_list() {
        let project = Path::new("/nowhere/shop/api");
        for (config, want) in [
            (r#"// mine\n{"trustedFolders": ["/nowhere/shop"]}"#, true),
            (r#"{"trusted_folders": ["/other", "/nowhere/shop/api"]}"#, true),
            (r#"{"trusted_folders": [], "trustedFolders": ["/nowhere"]}"#, true),
            (r#"{"trustedFolders": ["/nowhere/shopping", "/nowhere/shop/api/deep", "shop", "", 5]}"#, false),
            (r#"{"trustedFolders": "/nowhere"}"#, false),
            ("[", false),
            ("", false),
        ] {
            assert_eq!(is_in_list(config.replace("\\n", "\n").as_bytes(), project), want, "{config}");
        }
    }
}
