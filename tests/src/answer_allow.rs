//! The answer `allow`: declared, granted, and only if no other hook objects.

use std::path::Path;

use hookbox::hook::Kind;
use hookbox::{Descriptor, EventName, FunctionHook, Outcome, ToolCall};
use hookbox_agents::Agent;
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, guest, sample};

/// A call that the component `facts` allows.
fn call() -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": "ls", "allow": "it only reads"}})
}

/// Puts a component into a place, and compiles it before an event has to wait for it.
fn component(env: &TestEnvironment, path: &str, file: &Path) {
    env.copy(path, file);
    succeeds(&env.hookbox(["cache".as_ref(), "warm".as_ref(), env.path(path).as_os_str()]));
}

/// The answer of a script that allows.
const YES: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"it only reads"}}"#;

fn warned(verdict: &Value, words: &str) -> bool {
    let warnings = verdict["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    warnings.iter().any(|it| it.as_str().unwrap().contains(words))
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn a_component_of_the_user_allows_with_a_grant_and_not_without() {
    let env = TestEnvironment::new();
    component(&env, "home/.hookbox/hooks/facts.wasm", &guest("facts"));
    let denied = env.event(&["before_tool_call", "--report"], &call());
    let verdict = &denied["verdict"];
    assert_eq!((&verdict["blocked"], &verdict["allowed"]), (&json!(false), &json!(null)), "{denied:#}");
    assert!(
        warned(verdict, "was denied allow; allow it with `hookbox grants add facts.wasm allow`"),
        "{denied:#}"
    );
    let report = &denied["hooks"][0];
    assert_eq!((&report["status"], &report["cause"]), (&json!("passed"), &json!("denied")), "{denied:#}");
    assert_eq!(report["denied"][0]["right"], "allow");

    let row = &env.list(&[])[0];
    assert_eq!(row["lacks"], json!(["work-tree", "allow"]), "{row:#}");
    succeeds(&env.hookbox(["grants", "add", "facts.wasm", "allow", "--yes"]));
    assert_eq!(env.list(&[])[0]["lacks"], json!(["work-tree"]));
    let allowed = env.event(&["before_tool_call"], &call());
    assert_eq!(
        allowed,
        json!({"blocked": false, "allowed": {"reason": "it only reads", "by": "facts.wasm"}})
    );
    let explained = env.hookbox_with(["explain", "before_tool_call"], call().to_string());
    assert!(
        explained
            .stdout
            .contains("Passes without a question of the agent, allowed by facts.wasm: it only reads"),
        "{explained:#?}"
    );
    // A pass is not allowed, whatever was granted.
    let passed =
        env.event(&["before_tool_call"], &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}));
    assert_eq!(passed, json!({"blocked": false}));

    succeeds(&env.hookbox(["grants", "remove", "facts.wasm", "allow"]));
    assert_eq!(env.event(&["before_tool_call"], &call())["allowed"], json!(null));
}

#[test]
fn a_hook_of_a_repository_never_allows() {
    let env = TestEnvironment::new();
    component(&env, "repo/.hookbox/hooks/facts.wasm", &guest("facts"));
    env.native("repo/.hookbox/hooks/script", "before_tool_call", &format!("echo '{YES}'"));
    env.file("repo/.hookbox/hookbox.toml", "[hooks.script]\nallow = true\n");
    for step in ["found", "trusted", "granted"] {
        match step {
            "trusted" => {
                succeeds(&env.hookbox(["trust", "facts.wasm", "--yes"]));
                succeeds(&env.hookbox(["trust", "script", "--yes"]));
            }
            "granted" => {
                let refused = env.hookbox(["grants", "add", "facts.wasm", "allow", "--yes"]);
                assert!(
                    refused.code != Some(0) && refused.stderr.contains("none can have it"),
                    "{refused:#?}"
                );
            }
            _ => {}
        }
        let verdict = env.event(&["before_tool_call"], &call());
        assert_eq!(
            (&verdict["blocked"], &verdict["allowed"]),
            (&json!(false), &json!(null)),
            "{step}: {verdict:#}"
        );
        assert!(
            warned(&verdict, "no hook of a repository can have it") || step == "found",
            "{step}: {verdict:#}"
        );
        let everything = env.event(&["before_tool_call", "--trust", "all"], &call());
        assert_eq!(everything["allowed"], json!(null), "{step}");
    }
    let row = env.list(&[]).iter().find(|row| row["name"] == "facts.wasm").cloned().unwrap();
    assert!(!row["lacks"].as_array().unwrap().contains(&json!("allow")), "{row:#}");
    let listed = env.hookbox(["list"]);
    assert!(listed.stderr.contains("sets allow, which a repository cannot"), "{listed:#?}");
}

#[test]
fn a_script_and_a_declared_command_of_the_user_allow_by_the_users_settings() {
    for is_declared in [false, true] {
        let env = TestEnvironment::new();
        if is_declared {
            env.script("bin/yes-man", &format!("#!/bin/sh\necho '{YES}'"));
            let entry =
                json!({"matcher": "*", "hooks": [{"type": "command", "command": "yes-man", "name": "yes"}]});
            env.file("home/.hookbox/hooks.json", json!({"hooks": {"PreToolUse": [entry]}}).to_string());
        } else {
            env.native("home/.hookbox/hooks/yes", "before_tool_call", &format!("echo '{YES}'"));
        }
        let name = env.list(&[])[0]["name"].as_str().unwrap().to_owned();
        for (settings, is_allowed) in [("", false), ("allow = false", false), ("allow = true", true)] {
            env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{name}\"]\n{settings}\n"));
            let verdict = env.event(&["before_tool_call"], &call());
            assert_eq!(verdict["allowed"]["by"] == json!(name), is_allowed, "{name} {settings}: {verdict:#}");
            let fix = format!("`allow = true` in the table [hooks.\"{name}\"] of your hookbox.toml");
            assert_eq!(warned(&verdict, &fix), !is_allowed, "{name} {settings}: {verdict:#}");
        }
        // Settings of a repository say nothing about the user's hook.
        env.file("home/.hookbox/hookbox.toml", "");
        env.file("repo/.hookbox/hookbox.toml", format!("[hooks.\"{name}\"]\nallow = true\n"));
        assert_eq!(env.event(&["before_tool_call"], &call())["allowed"], json!(null));
    }
}

#[test]
fn nothing_is_allowed_if_another_hook_objects_and_one_without_the_grant_does_not() {
    for (answer, is_allowed) in [
        ("true", true),
        (r#"echo '{"blocked":true,"reason":"no"}'"#, false),
        (r#"echo '{"decision":"ask","reason":"sure?"}'"#, false),
        ("exit 3", false),
        (r#"echo '{"input":{"command":"id"}}'"#, false),
        // The grant of one hook is not that of another, which has no objection.
        (&format!("echo '{YES}'"), true),
    ] {
        let env = TestEnvironment::new();
        component(&env, "home/.hookbox/hooks/facts.wasm", &guest("facts"));
        env.native("home/.hookbox/hooks/other", "before_tool_call", answer);
        env.file("home/.hookbox/hookbox.toml", "[hooks.other]\npriority = 90\n");
        succeeds(&env.hookbox(["grants", "add", "facts.wasm", "allow", "--yes"]));
        let verdict = env.event(&["before_tool_call"], &call());
        assert_eq!(verdict["allowed"].is_object(), is_allowed, "{answer}: {verdict:#}");
    }
}

#[test]
fn an_agents_own_hook_keeps_its_allow_by_the_same_rule() {
    for (agent, file, entry, printed) in [
        (Agent::Claude, ".claude/settings.json", "PreToolUse", YES),
        (Agent::Copilot, ".copilot/hooks/a.json", "preToolUse", r#"{"permissionDecision":"allow"}"#),
        (Agent::Cursor, ".cursor/hooks.json", "preToolUse", r#"{"permission":"allow"}"#),
    ] {
        let env = TestEnvironment::new();
        env.script("bin/yes-man", &format!("#!/bin/sh\necho '{printed}'"));
        let one = json!({"type": "command", "command": "yes-man", "bash": "yes-man"});
        let hooks = match agent {
            Agent::Claude => json!({"hooks": {entry: [{"matcher": "*", "hooks": [one]}]}}),
            _ => json!({"version": 1, "hooks": {entry: [one]}}),
        };
        env.file(&format!("home/{file}"), hooks.to_string());
        let from = ["--from", agent.as_str()];
        let name = env.list(&from)[0]["name"].as_str().unwrap().to_owned();
        let args = [&["before_tool_call"][..], &from].concat();
        for (settings, is_allowed) in [("", false), ("allow = true", true)] {
            env.file("home/.hookbox/hookbox.toml", format!("[hooks.{}]\n{settings}\n", json!(name)));
            let verdict = env.event(&args, &call());
            assert_eq!(verdict["allowed"].is_object(), is_allowed, "{agent} {settings}: {verdict:#}");
            assert_eq!(warned(&verdict, "was denied allow"), !is_allowed, "{agent} {settings}: {verdict:#}");
        }
    }
}

#[test]
fn an_agent_gets_the_answer_in_its_own_words() {
    let env = TestEnvironment::new();
    component(&env, "home/.hookbox/hooks/read-only.wasm", &sample("read-only"));
    succeeds(&env.hookbox(["grants", "add", "read-only.wasm", "allow", "--yes"]));
    let payload = |line: &str| {
        json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("repo"),
            "tool_name": "Bash", "tool_input": {"command": line},
        })
    };
    for (line, is_allowed) in [("ls | head", true), ("touch a", false)] {
        let output = env.hookbox_with(["bridge", "claude"], payload(line).to_string());
        succeeds(&output);
        let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        assert_eq!(*decision == json!("allow"), is_allowed, "{line}: {output:#?}");
        // Codex has no such answer.
        let output = env.hookbox_with(["bridge", "codex"], payload(line).to_string());
        assert!(!output.stdout.contains("allow"), "{output:#?}");
    }
}

#[tokio::test]
async fn a_hook_from_code_allows_if_its_descriptor_says_so() {
    for is_declared in [false, true] {
        let descriptor = Descriptor::new("code", Kind::Code).on(EventName::BeforeToolCall);
        let descriptor = if is_declared { descriptor.allows() } else { descriptor };
        let hook = FunctionHook::with(descriptor, |_| async { Ok(Outcome::allow("it only reads")) });
        let manager = TestEnvironment::new().builder().hook(hook).build().await;
        let verdict = manager.session("c").before_tool_call(ToolCall::new("bash", json!({}))).await;
        assert!(verdict.decision.permitted().is_some(), "{verdict:?}");
        assert_eq!(verdict.allowed.map(|it| it.by), is_declared.then(|| "code".to_owned()));
    }
}
