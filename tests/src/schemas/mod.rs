//! The JSON Schemas: the published files; hooks, hookbox and the readers conform to them.

mod readers;
mod rules;
mod settings;

use std::collections::BTreeSet;
use std::fs;

use hookbox::dialect::schema::{ALL, Schema, VERSION};
use hookbox::dialect::{base_coat, claude, kodelet};
use hookbox::{Context, EventName};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, repository, sample};

/// The validator of a schema, or of its part for an event.
pub(crate) fn validator(name: &str, event: Option<&EventName>) -> Validator {
    let published = Schema::named(name).unwrap_or_else(|| panic!("no schema {name}"));
    let schema = match event {
        None => published.document(),
        Some(event) => published.at(event).unwrap_or_else(|| panic!("{name} has nothing for {event}")),
    };
    jsonschema::validator_for(&schema).unwrap()
}

/// Returns the places where a value does not fit the schema.
pub(crate) fn faults(name: &str, event: Option<&EventName>, value: &Value) -> Vec<String> {
    let validator = validator(name, event);
    let faults = validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path()));
    faults.collect()
}

/// Checks that the output of a native hook is an answer.
#[track_caller]
pub(crate) fn assert_answer(event: &str, printed: &str) {
    if printed.trim().is_empty() || event == "turn_end" {
        return;
    }
    let answer: Value = serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let faults = faults("kodelet-answer", Some(&event.parse().unwrap()), &answer);
    assert!(faults.is_empty(), "{event} {printed}: {faults:#?}");
}

#[test]
fn the_published_files_are_those_of_the_library() {
    let dir = repository().join("host/schema").join(VERSION);
    let published: BTreeSet<String> = ALL.iter().map(|schema| format!("{}.json", schema.name)).collect();
    let found: BTreeSet<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, published, "in {}", dir.display());
    for schema in &ALL {
        let formatted = serde_json::to_string_pretty(&schema.document()).unwrap() + "\n";
        assert!(schema.text == formatted, "{} is not formatted as serde_json does it", schema.name);
    }
}

#[test]
fn every_schema_is_one() {
    for schema in &ALL {
        let document = schema.document();
        if let Err(error) = jsonschema::meta::validate(&document) {
            panic!("{}: {}: {error}", schema.name, error.instance_path());
        }
        jsonschema::validator_for(&document).unwrap();
    }
}

#[test]
fn everything_that_hookbox_sends_is_as_the_schemas_say() {
    let cases: Vec<Value> = include_str!("../../cases/kodelet.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|case: &Value| case["event"].as_str().unwrap().parse::<EventName>().is_ok())
        .map(|case| json!({"event": case["event"], "payload": case["payload"]}))
        .collect();
    assert!(cases.len() > 50);
    let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_user_id": "t"});
    let usage = json!({"input_tokens": 1, "current_context_window": 8, "max_context_window": 10});
    let with = |base: &Value, more: Value| {
        let mut all = base.as_object().unwrap().clone();
        all.extend(more.as_object().unwrap().clone());
        Value::Object(all)
    };
    let mut full = vec![
        ("session_start", json!({"source": "resume"})),
        ("session_end", json!({"reason": "rotate"})),
        ("user_message_send", json!({"message": "m"})),
        ("before_tool_call", call.clone()),
        (
            "after_tool_call",
            with(
                &call,
                json!({"tool_output": {"success": true}, "duration_ms": 5, "exit_status": 1, "cost_tokens": 2}),
            ),
        ),
        ("on_error", with(&call, json!({"error": {"message": "m", "kind": "k", "attempt": 2}}))),
        ("on_error", json!({"turn_number": 2, "error": "m"})),
        ("on_error", json!({"hook": "guard", "error": "m"})),
        (
            "after_turn",
            json!({"turn_number": 1, "tools_used": true, "usage": usage, "auto_compact_enabled": true, "auto_compact_threshold": 0.8}),
        ),
        ("turn_end", json!({"response": "r", "turn_number": 1})),
        (
            "agent_stop",
            json!({"messages": [{"role": "assistant", "content": "done"}], "usage": usage, "invoked_recipe": ""}),
        ),
        ("pre_compact", json!({"trigger": "auto", "usage": usage, "messages": []})),
        ("post_compact", json!({"trigger": "auto", "summary": "s", "usage": usage})),
        ("on_budget_exceeded", json!({"usage": usage, "threshold": 0.8})),
    ];
    full.extend(EventName::ALL.iter().map(|event| (event.as_str(), json!({}))));
    let context = json!({
        "agent": "a", "repository": "o/r", "branch": "b", "mode": "plan", "recipe_name": "r", "invoked_by": "subagent",
        "budget": {"used_tokens": 1, "effective_limit": 2},
    });
    let with_context: Vec<_> =
        full.iter().map(|(event, payload)| (*event, with(&context, payload.clone()))).collect();
    let cases = cases
        .iter()
        .map(|case| (case["event"].as_str().unwrap(), case["payload"].clone()))
        .chain(full)
        .chain(with_context);
    let validators = ["kodelet-event", "base-coat-event", "claude-event"].map(|name| validator(name, None));
    let mut sent = 0;
    for (event, payload) in cases {
        let name: EventName = event.parse().unwrap();
        let payload = payload.as_object().unwrap().clone();
        // Texts that the cases only describe are not read here.
        let Ok(decoded) = kodelet::decode(&name, payload, &Context::new("c", "/w")) else { continue };
        let event = decoded.event;
        let session = claude::Session::default();
        let texts =
            [Some(kodelet::encode(&event)), base_coat::encode(&event), claude::encode(&event, &session)];
        for (validator, text) in validators.iter().zip(texts) {
            let Some(text) = text else { continue };
            let faults: Vec<String> = validator.iter_errors(&text).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{text}: {faults:#?}");
            sent += 1;
        }
    }
    assert!(sent > 150, "{sent}");
}

#[test]
fn what_a_hook_really_reads_is_as_the_schema_says() {
    let env = TestEnvironment::new();
    for event in EventName::ALL {
        env.native(
            &format!("home/.hookbox/hooks/{event}"),
            event.as_str(),
            "cat >> read.jsonl; echo >> read.jsonl",
        );
    }
    for event in EventName::ALL {
        let data = match event {
            EventName::BeforeToolCall | EventName::AfterToolCall => {
                json!({"tool_name": "bash", "tool_input": {}})
            }
            EventName::UserMessageSend => json!({"message": "hi"}),
            _ => json!({}),
        };
        env.event(&[event.as_str()], &data);
    }
    let read = env.read("repo/read.jsonl").unwrap();
    let validator = validator("kodelet-event", None);
    for line in read.lines() {
        let payload: Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&payload), "{line}");
    }
    assert_eq!(read.lines().count(), EventName::ALL.len());
}

#[test]
fn what_the_program_prints_is_as_the_schemas_say() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "before_tool_call", r#"echo '{"blocked":true,"reason":"no"}'"#)
        .native("home/.hookbox/hooks/broken", "before_tool_call", "exit 3")
        .native("home/.hookbox/hooks/told", "on_error", "echo '{}'")
        .native("repo/.hookbox/hooks/untrusted", "before_tool_call", "true")
        .native("home/.hookbox/plugins/by@hand/hooks/off.disable", "turn_end", "true")
        .copy("plugin/hooks/audit-log.wasm", &sample("audit-log"));
    let added = ["plugin", "add", "../plugin", "--name", "org/tools", "--json", "--yes", "--grant"];
    let added = env.hookbox(added).json();
    let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    for (name, printed) in [
        ("list", Value::Array(env.list_all(&[]))),
        ("plugin-list", env.hookbox(["plugin", "list", "--json"]).json()),
        ("plugin-list", added),
        ("verdict", env.event(&["before_tool_call"], &call)),
        ("report", env.event(&["before_tool_call", "--report"], &call)),
    ] {
        let faults = faults(name, None, &printed);
        assert!(faults.is_empty(), "{printed}: {faults:#?}");
    }
    let answer = env.event(&["PreToolUse", "--dialect", "base-coat"], &call);
    assert!(faults("base-coat-answer", Some(&EventName::BeforeToolCall), &answer).is_empty(), "{answer}");
}

#[test]
fn an_envelope_goes_in_and_an_envelope_comes_out() {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/guard",
        "PreToolUse",
        r#"grep -q '"command":"sudo' && echo '{"action":"block","reason":"no root here"}' || true"#,
    );
    let event = |command: &str| {
        json!({
            "hook": "PreToolUse", "timestamp": "2025-04-27T18:42:31Z", "sessionId": "s",
            "tool": {"name": "bash", "input": {"command": command}},
        })
    };
    let args = ["PreToolUse", "--dialect", "base-coat"];
    assert_eq!(
        env.event(&args, &event("sudo ls")),
        json!({
            "action": "block", "reason": "no root here", "additionalContext": [], "warnings": [],
            "metadata": {"blockedBy": "guard"},
        })
    );
    assert_eq!(
        env.event(&args, &event("ls")),
        json!({"action": "passThrough", "additionalContext": [], "warnings": [], "metadata": {}})
    );
    // Either dialect in, either out.
    assert_eq!(env.event(&["PreToolUse"], &event("sudo ls"))["blocked"], true);
    let wrong = env.hookbox_with(["run", "PreToolUse"], r#"{"hook":"SessionEnd"}"#);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains(r#""hook" must be "PreToolUse", found "SessionEnd""#), "{}", wrong.stderr);
}

#[test]
fn the_program_says_what_is_wrong_with_an_answer_and_where() {
    let env = TestEnvironment::new();
    let check = |name: &str, at: &[&str], text: &str| {
        let output = env.hookbox_with([&["schema", name, "--check", "-"], at].concat(), text);
        (output.code, output.stdout.trim().to_owned(), output.stderr)
    };
    let at = ["--at", "before_tool_call"];
    for (name, text, code, said) in [
        ("kodelet-answer", r#"{"blocked":true,"reason":"r"}"#, 0, ""),
        ("kodelet-answer", "", 0, ""),
        ("kodelet-answer", r#"{"blocked":"yes"}"#, 1, "/blocked: "),
        ("kodelet-answer", r#"{"action":"modify"}"#, 1, "modifiedInput"),
        ("kodelet-answer", "oops", 1, "(whole): not JSON"),
        (
            "claude-answer",
            r#"{"hookSpecificOutput":{"permissionDecision":"maybe"}}"#,
            1,
            "/hookSpecificOutput",
        ),
        ("claude-answer", r#"{"decision":"block","reason":"r"}"#, 0, ""),
        ("base-coat-answer", r#"{"action":"passThrough","warnings":["w",5]}"#, 1, "/warnings"),
    ] {
        let (found, stdout, stderr) = check(name, &at, text);
        assert_eq!(found, Some(code), "{name} {text}: {stdout} {stderr}");
        assert!(stdout.contains(said) && stdout.is_empty() == (code == 0), "{name} {text}: {stdout}");
    }
    // The reader finds faults that a schema cannot.
    let (code, _, stderr) = check("kodelet-answer", &at, r#"{"colour":5}"#);
    assert!(code == Some(0) && stderr.contains("unknown key \"colour\""), "{stderr}");
    let (code, _, stderr) = check("kodelet-answer", &[], "{}");
    assert!(code == Some(2) && stderr.contains("--at"), "{stderr}");
    let (code, _, stderr) = check("kodelet-anwser", &at, "{}");
    assert!(code == Some(2) && stderr.contains("kodelet-answer"), "{stderr}");
    // An event names itself.
    let event = r#"{"event":"turn_end","conv_id":"c","cwd":"/","invoked_by":"main"}"#;
    assert_eq!(check("kodelet-event", &[], event).0, Some(0));
}

#[test]
fn the_program_lists_and_prints_the_schemas() {
    let env = TestEnvironment::new();
    let listed = env.hookbox(["schema"]).stdout;
    for schema in &ALL {
        assert!(listed.contains(schema.name), "{listed}");
        assert_eq!(env.hookbox(["schema", schema.name]).json(), schema.document());
    }
}
