//! `docs/src/answers.md`: each JSON form is an answer of its schema, and both dialects give the same verdict.

use serde_json::{Value, json};

use super::page;
use crate::environment::TestEnvironment;
use crate::schemas;

/// A cell with code.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// Returns the part of the event that each event needs.
fn data(event: &str) -> Value {
    match event {
        "user_message_send" => json!({"message": "Mend it."}),
        "before_tool_call" => json!({"tool_name": "bash", "tool_input": {"command": "npm i"}}),
        "after_tool_call" => json!({"tool_name": "bash", "tool_input": {}, "tool_output": "long"}),
        "on_error" => json!({"error": "no such file", "source": "turn"}),
        _ => json!({}),
    }
}

/// Runs a native hook that prints this answer, and returns the verdict.
fn verdict(event: &str, answer: &str) -> Value {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/hook", event, &format!("cat <<'END'\n{answer}\nEND"));
    env.file("home/.hookbox/hookbox.toml", "[hooks.hook]\nallow = true\n");
    env.event(&[event], &data(event))
}

#[test]
fn both_dialects_have_the_same_effect() {
    let page = page("answers.md");
    let rows = page.split("## In JSON").nth(1).unwrap().lines().filter(|line| line.starts_with("| "));
    let mut seen = Vec::new();
    for row in rows.skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, answer, event, kodelet, base_coat, _] = cells[..] else { panic!("{row}") };
        let event = code(event).unwrap();
        let mut verdicts = Vec::new();
        for (dialect, cell) in [("kodelet-answer", kodelet), ("base-coat-answer", base_coat)] {
            let Some(text) = code(cell) else { continue };
            let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let at = event.parse().unwrap();
            // The question is in another agent's words.
            if answer != "ask" {
                let at = (dialect == "kodelet-answer").then_some(&at);
                assert_eq!(schemas::faults(dialect, at, &value), Vec::<String>::new(), "{text}");
            }
            verdicts.push(verdict(event, text));
        }
        assert!(!verdicts.is_empty() && verdicts.iter().all(|it| *it == verdicts[0]), "{row}: {verdicts:?}");
        let changes: Vec<&String> = verdicts[0].as_object().unwrap().keys().collect();
        let effect = match answer {
            "pass" => "blocked",
            "block" => "reason",
            "ask" => "ask",
            "warn" => "warnings",
            "inject" => "additional_context",
            "modify" => match event {
                "before_tool_call" => "input",
                "user_message_send" => "message",
                "after_tool_call" => "output",
                _ => "error",
            },
            "follow-up" => "follow_up_messages",
            "mutate" => "messages",
            "callback" => "callback",
            "allow" => "allowed",
            other => panic!("{other}"),
        };
        assert!(changes.iter().any(|it| *it == effect), "{row}: {}", verdicts[0]);
        seen.push(answer);
    }
    seen.dedup();
    let table = page.split("## In each language").next().unwrap().lines();
    let named: Vec<&str> = table
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|it| !matches!(*it, "answer" | "---"))
        .collect();
    assert_eq!(seen, named);
}
