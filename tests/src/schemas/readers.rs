//! The schemas of answers and the readers of answers agree, for any answer.

use std::cell::Cell;

use hookbox::dialect::schema::Schema;
use hookbox::dialect::{base_coat, claude, kodelet};
use hookbox::{EventName, HookError, Outcome};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::validator;

/// Values that a field may have, right ones and wrong ones.
fn any_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "",
        "r",
        "block",
        "approve",
        "deny",
        "allow",
        "ask",
        "mutate",
        "callback",
        "continue",
        "modify",
        "passThrough",
        "injectContext",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionStart",
        "UserPromptSubmit",
    ]);
    let word = words.prop_map(Value::from);
    let scalar = prop_oneof![
        2 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        1 => (-3_i64..100).prop_map(Value::from),
        1 => Just(json!(0.5)),
        5 => word.clone(),
    ];
    prop_oneof![
        6 => scalar.clone(),
        1 => prop::collection::vec(word.clone(), 0..3).prop_map(Value::from),
        1 => prop::collection::vec(scalar.clone(), 0..3).prop_map(Value::from),
        1 => Just(json!([{"role": "user", "content": "s"}])),
        1 => Just(json!([{"role": "user"}])),
        1 => prop::collection::btree_map("[a-c]", scalar, 0..3).prop_map(|map| json!(map)),
        1 => prop::collection::btree_map("[a-c]", word, 0..3).prop_map(|map| json!(map)),
    ]
}

/// Objects with some of these fields, and with unknown ones.
fn any_object(keys: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![12 => prop::sample::select(keys).prop_map(str::to_owned), 1 => Just("unknown".to_owned())];
    prop::collection::vec((key, any_value()), 0..5).prop_map(|fields| fields.into_iter().collect())
}

/// Checks that a schema and a reader agree on every answer that does not block. A block is read also beside
/// faults; there it checks that the reader takes what the schema allows.
fn agree(
    schema: &str,
    events: &[EventName],
    answers: &impl Strategy<Value = Map<String, Value>>,
    read: impl Fn(&EventName, &Map<String, Value>) -> Result<Outcome, HookError>,
    blocks: impl Fn(&Map<String, Value>) -> bool,
) {
    for event in events {
        let validator = validator(schema, Some(event));
        let valid = Cell::new(0);
        let result = TestRunner::new(ProptestConfig {
            cases: 400,
            failure_persistence: None,
            ..ProptestConfig::default()
        })
        .run(answers, |answer| {
            let given = Value::Object(answer.clone());
            let (is_valid, is_read) = (validator.is_valid(&given), read(event, &answer));
            valid.set(valid.get() + usize::from(is_valid));
            if is_valid || !blocks(&answer) {
                prop_assert_eq!(is_valid, is_read.is_ok(), "{} {} {:?}", event, given, is_read);
            }
            Ok(())
        });
        if let Err(error) = result {
            panic!("{schema}: {error}");
        }
        assert!(valid.get() > 10, "{schema} {event}: hardly any of the answers is one");
    }
}

#[test]
fn the_schema_of_kodelets_answers_and_their_reader_agree() {
    let keys = &[
        "blocked",
        "reason",
        "input",
        "output",
        "error",
        "follow_up_messages",
        "result",
        "messages",
        "callback",
        "callback_args",
        "action",
        "modifiedInput",
        "modifiedOutput",
        "warnings",
        "decision",
        "permission",
        "continue",
    ];
    agree(
        "kodelet-answer",
        &EventName::ALL,
        &any_object(keys),
        |event, answer| kodelet::outcome(event, Value::Object(answer.clone()).to_string().as_bytes()),
        |answer| {
            let is = |name: &str, value: Value| answer.get(name) == Some(&value);
            let denies = |name| is(name, json!("block")) || is(name, json!("deny"));
            is("blocked", json!(true))
                || is("action", json!("block"))
                || is("continue", json!(false))
                || ["decision", "permission"].into_iter().any(denies)
        },
    );
}

#[test]
fn the_schema_of_base_coats_answers_and_their_reader_agree() {
    let keys = &[
        "action",
        "priority",
        "reason",
        "additionalContext",
        "warnings",
        "modifiedInput",
        "modifiedOutput",
        "metadata",
    ];
    let action = prop::sample::select(vec!["passThrough", "injectContext", "block", "modify"]);
    let answers = (prop::option::weighted(0.8, action), any_object(keys)).prop_map(|(action, mut answer)| {
        if let Some(action) = action {
            answer.insert("action".to_owned(), json!(action));
        }
        answer
    });
    agree(
        "base-coat-answer",
        &EventName::ALL,
        &answers,
        |event, answer| base_coat::outcome(event, answer.clone()),
        |answer| answer.get("action") == Some(&json!("block")),
    );
}

#[test]
fn the_schema_of_claude_codes_answers_and_their_reader_agree() {
    let specific = any_object(&[
        "hookEventName",
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
        "updatedToolOutput",
    ]);
    let common = any_object(&[
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "decision",
        "reason",
        "hookSpecificOutput",
    ]);
    let answers = (common, prop::option::of(specific)).prop_map(|(mut answer, specific)| {
        if let Some(specific) = specific {
            answer.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
        }
        answer
    });
    let events: Vec<EventName> = EventName::ALL
        .into_iter()
        .filter(|event| Schema::named("claude-answer").unwrap().at(event).is_some())
        .collect();
    assert_eq!(events.len(), 9);
    agree(
        "claude-answer",
        &events,
        &answers,
        |event, answer| claude::outcome(event, 0, Value::Object(answer.clone()).to_string().as_bytes(), ""),
        |answer| {
            let decision = answer.get("decision").and_then(Value::as_str);
            matches!(decision, Some("block" | "deny"))
                || answer.get("continue") == Some(&json!(false))
                || answer.get("hookSpecificOutput").is_some_and(|it| it["permissionDecision"] == "deny")
        },
    );
}
