//! Hooks that make an agent go on and on.

use hookbox::EventName;
use hookbox::session::MAX_FOLLOW_UPS;
use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::args;
use crate::answers::{Backend, user};
use crate::environment::TestEnvironment;

fn always() -> TestEnvironment {
    let env = TestEnvironment::new();
    user(&env, Backend::Native, "again", &EventName::AgentStop, &json!({"follow_up": ["go on"]}));
    env
}

/// Returns true if the agent goes on after this stop, which it describes like this.
fn goes_on(env: &TestEnvironment, agent: Agent, session: &str, is_active: impl Into<Value>) -> bool {
    let event = agent.names_of(hookbox_agents::agent::EventKind::AgentStop).next().unwrap();
    let is_active: Value = is_active.into();
    let mut payload = json!({"session_id": session, "hook_event_name": event, "stop_hook_active": is_active});
    if agent == Agent::Copilot {
        payload = json!({"sessionId": session, "stop_hook_active": is_active});
    }
    if is_active.is_null() {
        payload.as_object_mut().unwrap().retain(|name, _| name != "stop_hook_active");
    }
    let output = env.hookbox_with(args(agent, Some(event), &[]), payload.to_string());
    assert_eq!(output.code, Some(0), "{output:#?}");
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let goes_on = answer["decision"] == "block" && answer["reason"] == "go on";
    assert!(goes_on || output.stderr.contains("no further follow-up"), "{agent}: {output:#?}");
    goes_on
}

#[test]
fn a_hook_that_always_follows_up_ends_at_the_cap_and_a_new_turn_begins_anew() {
    for agent in [Agent::Claude, Agent::Gemini, Agent::Copilot] {
        let env = always();
        for _turn in 0..2 {
            assert!(goes_on(&env, agent, "one", false));
            for number in 2..=MAX_FOLLOW_UPS {
                assert!(goes_on(&env, agent, "one", true), "{agent}: follow-up {number}");
                // Another session has its own count.
                assert!(goes_on(&env, agent, "other", false));
            }
            for _ in 0..2 {
                assert!(!goes_on(&env, agent, "one", true), "{agent}");
            }
        }
    }
}

#[test]
fn where_the_agent_does_not_say_that_a_turn_is_new_the_cap_holds_for_the_session() {
    for agent in [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Qwen, Agent::Copilot] {
        for said in [Value::Null, json!("no"), json!(0), json!({})] {
            let env = always();
            for number in 1..=MAX_FOLLOW_UPS {
                assert!(goes_on(&env, agent, "one", said.clone()), "{agent} {said}: follow-up {number}");
            }
            for _ in 0..2 {
                assert!(!goes_on(&env, agent, "one", said.clone()), "{agent} {said}");
            }
            assert!(goes_on(&env, agent, "../one", said.clone()), "{agent} {said}");
            assert!(goes_on(&env, agent, "one", false), "{agent} {said}");
        }
    }
}

#[test]
fn a_stop_that_no_hook_answers_begins_anew_and_a_tool_call_touches_nothing() {
    let env = always();
    let agent = Agent::Codex;
    for _ in 0..2 {
        for is_active in [false, true, true, true] {
            assert!(goes_on(&env, agent, "one", is_active));
        }
        let call = super::call(&env, agent, "PreToolUse", "ls").to_string();
        let before = std::fs::read_dir(env.path("home/.local/share/hookbox/follow-ups")).unwrap().count();
        env.hookbox_with(args(agent, None, &[]), call);
        let after = std::fs::read_dir(env.path("home/.local/share/hookbox/follow-ups")).unwrap().count();
        assert_eq!((before, after), (1, 1));
        let stop = json!({"session_id": "one", "hook_event_name": "Stop", "stop_hook_active": true});
        env.hookbox_with(args(agent, None, &["--no-hooks"]), stop.to_string());
    }
}

#[test]
fn where_the_number_cannot_be_kept_a_hook_makes_the_agent_go_on_once() {
    let env = always();
    env.directory("home/.local/share/hookbox").mode("home/.local/share/hookbox", 0o700);
    env.file("home/.local/share/hookbox/follow-ups", "in the way");
    assert!(goes_on(&env, Agent::Claude, "one", false));
    assert!(!goes_on(&env, Agent::Claude, "one", true));
}

#[test]
fn cursor_counts_itself() {
    let env = always();
    for (count, goes_on) in [(0, true), (7, true), (8, false)] {
        let stop = json!({"hook_event_name": "stop", "conversation_id": "c", "loop_count": count});
        let output = env.hookbox_with(args(Agent::Cursor, None, &[]), stop.to_string());
        assert_eq!(output.stdout.contains("followup_message"), goes_on, "{count}: {output:#?}");
    }
}
