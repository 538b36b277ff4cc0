//! Every payload: the event that comes of it, and the bytes that the agent gets for each verdict.

use std::{env, fs};

use hookbox::dialect::kodelet;
use hookbox::{EventData, Outcome};
use hookbox_agents::agent::{Agent, Reply, Request};
use serde_json::{Map, Value, json};

use super::{data, payloads, read, replied};

/// Set, the golden files are written instead of compared.
const WRITE: &str = "HOOKBOX_WRITE_GOLDEN";

/// The event with everything that is in it.
fn shown(request: &Request) -> Value {
    let (event, context) = (&request.event, &request.event.context);
    let mut shown = json!({
        "own": request.own.name,
        "context": {
            "agent": context.agent, "mode": context.mode, "timestamp_ms": context.timestamp_ms,
            "transcript_path": request.session.transcript_path,
        },
        "kodelet": kodelet::encode(event),
    });
    if let Some(call) = event.tool_call() {
        shown["kind"] = json!(hookbox_calls::kind_of(&call.name).as_str());
    }
    match &event.data {
        EventData::AfterToolCall(result) => {
            shown["result"] = json!({
                "success": result.success, "error": result.error, "duration_ms": result.duration_ms,
                "exit_status": result.exit_status,
            });
        }
        EventData::AgentStop(stop) => shown["follow_ups"] = json!(stop.follow_ups),
        _ => {}
    }
    assert_eq!(request.notes, Vec::<String>::new());
    shown
}

/// The change that a hook makes at this event: the input of a shell tool, an output, a message, an error.
fn change(data: &EventData) -> Value {
    match data {
        EventData::BeforeToolCall(call) => {
            let mut input = call.input.value().clone();
            let field = if input.get("command").is_some() { "command" } else { "changed" };
            input[field] = json!("echo safe");
            input
        }
        _ => json!("changed"),
    }
}

/// The answers that a hook may give at this event, and what the agent gets.
fn replies(request: &Request) -> Map<String, Value> {
    let allows = request.event.name().allows();
    let mut outcomes = vec![("pass", Outcome::pass()), ("warn", Outcome::pass().warn("look out"))];
    if allows.block {
        outcomes.push(("block", Outcome::block("not here")));
        outcomes.push(("block without a reason", Outcome::block("")));
    }
    if allows.ask {
        outcomes.push(("ask", Outcome::ask("really?")));
    }
    if allows.allow {
        outcomes.push(("allow", Outcome::allow("it only reads")));
    }
    if allows.modify {
        outcomes.push(("modify", Outcome::modify(change(&request.event.data))));
    }
    if allows.inject {
        outcomes.push(("inject", Outcome::inject("mind the <gap>")));
    }
    if allows.follow_up {
        outcomes.push(("follow-up", Outcome::follow_up("run the tests")));
    }
    let reply = |outcome| written(&replied(request, outcome));
    outcomes.into_iter().map(|(name, outcome)| (name.to_owned(), reply(outcome))).collect()
}

fn written(reply: &Reply) -> Value {
    json!({"exit": reply.exit_code, "stdout": reply.stdout, "stderr": reply.stderr})
}

fn golden(agent: Agent) -> Value {
    let all = payloads(agent).into_iter().map(|(file, payload)| {
        let golden = match read(agent, &file, &payload) {
            Some(request) => json!({"event": shown(&request), "replies": replies(&request)}),
            None => json!({"event": null, "replies": {"nothing": written(&agent.nothing())}}),
        };
        (file, golden)
    });
    all.collect::<Map<_, _>>().into()
}

#[test]
fn every_payload_is_the_golden_event_and_every_verdict_the_golden_bytes() {
    for agent in Agent::ALL {
        let path = data().join(format!("{agent}.golden.json"));
        let found = golden(agent);
        if env::var_os(WRITE).is_some() {
            fs::write(&path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
            continue;
        }
        let want: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let (want, found) = (want.as_object().unwrap(), found.as_object().unwrap());
        let hint = format!("hint: write it anew with {WRITE}=1, and read the difference");
        let names = |all: &Map<String, Value>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(found), names(want), "{agent}: the payloads; {hint}");
        for (file, want) in want {
            let found = &found[file];
            for part in ["event", "replies"] {
                assert_eq!(found[part], want[part], "{agent}/{file}: {part}; {hint}");
            }
        }
    }
}

#[test]
fn every_agent_has_payloads_and_every_tool_call_a_block_that_says_why() {
    for agent in Agent::ALL {
        let golden = golden(agent);
        let golden = golden.as_object().unwrap();
        assert!(golden.len() >= 10, "{agent} has {} payloads: at least 10 are needed", golden.len());
        let calls = golden.values().filter(|it| !it["replies"]["ask"].is_null());
        // After exit code 2 the model reads standard error.
        let told = |reply: &'_ Value| reply[if reply["exit"] == 2 { "stderr" } else { "stdout" }].clone();
        let blocks: Vec<Value> = calls.map(|it| told(&it["replies"]["block"])).collect();
        assert!(!blocks.is_empty(), "{agent}");
        assert!(blocks.iter().all(|block| block.as_str().unwrap().contains("not here")), "{agent}");
    }
}
