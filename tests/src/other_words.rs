//! Hooks that block in the words of an agent that they were not written for.

use hookbox_agents::agent::Effect;
use serde_json::{Value, json};

use crate::bridge::{BEFORE, args, call, effect, needed};
use crate::environment::TestEnvironment;

/// The forms in which hooks of the agents block a call, with a reason.
fn forms() -> [Value; 7] {
    [
        json!({"decision": "block", "reason": "not here"}),
        json!({"decision": "deny", "reason": "not here"}),
        json!({"permission": "deny", "agent_message": "not here"}),
        json!({"permissionDecision": "deny", "permissionDecisionReason": "not here"}),
        json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not here"}}),
        json!({"behavior": "deny", "message": "not here"}),
        json!({"continue": false, "stopReason": "not here"}),
    ]
}

/// A place of a hook that prints this: a file of the user's, or a command that the user declares.
fn place(is_file: bool, answer: &Value) -> TestEnvironment {
    let env = TestEnvironment::new();
    if is_file {
        env.native("home/.hookbox/hooks/guard", "before_tool_call", &format!("echo '{answer}'"));
    } else {
        env.script("bin/guard", &format!("#!/bin/sh\necho '{answer}'"));
        let declared = json!({"hooks": {"before_tool_call": [{"command": "guard", "name": "guard"}]}});
        env.file("home/.hookbox/hooks.json", declared.to_string());
    }
    env
}

#[test]
fn a_policy_for_agent_hooks_is_a_native_hook() {
    let bash = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    for (answer, want) in [
        (
            json!({"decision": "deny", "reason": "no-shell", "message": "No."}),
            json!({"blocked": true, "reason": "No.", "blocked_by": "guard"}),
        ),
        (
            json!({"decision": "transform", "transform": {"path": "$target.command", "value": "ls -l"}}),
            json!({"blocked": false, "input": {"command": "ls -l"}}),
        ),
        (json!({"decision": "allow", "reason": null}), json!({"blocked": false})),
    ] {
        for is_file in [true, false] {
            assert_eq!(place(is_file, &answer).event(&["before_tool_call"], &bash), want, "{answer}");
        }
    }
}

#[test]
fn a_hook_blocks_and_asks_in_the_words_of_every_agent() {
    let bash = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    for (is_file, answer) in [true, false].into_iter().flat_map(|it| forms().map(|answer| (it, answer))) {
        let found = place(is_file, &answer).event(&["before_tool_call"], &bash);
        let is_block =
            found["blocked"] == true && found["reason"] == "not here" && found["blocked_by"] == "guard";
        assert!(is_block, "{answer}: {found}");
        let warned = found["warnings"][0].as_str().unwrap_or_default();
        assert!(
            warned.starts_with("guard: \"") && warned.ends_with("taken for a block"),
            "{answer}: {found}"
        );
    }
    let asks = json!({"permission": "ask", "user_message": "sure?"});
    let found = place(true, &asks).event(&["before_tool_call"], &bash);
    assert_eq!((&found["blocked"], &found["ask"]["reason"]), (&json!(false), &json!("sure?")), "{found}");
    let allows = json!({"permission": "allow"});
    let found = place(true, &allows).event(&["before_tool_call"], &bash);
    assert_eq!(
        (&found["blocked"], &found["warnings"]),
        (&json!(false), &json!(["guard: unknown key \"permission\""]))
    );
}

#[test]
fn every_agent_is_told_of_a_block_in_another_agents_words() {
    for (agent, event) in BEFORE.iter().copied() {
        for answer in forms() {
            let env = place(true, &answer);
            let output = env.hookbox_with(
                args(agent, needed(agent, event), &[]),
                call(&env, agent, event, "ls").to_string(),
            );
            let found = effect(agent, event, &output);
            assert_eq!(
                found,
                Effect::Blocked(
                    "not here (hookbox: guard; the user can change it in ~/.hookbox/hookbox.toml)".to_owned()
                ),
                "{agent} {event} {answer}: {output:#?}"
            );
        }
    }
}
