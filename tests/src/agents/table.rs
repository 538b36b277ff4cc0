//! The lists of events in the documentation say what the code does.

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

/// Returns the answers that have a meaning: those that the agent does not simply give name their fate.
fn answers(fates: &[(&str, &str)]) -> String {
    let answers = fates.iter().filter(|(_, fate)| !fate.is_empty()).map(|(answer, fate)| match *fate {
        "yes" => (*answer).to_owned(),
        fate => format!("{answer}: {fate}"),
    });
    answers.collect::<Vec<_>>().join(", ")
}

/// Returns the line of events with the same meaning and the same answers.
fn line(names: &[String], of: &str, answers: &str) -> String {
    let answers = if answers.is_empty() { String::new() } else { format!(": {answers}") };
    format!("* {} ({of}){answers}", names.join(", "))
}

/// Returns the lines of an agent.
fn lines_of(events: &[AgentEvent]) -> Vec<String> {
    let mut groups = Vec::new();
    for event in events {
        let answers = answers(&[
            ("block", event.block.as_str()),
            ("ask", event.ask.as_str()),
            ("modify", event.modify.as_str()),
            ("inject", event.inject.as_str()),
            ("follow-up", event.follow_up.as_str()),
        ]);
        add(&mut groups, (format!("`{}`", event.event), answers), format!("`{}`", event.name));
    }
    groups.iter().map(|((of, answers), names)| line(names, of, answers)).collect()
}

/// Returns the list of events in a section of the page, which ends at an empty line.
fn list(section: &str) -> Vec<&str> {
    section.lines().skip_while(|it| !it.starts_with("* `")).take_while(|it| it.starts_with("* `")).collect()
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
fn the_page_has_the_list_of_every_agent() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    for agent in Agent::ALL {
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(agent.title()));
        let section =
            section.unwrap_or_else(|| panic!("docs/src/agents.md has no section {}", agent.title()));
        let (found, want) = (list(section), lines_of(agent.events()));
        if section.contains("of [OpenCode](#opencode)") && found.is_empty() {
            assert_eq!(want, lines_of(Agent::OpenCode.events()), "{agent}: not the events of OpenCode");
            continue;
        }
        assert!(found == want, "the list of {} must be:\n{}", agent.title(), want.join("\n"));
    }
}

#[test]
fn the_page_has_the_list_of_the_other_events() {
    let page = fs::read_to_string(repository().join("docs/src/agents.md")).unwrap();
    let section =
        page.split("\n## ").find(|section| section.starts_with("Other events\n")).unwrap_or_default();
    let mut events = Vec::new();
    for agent in Agent::ALL {
        for event in agent.other_events() {
            assert_eq!(event.event.to_string(), snake_case(event.name), "{agent}");
            let answers = answers(&[("block", event.block.as_str()), ("inject", event.inject.as_str())]);
            add(&mut events, (event.name, answers), agent.title());
        }
    }
    let mut groups = Vec::new();
    for ((name, answers), titles) in events {
        add(&mut groups, (titles.join(", "), answers), format!("`{name}`"));
    }
    let want: Vec<String> = groups.iter().map(|((of, answers), names)| line(names, of, answers)).collect();
    assert!(list(section) == want, "the list of other events must be:\n{}", want.join("\n"));
}

#[test]
fn the_matrix_has_a_row_of_every_agent() {
    let page = fs::read_to_string(repository().join("docs/src/agents-matrix.md")).unwrap();
    let heading = page.lines().find(|line| line.starts_with("| agent | version |")).unwrap();
    let cells = |line: &str| line.matches(" | ").count();
    for agent in Agent::ALL {
        let begins = format!("| {} | ", agent.title());
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(&begins)).collect();
        let [row] = rows[..] else { panic!("{agent}: cargo test-clients --agent {agent}; found {rows:?}") };
        assert_eq!(cells(row), cells(heading), "{row}");
    }
}
