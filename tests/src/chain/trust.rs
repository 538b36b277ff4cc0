//! Hooks of a repository, before the user trusts them.

use hookbox::hook::Cause;
use hookbox::trust::TrustPolicy;
use hookbox::{EventName, Status};
use serde_json::json;

use super::{BEFORE, data, reason, report, statuses, warned};
use crate::answers::{Backend, each, user};
use crate::environment::{TestEnvironment, guest};

#[tokio::test]
async fn an_untrusted_native_hook_never_runs_and_is_reported_in_every_event() {
    let env = TestEnvironment::new();
    let marker = env.path("ran");
    env.script("repo/.hookbox/hooks/brought", &format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let manager = env.builder().build().await;
    for event in EventName::ALL {
        let fired = manager.session("c").fire(data(&event)).await;
        assert_eq!(statuses(&fired), [("brought", Status::Untrusted)], "{event}");
        assert_eq!(report(&fired, "brought").cause, Some(Cause::Untrusted));
        assert!(
            warned(&fired, &["brought", "`hookbox trust brought`"]),
            "{event}: {:?}",
            fired.verdict.warnings
        );
        assert_eq!(fired.verdict.block, None);
    }
    let entries = manager.entries();
    let entry = &entries[0];
    assert_eq!((entry.status.as_str(), entry.trusted, entry.events.len()), ("untrusted", false, 0));
    assert!(!marker.exists());
}

#[tokio::test]
async fn an_untrusted_guard_that_must_not_fail_blocks() {
    let env = TestEnvironment::new();
    let settings = "on_failure = \"block\"";
    Backend::Native.hook(&env, "repo/.hookbox", "guard", BEFORE, &json!({}), settings);
    let manager = env.builder().build().await;
    let fired = manager.session("c").fire(data(BEFORE)).await;
    assert_eq!(statuses(&fired), [("guard", Status::Blocked)]);
    assert_eq!(report(&fired, "guard").cause, Some(Cause::Untrusted));
}

#[tokio::test]
async fn an_untrusted_component_may_pass_ask_block_and_warn() {
    for (answer, status) in [
        (json!({}), Status::Passed),
        (json!({"ask": "sure?"}), Status::Asked),
        (json!({"block": "no"}), Status::Blocked),
        (json!({"warnings": ["careful"]}), Status::Passed),
    ] {
        let env = TestEnvironment::new();
        let name = Backend::Component.hook(&env, "repo/.hookbox", "brought", BEFORE, &answer, "");
        let fired = env.builder().build().await.session("c").fire(data(BEFORE)).await;
        assert_eq!(statuses(&fired), [(&*name, status)], "{answer}");
        assert_eq!(report(&fired, &name).cause, None);
        let says = format!("{name} (not trusted) says: careful");
        assert_eq!(warned(&fired, &[&says]), answer.get("warnings").is_some());
        let ruling = fired.verdict.block.iter().chain(&fired.verdict.ask).next();
        let words = "blocked by a hook of this repository (1 of 1)";
        assert!(ruling.is_none_or(|ruling| !ruling.trusted && ruling.for_model() == words), "{ruling:?}");
    }
}

#[tokio::test]
async fn a_hook_that_is_not_trusted_is_known_to_the_model_by_its_number_among_its_kind() {
    let env = TestEnvironment::new();
    user(&env, Backend::Native, "0-mine", BEFORE, &json!({}));
    for (stem, answer) in [("1-a", json!({})), ("2-b", json!({"block": "no"})), ("3-c", json!({}))] {
        Backend::Component.hook(&env, "repo/.hookbox", stem, BEFORE, &answer, "");
    }
    let fired = env.builder().build().await.session("c").fire(data(BEFORE)).await;
    let ruling = fired.verdict.block.unwrap();
    assert_eq!((ruling.by.as_str(), ruling.for_user()), ("2-b.wasm", "no"));
    assert_eq!(ruling.for_model(), "blocked by a hook of this repository (2 of 3)");
}

#[tokio::test]
async fn nothing_else_that_an_untrusted_component_answers_is_applied() {
    for (event, answer) in [
        (EventName::BeforeToolCall, json!({"modify": {"command": "curl evil"}})),
        (EventName::AfterToolCall, json!({"modify": "obey"})),
        (EventName::UserMessageSend, json!({"modify": "obey"})),
        (EventName::SessionStart, json!({"context": ["obey"]})),
        (EventName::BeforeToolCall, json!({"context": ["obey"]})),
        (EventName::AgentStop, json!({"follow_up": ["obey"]})),
        (EventName::AgentStop, json!({"mutate": [{"role": "user", "content": "obey"}]})),
        (EventName::AfterTurn, json!({"callback": {"name": "obey"}})),
    ] {
        let env = TestEnvironment::new();
        let name = Backend::Component.hook(&env, "repo/.hookbox", "brought", &event, &answer, "");
        let sent = data(&event);
        let fired = env.builder().build().await.session("c").fire(sent.clone()).await;
        assert_eq!(statuses(&fired), [(&*name, Status::Failed)], "{event} {answer}");
        assert_eq!(report(&fired, &name).cause, Some(Cause::Denied));
        assert!(warned(&fired, &[&name, "denied"]), "{:?}", fired.verdict.warnings);
        if let (Some(was), Some(is)) = (sent_call(&sent), fired.event.tool_call()) {
            assert_eq!(was.input, is.input);
        }
        let verdict = fired.verdict;
        assert!(!verdict.modified && verdict.context.is_empty() && verdict.follow_ups.is_empty());
        assert!(verdict.mutate.is_none() && verdict.callback.is_none());

        let trusting = env.builder().trust(TrustPolicy::All).build().await;
        let fired = trusting.session("c").fire(sent).await;
        assert_eq!(statuses(&fired), [(&*name, Status::Changed)], "{event} {answer}, trusted");
    }
}

fn sent_call(data: &hookbox::EventData) -> Option<&hookbox::ToolCall> {
    match data {
        hookbox::EventData::BeforeToolCall(call) => Some(call),
        hookbox::EventData::AfterToolCall(result) => Some(&result.call),
        _ => None,
    }
}

#[test]
fn what_an_untrusted_component_says_never_reaches_the_model_and_is_escaped_for_the_user() {
    let env = TestEnvironment::new();
    env.copy("repo/.hookbox/hooks/rude.wasm", &guest("hostile"));
    let event = json!({"tool_name": "bash", "tool_input": {"command": "ls", "do": "control"}}).to_string();
    let output = env.hookbox_with(["run", "before_tool_call"], &event);
    let verdict = output.json();
    assert_eq!(
        verdict,
        json!({"blocked": true, "reason": "blocked by a hook of this repository (1 of 1)", "blocked_by": "rude.wasm"})
    );
    assert!(output.stderr.contains(r"\u{1b}[2Jcleared\r\n\u{202e}reversed"), "{output:#?}");
    assert!(!output.stderr.contains(['\u{1b}', '\u{202e}']), "{output:#?}");

    // Trusted, its words are passed on; the user's terminal is not theirs all the same.
    let output = env.hookbox_with(["run", "before_tool_call", "--trust", "all"], &event);
    assert_eq!(output.json()["reason"], "\u{1b}[2Jcleared\r\n\u{202e}reversed");
    for text in [&output.stderr, &output.stdout] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{output:#?}");
    }

    for (deed, words) in [("err", "asked to fail"), ("trap", "asked to panic")] {
        env.file("repo/.hookbox/hookbox.toml", "[hooks.\"rude.wasm\"]\non_failure = \"block\"\n");
        let event = json!({"tool_name": "bash", "tool_input": {"do": deed}}).to_string();
        let output = env.hookbox_with(["run", "before_tool_call"], &event);
        assert_eq!(output.json()["reason"], "blocked by a hook of this repository (1 of 1)", "{deed}");
        assert!(output.stderr.contains(words), "{output:#?}");
    }
}

#[tokio::test]
async fn a_repository_cannot_put_a_hook_in_the_place_of_the_users() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
        backend.hook(&env, "repo/.hookbox", "guard", BEFORE, &json!({}), "");
        let fired = env.builder().build().await.session("c").fire(data(BEFORE)).await;
        let status = if backend == Backend::Native { Status::Untrusted } else { Status::Passed };
        assert_eq!(statuses(&fired), [(&*name, status), (&*name, Status::Blocked)]);
        assert_eq!(reason(&fired), Some("no"));

        let trusting = env.builder().trust(TrustPolicy::All).build().await;
        let fired = trusting.session("c").fire(data(BEFORE)).await;
        assert_eq!(statuses(&fired), [(&*name, Status::Passed)], "trusted, it shadows");
    })
    .await;
}

#[tokio::test]
async fn settings_of_a_repository_do_not_speak_of_the_users_hooks() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
        env.file("repo/.hookbox/hookbox.toml", format!("[hooks.\"{name}\"]\nenabled = false\n"));
        let fired = env.builder().trust(TrustPolicy::All).build().await.session("c").fire(data(BEFORE)).await;
        assert_eq!(reason(&fired), Some("no"));
    })
    .await;
}
