//! The tables in the documentation say what the code does.

use std::fs;

use hookbox_agents::agent::{Agent, AgentEvent};

use crate::environment::repository;

/// Adds a value to those of the same key.
fn add<K: PartialEq, V>(groups: &mut Vec<(K, Vec<V>)>, key: K, value: V) {
    match groups.iter_mut().find(|(it, _)| *it == key) {
        Some((_, values)) => values.push(value),
        None => groups.push((key, vec![value])),
    }
}

/// Returns the rows of groups of names.
fn rows(groups: Vec<(String, Vec<String>)>) -> Vec<String> {
    groups.into_iter().map(|(cells, names)| format!("| {} | {cells}", names.join(", "))).collect()
}

/// Returns the rows of an agent: events with the same meaning share one.
fn rows_of(events: &[AgentEvent]) -> Vec<String> {
    let mut groups = Vec::new();
    for event in events {
        let fates = [event.block, event.ask, event.modify, event.inject, event.follow_up];
        let cells: String = fates.iter().map(|fate| format!(" {} |", fate.as_str())).collect();
        let cells = format!("`{}` |{}", event.event, cells.replace("  |", " |"));
        add(&mut groups, cells, format!("`{}`", event.name));
    }
    rows(groups)
}

/// Returns hookbox's name of an event that it has from an agent.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[test]
fn the_page_has_the_table_of_every_agent() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    for agent in Agent::ALL {
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(agent.title()));
        let section =
            section.unwrap_or_else(|| panic!("docs/src/agents.md has no section {}", agent.title()));
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let want = rows_of(agent.events());
        assert!(found == want, "the table of {} must be:\n{}", agent.title(), want.join("\n"));
    }
}

#[test]
fn the_page_has_the_table_of_the_other_events() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    let section =
        page.split("\n## ").find(|section| section.starts_with("Other events\n")).unwrap_or_default();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let mut events = Vec::new();
    for agent in Agent::ALL {
        for event in agent.other_events() {
            assert_eq!(event.event.to_string(), snake_case(event.name), "{agent}");
            let fates = [event.block, event.inject].map(|fate| format!(" {} |", fate.as_str())).concat();
            add(&mut events, (event.name, fates.replace("  |", " |")), agent.title());
        }
    }
    let mut groups = Vec::new();
    for ((name, fates), titles) in events {
        add(&mut groups, format!("{} {} |", fates.trim_start(), titles.join(", ")), format!("`{name}`"));
    }
    let want = rows(groups);
    assert!(found == want, "the table of other events must be:\n{}", want.join("\n"));
}
