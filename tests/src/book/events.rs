//! `examples/every-event/`: the rules and the script answer every event.

use hookbox::EventName;
use serde_json::{Value, json};

use super::{example, page};
use crate::environment::TestEnvironment;

/// Each event with data that the examples react to, and the keys of the verdict with their values: those of the rules,
/// and those of the script.
fn cases() -> Vec<(&'static str, Value, Value, Value)> {
    let usage =
        json!({"input_tokens": 1, "output_tokens": 1, "current_context_window": 9, "max_context_window": 10});
    let both = |key: &str, value: Value| (json!({key: value}), json!({key: value}));
    let context = |text: &str| both("additional_context", json!([text]));
    let block = |reason: &str| both("reason", json!(reason));
    let none = Value::Object(serde_json::Map::new());
    let mut cases = Vec::new();
    let mut add = |event, data, (rules, script)| cases.push((event, data, rules, script));
    add("session_start", json!({"source": "startup"}), context("Use `just test`."));
    add(
        "session_end",
        json!({"reason": "exit"}),
        (json!({"warnings": ["The session is over."]}), none.clone()),
    );
    add(
        "user_message_send",
        json!({"message": "BEGIN PRIVATE KEY"}),
        block("The message has a private key."),
    );
    add(
        "before_tool_call",
        json!({"tool_name": "bash", "tool_input": {"command": "npm publish"}}),
        both("ask", json!({"reason": "This publishes a package."})),
    );
    let failed = json!({"success": false, "error": "no such file"});
    add(
        "after_tool_call",
        json!({"tool_name": "bash", "tool_input": {}, "tool_output": failed}),
        context("Read the error first."),
    );
    add(
        "on_error",
        json!({"error": "no such file", "source": "turn"}),
        (json!({"warnings": ["See docs/errors.md."]}), json!({"error": "It failed (see docs/errors.md)."})),
    );
    add(
        "after_turn",
        json!({"usage": usage, "auto_compact_enabled": false}),
        (json!({"additional_context": ["Keep it short."]}), json!({"callback": "compact"})),
    );
    add("turn_end", json!({"response": "Shall I?"}), (json!({"warnings": ["The turn is over."]}), none));
    add(
        "agent_stop",
        json!({"messages": []}),
        (json!({"warnings": ["Run the tests."]}), json!({"follow_up_messages": ["Run the tests."]})),
    );
    add("pre_compact", json!({"trigger": "auto"}), context("Keep the open questions."));
    add("post_compact", json!({"trigger": "auto"}), context("Read TODO.md again."));
    add("on_budget_exceeded", json!({"usage": usage, "threshold": 0.8}), block("The budget is spent."));
    cases
}

/// Checks the keys of a verdict: equal, a text that ends so (a warning names its hook), or an object with these keys.
#[track_caller]
fn assert_has(verdict: &Value, wanted: &Value) {
    for (key, value) in wanted.as_object().unwrap() {
        let found = &verdict[key];
        let ends = |found: &Value, value: &Value| match (found.as_str(), value.as_str()) {
            (Some(found), Some(value)) => found.ends_with(value),
            _ => found == value,
        };
        let is_there = match value {
            Value::Array(items) => ends(&found[0], &items[0]),
            Value::Object(items) => items.iter().all(|(key, value)| found[key] == *value),
            value => ends(found, value),
        };
        assert!(is_there, "{key}: {wanted} in {verdict}");
    }
}

#[test]
fn the_rules_and_the_script_answer_every_event() {
    let script = example("script");
    let cases = cases();
    let events: Vec<&str> = EventName::ALL.iter().map(EventName::as_str).collect();
    assert_eq!(cases.iter().map(|case| case.0).collect::<Vec<_>>(), events);
    for (event, data, of_rules, of_script) in &cases {
        let env = TestEnvironment::new();
        let rules = example(&format!("rules/{event}.rules.toml"));
        env.file(&format!("home/.hookbox/hooks/{event}.rules.toml"), rules);
        assert_has(&env.event(&[event], data), of_rules);
        let env = TestEnvironment::new();
        env.script(&format!("home/.hookbox/hooks/{event}"), &script);
        assert_has(&env.event(&[event], data), of_script);
    }
}

#[test]
fn each_event_has_a_section_and_a_row_with_its_names_and_answers() {
    let page = page("events.md");
    for event in EventName::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| [`{event}`](#")));
        let row: Vec<&str> = row.unwrap_or_else(|| panic!("{event} has no row")).split('|').collect();
        assert_eq!(row[2].trim().trim_matches('`'), event.base_coat().unwrap_or_default(), "{event}");
        let it = event.allows();
        let answers = [
            ("block", it.block),
            ("ask", it.ask),
            ("modify", it.modify),
            ("inject", it.inject),
            ("follow-up", it.follow_up),
            ("mutate", it.mutate),
            ("callback", it.callback),
            ("allow", it.allow),
        ];
        for (answer, is_taken) in answers {
            assert_eq!(row[4].split([',', '(']).any(|it| it.trim() == answer), is_taken, "{event}: {answer}");
        }
        let is_heading = |line: &str| line.starts_with("### ") && line.contains(event.as_str());
        assert!(page.lines().any(is_heading), "{event} has no section");
    }
}
