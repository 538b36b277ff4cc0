//! Claude Code, checked with 2.1.

pub(crate) mod sessions;

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
        packages: &["@anthropic-ai/claude-code"],
        ..ProcessSigns::of(&["claude"])
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
        parser: Some(ParserRules { reads_mark: true, check }),
        entry: EntryForm {
            // Seen in 2.1.329: a program that is gone blocks the call.
            blocks_without_program: Some(("onFailure", "block")),
            has_args: true,
            has_http: true,
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
    unserved_events: "WorktreeCreate",
    tools: ToolNames {
        names: "Bash Read Write Edit MultiEdit Glob Grep LS WebFetch WebSearch Agent",
        claude_names: ClaudeNames::Always,
        failed_output,
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        code: CodePlace::SystemMessage,
        asks_with_changed_input: true,
        // It shows the model 2,000 characters of a longer text, and a file (2.1.329).
        max_context: Some(10_000),
        changed_output,
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
        encode,
        optional_fields: &["prompt_id", "agent_id", "agent_type", "mcp_server"],
        has_failure_event: true,
        has_other_events: true,
        restores_changes: false,
        session_variable: Some("CLAUDE_CODE_SESSION_ID"),
        env_file_variable: Some("CLAUDE_ENV_FILE"),
        manifest: Some(".claude-plugin/plugin.json"),
        ..CommandHooks::BASE
    }),
    next_steps: &[
        (&Level::IN_PROJECT, "trust the folder when claude asks: it runs the hooks of a project only then"),
        (&Level::IN_PROJECT, "start claude in ROOT: it does not look above the directory where it starts"),
    ],
    doctor: DoctorRules {
        check: check_folder,
        off_words: &["--bare", "--setting-sources"],
        ..DoctorRules::BASE
    },
    ..Spec::BASE
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

/// Encodes an event, with the output of another agent's shell tool as `stdout`.
fn encode(_name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut input = claude::encode(event, session)?;
    let EventData::AfterToolCall(result) = &event.data else { return Some(input) };
    let output = result.output.value();
    let is_shell = claude::tool_name(&result.call.name) == "Bash";
    if is_shell && output.is_object() && output.get("stdout").is_none() {
        *input.get_mut("tool_response")? = claude::shell_response(&payload::text_of(output));
    }
    Some(input)
}

/// Writes the answers to Claude Code. A changed output needs the shape of the tool's own; a block after a tool call
/// is beside the output.
pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let is_before = event.event == EventKind::BeforeToolCall;
    let key = if is_before { "updatedInput" } else { "updatedToolOutput" };
    let changed = optional(key, plan.changed.clone());
    match &plan.decision {
        Decision::Stop(reason) => stop(reason),
        Decision::Block(reason) if is_before => specific(event, permission("deny", reason)),
        Decision::Block(reason) if event.event == EventKind::PermissionRequest => denied(event, reason),
        Decision::Block(reason) => {
            let mut answer = decision("block", reason);
            answer.extend(specific(event, changed));
            answer
        }
        Decision::Ask(reason) => {
            let mut fields = permission("ask", reason);
            fields.extend(changed);
            fields.extend(context(plan));
            specific(event, fields)
        }
        Decision::Pass => passed(event, plan, key),
    }
}

/// Returns the new output in the shape of the old one, which is the only one that Claude Code takes.
pub(crate) fn changed_output(_tool: &str, was: &Value, new: &Value) -> ChangedOutput {
    shaped(was, new).map_or(ChangedOutput::Stops, ChangedOutput::Whole)
}

/// Returns the new output in the shape of the old one; `None` if it is not clear which part of it the new one
/// is.
fn shaped(was: &Value, new: &Value) -> Option<Value> {
    if same_shape(was, new) {
        return Some(new.clone());
    }
    match was {
        Value::Null | Value::String(_) => Some(text(new).into()),
        Value::Array(_) => Some(json!([{"type": "text", "text": text(new)}])),
        Value::Object(was) if was.get("stdout").is_some_and(Value::is_string) => {
            let mut shaped = was.clone();
            shaped.insert("stdout".to_owned(), text(new).into());
            if let Some(stderr) = shaped.get_mut("stderr") {
                *stderr = json!("");
            }
            Some(Value::Object(shaped))
        }
        _ => None,
    }
}

fn same_shape(was: &Value, new: &Value) -> bool {
    match (was, new) {
        (Value::Object(was), Value::Object(new)) => {
            was.len() == new.len()
                && was.iter().all(|(field, was)| {
                    new.get(field).is_some_and(|new| was.is_null() || same_type(was, new))
                })
        }
        (Value::Array(_), Value::Array(new)) => {
            new.iter().all(|part| part.get("type").is_some_and(Value::is_string))
        }
        (Value::String(_), Value::String(_)) => true,
        _ => false,
    }
}

fn same_type(was: &Value, new: &Value) -> bool {
    std::mem::discriminant(was) == std::mem::discriminant(new)
}

/// A setting about hooks and permissions: its JSON pointer, and the type that Claude Code 2.1 expects.
type Setting = (&'static str, &'static str, fn(&Value) -> bool);

/// Claude Code 2.1 ignores a whole file in which one of these settings has another type.
const SETTINGS: [Setting; 8] = [
    ("/allowManagedHooksOnly", "true or false", Value::is_boolean),
    ("/disableAllHooks", "true or false", Value::is_boolean),
    ("/env", "an object", Value::is_object),
    ("/hooks", "an object", Value::is_object),
    ("/permissions", "an object", Value::is_object),
    ("/permissions/allow", "a list of strings", are_strings),
    ("/permissions/ask", "a list of strings", are_strings),
    ("/permissions/deny", "a list of strings", are_strings),
];

fn are_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// Returns the first of the settings that has another type than it should have.
fn check(text: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(text).ok()?;
    let is_wrong =
        |(pointer, _, is_right): &Setting| settings.pointer(pointer).is_some_and(|it| !is_right(it));
    let (pointer, expected, _) = SETTINGS.into_iter().find(is_wrong)?;
    let name = pointer.trim_start_matches('/').replace('/', ".");
    Some(format!("expected {expected} for \"{name}\"; with anything else Claude Code ignores the whole file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_gets_an_output_in_the_shape_of_the_tool_or_stops() {
        let bash = json!({"stdout": "secret", "stderr": "x", "interrupted": false});
        let clean = json!({"stdout": "clean", "stderr": "", "interrupted": false});
        let write = json!({"type": "create", "filePath": "a", "originalFile": null});
        let written = json!({"type": "create", "filePath": "b", "originalFile": "old"});
        let part = json!([{"type": "text", "text": "clean"}]);
        for (was, new, want) in [
            (&bash, clean.clone(), Some(clean.clone())),
            (&bash, json!("clean"), Some(clean)),
            (
                &bash,
                json!({"a": 1}),
                Some(json!({"stdout": "{\"a\":1}", "stderr": "", "interrupted": false})),
            ),
            (&write, written.clone(), Some(written)),
            (&write, json!("clean"), None),
            (&write, json!({"type": 5, "filePath": "b", "originalFile": null}), None),
            (&part, json!("clean"), Some(part.clone())),
            (&part, part.clone(), Some(part.clone())),
            (&json!("x"), json!({"text": 1}), Some(json!("{\"text\":1}"))),
            (&Value::Null, json!("clean"), Some(json!("clean"))),
        ] {
            assert_eq!(shaped(was, &new), want, "{was} {new}");
        }
    }

    #[test]
    fn a_setting_of_another_type_is_an_error() {
        for (text, want) in [
            (r#"{"disableAllHooks": "yes"}"#, Some("true or false for \"disableAllHooks\"")),
            (
                r#"{"permissions": {"allow": ["Bash", 5]}}"#,
                Some("a list of strings for \"permissions.allow\""),
            ),
            (r#"{"permissions": []}"#, Some("an object for \"permissions\"")),
            (r#"{"hooks": null}"#, Some("an object for \"hooks\"")),
            (r#"{"env": {"A": 1}, "model": "x", "unheard": [null]}"#, None),
        ] {
            let found = check(text);
            assert_eq!(found.is_some(), want.is_some(), "{text} {found:?}");
            assert!(found.is_none_or(|it| it.contains(want.unwrap())), "{text}");
        }
    }
}
