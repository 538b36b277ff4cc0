//! The guide shows, for each agent, the answer that the program really gives.

use std::fs;

use hookbox_agents::Agent;

use crate::environment::{TestEnvironment, repository, sample};

/// Returns the text between two marks, and the rest.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> (&'a str, &'a str) {
    let (_, text) = text.split_once(from).unwrap_or_else(|| panic!("no {from:?}"));
    text.split_once(to).unwrap_or_else(|| panic!("no {to:?}"))
}

/// Returns an answer with this code, if it has one.
fn with_code(answer: &str, code: &str) -> String {
    const BEFORE: &str = "hookbox allow ";
    let Some((before, after)) = answer.split_once(BEFORE) else { return answer.to_owned() };
    format!("{before}{BEFORE}{code}{}", &after[code.len()..])
}

#[test]
fn every_list_of_the_agents_is_complete() {
    let commands: Vec<Agent> = Agent::with_commands().collect();
    for (page, begins, agents) in [
        ("README.md", "The same hook works in ", &Agent::ALL[..]),
        ("docs/src/introduction.md", "| use hookbox with ", &Agent::ALL),
        ("docs/src/agents.md", "Claude Code, Codex, ", &Agent::ALL),
        ("docs/src/foreign-hooks.md", "Hooks that you or a project configured for ", &commands),
        ("docs/src/dialects.md", "| Claude Code, Codex, ", &commands),
    ] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let line = text.lines().find(|line| line.starts_with(begins));
        let line = line.unwrap_or_else(|| panic!("{page} has no line {begins:?}"));
        for agent in agents {
            assert!(line.contains(agent.title()), "{page}: no {} in {line}", agent.title());
        }
    }
}

#[test]
fn every_agent_has_a_section_with_the_answer_that_the_bridge_gives_there() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.warm(&sample("guardrail"));
    let page = fs::read_to_string(repository().join("docs/src/guard-your-agent.md")).unwrap();
    for agent in Agent::ALL {
        let title = agent.title();
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(title));
        let section =
            section.unwrap_or_else(|| panic!("docs/src/guard-your-agent.md has no section {title}"));
        let (payload, rest) = between(section, "```sh\necho '", "' |\n  hookbox ");
        let (args, rest) = rest.split_once("\n```").unwrap();
        let (answer, _) = between(rest, "```json\n", "\n```");
        let output = env.hookbox_with(args.split(' '), payload);
        // Each block has a code of its own.
        let printed = with_code(output.stdout.trim_end(), "abcdkmns");
        assert_eq!((output.code, printed.as_str()), (Some(0), answer), "{title}: {output:#?}");
        assert!(args.starts_with(&format!("bridge {agent}")) && answer.contains("rm -rf"), "{title}");
    }
}
