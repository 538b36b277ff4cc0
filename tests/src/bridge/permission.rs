//! The question of a user who is asked about a tool call, answered by a guard.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::args;
use crate::environment::TestEnvironment;

#[test]
fn a_block_of_a_permission_is_claude_codes_deny_and_a_warning_where_none_is_known_to_be_taken() {
    for (run, policy, says) in [
        ("echo '{\"blocked\":true,\"reason\":\"not that\"}'", "pass", "not that"),
        ("exit 1", "block", "guard failed (exit)"),
        ("echo garbage", "block", "guard failed (malformed_output)"),
    ] {
        let env = TestEnvironment::new();
        env.native("home/.hookbox/hooks/guard", "permission_request", run);
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.guard]\non_failure = \"{policy}\"\n"));
        for agent in [Agent::Claude, Agent::Codex, Agent::Qwen, Agent::Copilot] {
            let payload = json!({
                "hook_event_name": "PermissionRequest", "session_id": "s", "cwd": env.path("repo"),
                "tool_name": "Bash", "tool_input": {"command": "ls"},
            });
            let output = env.hookbox_with(args(agent, Some("PermissionRequest"), &[]), payload.to_string());
            assert_eq!(output.code, Some(0), "{agent}: {output:#?}");
            assert!(output.stderr.contains(says) || agent == Agent::Claude, "{agent}: {output:#?}");
            let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
            let specific = &answer["hookSpecificOutput"];
            if agent != Agent::Claude {
                assert!(specific.is_null() && output.stderr.contains("left out"), "{agent}: {output:#?}");
                continue;
            }
            let decision = &specific["decision"];
            assert_eq!(
                (&specific["hookEventName"], &decision["behavior"]),
                (&json!("PermissionRequest"), &json!("deny"))
            );
            assert!(decision["message"].as_str().unwrap().contains(says), "{output:#?}");
        }
    }
}

#[test]
fn garbage_for_a_permission_is_denied_where_a_guard_blocks() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "permission_request", "echo '{}'");
    env.file("home/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
    let output = env.hookbox_with(args(Agent::Claude, Some("PermissionRequest"), &[]), "garbage");
    assert!(output.stdout.contains(r#""behavior":"deny""#), "{output:#?}");
}
