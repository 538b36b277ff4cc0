//! Sub-agents.

use std::collections::BTreeSet;

use hookbox::event::EventData;
use hookbox::{InvokedBy, Outcome};
use hookbox_agent::{MAX_DEPTH, Scripted};
use serde_json::{Value, json};

use super::{agent, bash, contents, hooks, saving};
use crate::environment::TestEnvironment;

#[tokio::test]
async fn a_sub_agent_has_the_same_hooks_and_a_conversation_of_its_own() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |_| Outcome::pass());
    let spent = |mut answer: Value, input: u64, output: u64| {
        answer["usage"] = json!({"input_tokens": input, "output_tokens": output});
        answer
    };
    let delegates = json!({"text": "I delegate.", "calls": [["agent", {"task": "look around"}]]});
    let script = vec![
        spent(delegates, 1000, 5),
        spent(bash("true"), 100, 7),
        spent(json!({"text": "I looked around."}), 20, 3),
        json!({"text": "All done."}),
    ];
    let (mut agent, _, saved) = saving(&env, &builder.build().await, Scripted::new(script, 100_000));
    assert_eq!(agent.run("do it").await.unwrap(), "All done.");
    let want = "session_start startup, user_message_send, before_tool_call, session_start startup (sub), \
                user_message_send (sub), before_tool_call (sub), after_tool_call true (sub), after_turn 1 (sub), \
                after_turn 2 (sub), turn_end 2 (sub), agent_stop (sub), session_end exit (sub), after_tool_call true, \
                after_turn 1, after_turn 2, turn_end 2, agent_stop, session_end exit";
    assert_eq!(seen.words().join(", "), want);
    let ids = |by: InvokedBy| -> BTreeSet<String> {
        let events = seen.events().into_iter().filter(|event| event.context.invoked_by == by);
        events.map(|event| event.context.conversation_id.clone()).collect()
    };
    assert_eq!((ids(InvokedBy::Main).len(), ids(InvokedBy::Subagent).len()), (1, 1));
    let costs = seen.events().into_iter().filter_map(|event| match event.data {
        EventData::AfterToolCall(result) => Some((event.context.invoked_by, result.cost_tokens)),
        _ => None,
    });
    // The answer that made the call, and everything that the sub-agent used.
    let want = [(InvokedBy::Subagent, Some(7)), (InvokedBy::Main, Some(5 + 100 + 7 + 20 + 3))];
    assert_eq!(costs.collect::<Vec<_>>(), want);
    assert!(ids(InvokedBy::Main).is_disjoint(&ids(InvokedBy::Subagent)));
    assert!(contents(&agent.conversation().messages).contains(&"I looked around."));
    assert_eq!(saved.ids().len(), 1, "what a sub-agent said is part of the call");
}

#[tokio::test]
async fn sub_agents_inside_sub_agents_come_to_an_end() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |_| Outcome::pass());
    let script = vec![json!({"text": "I delegate.", "calls": [["agent", {"task": "delegate"}]]}); 3];
    let (mut agent, _) = agent(&env, &builder.build().await, Scripted::new(script, 100_000));
    agent.run("do it").await.unwrap();
    let words = seen.words();
    let started = words.iter().filter(|it| *it == "session_start startup (sub)").count();
    assert_eq!(started, MAX_DEPTH as usize);
    assert_eq!(words.iter().filter(|it| it.starts_with("session_end exit")).count(), started + 1);
    assert!(words.iter().any(|it| it == "on_error tool 1 (sub)"), "{words:?}");
}

#[tokio::test]
async fn a_sub_agent_whose_model_fails_is_a_tool_that_failed() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |_| Outcome::pass());
    let fails = json!({"error": "overloaded"});
    let script = vec![json!({"text": "", "calls": [["agent", {"task": "x"}]]}), fails];
    let (mut agent, _) = agent(&env, &builder.build().await, Scripted::new(script, 100_000));
    assert_eq!(agent.run("do it").await.unwrap(), "Done.");
    let words = seen.words();
    assert!(words.contains(&"session_end exit (sub)".to_owned()), "{words:?}");
    assert!(words.contains(&"on_error tool 1".to_owned()), "{words:?}");
    assert!(contents(&agent.conversation().messages).contains(&"error: overloaded"));
}
