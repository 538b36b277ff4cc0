//! Compaction and rotation.

use hookbox::event::EventData;
use hookbox::{Action, Event, Message, Outcome};
use hookbox_agent::Scripted;
use serde_json::json;

use super::{agent, bash, callback, contents, hooks, saving};
use crate::environment::TestEnvironment;

/// Rotates when the budget is used up, and blocks what would go on.
fn rotates(event: &Event) -> Outcome {
    match &event.data {
        EventData::OnBudgetExceeded { threshold: Some(0.8), .. } => {
            callback("rotate", &[("issue", "145"), ("next_step", "run the tests")])
        }
        EventData::PreCompact { .. } => Outcome::inject("Name the branch."),
        EventData::PostCompact { .. } => Outcome::inject("Branch: feat/145-hooks"),
        EventData::SessionStart { source } if source.as_deref() == Some("rotate") => {
            Outcome::inject("Welcome back.")
        }
        _ => Outcome::pass(),
    }
}

#[tokio::test]
async fn a_rotation_hands_the_work_over_to_a_fresh_conversation() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, rotates);
    let mut full = bash("echo worked");
    full["usage"] = json!({"current_context_window": 85_000});
    let model = Scripted::new(vec![full, json!({"text": "I go on."})], 100_000)
        .summaries(vec![json!({"text": "Half is done."})]);
    let (mut agent, told, saved) = saving(&env, &builder.build().await, model);
    let old = agent.conversation().id.clone();
    assert_eq!(agent.run("do it").await.unwrap(), "I go on.");

    let want = "session_start startup, user_message_send, on_budget_exceeded 0.8, before_tool_call, after_tool_call true, \
                after_turn 1, pre_compact auto [rotate], post_compact auto [rotate], session_end rotate [rotate], \
                session_start rotate, after_turn 2, turn_end 2, agent_stop, session_end exit";
    assert_eq!(seen.words().join(", "), want);
    let fresh = agent.conversation().id.clone();
    assert_ne!(old, fresh);
    for event in seen.events() {
        let is_fresh = seen_after_rotation(&event);
        if let Some(is_fresh) = is_fresh {
            assert_eq!(event.context.conversation_id == fresh, is_fresh, "{event:?}");
        }
    }

    let messages = contents(&agent.conversation().messages);
    let [prompt, handoff, branch, welcome, said] = messages.as_slice() else { panic!("{messages:?}") };
    assert!(prompt.contains("coding agent"));
    for kept in ["Half is done.", "issue: 145", "next_step: run the tests"] {
        assert!(handoff.contains(kept), "{kept}: {handoff}");
    }
    assert_eq!([*branch, *welcome, *said], ["Branch: feat/145-hooks", "Welcome back.", "I go on."]);

    // Both are saved, the old one whole.
    let old = saved.load(&old);
    assert!(contents(&old.messages).iter().any(|text| text.contains("worked")), "{old:?}");
    assert_eq!(saved.load(&fresh).messages, agent.conversation().messages);
    assert!(agent.conversation().usage.current_context_window < 85_000);
    assert!(told.borrow().iter().any(|what| what.contains(&fresh)), "{told:?}");
}

#[tokio::test]
async fn a_hook_that_blocks_large_work_at_the_budget_leaves_the_rotation_to_the_settings() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", "[budget]\nat_threshold = \"rotate\"\n");
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::OnBudgetExceeded { .. } => Outcome::block("no more large work"),
        _ => Outcome::pass(),
    });
    let mut full = bash("touch made");
    full["usage"] = json!({"current_context_window": 85_000});
    let model = Scripted::new(vec![full], 100_000).summaries(vec![json!({"text": "Half is done."})]);
    let (mut agent, told) = agent(&env, &builder.builtins(true).build().await, model);
    let old = agent.conversation().id.clone();
    agent.run("do it").await.unwrap();
    assert!(!env.path("repo/made").exists(), "the large work is refused");
    assert_ne!(agent.conversation().id, old, "the session has rotated: {told:?}");
    assert!(seen.words().contains(&"session_start rotate".to_owned()), "{:?}", seen.words());
    assert!(agent.conversation().usage.current_context_window < 85_000);
}

#[tokio::test]
async fn a_hook_that_keeps_a_part_of_the_messages_leaves_no_result_without_its_call() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::AgentStop(stop) if stop.follow_ups == 0 => {
            let all: Vec<Message> = serde_json::from_value(stop.messages.value().clone()).unwrap();
            let mut outcome = Outcome::from(Action::Mutate(all[all.len() - 2..].to_vec()));
            outcome.follow_ups.push("and then?".to_owned());
            outcome
        }
        _ => Outcome::pass(),
    });
    let (mut agent, _) =
        agent(&env, &builder.build().await, Scripted::new(vec![bash("printf worked")], 100_000));
    agent.run("do it").await.unwrap();
    let messages = &agent.conversation().messages;
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
    assert_eq!(contents(messages)[1..4], ["Tool result:\nworked", "Done.", "and then?"]);
    let stop = seen.events().into_iter().find_map(|event| match event.data {
        EventData::AgentStop(stop) => Some(stop.messages),
        _ => None,
    });
    let using = json!({"role": "assistant", "content": "Using tool: bash with input: {\"command\":\"printf worked\"}"});
    assert!(stop.unwrap().value().as_array().unwrap().contains(&using));
}

/// Returns whether an event belongs to the fresh conversation; `None` if the event alone does not show it.
fn seen_after_rotation(event: &Event) -> Option<bool> {
    match &event.data {
        EventData::SessionStart { source } => Some(source.as_deref() == Some("rotate")),
        EventData::SessionEnd { reason } => Some(reason.as_deref() == Some("exit")),
        EventData::PreCompact { .. } | EventData::PostCompact { .. } => Some(false),
        EventData::AgentStop(_) => Some(true),
        _ => None,
    }
}

#[tokio::test]
async fn a_block_before_a_compaction_keeps_the_conversation() {
    for recipe in ["compact", "rotate"] {
        let env = TestEnvironment::new();
        let (builder, seen) = hooks(&env, move |event| match event.data {
            EventData::AfterTurn(ref turn) if turn.turn_number == Some(1) => callback(recipe, &[]),
            EventData::PreCompact { .. } => Outcome::block("not now"),
            _ => Outcome::pass(),
        });
        let (mut agent, told) =
            agent(&env, &builder.build().await, Scripted::new(vec![bash("echo worked")], 100_000));
        let id = agent.conversation().id.clone();
        agent.run("do it").await.unwrap();
        let words = seen.words();
        assert!(words.iter().any(|it| it.starts_with("pre_compact")), "{words:?}");
        assert!(
            !words.iter().any(|it| it.starts_with("post_compact") || it.contains("session_end rotate")),
            "{words:?}"
        );
        assert_eq!(agent.conversation().id, id);
        assert!(contents(&agent.conversation().messages).contains(&"do it"));
        assert!(told.borrow().iter().any(|what| what.contains("not now")), "{told:?}");
    }
}

#[tokio::test]
async fn a_compaction_whose_model_fails_keeps_the_conversation_and_is_said() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match event.data {
        EventData::AfterTurn(ref turn) if turn.turn_number == Some(1) => callback("compact", &[]),
        _ => Outcome::pass(),
    });
    let model = Scripted::new(vec![bash("true")], 100_000).summaries(vec![json!({"error": "overloaded"})]);
    let (mut agent, told) = agent(&env, &builder.build().await, model);
    assert_eq!(agent.run("do it").await.unwrap(), "Done.");
    assert!(contents(&agent.conversation().messages).contains(&"do it"));
    assert_eq!(seen.words().iter().filter(|it| it.starts_with("on_error turn")).count(), 1);
    assert!(told.borrow().iter().any(|what| what == "the recipe compact failed: overloaded"), "{told:?}");
}

#[tokio::test]
async fn an_empty_summary_is_an_error_and_the_conversation_stays_as_it_is() {
    for recipe in ["compact", "rotate"] {
        for empty in ["", " \n\t"] {
            let env = TestEnvironment::new();
            let (builder, seen) = hooks(&env, move |event| match event.data {
                EventData::AfterTurn(ref turn) if turn.turn_number == Some(1) => callback(recipe, &[]),
                _ => Outcome::pass(),
            });
            let model = Scripted::new(vec![bash("true")], 100_000).summaries(vec![json!({"text": empty})]);
            let (mut agent, told, saved) = saving(&env, &builder.build().await, model);
            let id = agent.conversation().id.clone();
            assert_eq!(agent.run("do it").await.unwrap(), "Done.");
            let kept = saved.load(&id);
            assert!(contents(&kept.messages).contains(&"do it"), "{kept:?}");
            assert_eq!(kept.messages, agent.conversation().messages);
            assert!(!seen.words().iter().any(|it| it.starts_with("post_compact")));
            assert!(told.borrow().iter().any(|what| what.contains("empty")), "{told:?}");
        }
    }
}

#[tokio::test]
async fn a_rotation_that_did_not_happen_is_asked_for_again_with_the_next_answer() {
    for (name, is_blocked, summaries) in [
        ("failed", false, vec![json!({"error": "overloaded"})]),
        ("empty", false, vec![json!({"text": ""})]),
        ("blocked", true, vec![]),
    ] {
        let env = TestEnvironment::new();
        let before = std::sync::atomic::AtomicU32::new(0);
        let (builder, seen) = hooks(&env, move |event| match &event.data {
            EventData::OnBudgetExceeded { .. } => callback("rotate", &[]),
            EventData::PreCompact { .. } => {
                let is_first = before.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
                if is_first && is_blocked { Outcome::block("not now") } else { Outcome::pass() }
            }
            _ => Outcome::pass(),
        });
        let mut full = bash("true");
        full["usage"] = json!({"current_context_window": 85_000});
        let model = Scripted::new(vec![full.clone(), full], 100_000).summaries(summaries);
        let (mut agent, told) = agent(&env, &builder.build().await, model);
        let id = agent.conversation().id.clone();
        agent.run("do it").await.unwrap();
        let words = seen.words();
        let asked = words.iter().filter(|it| *it == "on_budget_exceeded 0.8").count();
        assert_eq!(asked, 2, "{name}: {words:?}");
        assert_eq!(words.iter().filter(|it| it.starts_with("session_end rotate")).count(), 1, "{name}");
        assert_ne!(agent.conversation().id, id, "{name}: {told:?}");
    }
}

#[tokio::test]
async fn a_compaction_puts_the_summary_in_the_place_of_the_conversation() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match event.data {
        EventData::AfterTurn(ref turn) if turn.turn_number == Some(1) => callback("compact", &[]),
        EventData::PostCompact { .. } => Outcome::inject("Branch: main"),
        _ => Outcome::pass(),
    });
    let model = Scripted::new(vec![bash("true")], 100_000).summaries(vec![json!({"text": "Half is done."})]);
    let (mut agent, _, saved) = saving(&env, &builder.build().await, model);
    agent.run("do it").await.unwrap();
    assert_eq!(contents(&agent.conversation().messages)[1..], ["Half is done.", "Branch: main", "Done."]);
    let [id] = saved.ids().try_into().unwrap();
    assert_eq!(saved.load(&id).messages, agent.conversation().messages);
    let usages = seen.events().into_iter().filter_map(|event| match event.data {
        EventData::PreCompact { usage, .. } | EventData::PostCompact { usage, .. } => usage,
        _ => None,
    });
    let [before, after] = usages.map(|usage| usage.current_context_window).collect::<Vec<_>>()[..] else {
        panic!()
    };
    assert!(after < before, "{after} of {before}");
}
