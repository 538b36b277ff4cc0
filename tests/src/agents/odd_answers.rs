//! Odd answers of hooks: whatever blocks in the agent blocks here as well. `cargo test-clients --record-answers` records
//! the agents.

#[allow(dead_code, reason = "the recorder of the clients looks for the files of the calls")]
#[path = "../../clients/src/answers/fill.rs"]
mod fill;

use std::{env, fs};

use hookbox::ToolCall;
use hookbox::manager::Manager;
use hookbox::session::ToolDecision;
use hookbox::trust::TrustPolicy;
use hookbox_agents::{Agent, AgentHooks};
use serde_json::{Value, json};

use self::fill::{GIVES, files, line, reason};
use crate::environment::{TestEnvironment, repository};
use crate::foreign::configure;

/// The line behind which the table of the page is written.
const MARK: &str = "<!-- Written by HOOKBOX_WRITE_GOLDEN=1 cargo test --workspace odd_answers. -->\n";

/// Returns a manager with the hook, and its answers, in the configuration of an agent.
async fn manager(env: &TestEnvironment, agent: Agent, answers: &[Value]) -> Manager {
    env.script("repo/guard.sh", &format!("#!/bin/sh\npayload=$(tr -d '\\n')\n{GIVES}"));
    let line = env.path("repo/guard.sh").display().to_string();
    match agent {
        // It has no hooks of a project.
        Agent::Kimi => {
            let table =
                format!("[[hooks]]\nevent = \"PreToolUse\"\nmatcher = \"Bash\"\ncommand = \"{line}\"\n");
            env.file("home/.kimi-code/config.toml", table);
        }
        _ => configure(env, agent, &line),
    }
    for (number, answer) in answers.iter().enumerate() {
        for (name, text) in files(answer, agent.as_str(), number) {
            env.file(&format!("repo/guard.sh.answers/{name}"), text);
        }
    }
    env.builder().source(AgentHooks::new().agent(agent)).trust(TrustPolicy::All).build().await
}

/// Returns the outcome here, in the words of the record.
async fn outcome(manager: &Manager, number: usize) -> &'static str {
    let call = ToolCall::new("bash", json!({"command": line(number)}));
    let verdict = manager.session("s").before_tool_call(call).await;
    match &verdict.decision {
        ToolDecision::Run(_) => "run",
        ToolDecision::Block(ruling) if !ruling.for_user().contains(&reason(number)) => "block silently",
        _ => "block",
    }
}

/// Adds a name to those of the same outcome.
fn add<'n>(outcomes: &mut Vec<(String, Vec<&'n str>)>, outcome: String, name: &'n str) {
    match outcomes.iter_mut().find(|(it, _)| *it == outcome) {
        Some((_, names)) => names.push(name),
        None => outcomes.push((outcome, vec![name])),
    }
}

/// Returns the outcomes, each with its agents; one alone if it is that of every agent.
fn cell(outcomes: &[(String, Vec<&str>)]) -> String {
    if let [(outcome, _)] = outcomes {
        return outcome.clone();
    }
    let named = outcomes.iter().map(|(outcome, agents)| format!("{outcome}: {}", agents.join(", ")));
    named.collect::<Vec<_>>().join("<br>")
}

#[tokio::test]
async fn what_blocks_in_the_agent_blocks_here_and_with_the_same_reason() {
    let file = fs::read(repository().join("tests/data/odd-answers.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&file).unwrap();
    let answers = recorded["answers"].as_array().unwrap();
    let mut outcomes = vec![Vec::new(); answers.len()];
    let mut agents = Vec::new();
    let mut lost = Vec::new();
    for (name, of_agent) in recorded["recorded"].as_object().unwrap() {
        let agent: Agent = name.parse().unwrap();
        agents.push(format!("{} {}", agent.title(), of_agent["version"].as_str().unwrap()));
        let env = TestEnvironment::new();
        let manager = manager(&env, agent, answers).await;
        for (number, answer) in answers.iter().enumerate() {
            let there = of_agent["outcomes"][answer["name"].as_str().unwrap()].as_str().unwrap();
            let here = outcome(&manager, number).await;
            let is_lost = there.starts_with("block") && here == "run" || there == "block" && here != "block";
            if is_lost {
                lost.push(format!("{name}: {}: {there}, here {here}", answer["name"]));
            }
            let both = if there == here { there.to_owned() } else { format!("{there}; here {here}") };
            add(&mut outcomes[number], both, agent.title());
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    let mut rows = Vec::new();
    for (answer, outcomes) in answers.iter().zip(&outcomes) {
        add(&mut rows, cell(outcomes), answer["name"].as_str().unwrap());
    }
    let mut table = format!("Agents: {}.\n\n| outcome | answers |\n| --- | --- |\n", agents.join(", "));
    for (outcome, names) in rows {
        table += &format!("| {outcome} | {} |\n", names.join("<br>"));
    }
    let path = repository().join("docs/internal/odd-answers.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, written) = page.split_once(MARK).unwrap();
    if env::var_os("HOOKBOX_WRITE_GOLDEN").is_some() {
        fs::write(&path, format!("{before}{MARK}\n{table}")).unwrap();
    } else {
        assert_eq!(written.trim_start(), table, "write it again with HOOKBOX_WRITE_GOLDEN=1");
    }
}
