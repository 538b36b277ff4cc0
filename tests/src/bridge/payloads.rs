//! Payloads that are none of the agent's.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{BEFORE, args, blocked, call, guard, needed, passed, reads_exit_codes};
use crate::agents::payloads;
use crate::environment::TestEnvironment;

/// Payloads that cannot be read as an event, for an agent at this event.
fn bad(env: &TestEnvironment, agent: Agent, event: &str) -> Vec<(&'static str, Vec<u8>)> {
    let good = call(env, agent, event, "ls");
    let with = |name: &str, value: Value| {
        let mut payload = good.clone();
        payload[name] = value;
        // Grok Build has the name in two spellings.
        if name == "tool_name" {
            payload.as_object_mut().unwrap().remove("toolName");
        }
        payload.to_string().into_bytes()
    };
    let (tool, id) = if event == "preToolUse" && agent == Agent::Copilot {
        ("toolName", "sessionId")
    } else if agent == Agent::Antigravity {
        ("toolCall", "conversationId")
    } else {
        ("tool_name", "session_id")
    };
    let depth = 200_000;
    vec![
        ("nothing", Vec::new()),
        ("blanks", b" \n\t".to_vec()),
        ("garbage", b"Error: no such file".to_vec()),
        ("an array", b"[]".to_vec()),
        ("a text", b"\"PreToolUse\"".to_vec()),
        ("half of it", good.to_string().into_bytes().split_at(40).0.to_vec()),
        ("two of it", format!("{good}{good}").into_bytes()),
        ("a number for the tool", with(tool, json!(5))),
        ("no tool", with(tool, Value::Null)),
        ("an object for the session", with(id, json!({}))),
        ("a list for the directory", with("cwd", json!([1]))),
        ("a deep array", [vec![b'['; depth], vec![b']'; depth]].concat()),
    ]
}

#[test]
fn a_payload_that_cannot_be_read_is_answered_by_the_failure_policy_in_every_agent() {
    for policy in ["block", "pass"] {
        let env = guard(&json!({}), policy);
        for (agent, event) in BEFORE.iter().copied() {
            for (what, payload) in bad(&env, agent, event) {
                for given in [Some(event), None] {
                    let output = env.hookbox_with(args(agent, given, &[]), &payload);
                    let what = format!("{what} with {policy} and {given:?}");
                    if policy == "block" {
                        let reason = blocked(agent, event, &output, &what);
                        assert!(!reason.trim().is_empty(), "{what}: {output:#?}");
                    } else {
                        passed(agent, event, &output, &what);
                        assert!(output.stderr.contains("hint: "), "{what}: {output:#?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_payload_of_another_event_than_the_configured_one_is_a_failure() {
    for policy in ["block", "pass"] {
        let env = guard(&json!({}), policy);
        for (agent, event) in BEFORE.iter().copied() {
            let stops = agent.names_of(hookbox_agents::agent::EventKind::AgentStop).next();
            // Crush has no such event.
            let other = stops.unwrap_or("Stop");
            let payload = json!({"hook_event_name": other, "session_id": "s1"}).to_string();
            let output = env.hookbox_with(args(agent, Some(event), &[]), payload);
            if policy == "block" {
                blocked(agent, event, &output, "another event");
            } else {
                passed(agent, event, &output, "another event");
                assert!(output.stderr.contains("hint: "), "{output:#?}");
            }
        }
    }
}

#[test]
fn an_odd_or_large_payload_reaches_the_guard() {
    let env = guard(&json!({"block": "not that"}), "pass");
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for (agent, event) in BEFORE.iter().copied() {
        let good = call(&env, agent, event, "LINE").to_string();
        for (what, payload) in [
            ("a large line", good.replace("LINE", &"x".repeat(1 << 20))),
            ("a deep input", good.replace("\"LINE\"", &deep)),
            (
                "a deep object",
                good.replace("\"LINE\"", &format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000))),
            ),
            ("half of a character", good.replace("LINE", "\\ud800")),
            ("no text", good.replace("\"LINE\"", "{\"a\": [1e999, null]}")),
            ("a byte order mark", format!("\u{feff}{good}")),
            ("two byte order marks", format!("\u{feff}\u{feff}{good}")),
            ("a number that is none", good.replacen('{', "{\"x\": [NaN, -Infinity], ", 1)),
            ("a line that is no number", good.replace("\"LINE\"", "NaN")),
        ] {
            judged(&env, agent, event, what, payload.as_bytes());
        }
        let no_utf8 = [b"{\"x\": \"\xff\xfe\", ".as_slice(), &good.as_bytes()[1..]].concat();
        judged(&env, agent, event, "invalid UTF-8", &no_utf8);
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let utf16: Vec<u8> = format!("\u{feff}{good}").encode_utf16().flat_map(bytes).collect();
            judged(&env, agent, event, "UTF-16", &utf16);
        }
    }
}

/// The guard has judged this payload.
fn judged(env: &TestEnvironment, agent: Agent, event: &str, what: &str, payload: &[u8]) {
    let output = env.hookbox_with(args(agent, Some(event), &[]), payload);
    let reason = blocked(agent, event, &output, what);
    let code = if reads_exit_codes(agent) { 2 } else { 0 };
    assert!(output.code == Some(code) && reason.contains("not that"), "{what} in {agent}: {output:#?}");
}

#[test]
fn every_real_payload_is_answered_and_without_a_guard_an_unknown_event_by_nothing() {
    let env = TestEnvironment::new();
    for agent in Agent::ALL {
        let silence = agent.nothing().stdout;
        for (file, payload) in payloads(agent) {
            let given = crate::agents::given(agent, &file);
            let output = env.hookbox_with(args(agent, given, &[]), payload);
            // Antigravity needs a decision about each call.
            let needs_decision = agent == Agent::Antigravity && file.starts_with("PreToolUse");
            let silence = if needs_decision { "{\"decision\":\"ask\"}\n" } else { silence.as_str() };
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (Some(0), silence),
                "{agent} {file}: {output:#?}"
            );
        }
        let output = env
            .hookbox_with(args(agent, None, &[]), r#"{"hook_event_name": "Teleported", "session_id": "s"}"#);
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), silence.as_str()), "{output:#?}");
    }
}

#[test]
fn an_event_on_the_command_line_that_is_none_of_the_agents_is_a_failure() {
    for policy in ["block", "pass"] {
        let env = guard(&json!({}), policy);
        for (agent, event) in BEFORE.iter().copied() {
            // No agent says its event here, as Copilot CLI does not in one of its styles.
            let mut payload = call(&env, agent, event, "ls");
            payload.as_object_mut().unwrap().retain(|name, _| name != "hook_event_name");
            for wrong in ["PreTooluse", "preToolUze", "", "before_tool_call"] {
                let output = env.hookbox_with(args(agent, Some(wrong), &[]), payload.to_string());
                if policy == "block" {
                    blocked(agent, event, &output, wrong);
                } else {
                    passed(agent, event, &output, wrong);
                }
                for part in ["hint: ", event] {
                    assert!(output.stderr.contains(part), "{agent} {wrong} {part}: {output:#?}");
                }
            }
        }
    }
}

#[test]
fn an_event_that_the_agent_has_and_hookbox_does_not_serve_is_answered_by_nothing() {
    let env = guard(&json!({}), "block");
    for (agent, event) in [(Agent::Claude, "WorktreeCreate"), (Agent::Cursor, "beforeShellExecution")] {
        let silence = agent.nothing().stdout;
        let says = json!({"hook_event_name": event, "session_id": "s"}).to_string();
        let silent = r#"{"session_id": "s"}"#.to_owned();
        for (given, payload) in [(None, says.clone()), (Some(event), says), (Some(event), silent)] {
            let output = env.hookbox_with(args(agent, given, &[]), payload);
            let answer = (output.code, output.stdout.as_str(), output.stderr.as_str());
            assert_eq!(answer, (Some(0), silence.as_str(), ""), "{agent} {event} {given:?}: {output:#?}");
        }
    }
}

#[test]
fn an_event_of_a_payload_that_nobody_knows_is_answered_by_the_failure_policy() {
    for policy in ["block", "pass"] {
        let env = guard(&json!({}), policy);
        for agent in Agent::ALL {
            for wrong in ["Teleported", "PreTooluse", "before_tool_call", ""] {
                let payload = json!({"hook_event_name": wrong, "session_id": "s"}).to_string();
                for given in [None, Some(wrong)] {
                    let output = env.hookbox_with(args(agent, given, &[]), &payload);
                    let silence = agent.nothing().stdout;
                    let want = if policy == "block" { (Some(2), "") } else { (Some(0), silence.as_str()) };
                    assert_eq!((output.code, output.stdout.as_str()), want, "{agent} {wrong}: {output:#?}");
                    for part in [wrong, "hint: "] {
                        assert!(output.stderr.contains(part), "{agent} {wrong}: {output:#?}");
                    }
                }
            }
        }
    }
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_hint() {
    let env = TestEnvironment::new();
    for args in [
        &["bridge"][..],
        &["bridge", "claud"],
        &["bridge", "claude", "--evnt", "x"],
        &["bridge", "codex", "--deadline", "soon"],
    ] {
        let output = env.hookbox_with(args, "{}");
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(output.stderr.contains("hint:"), "{args:?}: {output:#?}");
    }
}

#[test]
fn a_hook_that_only_observes_does_not_block_what_cannot_be_read() {
    let env = TestEnvironment::new();
    let entry = json!({"command": "cat", "on_failure": "block", "observe": true});
    env.file("home/.hookbox/hooks.json", json!({"hooks": {"PreToolUse": [entry]}}).to_string());
    let output = env.hookbox_with(args(Agent::Claude, Some("PreToolUse"), &[]), "garbage");
    passed(Agent::Claude, "PreToolUse", &output, "an observer");
}

#[test]
fn a_block_names_hookbox_the_hook_and_the_file_that_changes_it() {
    for (answer, words) in
        [(json!({"block": "Not from here."}), "Not from here."), (json!({"block": ""}), "blocked by guard")]
    {
        let env = guard(&answer, "pass");
        let want = format!("{words} (hookbox: guard; the user can change it in ~/.hookbox/hookbox.toml)");
        for (agent, event) in BEFORE.iter().copied() {
            let payload = call(&env, agent, event, "make deploy").to_string();
            let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
            let reason = blocked(agent, event, &output, words);
            assert!(reason.contains(&want), "{agent} {event}: {reason}");
        }
    }
}
