//! The guide shows, for each agent, the answer that the program really gives.

use std::fs;

use hookbox_agents::Agent;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, repository, sample};

/// Returns the text between two marks, and the rest.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> (&'a str, &'a str) {
    let (_, text) = text.split_once(from).unwrap_or_else(|| panic!("no {from:?}"));
    text.split_once(to).unwrap_or_else(|| panic!("no {to:?}"))
}

/// The reason of the guard, for which the page has `…`.
const REASON: &str = "`rm -rf ~` removes ~, which is a home directory or a part of the system: these files can't be recovered. Look first: `ls -la ~` (hookbox: destructive.wasm; the user can change it in ~/.hookbox/hookbox.toml)";

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

/// Returns a call that a guard blocks, in the words of an agent.
fn call(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude | Agent::Codex | Agent::Kimi | Agent::Qoder => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Gemini => {
            r#"{"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "run_shell_command", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Qwen => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "run_shell_command", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Copilot => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/tmp", "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Cursor => {
            r#"{"hook_event_name": "preToolUse", "conversation_id": "s", "tool_name": "Shell", "tool_input": {"command": "rm -rf ~"}, "workspace_roots": ["/tmp"]}"#
        }
        Agent::Cline => {
            r#"{"session_id": "s", "tool_name": "run_commands", "tool_input": {"commands": ["rm -rf ~"]}}"#
        }
        Agent::Droid => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Execute", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Vibe => {
            r#"{"hook_event_name": "pre_tool", "session_id": "s", "tool_name": "file_system.bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Auggie => {
            r#"{"hook_event_name": "PreToolUse", "conversation_id": "s", "tool_name": "launch-process", "tool_input": {"command": "rm -rf ~"}, "workspace_roots": ["/tmp"]}"#
        }
        Agent::Grok => {
            r#"{"hookEventName": "pre_tool_use", "hook_event_name": "PreToolUse", "session_id": "s", "workspaceRoot": "/tmp", "tool_name": "run_terminal_command", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Antigravity => {
            r#"{"toolCall": {"name": "run_command", "args": {"CommandLine": "rm -rf ~"}}, "conversationId": "s", "workspacePaths": ["/tmp"]}"#
        }
        Agent::Crush => {
            r#"{"event": "PreToolUse", "session_id": "s", "cwd": "/tmp", "tool_name": "bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Goose => {
            r#"{"event": "PreToolUse", "session_id": "s", "tool_name": "developer__shell", "tool_input": {"command": "rm -rf ~"}, "working_dir": "/tmp"}"#
        }
        Agent::Devin => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "exec", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Amp => {
            r#"{"session_id": "s", "tool_name": "shell_command", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::Kiro => {
            r#"{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/tmp", "tool_name": "execute_bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::OpenHands => {
            r#"{"event_type": "PreToolUse", "session_id": "s", "tool_name": "terminal", "tool_input": {"command": "rm -rf ~"}}"#
        }
        Agent::OpenCode | Agent::Kilo | Agent::Pi => {
            r#"{"session_id": "s", "tool_name": "bash", "tool_input": {"command": "rm -rf ~"}}"#
        }
    }
}

#[test]
fn every_agent_has_a_section_and_the_answer_that_the_bridge_gives_there() {
    let env = TestEnvironment::new();
    assert_eq!(env.hookbox(["guard", "add", "destructive", "--yes"]).code, Some(0));
    let read = |page: &str| fs::read_to_string(repository().join("docs/src").join(page)).unwrap();
    let (guide, page) = (read("guard-your-agent.md"), read("agents.md"));
    let (section, _) = between(&page, "\n## The answer to a blocked call\n", "\n## ");
    let (command, _) = between(section, "```sh\n", "\n```");
    assert_eq!(command, format!("echo '{}' |\n  hookbox bridge claude", call(Agent::Claude)));
    // A line with the names of agents stands before each answer.
    let answers: Vec<(&str, &str)> = section
        .split("\n```json\n")
        .collect::<Vec<_>>()
        .windows(2)
        .map(|it| (it[0].trim_end().lines().last().unwrap(), it[1].split("\n```").next().unwrap()))
        .collect();
    for agent in Agent::ALL {
        let title = agent.title();
        assert!(guide.lines().any(|line| line == format!("## {title}")), "guard-your-agent.md: {title}");
        if agent == Agent::Kiro {
            let output = env.hookbox_with(["bridge", "kiro"], call(agent));
            assert!(section.contains("\nKiro gets exit code 2, with "), "{section}");
            assert_eq!(
                (output.code, output.stderr.trim_end(), output.stdout.as_str()),
                (Some(2), REASON, "")
            );
            continue;
        }
        let (_, answer) = answers.iter().find(|(names, _)| names.contains(title)).unwrap();
        let event: &[&str] = match agent {
            Agent::Cline => &["--event", "beforeTool"],
            Agent::OpenCode | Agent::Kilo => &["--event", "tool.execute.before"],
            Agent::Pi => &["--event", "tool_call"],
            Agent::Amp => &["--event", "tool.call"],
            Agent::Antigravity => &["--event", "PreToolUse"],
            _ => &[],
        };
        let output = env.hookbox_with([&["bridge", agent.as_str()][..], event].concat(), call(agent));
        // Each block has a code of its own.
        let printed = with_code(output.stdout.trim_end(), "abcdkmns").replace(REASON, "…");
        assert_eq!((output.code, printed.as_str()), (Some(0), *answer), "{title}: {output:#?}");
        assert!(answer.contains("\"…\""), "{title}");
    }
}

/// A call of VS Code's agent, which runs the files of Copilot CLI, after its source code.
const VS_CODE: &str = r#"{"timestamp": "2026-02-09T10:30:00.000Z", "hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/tmp/t.json", "tool_name": "run_in_terminal", "tool_input": {"command": "rm -rf ~", "explanation": "clean", "goal": "clean", "isBackground": false}, "tool_use_id": "tool-123"}"#;

#[test]
fn the_entries_for_copilot_cli_guard_the_agent_of_vs_code() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.warm(&sample("guardrail"));
    let installed = env.hookbox(["install", "copilot", "--guards", "none"]);
    assert_eq!(installed.code, Some(0), "{installed:#?}");
    let entries: Value =
        serde_json::from_str(&env.read("home/.copilot/hooks/hookbox.json").unwrap()).unwrap();
    let entry = &entries["hooks"]["PreToolUse"][0];
    // VS Code takes the key for bash on Linux and macOS.
    assert!(entry["bash"].as_str().unwrap().contains(" bridge copilot"), "{entry}");
    let output = env.hookbox_with(["bridge", "copilot"], VS_CODE);
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    let own = &answer["hookSpecificOutput"];
    assert_eq!((&own["hookEventName"], &own["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    assert!(own["permissionDecisionReason"].as_str().unwrap().contains("rm -rf"), "{answer}");
}
