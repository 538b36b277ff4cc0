//! Recipes, on the command line and by a callback; conversations that are gone on with.

use std::collections::BTreeMap;

use hookbox::event::EventData;
use hookbox::{Callback, Event, Outcome};
use hookbox_agent::{Checkout, MAX_TURNS, Scripted};
use serde_json::json;

use super::{agent, callback, contents, hooks, saving};
use crate::environment::TestEnvironment;

fn recipes() -> BTreeMap<String, String> {
    BTreeMap::from([("review".to_owned(), "Review {target}.".to_owned())])
}

#[tokio::test]
async fn a_recipe_of_a_callback_marks_the_events_inside_it_and_no_others() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::AgentStop(stop) if stop.invoked_recipe.is_none() => {
            callback("review", &[("target", "the tests"), ("colour", "blue")])
        }
        _ => Outcome::pass(),
    });
    let (agent, told) = agent(&env, &builder.build().await, Scripted::new(vec![], 100_000));
    let mut agent = agent.recipes(recipes());
    agent.run("do it").await.unwrap();
    let want = "session_start startup, user_message_send, after_turn 1, turn_end 1, agent_stop, \
                after_turn 2 [review], turn_end 2 [review], agent_stop [review], session_end exit";
    assert_eq!(seen.words().join(", "), want);
    assert!(contents(&agent.conversation().messages).contains(&"Review the tests."));
    assert!(told.borrow().iter().any(|what| what.contains("no place for the argument colour")), "{told:?}");
}

#[tokio::test]
async fn recipes_that_make_the_agent_go_on_end_with_the_turn() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::AgentStop(stop) if stop.follow_ups == 3 => Outcome::follow_up("and then?"),
        EventData::AgentStop(_) => callback("review", &[("target", "it")]),
        _ => Outcome::pass(),
    });
    let (agent, told) = agent(&env, &builder.build().await, Scripted::new(vec![], 100_000));
    let mut agent = agent.recipes(recipes());
    agent.run("do it").await.unwrap();
    let counts = seen.events().into_iter().filter_map(|event| match event.data {
        EventData::AgentStop(stop) => Some(u64::from(stop.follow_ups)),
        _ => None,
    });
    assert_eq!(counts.collect::<Vec<_>>(), (0..MAX_TURNS).collect::<Vec<_>>());
    assert!(told.borrow().iter().any(|what| what.contains("40 times")), "{told:?}");
}

#[tokio::test]
async fn a_built_in_recipe_wants_a_conversation_that_has_begun() {
    for name in ["compact", "rotate"] {
        for message in ["", "go on"] {
            let env = TestEnvironment::new();
            let (builder, seen) = hooks(&env, |_| Outcome::pass());
            let (mut agent, _) = agent(&env, &builder.build().await, Scripted::new(vec![], 100_000));
            let recipe = Callback { name: name.to_owned(), args: vec![] };
            let error = agent.run_recipe(&recipe, message).await.unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("hint: resume"), "{error}");
            assert!(seen.events().is_empty(), "nothing has begun");
        }
    }
}

#[tokio::test]
async fn a_recipe_of_the_command_line_marks_the_whole_session() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |_| Outcome::pass());
    let (agent, _) = agent(&env, &builder.build().await, Scripted::new(vec![], 100_000));
    let mut agent = agent.recipes(recipes());
    let recipe = Callback { name: "review".into(), args: vec![("target".into(), "main.rs".into())] };
    agent.run_recipe(&recipe, "Be brief.").await.unwrap();
    let words = seen.words();
    assert!(words.iter().all(|it| it.ends_with("[review]")), "{words:?}");
    let invoked = |event: &Event| match &event.data {
        EventData::AgentStop(stop) => stop.invoked_recipe.clone(),
        _ => None,
    };
    assert_eq!(seen.events().iter().find_map(invoked).as_deref(), Some("review"));
    assert!(contents(&agent.conversation().messages).contains(&"Review main.rs.\n\nBe brief."));

    let unknown = Callback { name: "fly".into(), args: vec![] };
    let error = agent.run_recipe(&unknown, "").await.unwrap_err().to_string();
    assert_eq!(error, "there is no recipe \"fly\"");
}

#[tokio::test]
async fn a_saved_conversation_is_gone_on_with_and_compacted_by_hand() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |_| Outcome::pass());
    let manager = builder.build().await;
    let model = Scripted::new(vec![json!({"text": "Half."})], 100_000);
    let (mut first, _, saved) = saving(&env, &manager, model);
    first.run("do it").await.unwrap();

    let checkout = Checkout { repository: Some("org/repo".into()), branch: Some("main".into()) };
    let [id] = saved.ids().try_into().unwrap();
    let conversation = saved.load(&id);
    assert_eq!(contents(&conversation.messages)[1..], ["do it", "Half."]);
    let model = Scripted::new(vec![], 100_000).summaries(vec![json!({"text": "Half is done."})]);
    let (second, _, saved) = saving(&env, &manager, model);
    let mut second = second.checkout(checkout).resume(conversation);
    let before = seen.events().len();
    let compact = Callback { name: "compact".into(), args: vec![] };
    assert_eq!(second.run_recipe(&compact, "").await.unwrap(), "Half is done.");
    let want =
        "session_start resume, pre_compact manual [compact], post_compact manual [compact], session_end exit";
    assert_eq!(seen.words()[before..].join(", "), want);
    for event in &seen.events()[before..] {
        assert_eq!(event.context.conversation_id, id);
        assert_eq!(event.context.repository.as_deref(), Some("org/repo"));
        assert_eq!(event.context.branch.as_deref(), Some("main"));
    }
    assert_eq!(contents(&saved.load(&id).messages)[1..], ["Half is done."]);
}

#[tokio::test]
async fn a_compaction_inside_a_recipe_goes_back_to_the_recipe() {
    let env = TestEnvironment::new();
    let (builder, seen) = hooks(&env, |event| match &event.data {
        EventData::AfterTurn(turn) => match turn.turn_number {
            Some(1) => callback("review", &[("target", "x")]),
            Some(2) => callback("compact", &[]),
            _ => Outcome::pass(),
        },
        _ => Outcome::pass(),
    });
    let (agent, _) =
        agent(&env, &builder.build().await, Scripted::new(vec![super::bash("true"); 2], 100_000));
    let mut agent = agent.recipes(recipes());
    agent.run("do it").await.unwrap();
    let words = seen.words();
    let from = words.iter().position(|it| it == "after_turn 1").unwrap();
    let want = "after_turn 1, before_tool_call [review], after_tool_call true [review], after_turn 2 [review], \
                pre_compact auto [compact], post_compact auto [compact], after_turn 3 [review], turn_end 3 [review], \
                agent_stop [review], session_end exit";
    assert_eq!(words[from..].join(", "), want);
}
