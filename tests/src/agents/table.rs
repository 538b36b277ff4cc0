//! The tables in the documentation say what the code does.

use std::fs;

use hookbox_agents::agent::{Agent, AgentEvent};

use crate::environment::repository;

/// A row of the documentation.
fn row(event: &AgentEvent) -> String {
    let fates = [event.block, event.ask, event.modify, event.inject, event.follow_up];
    let cells: String = fates.iter().map(|fate| format!(" {} |", fate.as_str())).collect();
    format!("| `{}` | `{}` |{}", event.name, event.event, cells.replace("  |", " |"))
}

#[test]
fn the_page_has_the_table_of_every_agent() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    for agent in Agent::ALL {
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(agent.title()));
        let section =
            section.unwrap_or_else(|| panic!("docs/src/agents.md has no section {}", agent.title()));
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let want: Vec<String> = agent.events().iter().map(row).collect();
        assert!(found == want, "the table of {} must be:\n{}", agent.title(), want.join("\n"));
    }
}

#[test]
fn the_page_has_the_table_of_the_other_events() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    let section =
        page.split("\n## ").find(|section| section.starts_with("Other events\n")).unwrap_or_default();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let mut want: Vec<(String, Vec<&str>)> = Vec::new();
    for agent in Agent::ALL {
        for event in agent.other_events() {
            let fates = [event.block, event.inject].map(|fate| format!(" {} |", fate.as_str())).concat();
            let row = format!("| `{}` | `{}` |{} ", event.name, event.event, fates.replace("  |", " |"));
            match want.iter_mut().find(|(it, _)| *it == row) {
                Some((_, titles)) => titles.push(agent.title()),
                None => want.push((row, vec![agent.title()])),
            }
        }
    }
    let want: Vec<String> =
        want.into_iter().map(|(row, titles)| format!("{row}{} |", titles.join(", "))).collect();
    assert!(found == want, "the table of other events must be:\n{}", want.join("\n"));
}
