//! Events that some agents have: a user is asked about a tool call, settings change.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::args;
use crate::environment::TestEnvironment;

#[test]
fn a_block_of_a_permission_is_the_deny_that_the_agent_reads() {
    for (run, policy, says) in [
        ("echo '{\"blocked\":true,\"reason\":\"not that\"}'", "pass", "not that"),
        ("exit 1", "block", "guard failed (exit)"),
        ("echo garbage", "block", "guard failed (malformed_output)"),
    ] {
        let env = TestEnvironment::new();
        env.native("home/.hookbox/hooks/guard", "permission_request", run);
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.guard]\non_failure = \"{policy}\"\n"));
        for (agent, name) in [
            (Agent::Claude, "PermissionRequest"),
            (Agent::Codex, "PermissionRequest"),
            (Agent::Qwen, "PermissionRequest"),
            (Agent::Copilot, "PermissionRequest"),
            (Agent::Copilot, "permissionRequest"),
        ] {
            let payload = json!({
                "hook_event_name": name, "hookName": name, "session_id": "s", "sessionId": "s",
                "cwd": env.path("repo"), "tool_name": "Bash", "tool_input": {"command": "ls"},
            });
            let output = env.hookbox_with(args(agent, Some(name), &[]), payload.to_string());
            assert_eq!(output.code, Some(0), "{agent}: {output:#?}");
            let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
            let decision = match agent {
                // Copilot CLI reads flat fields in both styles.
                Agent::Copilot => &answer,
                _ => &answer["hookSpecificOutput"]["decision"],
            };
            assert_eq!(decision["behavior"], "deny", "{agent}: {output:#?}");
            assert!(decision["message"].as_str().unwrap().contains(says), "{agent}: {output:#?}");
            // Codex refuses an answer with any other field.
            let fields = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(fields(decision), ["behavior", "message"], "{agent}");
            if agent != Agent::Copilot {
                assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PermissionRequest");
                assert_eq!(fields(&answer["hookSpecificOutput"]), ["hookEventName", "decision"], "{agent}");
            }
        }
    }
}

#[test]
fn garbage_for_a_permission_is_denied_where_a_guard_blocks() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "permission_request", "echo '{}'");
    env.file("home/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
    for agent in [Agent::Claude, Agent::Codex, Agent::Qwen, Agent::Copilot] {
        let output = env.hookbox_with(args(agent, Some("PermissionRequest"), &[]), "garbage");
        assert!(output.stdout.contains(r#""behavior":"deny""#), "{agent}: {output:#?}");
    }
}

#[test]
fn a_guard_stops_a_change_of_the_settings_of_an_agent() {
    for (run, policy, stops) in [
        (
            "grep -q local_settings && echo '{\"blocked\":true,\"reason\":\"not that\"}'",
            "pass",
            Some("not that"),
        ),
        ("exit 1", "block", Some("guard failed (exit)")),
        ("exit 1", "pass", None),
        ("echo '{}'", "block", None),
    ] {
        let env = TestEnvironment::new();
        env.native("home/.hookbox/hooks/guard", "config_change", run);
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.guard]\non_failure = \"{policy}\"\n"));
        let payload = json!({
            "hook_event_name": "ConfigChange", "session_id": "s", "cwd": env.path("repo"),
            "source": "local_settings", "file_path": env.path("repo/.claude/settings.local.json"),
        });
        let output = env.hookbox_with(args(Agent::Claude, Some("ConfigChange"), &[]), payload.to_string());
        let code = if stops.is_some() { 2 } else { 0 };
        assert_eq!(output.code, Some(code), "{run}: {output:#?}");
        if let Some(reason) = stops {
            assert!(output.stderr.contains(reason) && output.stdout.is_empty(), "{run}: {output:#?}");
        }
    }
}
