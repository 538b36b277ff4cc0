//! The page of an agent shows what the program really answers.

use std::fs;

use hookbox::dialect::agent::Agent;

use crate::environment::{TestEnvironment, repository, sample};

fn page(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-code.md",
        Agent::Codex => "codex.md",
        Agent::Gemini => "gemini-cli.md",
        Agent::Qwen => "qwen-code.md",
        Agent::Copilot => "copilot-cli.md",
        Agent::Cursor => "cursor.md",
        Agent::OpenCode => "opencode.md",
    }
}

/// What stands between two marks.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> (&'a str, &'a str) {
    let (_, text) = text.split_once(from).unwrap_or_else(|| panic!("no {from:?}"));
    text.split_once(to).unwrap_or_else(|| panic!("no {to:?}"))
}

#[test]
fn every_agent_has_a_page_with_the_answer_that_the_bridge_gives_there() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let book = repository().join("docs/src");
    let summary = fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    for agent in Agent::ALL {
        let path = format!("agents/{}", page(agent));
        assert!(summary.contains(&format!("- [{}]({path})", agent.title())), "{path}");
        let text = fs::read_to_string(book.join(&path)).unwrap();
        let (payload, rest) = between(&text, "```sh\necho '", "' |\n  hookbox ");
        let (args, rest) = rest.split_once("\n```").unwrap();
        let (answer, _) = between(rest, "```json\n", "\n```");
        let output = env.hookbox_with(args.split(' '), payload);
        assert_eq!((output.code, output.stdout.trim_end()), (Some(0), answer), "{path}: {output:#?}");
        assert!(args.starts_with(&format!("bridge {agent}")) && answer.contains("rm -rf"), "{path}");
    }
}
