//! An installed entry guards, and is guarded.

use hookbox_agents::agent::{Agent, EventKind};
use hookbox_agents::config::{Level, read};
use serde_json::json;

use super::{agents, done, levels, path_of};
use crate::environment::{Output, TestEnvironment, program, sample};

/// Returns the text that the model gets: standard error after exit code 2, which is the only block in some agents.
fn told(output: &Output) -> &str {
    if output.code == Some(2) { &output.stderr } else { &output.stdout }
}

#[test]
fn the_command_of_every_agent_blocks_what_a_guard_blocks() {
    for agent in agents() {
        // Beside the session that one of them has open, nobody installs another without a terminal.
        let env = TestEnvironment::new();
        env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
        done(&env.hookbox(["install", agent.as_str()]));
        let text = std::fs::read(path_of(&env, agent, Level::User)).unwrap();
        let entries = read(agent, &text).unwrap().entries;
        let is_before =
            |name: &str| agent.event(name).is_some_and(|it| it.event == EventKind::BeforeToolCall);
        let entry = entries.iter().find(|it| is_before(&it.event)).unwrap();
        let session = if agent == Agent::Cursor { "conversation_id" } else { "session_id" };
        let tool = match agent {
            Agent::Gemini | Agent::Qwen => "run_shell_command",
            Agent::Cursor => "Shell",
            _ => "Bash",
        };
        let payload = json!({
            "hook_event_name": entry.event, session: "s", "cwd": env.path("repo"), "generation_id": "g",
            "workspace_roots": [env.path("repo")],
            "tool_name": tool, "tool_input": {"command": "rm -rf /"},
        });
        let output = env.run(env.command("sh").args(["-c", &entry.command]), payload.to_string());
        let is_denied = ["\"deny\"", "\"block\""].iter().any(|word| output.stdout.contains(word));
        assert!(is_denied || agent == Agent::Kiro && output.code == Some(2), "{agent}: {output:#?}");
        assert!(told(&output).contains("guardrail") || told(&output).contains("rm"), "{agent}: {output:#?}");
    }
}

#[test]
fn what_was_installed_blocks_where_home_is_another_one_and_says_so() {
    for agent in agents() {
        for level in levels(agent) {
            let env = TestEnvironment::new();
            env.directory("other");
            done(&env.hookbox(["install", agent.as_str(), &format!("--{level}")]));
            let path = path_of(&env, agent, level);
            let entries = read(agent, &std::fs::read(&path).unwrap()).unwrap().entries;
            let is_before =
                |name: &str| agent.event(name).is_some_and(|it| it.event == EventKind::BeforeToolCall);
            let entry = entries.iter().find(|it| is_before(&it.event)).unwrap();
            let own = agent.event(&entry.event).unwrap();
            let payload = agent.shell_call(own, "ls", &env.path("repo"), "s").to_string();
            // Others who use a project have another home directory.
            let is_users = level == Level::User;
            assert_eq!(entry.command.contains(" --home "), is_users, "{agent}: {}", entry.command);
            let found = entry.command.replace("hookbox bridge", "\"$PROGRAM\" bridge");
            let line = if is_users { entry.command.as_str() } else { found.as_str() };
            for (home, blocks) in [("home", false), ("other", is_users)] {
                let mut shell = env.command("sh");
                shell.args(["-c", line]).env("HOME", env.path(home)).env("PROGRAM", program());
                let output = env.run(&mut shell, &payload);
                assert_eq!(told(&output).contains("hookbox install again"), blocks, "{agent}: {output:#?}");
            }
        }
    }
}

#[test]
fn an_entry_without_a_home_directory_is_known_renewed_and_taken_out() {
    for agent in agents() {
        let env = TestEnvironment::new();
        done(&env.hookbox(["install", agent.as_str()]));
        let path = path_of(&env, agent, Level::User);
        let text = std::fs::read_to_string(&path).unwrap();
        let before = text.replace(&format!(" --home {}", env.path("home").display()), "");
        assert_ne!(before, text, "{agent}");
        std::fs::write(&path, &before).unwrap();
        let rows = env.hookbox(["install", agent.as_str(), "--json"]).json();
        assert_eq!(rows[0]["change"], "changed", "{agent}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{agent}");
        std::fs::write(&path, &before).unwrap();
        let rows = env.hookbox(["uninstall", agent.as_str(), "--json"]).json();
        assert_eq!(rows[0]["change"], "deleted", "{agent}");
    }
}

#[test]
fn a_tool_call_cannot_change_what_was_installed_wherever_it_is() {
    let moved = TestEnvironment::new();
    let elsewhere = Agent::ALL.into_iter().filter_map(Agent::home_variable).fold(moved, |env, name| {
        let path = env.path("elsewhere").join(name);
        env.variable(name, path.to_str().unwrap())
    });
    for env in [TestEnvironment::new(), elsewhere] {
        env.directory("repo/.git");
        for agent in agents().chain([Agent::Cline, Agent::OpenCode, Agent::Kilo, Agent::Pi, Agent::Amp]) {
            let both = [Level::User, Level::Project];
            for level in both.into_iter().filter(|it| *it == Level::User || agent != Agent::Kimi) {
                let level = format!("--{level}");
                let rows = env.hookbox(["install", agent.as_str(), &level, "--json"]).json();
                let path = rows[0]["path"].as_str().unwrap();
                let call = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "{}"}});
                let verdict = env.event(&["PreToolUse"], &call);
                assert_eq!(verdict["blocked"], true, "{path}: {verdict}");
            }
        }
        for (line, blocked) in [
            ("hookbox uninstall claude", true),
            ("hookbox install codex --event Stop", true),
            ("hookbox doctor claude", false),
            ("hookbox bridge claude --event PreToolUse", true),
        ] {
            let call = json!({"tool_name": "Bash", "tool_input": {"command": line}});
            assert_eq!(env.event(&["PreToolUse"], &call)["blocked"] == true, blocked, "{line}");
        }
    }
}

#[test]
fn a_tool_call_cannot_change_or_end_the_program() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").file("bin/hookbox", "#!/bin/sh\n");
    let own = program().canonicalize().unwrap();
    let on_path = env.path("bin/hookbox");
    for path in [own.to_str().unwrap(), on_path.to_str().unwrap()] {
        for line in [format!("rm {path}"), format!("chmod -x {path}"), format!("cp /bin/true {path}")] {
            let call = json!({"tool_name": "Bash", "tool_input": {"command": line}});
            assert_eq!(env.event(&["PreToolUse"], &call)["blocked"], true, "{line}");
        }
        for tool in ["Write", "mcp__fs__write_file", "mcp_fs_write_file", "fs-write_file"] {
            let call = json!({"tool_name": tool, "tool_input": {"file_path": path, "content": ""}});
            assert_eq!(env.event(&["PreToolUse"], &call)["blocked"], true, "{tool} {path}");
        }
        let call =
            json!({"tool_name": "Bash", "tool_input": {"command": format!("ls -l {path}; {path} list")}});
        assert_ne!(env.event(&["PreToolUse"], &call)["blocked"], true, "{path}");
    }
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "pkill hookbox"}});
    assert_eq!(env.event(&["PreToolUse"], &call)["blocked"], true);
}
