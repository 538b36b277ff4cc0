//! The combined decision of the hooks of one event.

use hookbox::event::EventData;
use hookbox::{Callback, Cause, EventName, Message, Outcome, Status, session};
use serde_json::{Value, json};

use super::{BEFORE, after, before, data, fire, reason, report, statuses, warned};
use crate::answers::{Backend, each, each_pair, user};
use crate::environment::{TestEnvironment, guest};

#[tokio::test]
async fn the_next_hook_sees_the_change_and_the_report_keeps_the_original() {
    each_pair(async |first, second| {
        let env = TestEnvironment::new();
        // The answer of the second hook depends on its input.
        let changed = json!({"command": "echo changed", "answer": {"block": "seen"}});
        let one = user(&env, first, "1", BEFORE, &json!({"modify": changed}));
        let two = second.name("2");
        match second {
            Backend::Native => env.native(
                "home/.hookbox/hooks/2",
                "before_tool_call",
                r#"case $(cat) in *'"echo changed"'*) echo '{"blocked":true,"reason":"seen"}';; esac"#,
            ),
            Backend::Component => env.copy("home/.hookbox/hooks/2.wasm", &guest("answers")),
        };
        let fired = fire(&env, before(json!({"command": "ls"}))).await;
        assert_eq!(statuses(&fired), [(&*one, Status::Changed), (&two, Status::Blocked)]);
        assert_eq!(reason(&fired), Some("seen"));
        let [change] = report(&fired, &one).changes.as_slice() else { panic!("{:#?}", fired.report) };
        assert_eq!(
            (change.what, &change.before, &change.after),
            ("input", &json!({"command": "ls"}), &changed)
        );
        assert!(!fired.verdict.modified, "what is blocked does not run, changed or not");
        assert_eq!(fired.event.tool_call().unwrap().facts.command.as_deref(), Some("echo changed"));
    })
    .await;
}

#[tokio::test]
async fn context_warnings_and_follow_ups_accumulate_in_run_order() {
    each_pair(async |first, second| {
        let start = &EventName::SessionStart;
        let env = TestEnvironment::new();
        user(&env, first, "1", start, &json!({"context": ["a", "b"], "warnings": ["w"]}));
        user(&env, second, "2", start, &json!({"context": ["c"], "warnings": ["v"]}));
        let fired = fire(&env, data(start)).await;
        assert_eq!(fired.verdict.context, ["a", "b", "c"]);
        let warnings: Vec<&str> = fired.verdict.warnings.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(warnings, ["w", "v"]);

        let stop = &EventName::AgentStop;
        let env = TestEnvironment::new();
        user(&env, first, "1", stop, &json!({"follow_up": ["a"]}));
        user(&env, second, "2", stop, &json!({}));
        user(&env, second, "3", stop, &json!({"follow_up": ["a", "b"]}));
        let fired = fire(&env, data(stop)).await;
        assert_eq!(fired.verdict.follow_ups, ["a", "a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn injected_context_has_a_limit_keeps_the_oldest_and_says_what_was_cut() {
    each_pair(async |first, second| {
        let start = &EventName::SessionStart;
        let env = TestEnvironment::new();
        let (old, new) = ("o".repeat(10_000), "n".repeat(10_000));
        user(&env, first, "1", start, &json!({"context": [old]}));
        let two = user(&env, second, "2", start, &json!({"context": [new]}));
        let three = user(&env, second, "3", start, &json!({"context": ["more"]}));
        let fired = fire(&env, data(start)).await;
        assert_eq!(fired.verdict.context, [old.as_str(), &new[..16_384 - 10_000]]);
        assert!(warned(&fired, &[&two, "3616 bytes", "16384"]), "{:?}", fired.verdict.warnings);
        assert!(warned(&fired, &[&three, "4 bytes"]), "{:?}", fired.verdict.warnings);
    })
    .await;
}

#[tokio::test]
async fn an_empty_answer_undoes_nothing() {
    each(async |backend| {
        for (event, change, silent) in [
            (
                before(json!({"command": "ls"})),
                json!({"command": "pwd"}),
                r#"{"input":null,"blocked":false}"#,
            ),
            (after(json!("secret")), json!("[REDACTED]"), r#"{"output":null}"#),
            (EventData::UserMessageSend { message: Some("a".into()) }, json!("b"), "{}"),
        ] {
            let env = TestEnvironment::new();
            let name = match &event {
                EventData::BeforeToolCall(_) => EventName::BeforeToolCall,
                EventData::AfterToolCall(_) => EventName::AfterToolCall,
                _ => EventName::UserMessageSend,
            };
            let one = user(&env, backend, "1", &name, &json!({"modify": change}));
            env.native("home/.hookbox/hooks/2", name.as_str(), &format!("printf '%s' '{silent}'"));
            env.native("home/.hookbox/hooks/3", name.as_str(), ":");
            env.copy("home/.hookbox/hooks/4.wasm", &guest("answers"));
            let fired = fire(&env, event).await;
            let passed = ["2", "3", "4.wasm"].map(|name| (name, Status::Passed));
            assert_eq!(statuses(&fired), [vec![(&*one, Status::Changed)], passed.to_vec()].concat());
            assert!(fired.verdict.modified && fired.verdict.warnings.is_empty(), "{:?}", fired.verdict);
            let now = match &fired.event.data {
                EventData::BeforeToolCall(call) => call.input.value().clone(),
                EventData::AfterToolCall(result) => result.output.value().clone(),
                EventData::UserMessageSend { message } => json!(message),
                other => panic!("{other:?}"),
            };
            assert_eq!(now, change);
        }
    })
    .await;
}

#[tokio::test]
async fn the_first_to_turn_the_conversation_wins_and_a_later_one_is_a_conflict() {
    let mutate = |text: &str| json!({"mutate": [{"role": "user", "content": text}]});
    let callback = |name: &str| json!({"callback": {"name": name, "args": {"a": "1"}}});
    for event in [EventName::AfterTurn, EventName::AgentStop] {
        for (one, two, conflict) in [
            (mutate("x"), mutate("y"), true),
            (mutate("x"), callback("compact"), true),
            (callback("compact"), mutate("x"), true),
            (callback("compact"), callback("rotate"), true),
            (callback("compact"), callback("compact"), false),
        ] {
            each_pair(async |first, second| {
                let env = TestEnvironment::new();
                let name = user(&env, first, "1", &event, &one);
                let later = user(&env, second, "2", &event, &two);
                let fired = fire(&env, data(&event)).await;
                let expected = one["callback"]["name"].as_str().map(|name| Callback {
                    name: name.to_owned(),
                    args: vec![("a".to_owned(), "1".to_owned())],
                });
                assert_eq!(fired.verdict.callback, expected);
                let kept = one.get("mutate").map(|_| vec![Message::user("x")]);
                assert_eq!(fired.verdict.mutate, kept);
                assert_eq!(warned(&fired, &[&later, &name, "conflict"]), conflict, "{:?}", fired.verdict);
                assert_eq!(fired.verdict.warnings.len(), usize::from(conflict));
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_message_of_an_unknown_role_is_malformed_and_changes_no_conversation() {
    for event in [EventName::AfterTurn, EventName::AgentStop] {
        for role in ["wizard", "tool", "system", "User", ""] {
            each(async |backend| {
                let env = TestEnvironment::new();
                let messages = json!([{"role": "user", "content": "x"}, {"role": role, "content": "y"}]);
                let name = user(&env, backend, "1", &event, &json!({"mutate": messages}));
                let fired = fire(&env, data(&event)).await;
                assert_eq!(fired.verdict.mutate, None, "{role:?}");
                assert_eq!(statuses(&fired), [(&*name, Status::Failed)], "{role:?}");
                assert_eq!(fired.report.hooks[0].cause, Some(Cause::MalformedOutput), "{role:?}");
            })
            .await;
        }
    }
}

#[tokio::test]
async fn follow_ups_stand_beside_a_turn_of_the_conversation() {
    for turn in
        [json!({"mutate": [{"role": "user", "content": "x"}]}), json!({"callback": {"name": "compact"}})]
    {
        each_pair(async |first, second| {
            let env = TestEnvironment::new();
            user(&env, first, "1", &EventName::AgentStop, &turn);
            user(&env, second, "2", &EventName::AgentStop, &json!({"follow_up": ["go on"]}));
            let fired = fire(&env, data(&EventName::AgentStop)).await;
            assert!(fired.verdict.mutate.is_some() != fired.verdict.callback.is_some());
            assert_eq!(fired.verdict.follow_ups, ["go on"]);
            assert!(fired.verdict.warnings.is_empty());
        })
        .await;
    }
    // One native answer can say both.
    let env = TestEnvironment::new();
    let both = r#"{"result":"mutate","messages":[{"role":"user","content":"x"}],"follow_up_messages":["m"]}"#;
    env.native("home/.hookbox/hooks/1", "agent_stop", &format!("echo '{both}'"));
    let verdict = fire(&env, data(&EventName::AgentStop)).await.verdict;
    assert_eq!((verdict.mutate, verdict.follow_ups), (Some(vec![Message::user("x")]), vec!["m".to_owned()]));
}

#[tokio::test]
async fn where_several_hooks_change_one_value_a_warning_names_them() {
    for (event, values) in [
        (EventName::BeforeToolCall, [json!({"command": "a"}), json!({"command": "b"})]),
        (EventName::AfterToolCall, [json!("a"), json!({"b": 1})]),
        (EventName::UserMessageSend, [json!("a"), json!("b")]),
        (EventName::OnError, [json!("a"), json!("b")]),
    ] {
        each_pair(async |first, second| {
            let env = TestEnvironment::new();
            let one = user(&env, first, "1", &event, &json!({"modify": values[0]}));
            let fired = fire(&env, data(&event)).await;
            assert!(fired.verdict.modified && fired.verdict.warnings.is_empty(), "{:?}", fired.verdict);
            let two = user(&env, second, "2", &event, &json!({"modify": values[1]}));
            let fired = fire(&env, data(&event)).await;
            assert!(warned(&fired, &[&one, &two]), "{event}: {:?}", fired.verdict.warnings);
            let changes = [&one, &two].map(|name| report(&fired, name).changes.clone());
            assert_eq!(changes[0][0].after, values[0]);
            assert_eq!((&changes[1][0].before, &changes[1][0].after), (&values[0], &values[1]), "{event}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_block_beats_a_question() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let asks = user(&env, Backend::Component, "1", BEFORE, &json!({"ask": "sure?"}));
        let fired = fire(&env, data(BEFORE)).await;
        let ask = fired.verdict.ask.as_ref().unwrap();
        assert_eq!((ask.for_user(), ask.by.as_str()), ("sure?", asks.as_str()));
        assert_eq!(report(&fired, &asks).status, Status::Asked);

        let guard = user(&env, backend, "2", BEFORE, &json!({"block": "no"}));
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(statuses(&fired), [(&*asks, Status::Asked), (&guard, Status::Blocked)]);
        assert_eq!((reason(&fired), fired.verdict.ask.is_none()), (Some("no"), true));
    })
    .await;
}

#[tokio::test]
async fn what_an_event_does_not_allow_is_a_warning_and_not_applied() {
    each(async |backend| {
        for event in [
            EventName::SessionStart,
            EventName::SessionEnd,
            EventName::OnError,
            EventName::AfterTurn,
            EventName::AgentStop,
            EventName::PostCompact,
        ] {
            let env = TestEnvironment::new();
            let name = user(&env, backend, "guard", &event, &json!({"block": "no"}));
            let fired = fire(&env, data(&event)).await;
            assert_eq!(statuses(&fired), [(&*name, Status::Passed)], "{event}");
            assert_eq!(fired.verdict.block, None, "{event}");
            let by = fired.verdict.warnings.iter().map(|warning| warning.hook.as_deref());
            assert!(by.eq(fired.verdict.warnings.iter().map(|_| Some(name.as_str()))));
            assert!(warned(&fired, &["not applied"]), "{event}: {:?}", fired.verdict.warnings);
        }
    })
    .await;
}

#[tokio::test]
async fn a_component_hears_what_its_answer_cannot_do_at_an_event() {
    for (event, answer) in [
        (EventName::BeforeToolCall, json!({"follow_up": ["x"]})),
        (EventName::BeforeToolCall, json!({"mutate": [{"role": "user", "content": "x"}]})),
        (EventName::AfterToolCall, json!({"ask": "x"})),
        (EventName::SessionStart, json!({"modify": "x"})),
        (EventName::AgentStop, json!({"context": ["x"]})),
        (EventName::PreCompact, json!({"callback": {"name": "x"}})),
        (EventName::TurnEnd, json!({"block": "x"})),
    ] {
        let env = TestEnvironment::new();
        let name = user(&env, Backend::Component, "odd", &event, &answer);
        let fired = fire(&env, data(&event)).await;
        assert!(warned(&fired, &[&name, "not applied"]), "{event} {answer}: {:?}", fired.verdict);
        assert_eq!(fired.verdict.warnings.len(), 1);
        assert_eq!(report(&fired, &name).changes, []);
    }
}

#[tokio::test]
async fn a_blocked_tool_result_keeps_the_changed_output() {
    each_pair(async |first, second| {
        let env = TestEnvironment::new();
        let event = &EventName::AfterToolCall;
        user(&env, first, "1", event, &json!({"modify": "[REDACTED]"}));
        user(&env, second, "2", event, &json!({"block": "change course"}));
        let fired = fire(&env, after(json!("secret"))).await;
        assert_eq!(reason(&fired), Some("change course"));
        let verdict = session::OutputVerdict::from(fired);
        assert!(verdict.modified);
        let session::OutputDecision::Block { output, .. } = verdict.decision else { panic!("{verdict:?}") };
        assert_eq!(output.value(), &json!("[REDACTED]"));
    })
    .await;
}

#[tokio::test]
async fn a_native_hook_may_answer_in_the_envelope_of_base_coat() {
    let none = Outcome::pass;
    for (event, printed, want) in [
        ("before_tool_call", json!({"action": "passThrough"}), none()),
        ("before_tool_call", json!({"action": "block", "reason": "r"}), Outcome::block("r")),
        (
            "before_tool_call",
            json!({"action": "modify", "modifiedInput": {"command": "x"}}),
            Outcome::modify(json!({"command": "x"})),
        ),
        ("after_tool_call", json!({"action": "modify", "modifiedOutput": "x"}), Outcome::modify("x")),
        ("after_tool_call", json!({"action": "block", "reason": "r"}), Outcome::block("r")),
        (
            "session_start",
            json!({"action": "injectContext", "additionalContext": ["c"]}),
            Outcome::inject("c"),
        ),
        (
            "session_start",
            json!({"action": "passThrough", "warnings": ["w"], "additionalContext": ["c"], "priority": 5}),
            Outcome::inject("c").warn("w"),
        ),
        ("user_message_send", json!({"action": "modify", "modifiedInput": "m"}), Outcome::modify("m")),
        ("on_error", json!({"action": "modify", "modifiedOutput": "e"}), Outcome::modify("e")),
        ("on_budget_exceeded", json!({"action": "block", "reason": "r"}), Outcome::block("r")),
        ("PreCompact", json!({"action": "block", "reason": "r"}), Outcome::block("r")),
    ] {
        let env = TestEnvironment::new();
        env.native("home/.hookbox/hooks/base", event, &format!("echo '{printed}'"));
        let fired = fire(&env, data(&event.parse().unwrap())).await;
        let block = match &want.action {
            hookbox::Action::Block(reason) => Some(reason.as_str()),
            _ => None,
        };
        assert_eq!(reason(&fired), block, "{event} {printed}");
        let changed = report(&fired, "base").changes.iter().find(|change| change.what != "context");
        let modify = match &want.action {
            hookbox::Action::Modify(value) => Some(value.clone()),
            _ => None,
        };
        assert_eq!(changed.map(|change| change.after.clone()), modify, "{event} {printed}");
        assert_eq!(fired.verdict.context, want.context, "{event} {printed}");
        let warnings: Vec<&str> = fired.verdict.warnings.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(warnings, want.warnings, "{event} {printed}");
    }
}

#[tokio::test]
async fn unknown_keys_are_warnings_and_wrong_types_are_failures() {
    for (printed, cause) in [
        (r#"{"blocked":false,"surprise":1}"#, None),
        (r#"{"blocked":"yes"}"#, Some("malformed_output")),
        (r#"{"action":"explode"}"#, Some("malformed_output")),
        ("no json", Some("malformed_output")),
        (r#"{"blocked":true} {"blocked":true}"#, Some("malformed_output")),
    ] {
        let env = TestEnvironment::new();
        env.native("home/.hookbox/hooks/odd", "before_tool_call", &format!("echo '{printed}'"));
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(report(&fired, "odd").cause.map(|cause| cause.as_str()), cause, "{printed}");
        assert_eq!((fired.verdict.block, fired.verdict.warnings.len()), (None, 1), "{printed}");
    }
    // A block stands beside a wrong type: a guard guards.
    let env = TestEnvironment::new();
    let wrong: Value = json!({"blocked": true, "reason": 5});
    env.native("home/.hookbox/hooks/odd", "before_tool_call", &format!("echo '{wrong}'"));
    assert_eq!(reason(&fire(&env, data(BEFORE)).await), Some(""));
}
