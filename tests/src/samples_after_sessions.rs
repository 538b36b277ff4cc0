//! What sample hooks keep of a session that ended.

use hookbox::Context;
use hookbox::dialect::kodelet;
use serde_json::{Value, json};

use crate::samples_of_sessions::{bucket, place};

/// A session that leaves something behind in every sample, one event after the other.
fn events_of_a_session(id: &str, reason: &str) -> Vec<Value> {
    let window = json!({"current_context_window": 900, "max_context_window": 1000});
    let messages = json!([{"role": "assistant", "content": "Next step: run the tests"}]);
    let call = |event: &str, branch: &str, command: &str| {
        let output = json!({"success": false, "error": "error: no rule"});
        json!({"event": event, "branch": branch, "tool_name": "bash", "tool_input": {"command": command},
            "tool_output": output})
    };
    let mut events = vec![
        json!({"event": "session_start", "source": "startup"}),
        json!({"event": "user_message_send", "message": "go on"}),
        call("before_tool_call", "main", "make"),
        call("after_tool_call", "main", "make"),
        // A session may work on several branches.
        call("after_tool_call", "topic", "make all"),
        call("after_tool_call", "topic", "npm test"),
        json!({"event": "on_budget_exceeded", "usage": window, "threshold": 0.8}),
        json!({"event": "pre_compact", "trigger": "auto", "usage": window, "messages": messages}),
        json!({"event": "post_compact", "trigger": "auto", "usage": window, "summary": "none"}),
        json!({"event": "session_end", "reason": reason}),
    ];
    for event in &mut events {
        event["conv_id"] = id.into();
        event["cwd"] = "/w".into();
        event["repository"] = "o/r".into();
    }
    events
}

/// What was learned for later sessions stays: memories, handoffs, statistics of commands, counters of all sessions.
fn is_for_later_sessions(key: &str) -> bool {
    let learned = ["memory/", "handoff/", "commands/", "worked/", "failed/"];
    learned.iter().any(|prefix| key.starts_with(prefix)) || key == "rotations"
}

#[tokio::test]
async fn a_session_that_ended_leaves_no_counter_in_any_sample() {
    const STATEFUL: [&str; 5] = ["budget-rotate", "error-kb", "loop-detector", "session-memory", "telemetry"];
    let env = place(&STATEFUL);
    let keys = async |name: &str| bucket(&env, name).list_keys(None).await.unwrap().0;
    let manager = env.builder().build().await;
    let fire = async |events: Vec<Value>| {
        for event in events {
            let name = event["event"].as_str().unwrap().parse().unwrap();
            let payload = event.as_object().unwrap().clone();
            let event = kodelet::decode(&name, payload, &Context::new("", "/w")).unwrap().event;
            let report = manager.session("c").fire_event(event).await.report;
            let failed = report.hooks.iter().find(|hook| hook.cause.is_some());
            assert!(failed.is_none(), "{failed:#?}");
        }
    };
    // Another session is at work all the time.
    let mut others = events_of_a_session("other", "exit");
    let end = others.split_off(others.len() - 1);
    fire(others).await;
    let mut before = Vec::new();
    for name in STATEFUL {
        before.push(keys(name).await);
    }
    for reason in ["exit", "rotate", "interrupt"] {
        fire(events_of_a_session(reason, reason)).await;
    }
    for (name, before) in STATEFUL.into_iter().zip(&before) {
        let left = keys(name).await;
        let new: Vec<_> =
            left.iter().filter(|key| !before.contains(key) && !is_for_later_sessions(key)).collect();
        assert!(new.is_empty(), "{name}: {new:?}");
        let lost: Vec<_> = before.iter().filter(|key| !left.contains(key)).collect();
        assert!(lost.is_empty(), "{name}: of the other session: {lost:?}");
    }
    fire(end).await;
    for name in STATEFUL {
        let left: Vec<_> = keys(name).await.into_iter().filter(|key| !is_for_later_sessions(key)).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}
