//! The page on the specifications: every file and test that it names exists, and its list of built-in hooks is
//! complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, repository};

/// The names of all tests in the source files below a directory.
fn tests_below(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().map(str::trim);
            while let Some(line) = lines.next() {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    let name = lines.find_map(|line| line.split("fn ").nth(1)).unwrap();
                    found.extend(name.split('(').next().map(str::to_owned));
                }
            }
        }
    }
}

/// Returns the texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_statement_of_the_four_documents_has_its_place_and_its_test() {
    let repository = repository();
    let mut tests = BTreeSet::new();
    for directory in ["base", "host", "crates", "cli", "examples", "guest-sdk", "sample-hooks", "tests"] {
        tests_below(&repository.join(directory), &mut tests);
    }
    let page = fs::read_to_string(repository.join("docs/internal/specification-coverage.md")).unwrap();
    let tables = page.split("## Where they disagree").next().unwrap();
    let mut rows = 0;
    for line in tables.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [.., place, test] = cells.as_slice() else { panic!("{line}") };
        if *place == "where" {
            continue;
        }
        for path in quoted(place) {
            assert!(repository.join(path).exists(), "{path} does not exist: {line}");
        }
        for name in quoted(test).filter(|_| !test.starts_with("not yet")) {
            assert!(tests.contains(name), "no test is called {name}: {line}");
        }
        assert!(
            quoted(test).next().is_some() || ["–", "not yet"].iter().any(|it| test.starts_with(it)),
            "{line}"
        );
        rows += 1;
    }
    assert!(rows > 100, "{rows}");
}

#[test]
fn with_no_hook_installed_the_built_in_hooks_do_what_the_page_lists_and_nothing_else() {
    let page = fs::read_to_string(repository().join("docs/internal/specification-coverage.md")).unwrap();
    let section = page.split("## With no hook installed").nth(1).unwrap();
    let listed: Vec<(&str, &str)> = section
        .lines()
        .filter(|line| line.starts_with("| `builtin:"))
        .map(|line| <[&str; 2]>::try_from(quoted(line).take(2).collect::<Vec<_>>()).unwrap().into())
        .collect();
    let env = TestEnvironment::new();
    let rows = env.list_all(&[]);
    let of = |row: &Value| (row["name"].clone(), row["events"].clone());
    let found: Vec<_> = rows.iter().map(of).collect();
    let want: Vec<_> = listed.iter().map(|(name, event)| (json!(name), json!([event]))).collect();
    assert_eq!(found, want);

    let used = |tokens: u64| json!({"current_context_window": tokens, "max_context_window": 100});
    let call = |line: &str| json!({"tool_name": "bash", "tool_input": {"command": line}});
    for (event, data, parts) in [
        ("before_tool_call", call("ls"), vec![("blocked", json!(false))]),
        (
            "before_tool_call",
            call("rm -r ~/.hookbox"),
            vec![("blocked", json!(true)), ("blocked_by", json!("builtin:self-protection"))],
        ),
        ("after_turn", json!({"usage": used(79)}), vec![]),
        (
            "after_turn",
            json!({"usage": used(80)}),
            vec![("result", json!("callback")), ("callback", json!("compact"))],
        ),
        (
            "on_budget_exceeded",
            json!({"usage": used(80), "threshold": 0.8}),
            vec![("blocked", json!(false)), ("additional_context", Value::Null), ("warnings", Value::Null)],
        ),
        ("session_start", json!({"source": "startup"}), vec![]),
        ("user_message_send", json!({"message": "hello"}), vec![("blocked", json!(false))]),
        ("after_tool_call", call("ls"), vec![("blocked", json!(false))]),
        ("on_error", json!({"error": "no"}), vec![]),
        ("turn_end", json!({"response": "done"}), vec![]),
        ("agent_stop", json!({"usage": used(99)}), vec![]),
        ("pre_compact", json!({}), vec![("blocked", json!(false))]),
        ("post_compact", json!({}), vec![]),
        ("session_end", json!({"reason": "exit"}), vec![]),
    ] {
        let verdict = env.event(&[event], &data);
        let keys: Vec<&String> = verdict.as_object().unwrap().keys().filter(|key| *key != "reason").collect();
        assert_eq!(keys, parts.iter().map(|(key, _)| key).collect::<Vec<_>>(), "{event}: {verdict}");
        for (key, value) in parts.iter().filter(|(_, value)| !value.is_null()) {
            assert_eq!(verdict[key], *value, "{event}: {verdict}");
        }
    }
}
