//! The configuration of each agent in a project: its shape, its answers, its exit codes, its variables, its failures.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{all_of, bash, problems, statuses, verdict};
use crate::environment::TestEnvironment;

/// The agents that read command hooks of a project.
pub(crate) fn of_projects() -> impl Iterator<Item = Agent> {
    Agent::with_commands().filter(|agent| *agent != Agent::Kimi)
}

/// A project with a hook of this agent before a tool call, whose script does this.
pub(super) fn project(agent: Agent, script: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script("repo/scripts/guard.sh", &format!("#!/bin/bash\n{script}\n"));
    configure(&env, agent, "scripts/guard.sh");
    env
}

/// Configures this line before the calls of a shell tool.
pub(crate) fn configure(env: &TestEnvironment, agent: Agent, line: &str) {
    let group = |event: &str, matcher: &str| json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": line}]}]}});
    let (path, content) = match agent {
        Agent::Claude => (".claude/settings.json", group("PreToolUse", "Bash")),
        Agent::Codex => (".codex/hooks.json", group("PreToolUse", "Bash")),
        Agent::Gemini => (".gemini/settings.json", group("BeforeTool", "run_shell_command")),
        Agent::Qwen => (".qwen/settings.json", group("PreToolUse", "run_shell_command")),
        Agent::Copilot => (
            ".github/hooks/guard.json",
            json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": line, "matcher": "bash"}]}}),
        ),
        Agent::Cursor => (
            ".cursor/hooks.json",
            json!({"version": 1, "hooks": {"preToolUse": [{"command": line, "matcher": "Shell"}]}}),
        ),
        _ => unreachable!("hookbox runs no command hooks of its projects"),
    };
    env.file(&format!("repo/{path}"), content.to_string());
}

/// The name of the hook that [`configure`] configures.
fn name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => ".claude/settings.json#PreToolUse[0]",
        Agent::Codex => ".codex/hooks.json#PreToolUse[0]",
        Agent::Gemini => ".gemini/settings.json#BeforeTool[0]",
        Agent::Qwen => ".qwen/settings.json#PreToolUse[0]",
        Agent::Copilot => ".github/hooks/guard.json#preToolUse[0]",
        Agent::Cursor => ".cursor/hooks.json#preToolUse[0]",
        _ => unreachable!("hookbox runs no command hooks of its projects"),
    }
}

#[test]
fn a_configuration_is_found_where_its_agent_has_it_and_only_when_it_is_asked_for() {
    for agent in of_projects() {
        let env = project(agent, "cat > /dev/null");
        assert_eq!(env.list(&[]), Vec::<Value>::new(), "{agent}");
        let rows = env.list(&all_of(agent));
        assert_eq!(rows.len(), 1, "{agent}");
        let row = &rows[0];
        assert_eq!(row["name"], name(agent));
        assert_eq!((row["kind"].as_str(), row["tier"].as_str()), (Some("command"), Some("repo")), "{agent}");
        assert_eq!((row["status"].as_str(), &row["events"]), (Some("active"), &json!(["before_tool_call"])));
        let mut keys: Vec<&String> = row.as_object().unwrap().keys().collect();
        keys.sort();
        assert_eq!(
            keys,
            [
                "digest",
                "events",
                "kind",
                "lacks",
                "mode",
                "name",
                "observe",
                "on_failure",
                "path",
                "plugin",
                "priority",
                "problem",
                "status",
                "tier",
                "timeout",
                "trusted"
            ]
        );
        assert_eq!(env.list(&["--from", "all", "--trust", "all"]), rows, "{agent}");
        let others = Agent::with_commands().filter(|other| *other != agent);
        for other in others {
            assert_eq!(env.list(&all_of(other)), Vec::<Value>::new(), "{agent} {other}");
        }
    }
}

#[test]
fn a_hook_reads_its_agents_payload_in_the_project_with_its_agents_variables() {
    for (agent, variables, says) in [
        (Agent::Claude, &["CLAUDE_PROJECT_DIR"][..], r#""tool_name":"Bash","tool_input":{"command":"ls"}"#),
        (Agent::Codex, &["CLAUDE_PROJECT_DIR"], r#""tool_name":"Bash","tool_input":{"command":"ls"}"#),
        (
            Agent::Gemini,
            &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_CWD"],
            r#""tool_name":"run_shell_command","tool_input":{"command":"ls"}"#,
        ),
        (
            Agent::Qwen,
            &["QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            r#""tool_name":"run_shell_command","tool_input":{"command":"ls"}"#,
        ),
        (
            Agent::Copilot,
            &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            r#""toolName":"bash","toolArgs":{"command":"ls"}"#,
        ),
        (
            Agent::Cursor,
            &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
            r#""tool_name":"Shell","tool_input":{"command":"ls"}"#,
        ),
    ] {
        let shown: String =
            variables.iter().map(|it| format!("echo \"{it}=${it}\" >> \"$HOME/saw\"\n")).collect();
        let env =
            project(agent, &format!("cat > \"$HOME/payload\"\npwd > \"$HOME/saw\"\n{shown}echo '{{}}'"));
        let found = verdict(&env, agent, "before_tool_call", &bash("ls"));
        assert_eq!(found["blocked"], false, "{agent}: {found}");
        let project = env.path("repo").display().to_string();
        let want: String = variables.iter().map(|it| format!("{it}={project}\n")).collect();
        assert_eq!(env.read("home/saw"), Some(format!("{project}\n{want}")), "{agent}");
        let payload = env.read("home/payload").unwrap();
        assert!(payload.contains(says), "{agent}: {payload}");
        // A matcher of its names: another tool is none of its business.
        std::fs::remove_file(env.path("home/payload")).unwrap();
        verdict(
            &env,
            agent,
            "before_tool_call",
            &json!({"tool_name": "file_read", "tool_input": {"file_path": "/a"}}),
        );
        assert_eq!(env.read("home/payload"), None, "{agent}");
    }
}

#[test]
fn each_agents_answers_block_ask_and_change() {
    let hso =
        |fields: &str| format!(r#"{{"hookSpecificOutput": {{"hookEventName": "PreToolUse", {fields}}}}}"#);
    let deny = hso(r#""permissionDecision": "deny", "permissionDecisionReason": "no""#);
    let input = hso(r#""permissionDecision": "allow", "updatedInput": {"command": "pwd"}"#);
    for (agent, answer, want) in [
        (Agent::Claude, deny.as_str(), json!("no")),
        (Agent::Codex, &deny, json!("no")),
        (Agent::Qwen, &deny, json!("no")),
        (Agent::Gemini, r#"{"decision": "deny", "reason": "no"}"#, json!("no")),
        (Agent::Copilot, r#"{"permissionDecision": "deny", "permissionDecisionReason": "no"}"#, json!("no")),
        (Agent::Cursor, r#"{"permission": "deny", "agent_message": "no"}"#, json!("no")),
        (Agent::Claude, &input, json!({"command": "pwd"})),
        (Agent::Codex, &input, json!({"command": "pwd"})),
        (
            Agent::Gemini,
            r#"{"hookSpecificOutput": {"tool_input": {"command": "pwd"}}}"#,
            json!({"command": "pwd"}),
        ),
        (Agent::Copilot, r#"{"modifiedArgs": {"command": "pwd"}}"#, json!({"command": "pwd"})),
        (
            Agent::Cursor,
            r#"{"permission": "allow", "updated_input": {"command": "pwd"}}"#,
            json!({"command": "pwd"}),
        ),
    ] {
        let env = project(agent, &format!("cat > /dev/null\necho '{answer}'"));
        let found = verdict(&env, agent, "before_tool_call", &bash("ls"));
        if want.is_string() {
            assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &want), "{agent}");
        } else {
            assert_eq!((&found["blocked"], &found["input"]), (&json!(false), &want), "{agent} {answer}");
        }
    }
    for agent in of_projects() {
        let env = project(agent, "cat > /dev/null\necho 'not here' >&2\nexit 2");
        let found = verdict(&env, agent, "before_tool_call", &bash("ls"));
        assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &json!("not here")), "{agent}");
    }
}

#[test]
fn every_failure_passes_with_a_warning_or_blocks_as_the_settings_say() {
    let hangs = "cat > /dev/null\nexec sleep 60";
    for agent in of_projects() {
        let blocks_anyway = |script: &str| {
            // Copilot CLI takes every exit code but 0 for a no.
            agent == Agent::Copilot && script.contains("exit 1")
        };
        for script in
            ["exit 1", "echo '{\"decision\": 5, \"permission\": 5, \"permissionDecision\": 5, '", hangs]
        {
            let env = project(agent, script);
            let args = ["before_tool_call", "--from", agent.as_str(), "--trust", "all", "--timeout", "500ms"];
            let output = env.hookbox_with([&["run"], &args[..]].concat(), bash("ls").to_string());
            let found = output.json();
            assert_eq!(found["blocked"], blocks_anyway(script), "{agent} {script}: {found}");
            if !blocks_anyway(script) {
                assert!(
                    found["warnings"][0].as_str().unwrap().contains(name(agent)),
                    "{agent} {script}: {found}"
                );
            }
            env.file(
                "repo/.hookbox/hookbox.toml",
                format!("[hooks.\"{}\"]\non_failure = \"block\"\n", name(agent)),
            );
            let found = env.event(&args, &bash("ls"));
            assert_eq!(found["blocked"], true, "{agent} {script}: {found}");
            assert_eq!(found["blocked_by"], name(agent), "{agent} {script}");
        }
    }
}

#[test]
fn what_an_agent_lets_a_hook_say_of_failures_holds() {
    let env = TestEnvironment::new();
    env.script("repo/fails.sh", "#!/bin/bash\nexit 1\n")
        .script("repo/silent.sh", "#!/bin/bash\ncat > /dev/null\n");
    for (line, closed, want) in [
        ("./fails.sh", true, true),
        ("./fails.sh", false, false),
        ("./silent.sh", true, true),
        ("./silent.sh", false, false),
    ] {
        let entry = json!({"command": line, "failClosed": closed});
        env.file(
            "repo/.cursor/hooks.json",
            json!({"version": 1, "hooks": {"beforeShellExecution": [entry]}}).to_string(),
        );
        let found = verdict(&env, Agent::Cursor, "before_tool_call", &bash("ls"));
        assert_eq!(found["blocked"], want, "{line} {closed}");
    }
    let entry = json!({"type": "command", "command": "./fails.sh", "onFailure": "block"});
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}});
    env.file("repo/.claude/settings.json", settings.to_string());
    assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["blocked"], true);
}

#[test]
fn the_users_own_files_run_and_have_names_of_their_own() {
    let env = TestEnvironment::new();
    let hook = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo mine >&2; exit 2"}]}]}});
    env.file("home/.claude/settings.json", hook.to_string());
    env.file("repo/.claude/settings.json", hook.to_string());
    env.file("repo/.claude/settings.local.json", hook.to_string());
    assert_eq!(
        statuses(&env, &["--from", "claude"]),
        [
            ".claude/settings.json#PreToolUse[0] untrusted",
            ".claude/settings.local.json#PreToolUse[0] untrusted",
            "~/.claude/settings.json#PreToolUse[0] active",
        ]
    );
    let found = env.event(&["before_tool_call", "--from", "claude"], &bash("ls"));
    assert_eq!(
        (&found["reason"], &found["blocked_by"]),
        (&json!("mine"), &json!("~/.claude/settings.json#PreToolUse[0]"))
    );
}

#[test]
fn another_home_of_an_agent_is_looked_into() {
    let entry = json!({"type": "command", "command": "exit 2"});
    let grouped = |event: &str| json!({"hooks": {event: [{"hooks": [entry]}]}});
    let flat = json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "exit 2"}]}});
    for (agent, variable, usual, moved, hooks) in [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude/settings.json", "settings.json", grouped("PreToolUse")),
        ("codex", "CODEX_HOME", ".codex/hooks.json", "hooks.json", grouped("PreToolUse")),
        (
            "gemini",
            "GEMINI_CLI_HOME",
            ".gemini/settings.json",
            ".gemini/settings.json",
            grouped("BeforeTool"),
        ),
        ("qwen", "QWEN_HOME", ".qwen/settings.json", "settings.json", grouped("PreToolUse")),
        ("copilot", "COPILOT_HOME", ".copilot/hooks/own.json", "hooks/own.json", flat.clone()),
        ("copilot", "COPILOT_HOME", ".copilot/settings.json", "settings.json", flat.clone()),
    ] {
        let env = TestEnvironment::new();
        let home = env.path("home/elsewhere");
        let env = env.variable(variable, home.to_str().unwrap());
        env.file(&format!("home/elsewhere/{moved}"), hooks.to_string());
        env.file(&format!("home/{usual}"), "[");
        let event = hooks["hooks"].as_object().unwrap().keys().next().unwrap();
        let from = ["--from", agent];
        assert_eq!(statuses(&env, &from), [format!("~/{usual}#{event}[0] active")], "{agent}");
        assert_eq!(problems(&env, &from), [""; 0], "{agent}");
        let verdict = env.event(&[&["before_tool_call"], &from[..]].concat(), &bash("ls"));
        assert_eq!(verdict["blocked"], true, "{agent}: {verdict}");
    }
}

#[test]
fn a_home_of_an_agent_that_depends_on_the_working_directory_is_not_looked_into() {
    let env = TestEnvironment::new().variable("CODEX_HOME", "elsewhere");
    let hook = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}});
    env.file("repo/elsewhere/hooks.json", hook.to_string());
    env.file("home/.codex/hooks.json", hook.to_string());
    let from = ["--from", "codex"];
    assert_eq!(statuses(&env, &from), ["~/.codex/hooks.json#PreToolUse[0] active"]);
    let said = problems(&env, &from).join("\n");
    assert!(said.contains("is the value of CODEX_HOME, which must be an absolute path"), "{said}");
    let env = TestEnvironment::new().variable("QWEN_HOME", "~/elsewhere");
    env.file("home/elsewhere/settings.json", hook.to_string());
    assert_eq!(statuses(&env, &["--from", "qwen"]), ["~/.qwen/settings.json#PreToolUse[0] active"]);
}

#[test]
fn cursors_events_of_single_tools_are_sent_as_cursor_sends_them() {
    let env = TestEnvironment::new();
    env.script("repo/log.sh", "#!/bin/bash\ncat >> \"$HOME/log\"\necho >> \"$HOME/log\"\necho '{}'\n");
    let entry = json!([{"command": "./log.sh"}]);
    let hooks = json!({"beforeShellExecution": entry, "beforeMCPExecution": entry, "afterFileEdit": entry});
    env.file("repo/.cursor/hooks.json", json!({"version": 1, "hooks": hooks}).to_string());
    verdict(&env, Agent::Cursor, "before_tool_call", &bash("ls"));
    verdict(
        &env,
        Agent::Cursor,
        "before_tool_call",
        &json!({"tool_name": "mcp__t__echo", "tool_input": {"a": 1}}),
    );
    let edit = json!({"tool_name": "Edit", "tool_input": {"file_path": "/a", "old_string": "o", "new_string": "n"}, "tool_output": "ok"});
    verdict(&env, Agent::Cursor, "after_tool_call", &edit);
    let log = env.read("home/log").unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert_eq!(
        (&lines[0]["hook_event_name"], &lines[0]["command"]),
        (&json!("beforeShellExecution"), &json!("ls"))
    );
    assert_eq!((&lines[1]["tool_name"], &lines[1]["tool_input"]), (&json!("MCP:echo"), &json!("{\"a\":1}")));
    assert_eq!(lines[2]["edits"], json!([{"old_string": "o", "new_string": "n"}]));
}

#[test]
fn a_users_hooks_in_a_toml_file_block_in_any_agent() {
    let env = TestEnvironment::new();
    env.script("home/guard.sh", "#!/bin/bash\ngrep -o '\"tool_input\":[^}]*}' >&2\nexit 2\n");
    let guard = env.path("home/guard.sh").display().to_string();
    let hooks = format!(
        "a = 1\n[[hooks]]\nevent = \"PreToolUse\"\nmatcher = \"^(Bash|Write)$\"\ncommand = \"{guard}\"\n"
    );
    env.file("home/.kimi-code/config.toml", &hooks);
    let from = ["before_tool_call", "--from", "kimi"];
    let found = env.event(&from, &bash("ls"));
    assert_eq!(
        (&found["blocked"], &found["blocked_by"]),
        (&json!(true), &json!("~/.kimi-code/config.toml#PreToolUse[0]")),
        "{found}"
    );
    assert_eq!(found["reason"], r#""tool_input":{"command":"ls"}"#);
    let write = json!({"tool_name": "write_file", "tool_input": {"file_path": "/a", "content": "b"}});
    assert_eq!(env.event(&from, &write)["reason"], r#""tool_input":{"path":"/a","content":"b"}"#);
    let read = json!({"tool_name": "read_file", "tool_input": {"file_path": "/a"}});
    assert_eq!(env.event(&from, &read)["blocked"], false);
    env.file("home/.kimi-code/config.toml", "hooks = ");
    assert!(problems(&env, &["--from", "kimi"]).iter().any(|it| it.contains("expected TOML")));
}
