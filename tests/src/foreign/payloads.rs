//! An event that an agent sent is sent to a hook of that agent as it came.

use std::sync::Arc;

use hookbox::dialect::Wire;
use hookbox::dialect::claude::Session;
use hookbox::event::{Event, EventData};
use hookbox_agents::Agent;
use hookbox_agents::agent_hooks::AgentHook;
use serde_json::{Map, Value, json};

use crate::agents::{payloads, read};
use crate::environment::TestEnvironment;

/// Events whose data hookbox does not know: no hook of theirs is sent anything.
const NOT_SENT: [(Agent, &str); 8] = [
    (Agent::Kimi, "TurnStarted"),
    (Agent::Claude, "PostToolBatch"),
    (Agent::Qwen, "PostToolBatch"),
    (Agent::Gemini, "AfterModel"),
    (Agent::Gemini, "BeforeModel"),
    (Agent::Gemini, "BeforeToolSelection"),
    (Agent::Cursor, "afterAgentResponse"),
    (Agent::Cursor, "beforeReadFile"),
];

/// Fields that an event does not have, and that are left out without the payload.
const ABSENT: [(Agent, &str); 16] = [
    (Agent::Kimi, "agent_name"),
    (Agent::Kimi, "token_count"),
    (Agent::Kimi, "estimated_token_count"),
    (Agent::Claude, "prompt_id"),
    (Agent::Claude, "background_tasks"),
    (Agent::Claude, "session_crons"),
    (Agent::Claude, "mcp_server"),
    (Agent::Gemini, "mcp_context"),
    (Agent::Cursor, "message_count"),
    (Agent::Cursor, "messages_to_compact"),
    (Agent::Cursor, "is_first_compaction"),
    (Agent::Cursor, "final_status"),
    (Agent::Cursor, "duration_ms"),
    (Agent::Cursor, "subagent_type"),
    // Of a call that failed: an error has no duration here.
    (Agent::Claude, "duration_ms"),
    (Agent::Cursor, "duration"),
];

/// Fields that an event does not have, and that are a text all the same, because a hook may need one.
const OTHER_TEXT: [(Agent, &str); 11] = [
    (Agent::Kimi, "model"),
    (Agent::Codex, "turn_id"),
    (Agent::Codex, "model"),
    (Agent::Qwen, "model"),
    (Agent::Qwen, "prompt_id"),
    (Agent::Qwen, "tool_call_id"),
    (Agent::Copilot, "initialPrompt"),
    (Agent::Copilot, "initial_prompt"),
    (Agent::Cursor, "generation_id"),
    (Agent::Cursor, "model"),
    (Agent::Cursor, "cursor_version"),
];

/// Fields that may be there or not, or hold nothing: who is signed in is nobody's business.
const NULL: [(Agent, &str); 1] = [(Agent::Cursor, "user_email")];

#[test]
fn a_hook_of_the_agent_at_work_reads_each_payload_as_it_was_sent() {
    let mut sent = 0;
    for agent in Agent::with_commands() {
        for (file, payload) in payloads(agent) {
            let Some(request) = read(agent, &file, &payload) else { continue };
            let Ok(hook) = AgentHook::new(agent, request.own.name) else { continue };
            let found = Wire::encode(&hook, &request.event).unwrap_or_else(|| panic!("{agent}/{file}"));
            let want: Value = serde_json::from_slice(&payload).unwrap();
            assert_eq!(found.to_string(), want.to_string(), "{agent}/{file}");
            sent += 1;
        }
    }
    assert!(sent > 100, "only {sent} payloads were compared");
}

/// An agent's payload of an event, with these fields put over a recorded one.
fn sent(agent: Agent, file: &str, over: Value) -> (Event, Value) {
    let (_, payload) = payloads(agent).into_iter().find(|(name, _)| name == file).unwrap();
    let mut payload: Value = serde_json::from_slice(&payload).unwrap();
    payload.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    let request = read(agent, file, payload.to_string().as_bytes()).unwrap();
    (request.event, payload)
}

#[test]
fn a_change_of_another_hook_is_all_that_differs_and_text_stays_text() {
    for (agent, file, over, field) in [
        (Agent::Claude, "PreToolUse", json!({}), "tool_input"),
        (Agent::Claude, "PreToolUse", json!({"new_field": [1, {"a": null}]}), "tool_input"),
        (Agent::Copilot, "preToolUse", json!({"toolArgs": "{\"command\": \"ls\"}"}), "toolArgs"),
        (Agent::Cursor, "preToolUse", json!({"user_email": "dev@example.com"}), "tool_input"),
    ] {
        let (mut event, mut want) = sent(agent, file, over);
        let hook = AgentHook::new(agent, file).unwrap();
        assert_eq!(Wire::encode(&hook, &event), Some(want.clone()), "{agent}/{file}");
        let EventData::BeforeToolCall(call) = &mut event.data else { panic!("{file}") };
        call.input = json!({"command": "pwd"}).into();
        want[field] = match &want[field] {
            Value::String(_) => json!("{\"command\":\"pwd\"}"),
            _ => json!({"command": "pwd"}),
        };
        assert_eq!(Wire::encode(&hook, &event), Some(want), "{agent}/{file}");
    }
}

#[test]
fn a_hook_of_another_agent_reads_the_facts_that_both_agents_have() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let transcript = |agent| sent(agent, before(agent), json!({})).1["transcript_path"].clone();
    for (at_work, over, hook, name, field, want) in [
        (Codex, json!({}), Claude, "PreToolUse", "transcript_path", transcript(Codex)),
        (Codex, json!({"turn_id": "t1"}), Claude, "PreToolUse", "prompt_id", json!("t1")),
        (Claude, json!({"prompt_id": "p1"}), Codex, "PreToolUse", "turn_id", json!("p1")),
        (Claude, json!({}), Codex, "PreToolUse", "model", json!("")),
        (Codex, json!({"model": "m"}), Cursor, "preToolUse", "model", json!("m")),
        (Codex, json!({"turn_id": "t1"}), Cursor, "preToolUse", "generation_id", json!("t1")),
        (Codex, json!({"user_email": "a@b"}), Cursor, "preToolUse", "user_email", Value::Null),
        (Cursor, json!({"user_email": "a@b"}), Cursor, "beforeShellExecution", "user_email", json!("a@b")),
        (Cursor, json!({"model": "m"}), Cursor, "beforeShellExecution", "model", json!("m")),
        (
            Gemini,
            json!({"tool_name": "mcp_t_echo", "mcp_context": {"server_name": "t", "tool_name": "echo"}}),
            Claude,
            "PreToolUse",
            "mcp_server",
            json!({"name": "t"}),
        ),
        (
            Claude,
            json!({"tool_name": "mcp__t__echo", "mcp_server": {"name": "t", "source": "dynamic"}}),
            Gemini,
            "BeforeTool",
            "mcp_context",
            json!({"server_name": "t", "tool_name": "echo"}),
        ),
        (Qwen, json!({"permission_mode": "yolo"}), Claude, "PreToolUse", "permission_mode", json!("default")),
        (Qwen, json!({"model": 5}), Codex, "PreToolUse", "model", json!("")),
        (Copilot, json!({"agentId": "a1"}), Claude, "PreToolUse", "agent_id", json!("a1")),
    ] {
        let (event, _) = sent(at_work, before(at_work), over);
        let found = Wire::encode(&AgentHook::new(hook, name).unwrap(), &event).unwrap();
        assert_eq!(found[field], want, "{hook}'s {name} behind {at_work}: {found}");
    }
}

/// The file with the call of an agent's shell tool.
fn before(agent: Agent) -> &'static str {
    match agent {
        Agent::Gemini => "BeforeTool",
        Agent::Copilot | Agent::Cursor => "preToolUse",
        _ => "PreToolUse",
    }
}

#[test]
fn the_output_of_a_shell_is_stdout_for_a_hook_of_claude_code() {
    for (agent, file, text) in [
        (Agent::Codex, "PostToolUse", "hi\n"),
        (Agent::Gemini, "AfterTool", "hi"),
        (Agent::Qwen, "PostToolUse", "hi"),
        (Agent::Copilot, "postToolUse", "hi\n<shellId: 0 completed with exit code 0>"),
    ] {
        let (event, _) = sent(agent, file, json!({}));
        let hook = AgentHook::new(Agent::Claude, "PostToolUse").unwrap();
        let found = Wire::encode(&hook, &event).unwrap();
        assert_eq!(found["tool_response"]["stdout"], text, "{agent}: {found}");
        assert_eq!(found["tool_response"]["interrupted"], false, "{agent}: {found}");
        let changed = r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse",
            "updatedToolOutput": {"stdout": "clean", "stderr": ""}}}"#;
        let outcome = hook.outcome(&event, 0, changed.as_bytes(), "").unwrap();
        assert_eq!(outcome.action, hookbox::outcome::Action::Modify("clean".into()), "{agent}");
    }
}

#[test]
fn the_payload_of_an_event_is_of_the_agent_at_work_alone() {
    let (mut event, want) = sent(Agent::Claude, "PreToolUse", json!({}));
    // An agent that embeds hookbox has no payload, and a name that is not an agent's has none of its own.
    Arc::make_mut(&mut event.context).agent = Some("backend-dev".to_owned());
    let hook = AgentHook::new(Agent::Claude, "PreToolUse").unwrap();
    let found = Wire::encode(&hook, &event).unwrap();
    assert_eq!((found.get("prompt_id"), found["transcript_path"].as_str()), (None, Some("")), "{want}");
}

#[test]
fn through_the_bridge_a_hook_behind_from_reads_every_field_of_its_agent() {
    let env = TestEnvironment::new();
    let seen = env.path("seen.json");
    env.script("home/.claude/save.sh", &format!("#!/bin/sh\ncat > '{}'\n", seen.display()));
    let command = env.path("home/.claude/save.sh");
    let entry = json!({"hooks": [{"type": "command", "command": command}]});
    let settings = json!({"hooks": {"PreToolUse": [entry], "PostToolUse": [entry]}});
    env.file("home/.claude/settings.json", settings.to_string());
    for file in ["PreToolUse", "PreToolUse-mcp", "PostToolUse", "PostToolUse-write"] {
        let (_, payload) = sent(Agent::Claude, file, json!({"cwd": env.path("repo")}));
        let output = env.hookbox_with(["bridge", "claude", "--from", "claude"], payload.to_string());
        assert_eq!(output.code, Some(0), "{output:#?}");
        let found: Value = serde_json::from_slice(&std::fs::read(&seen).unwrap()).unwrap();
        assert_eq!(found, payload, "{file}");
    }
}

#[test]
fn without_the_payload_a_hook_reads_what_the_event_has() {
    let mut sent = 0;
    for agent in Agent::with_commands() {
        for (file, payload) in payloads(agent) {
            let Some(request) = read(agent, &file, &payload) else {
                let event = file.split(['-', '.']).next().unwrap();
                assert!(NOT_SENT.contains(&(agent, event)), "{agent}/{file}");
                continue;
            };
            let name = request.own.name;
            let Ok(hook) = AgentHook::new(agent, name) else {
                assert!(NOT_SENT.contains(&(agent, name)), "{agent}/{file}");
                continue;
            };
            let session: &Session = &request.session;
            let found = hook.encode(&request.event, session).unwrap_or_else(|| panic!("{agent}/{file}"));
            let want: Map<String, Value> = serde_json::from_slice(&payload).unwrap();
            same(agent, &file, &want, found.as_object().unwrap());
            sent += 1;
        }
    }
    assert!(sent > 100, "only {sent} payloads were compared");
}

fn same(agent: Agent, file: &str, want: &Map<String, Value>, found: &Map<String, Value>) {
    for (key, value) in want {
        let is_in = |table: &[(Agent, &str)]| table.contains(&(agent, key.as_str()));
        match found.get(key) {
            None => assert!(is_in(&ABSENT), "{agent}/{file}: {key} does not exist"),
            Some(it) if is_in(&OTHER_TEXT) => assert!(it.is_string(), "{agent}/{file}: {key} {it}"),
            Some(it) if is_in(&NULL) => assert!(it.is_null(), "{agent}/{file}: {key} {it}"),
            Some(it) => assert_eq!(it, value, "{agent}/{file}: {key}"),
        }
    }
    for key in found.keys() {
        assert!(want.contains_key(key), "{agent}/{file}: {key} is there, and the agent does not send it");
    }
}
