//! An event that an agent sent is sent to a hook of that agent as it came.

use hookbox::internal::dialect::claude::Session;
use hookbox_agents::Agent;
use hookbox_agents::agent_hooks::AgentHook;
use serde_json::{Map, Value};

use crate::agents::{payloads, read};

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

/// Fields that hookbox does not know, and leaves out.
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

/// Fields that hookbox does not know, and that hold a text all the same, for a hook may need one.
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
fn what_an_agent_sent_is_what_its_own_hook_reads() {
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
