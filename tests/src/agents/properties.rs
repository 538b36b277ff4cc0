//! No payload panics, and no block runs.

use hookbox::hook::Cause;
use hookbox::outcome::{Ruling, Verdict};
use hookbox::{HookError, OnFailure, Outcome};
use hookbox_agents::agent::{Agent, EventKind, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{defaults, given, payloads, read, replied};

/// Whether the agent runs the tool after this reply to `event`, as the real ones were seen to do (Cursor: as its
/// documentation says). A model of its own: nothing of what writes the replies is used here.
fn runs(agent: Agent, event: &str, reply: &Reply) -> bool {
    let filled =
        |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|it| !it.trim().is_empty());
    if reply.exit_code == 2 {
        // Codex runs it without a reason.
        return agent == Agent::Codex && reply.stderr.trim().is_empty();
    }
    assert_eq!(reply.exit_code, 0, "anything else runs in most agents");
    let Ok(answer) = serde_json::from_str::<Value>(&reply.stdout) else { return true };
    let specific = answer.get("hookSpecificOutput").cloned().unwrap_or_default();
    let keys = |value: &Value| value.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>());
    let is_flat = answer.get("permissionDecision") == Some(&json!("deny"));
    let is_specific = specific.get("permissionDecision") == Some(&json!("deny"));
    let is_own = specific.get("hookEventName") == Some(&json!(event));
    let has_reason = filled(specific.get("permissionDecisionReason"));
    match agent {
        Agent::Codex => {
            let has_only = keys(&answer) == Some(vec!["hookSpecificOutput".into()])
                && keys(&specific).is_some_and(|keys| keys.len() == 3);
            !(is_specific && is_own && has_reason && has_only)
        }
        Agent::Claude | Agent::Qwen | Agent::Droid | Agent::Auggie | Agent::Qoder | Agent::Grok => {
            !(is_specific && is_own)
        }
        Agent::Vibe | Agent::OpenHands | Agent::Antigravity | Agent::Crush => {
            answer.get("decision") != Some(&json!("deny"))
        }
        // It reads no answer but exit code 2.
        Agent::Kiro => true,
        Agent::Goose | Agent::Devin => answer.get("decision") != Some(&json!("block")),
        Agent::Kimi => !is_specific,
        Agent::Gemini => !matches!(answer["decision"].as_str(), Some("deny" | "block")),
        Agent::Copilot => {
            let is_pascal = event.starts_with('P');
            !(is_flat && filled(answer.get("permissionDecisionReason"))
                || is_pascal && is_specific && has_reason)
        }
        Agent::Cursor => answer.get("permission") != Some(&json!("deny")),
        // The plugin throws the reason, or skips the tool with it.
        Agent::OpenCode | Agent::Cline | Agent::Kilo | Agent::Pi | Agent::Amp => {
            answer != json!({"decision": "deny", "reason": answer["reason"]})
        }
    }
}

/// Any text, blank ones and ones with brackets, quotes and control characters among them.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ \t\n]{0,4}", any::<String>(), "[{}\"\\\\\u{0}-\u{1f}]{0,12}"]
}

fn any_agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(Agent::ALL.to_vec())
}

/// A payload of an agent, cut or with a part replaced.
fn any_mangled() -> impl Strategy<Value = (Agent, String, Vec<u8>)> {
    let odd = prop::sample::select(vec![
        "null".to_owned(),
        "5".to_owned(),
        "1e999".to_owned(),
        "-1".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "\"\"".to_owned(),
        "\"\\ud800\"".to_owned(),
        "123456789012345678901234567890".to_owned(),
        format!("{}{}", "[".repeat(5000), "]".repeat(5000)),
        "{\"a\":".repeat(5000),
    ]);
    (any_agent(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4, odd).prop_map(
        |(agent, which, at, how, odd)| {
            let all = payloads(agent);
            let (file, mut payload) = all[which.index(all.len())].clone();
            let at = at.index(payload.len());
            match how {
                0 => payload.truncate(at),
                1 => payload[at] ^= 0x55,
                2 => {
                    // A value of another type.
                    let mut object: Value = serde_json::from_slice(&payload).unwrap();
                    let object = object.as_object_mut().unwrap();
                    let name = object.keys().nth(at % object.len()).unwrap().clone();
                    object.insert(name, json!("ODD"));
                    payload = json!(object).to_string().replace("\"ODD\"", &odd).into_bytes();
                }
                _ => {
                    payload.splice(at..at, odd.bytes());
                }
            }
            (agent, file, payload)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_payload_is_an_event_or_an_error((agent, file, payload) in any_mangled()) {
        match agent.read(&payload, given(agent, &file), &defaults()) {
            Ok(Some(request)) => {
                let reply = replied(&request, Outcome::block("no"));
                let blocks = request.own.event != EventKind::BeforeToolCall || !runs(agent, request.own.name, &reply);
                prop_assert!(blocks, "{:?}", reply);
            }
            Ok(None) => {}
            Err(error) => prop_assert!(error.to_string().contains("hint: "), "{}", error),
        }
    }

    #[test]
    fn anything_at_all_is_an_event_or_an_error(agent in any_agent(), bytes in any::<Vec<u8>>(), event in any_text()) {
        let _ = agent.read(&bytes, None, &defaults());
        let _ = agent.read(&bytes, Some(&event), &defaults());
    }

    #[test]
    fn a_block_never_runs(
        agent in any_agent(),
        reason in any_text(),
        trusted in any::<bool>(),
        asks in any::<bool>(),
        context in prop::collection::vec(any_text(), 0..3),
        warnings in prop::collection::vec(any_text(), 0..3),
        modified in any::<bool>(),
        failure in any_text(),
    ) {
        for (file, payload) in payloads(agent) {
            let Some(request) = read(agent, &file, &payload) else { continue };
            if request.own.event != EventKind::BeforeToolCall {
                continue;
            }
            let name = request.own.name;
            let ruling = Some(match trusted {
                true => Ruling::trusted("guard", &reason),
                false => Ruling::untrusted("guard", "guard", &reason),
            });
            let warnings = warnings.iter().map(hookbox::outcome::Warning::new);
            let mut verdict = Verdict::default();
            (verdict.context, verdict.warnings) = (context.clone(), warnings.collect());
            verdict.modified = modified;
            let mut blocked = verdict.clone();
            blocked.block = ruling.clone();
            let reply = request.answer(&blocked, &request.event);
            prop_assert!(!runs(agent, name, &reply), "{:?}", reply);
            // A question that the agent does not ask is a block.
            let mut asked = verdict;
            asked.ask = ruling;
            let reply = request.answer(&asked, &request.event);
            let is_asked = reply.stdout.contains("\"force_ask\"") || reply.stdout.contains("\"ask\"") && !matches!(agent, Agent::Codex | Agent::Cursor | Agent::Kimi | Agent::OpenCode | Agent::Kilo | Agent::Antigravity);
            prop_assert!(!asks || is_asked || !runs(agent, name, &reply), "{:?}", reply);
            for event in [Some(name), None] {
                let reply = agent.failed(event, OnFailure::Block, &failure);
                prop_assert!(!runs(agent, name, &reply), "{:?}", reply);
            }
        }
    }
}

#[test]
fn every_failure_of_a_guard_blocks_in_every_agent() {
    for agent in Agent::ALL {
        for name in agent.names_of(EventKind::BeforeToolCall) {
            for cause in [Cause::Timeout, Cause::Trap, Cause::Fuel, Cause::MalformedOutput, Cause::Exit] {
                let error = HookError::new(cause, "it fell").to_string();
                assert!(!runs(agent, name, &agent.failed(Some(name), OnFailure::Block, &error)), "{agent}");
                assert!(runs(agent, name, &agent.failed(Some(name), OnFailure::Pass, &error)), "{agent}");
            }
        }
    }
}
