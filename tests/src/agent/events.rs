//! Every event at its moment.

use std::sync::atomic::{AtomicU32, Ordering};

use hookbox::Outcome;
use hookbox::event::EventData;
use hookbox_agent::{MAX_TURNS, MessageBlocked, Scripted};
use serde_json::{Value, json};

use super::{Seen, agent, bash, callback, contents, hooks};
use crate::environment::TestEnvironment;

/// Runs a script against hooks that answer this; what they saw, and what the agent said last.
async fn run(
    script: Vec<Value>,
    answer: impl Fn(&hookbox::Event) -> Outcome + Send + Sync + 'static,
) -> (Seen, Result<String, String>, Vec<String>) {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, answer);
    let (mut agent, told) = agent(&env, &builder.build().await, Scripted::new(script, 100_000));
    let said = agent.run("do it").await.map_err(|error| error.to_string());
    let told = told.borrow().clone();
    (seen, said, told)
}

/// Answers an event of this name the first time, and passes otherwise.
fn once(name: &'static str, outcome: Outcome) -> impl Fn(&hookbox::Event) -> Outcome + Send + Sync {
    let times = AtomicU32::new(0);
    move |event| {
        let is_first = event.name().as_str() == name && times.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { outcome.clone() } else { Outcome::pass() }
    }
}

#[tokio::test]
async fn each_event_is_sent_at_its_moment() {
    let full = |share: u64| json!({"text": "I try.", "calls": [["bash", {"command": "true"}]], "usage": {"current_context_window": share * 1_000}});
    for (name, script, answer, want) in [
        (
            "an answer without tools",
            vec![],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, after_turn 1, turn_end 1, agent_stop, session_end exit",
        ),
        (
            "a tool call",
            vec![bash("true")],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, before_tool_call, after_tool_call true, after_turn 1, after_turn 2, \
             turn_end 2, agent_stop, session_end exit",
        ),
        (
            "a tool that fails",
            vec![bash("exit 3")],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, before_tool_call, after_tool_call false, on_error tool 1, after_turn 1, \
             after_turn 2, turn_end 2, agent_stop, session_end exit",
        ),
        (
            "a tool that fails again and again, and another one",
            vec![bash("exit 3"), bash("exit 3"), bash("exit 4"), bash("exit 3")],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, before_tool_call, after_tool_call false, on_error tool 1, after_turn 1, \
             before_tool_call, after_tool_call false, on_error tool 2, after_turn 2, \
             before_tool_call, after_tool_call false, on_error tool 1, after_turn 3, \
             before_tool_call, after_tool_call false, on_error tool 3, after_turn 4, \
             after_turn 5, turn_end 5, agent_stop, session_end exit",
        ),
        (
            "a tool call that is blocked",
            vec![bash("true")],
            once("before_tool_call", Outcome::block("no")),
            "session_start startup, user_message_send, before_tool_call, after_tool_call false, after_turn 1, after_turn 2, \
             turn_end 2, agent_stop, session_end exit",
        ),
        (
            "a message that is blocked",
            vec![],
            once("user_message_send", Outcome::block("no")),
            "session_start startup, user_message_send, turn_end 1, session_end exit",
        ),
        (
            "a model that fails",
            vec![json!({"error": "overloaded"})],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, on_error turn, turn_end 1, session_end exit",
        ),
        (
            "a follow-up",
            vec![],
            once("agent_stop", Outcome::follow_up("and this")),
            "session_start startup, user_message_send, after_turn 1, turn_end 1, agent_stop, after_turn 2, turn_end 2, \
             agent_stop, session_end exit",
        ),
        (
            "a compaction",
            vec![bash("true")],
            once("after_turn", callback("compact", &[])),
            "session_start startup, user_message_send, before_tool_call, after_tool_call true, after_turn 1, \
             pre_compact auto [compact], post_compact auto [compact], after_turn 2, turn_end 2, agent_stop, session_end exit",
        ),
        (
            "a budget that is used up step by step",
            vec![full(60), full(75), full(85), full(90)],
            once("", Outcome::pass()),
            "session_start startup, user_message_send, before_tool_call, after_tool_call true, after_turn 1, \
             on_budget_exceeded 0.7, before_tool_call, after_tool_call true, after_turn 2, \
             on_budget_exceeded 0.8, before_tool_call, after_tool_call true, after_turn 3, \
             before_tool_call, after_tool_call true, after_turn 4, after_turn 5, turn_end 5, agent_stop, session_end exit",
        ),
        (
            "a budget whose end is a block",
            vec![full(85)],
            once("on_budget_exceeded", Outcome::block("no more large work")),
            "session_start startup, user_message_send, on_budget_exceeded 0.8, after_tool_call false, after_turn 1, after_turn 2, \
             turn_end 2, agent_stop, session_end exit",
        ),
        (
            "a recipe that there is not",
            vec![],
            once("agent_stop", callback("fly", &[])),
            "session_start startup, user_message_send, after_turn 1, turn_end 1, agent_stop, session_end exit",
        ),
        (
            "a conversation that is replaced",
            vec![],
            once("after_turn", hookbox::Action::Mutate(vec![hookbox::Message::user("go")]).into()),
            "session_start startup, user_message_send, after_turn 1, turn_end 1, agent_stop, session_end exit",
        ),
    ] {
        let (seen, _, _) = run(script, answer).await;
        assert_eq!(seen.words().join(", "), want, "{name}");
    }
}

#[tokio::test]
async fn a_turn_that_reaches_its_limit_ends_and_so_does_the_session() {
    let script = vec![bash("true"); 100];
    let (seen, said, told) = run(script, |_| Outcome::pass()).await;
    let words = seen.words();
    let [.., turn, end] = words.as_slice() else { panic!("{words:?}") };
    assert_eq!((turn.as_str(), end.as_str()), ("turn_end 40", "session_end exit"));
    assert_eq!(words.iter().filter(|it| it.starts_with("after_turn")).count() as u64, MAX_TURNS);
    assert!(
        !words.contains(&"agent_stop".to_owned()),
        "it did not stop by itself: a follow-up would pass the limit"
    );
    assert_eq!(said.unwrap(), "I try.");
    assert!(told.iter().any(|what| what.contains("40 times")), "{told:?}");
}

#[tokio::test]
async fn a_turn_whose_last_answer_stops_at_the_limit_ends_once() {
    let mut script = vec![bash("true"); 39];
    script.push(json!({"text": "Enough."}));
    let (seen, said, _) = run(script, once("agent_stop", Outcome::follow_up("go on"))).await;
    let words = seen.words();
    let ends: Vec<&String> = words.iter().filter(|it| it.starts_with("turn_end")).collect();
    assert_eq!(ends, ["turn_end 40"], "{words:?}");
    assert_eq!(words[words.len() - 2..], ["agent_stop", "session_end exit"]);
    assert_eq!(said.unwrap(), "Enough.");
}

#[tokio::test]
async fn what_hooks_made_of_an_error_is_what_goes_on() {
    let shorter = |event: &hookbox::Event| match &event.data {
        EventData::OnError(error) => Outcome::modify(format!("shorter {:?}", error.attempt)),
        _ => Outcome::pass(),
    };
    let (_, said, _) = run(vec![json!({"error": "a long story"})], shorter).await;
    assert_eq!(said.unwrap_err(), "shorter None");

    let (seen, said, _) = run(vec![bash("echo a long story; exit 3")], shorter).await;
    assert_eq!(said.unwrap(), "Done.");
    let stop = seen.events().into_iter().find_map(|event| match event.data {
        EventData::AgentStop(stop) => Some(stop.messages),
        _ => None,
    });
    let stop = stop.unwrap();
    assert!(
        contents(stop.value().as_array().unwrap()).contains(&"Tool result:\nerror: shorter Some(1)"),
        "{stop:?}"
    );
}

#[tokio::test]
async fn hooks_learn_how_a_tool_ended_and_how_many_tokens_were_used() {
    let mut exits = bash("exit 3");
    exits["usage"] = json!({"input_tokens": 100, "output_tokens": 7, "current_context_window": 500});
    let mut again = exits.clone();
    again["calls"] = json!([]);
    let (seen, _, _) = run(vec![exits, again], |_| Outcome::pass()).await;
    let (mut statuses, mut usages) = (Vec::new(), Vec::new());
    for event in seen.events() {
        match event.data {
            EventData::AfterToolCall(result) => {
                assert!(result.error.unwrap().contains("exit status: 3"));
                statuses.push(result.exit_status);
                assert_eq!(result.cost_tokens, Some(7), "the answer that made the one call");
            }
            EventData::AfterTurn(turn) => {
                let usage = turn.usage.unwrap();
                assert_eq!((usage.current_context_window, usage.max_context_window), (500, 100_000));
                usages.push((usage.input_tokens, usage.output_tokens));
                assert_eq!((turn.auto_compact_enabled, turn.auto_compact_threshold), (Some(true), Some(0.8)));
            }
            _ => {}
        }
    }
    assert_eq!((statuses, usages), (vec![Some(3)], vec![(100, 7), (200, 14)]));
}

#[tokio::test]
async fn a_tool_call_that_the_budget_refuses_does_not_run_and_the_model_reads_why() {
    let env = TestEnvironment::new();
    let answer = |event: &hookbox::Event| match event.data {
        EventData::OnBudgetExceeded { .. } => Outcome::block("no more large work"),
        _ => Outcome::pass(),
    };
    let (builder, _) = hooks(&env, answer);
    let mut large = bash("touch made");
    large["usage"] = json!({"current_context_window": 95_000});
    let (mut agent, _) = agent(&env, &builder.build().await, Scripted::new(vec![large], 100_000));
    agent.run("do it").await.unwrap();
    assert!(!env.path("repo/made").exists());
    assert!(contents(&agent.conversation().messages).contains(&"error: no more large work"));
}

#[tokio::test]
async fn nothing_stands_between_a_tool_call_and_its_result() {
    let env = TestEnvironment::new();
    let (builder, _) = hooks(&env, |event| match event.data {
        EventData::SessionStart { .. } => Outcome::inject("first"),
        EventData::BeforeToolCall(_) => Outcome::inject("a hint"),
        EventData::AfterTurn(_) => Outcome::inject("later"),
        _ => Outcome::pass(),
    });
    let script = vec![
        json!({"text": "I try.", "calls": [["bash", {"command": "echo 1"}], ["bash", {"command": "echo 2"}]]}),
    ];
    let (mut agent, _) = agent(&env, &builder.build().await, Scripted::new(script, 100_000));
    agent.run("do it").await.unwrap();
    let roles: Vec<&str> =
        agent.conversation().messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    let want = "system system user assistant tool tool system system system assistant system";
    assert_eq!(roles.join(" "), want);
}

#[tokio::test]
async fn a_blocked_message_is_an_error_and_the_next_turn_of_the_session_goes_on() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::UserMessageSend { message: Some(said) } if said.contains("secret") => {
            Outcome::block("not today")
        }
        _ => Outcome::pass(),
    });
    let (mut agent, told) = agent(&env, &builder.build().await, Scripted::new(vec![], 100_000));
    agent.begin().await;
    let error = agent.turn("tell me the secret").await.unwrap_err();
    assert_eq!(error.to_string(), "a hook blocked the message: not today");
    assert!(error.downcast_ref::<MessageBlocked>().is_some());
    assert_eq!(agent.turn("hello").await.unwrap(), "Done.");
    agent.end("exit").await;
    assert_eq!(contents(&agent.conversation().messages)[1..], ["hello", "Done."]);
    let by = told.borrow().iter().any(|it| it.contains("see-user_message_send blocked it: not today"));
    assert!(by, "{told:?}");
    let want = "session_start startup, user_message_send, turn_end 1, user_message_send, after_turn 1, turn_end 1, agent_stop, \
                session_end exit";
    assert_eq!(seen.words().join(", "), want);
}

#[tokio::test]
async fn a_follow_up_names_the_hook_that_makes_the_agent_go_on() {
    let (_, said, told) = run(vec![], once("agent_stop", Outcome::follow_up("and the tests"))).await;
    assert_eq!(said.unwrap(), "Done.");
    let want = "see-agent_stop makes it go on: and the tests";
    assert!(told.iter().any(|what| what == want), "{told:?}");
}
