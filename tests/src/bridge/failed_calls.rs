//! Outputs of failed calls: Claude Code and Qwen Code show them to no hook after a call.

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment};

const SECRET: &str = "token=hunter2hunter2";

/// Returns the payload of a batch with a call that worked, and one that failed.
fn batch(env: &TestEnvironment, agent: &str) -> Value {
    let call = |id: &str, failed: bool| match agent {
        "claude" => {
            let said = if failed { format!("Exit code 3\n{SECRET}") } else { "fine".to_owned() };
            json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": id, "tool_response": said})
        }
        _ => json!({
            "tool_name": "run_shell_command", "tool_input": {"command": "make"}, "tool_call_id": id,
            "status": if failed { "error" } else { "success" },
            "tool_response": if failed { json!({"error": SECRET}) } else { json!({"result_display": "fine"}) },
        }),
    };
    json!({
        "hook_event_name": "PostToolBatch", "session_id": "s", "cwd": env.path("repo"),
        "tool_calls": [call("one", false), call("two", true)],
    })
}

fn answer(agent: &str, run: &str, policy: &str) -> (TestEnvironment, Output, Value) {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    env.native("home/.hookbox/hooks/judge", "after_tool_call", &format!("cat >> \"$HOME/seen\"; {run}"));
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.judge]\non_failure = \"{policy}\"\n"));
    let output = env.hookbox_with(["bridge", agent], batch(&env, agent).to_string());
    assert_eq!(output.code, Some(0), "{output:#?}");
    let answer = serde_json::from_str(&output.stdout).unwrap_or_default();
    (env, output, answer)
}

#[test]
fn a_hook_after_a_call_judges_each_failed_call_of_a_batch_once() {
    for agent in ["claude", "qwen"] {
        let (env, output, answer) = answer(agent, "", "block");
        let seen = env.read("home/seen").unwrap();
        let seen: Vec<Value> =
            serde_json::Deserializer::from_str(&seen).into_iter().map(Result::unwrap).collect();
        assert_eq!(seen.len(), 1, "{agent}: {seen:#?}");
        assert!(seen[0].to_string().contains(SECRET), "{agent}: {seen:#?}");
        assert_eq!(answer, Value::Null, "{agent}: {output:#?}");
    }
}

#[test]
fn a_call_that_hookbox_blocked_is_no_failed_call_of_the_batch() {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        "echo '{\"blocked\": true, \"reason\": \"no\"}'",
    );
    env.native("home/.hookbox/hooks/judge", "after_tool_call", "cat >> \"$HOME/seen\"");
    for (agent, tool) in [("claude", "Bash"), ("qwen", "run_shell_command")] {
        let call = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("repo"), "tool_name": tool,
            "tool_input": {"command": "make"}, "tool_use_id": "two",
        });
        let blocked = env.hookbox_with(["bridge", agent], call.to_string());
        assert!(blocked.stdout.contains("deny"), "{agent}: {blocked:#?}");
        env.hookbox_with(["bridge", agent], batch(&env, agent).to_string());
        assert_eq!(env.read("home/seen"), None, "{agent}");
    }
}

#[test]
fn a_failed_call_without_a_name_or_outside_a_list_is_judged_as_well() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/judge", "after_tool_call", "cat >> \"$HOME/seen\"; exit 2");
    env.file("home/.hookbox/hookbox.toml", "[hooks.judge]\non_failure = \"block\"\n");
    for agent in ["claude", "qwen"] {
        let batch = batch(&env, agent);
        let mut nameless = batch.clone();
        nameless["tool_calls"][1].as_object_mut().unwrap().remove("tool_name");
        let mut alone = batch.clone();
        alone["tool_calls"] = batch["tool_calls"][1].clone();
        for payload in [nameless, alone] {
            let output = env.hookbox_with(["bridge", agent], payload.to_string());
            let seen = env.read("home/seen").unwrap_or_default();
            assert!(seen.contains(SECRET), "{payload}: {output:#?}");
            let answer: Value = serde_json::from_str(&output.stdout).unwrap();
            assert_eq!(answer["continue"], false, "{payload}: {output:#?}");
            env.file("home/seen", "");
        }
    }
}

#[test]
fn what_a_hook_takes_out_of_a_failed_call_stays_out_as_strictly_as_the_hooks_are() {
    let changes = r#"echo '{"output": "clean"}'"#;
    for (agent, run, policy, stops, told) in [
        // The reason takes the place of the output.
        ("qwen", changes, "pass", true, "clean"),
        ("qwen", changes, "block", true, "clean"),
        // A stop ends the turn.
        ("claude", changes, "pass", false, "clean"),
        ("claude", changes, "block", true, "clean"),
        // A guard that fails.
        ("qwen", "exit 3", "block", true, "judge"),
        ("claude", "exit 3", "block", true, "judge"),
    ] {
        let (_env, output, answer) = answer(agent, run, policy);
        assert_eq!(answer["continue"] == json!(false), stops, "{agent} {run} {policy}: {output:#?}");
        assert!(output.stdout.contains(told), "{agent} {run} {policy}: {output:#?}");
        assert!(!output.stdout.contains(SECRET), "{agent} {run} {policy}: {output:#?}");
        if !stops {
            assert!(output.stderr.contains("sees the old one, too"), "{output:#?}");
        }
    }
    let (_env, output, answer) = answer("claude", "exit 3", "pass");
    assert_eq!(answer.get("continue"), None, "{output:#?}");
}
