//! The page says what the code does.

use std::fs;

use hookbox_agents::Agent;
use hookbox_agents::agent_hooks::TOOLS;

use crate::environment::repository;

fn page() -> String {
    fs::read_to_string(repository().join("docs/src/foreign-hooks.md")).unwrap()
}

fn cell(name: Option<&str>) -> String {
    name.map_or_else(|| " ".to_owned(), |name| format!(" `{name}` "))
}

fn row(claude: &str) -> String {
    let agents = [Agent::Gemini, Agent::Qwen, Agent::Copilot, Agent::Cursor];
    let cells: String = agents.iter().map(|agent| format!("|{}", cell(agent.tool(claude)))).collect();
    format!("|{}{cells}|", cell(Some(claude)))
}

#[test]
fn the_page_has_the_table_of_tools() {
    let page = page();
    let section = page.split("\n## ").find(|section| section.starts_with("Tools")).unwrap();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let want: Vec<String> = TOOLS.into_iter().map(row).collect();
    assert!(found == want, "the table must be:\n{}", want.join("\n"));
}
