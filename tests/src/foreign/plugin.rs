//! A plugin of Claude Code runs unchanged: from where Claude Code installed it, and from a directory that an agent names.

use hookbox::internal::tool_result;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hookbox::ToolCall;
use hookbox::manager::EntryStatus;
use hookbox::session::ToolDecision;
use hookbox_agents::{Agent, AgentHooks};
use serde_json::{Value, json};

use super::{bash, problems, statuses, verdict};
use crate::environment::{TestEnvironment, repository};

/// Copies the plugin of the test data.
fn copy(env: &TestEnvironment, to: &str) {
    let from = repository().join("tests/data/claude-plugin");
    let mut waiting = vec![from.clone()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let to = Path::new(to).join(path.strip_prefix(&from).unwrap());
            let to = to.to_str().unwrap();
            env.copy(to, &path).mode(to, mode);
        }
    }
}

/// A home directory in which Claude Code installed the plugin.
fn installed() -> TestEnvironment {
    let env = TestEnvironment::new();
    let place = "home/.claude/plugins/cache/market/rails/1.2.0";
    copy(&env, place);
    let at = env.path(place);
    let list = json!({"version": 2, "plugins": {"rails@market": [{"scope": "user", "installPath": at, "version": "1.2.0"}]}});
    env.file("home/.claude/plugins/installed_plugins.json", list.to_string());
    env.file("home/.claude/settings.json", r#"{"enabledPlugins": {"rails@market": true}}"#);
    env
}

const FROM: [&str; 2] = ["--from", "claude"];

#[test]
fn an_installed_plugin_is_listed_and_every_hook_of_it_runs() {
    let env = installed();
    assert_eq!(env.list(&[]), Vec::<Value>::new(), "nobody asked for it");
    assert_eq!(
        statuses(&env, &FROM),
        [
            "claude:plugin/rails@market#PreToolUse[0] active",
            "claude:plugin/rails@market#PreToolUse[1] active",
            "claude:plugin/rails@market#PreToolUse[2] active",
            "claude:plugin/rails@market#PostToolUse[0] active",
            "claude:plugin/rails@market/more/lifecycle.json#SessionStart[0] active",
            "claude:plugin/rails@market/more/lifecycle.json#UserPromptSubmit[0] active",
            "claude:plugin/rails@market/more/lifecycle.json#Stop[0] active",
        ]
    );
    let row = &env.list(&FROM)[0];
    assert_eq!(row["kind"], "command");
    assert_eq!(row["tier"], "global plugin");
    assert_eq!(row["plugin"], "rails@market");
    assert_eq!((row["timeout"].as_str(), row["trusted"].as_bool()), (Some("10s"), Some(true)));

    let run = |event: &str, data: Value| env.event(&[&[event][..], &FROM].concat(), &data);
    let blocked = run("before_tool_call", bash("rm -rf /"));
    assert_eq!(blocked["blocked"], true);
    assert_eq!(blocked["reason"], "rm -rf is not allowed here");
    assert_eq!(blocked["blocked_by"], "claude:plugin/rails@market#PreToolUse[0]");
    assert_eq!(run("before_tool_call", bash("curl example.com"))["reason"], "no network");
    assert_eq!(run("before_tool_call", bash("git push"))["input"], json!({"command": "git push --dry-run"}));
    assert_eq!(run("before_tool_call", bash("ls")).get("blocked"), Some(&json!(false)));
    let write =
        json!({"tool_name": "file_write", "tool_input": {"file_path": env.path("repo/a.env"), "text": "x"}});
    assert_eq!(run("before_tool_call", write)["reason"], "no secrets in files");
    let after =
        json!({"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_output": {"success": true}});
    assert_eq!(
        run("after_tool_call", after)["additional_context"],
        json!(["run the linter before you go on"])
    );
    assert_eq!(
        run("user_message_send", json!({"message": "hi"}))["additional_context"],
        json!(["Remember the style guide."])
    );
    assert_eq!(
        run("session_start", json!({"source": "startup"}))["additional_context"],
        json!(["project repo in repo, plugin 1.2.0"])
    );
    assert_eq!(
        run("session_start", json!({"source": "clear"})).get("additional_context"),
        None,
        "not its matcher's"
    );
    assert_eq!(run("agent_stop", json!({}))["follow_up_messages"], json!(["run the tests first"]));
}

#[test]
fn every_name_of_a_shell_tool_is_the_bash_of_a_guard() {
    let env = installed();
    for (tool, input) in [
        ("bash", json!({"command": "rm -rf /"})),
        ("Bash", json!({"command": "rm -rf /"})),
        ("exec_command", json!({"cmd": "rm -rf /"})),
        ("run_shell_command", json!({"command": "rm -rf /"})),
        ("Shell", json!({"command": "rm -rf /"})),
        ("shell", json!({"command": ["bash", "-lc", "rm -rf /"]})),
    ] {
        let found = env.event(
            &["before_tool_call", "--from", "claude"],
            &json!({"tool_name": tool, "tool_input": input}),
        );
        assert_eq!(found["blocked"], true, "{tool}");
    }
}

#[test]
fn a_guard_of_claude_code_blocks_in_every_agent_that_the_bridge_serves() {
    let env = installed();
    let call = |event: &str, tool: &str, input: Value| {
        json!({"hook_event_name": event, "session_id": "s", "cwd": env.path("repo"), "tool_name": tool,
            "tool_input": input, "conversation_id": "s"})
    };
    for (agent, payload, want) in [
        ("codex", call("PreToolUse", "Bash", json!({"command": "rm -rf /"})), "\"deny\""),
        ("codex", call("PreToolUse", "exec_command", json!({"cmd": "rm -rf /"})), "\"deny\""),
        ("gemini", call("BeforeTool", "run_shell_command", json!({"command": "rm -rf /"})), "\"deny\""),
        ("qwen", call("PreToolUse", "run_shell_command", json!({"command": "rm -rf /"})), "\"deny\""),
        ("copilot", call("PreToolUse", "Bash", json!({"command": "rm -rf /"})), "\"deny\""),
        ("cursor", call("preToolUse", "Shell", json!({"command": "rm -rf /"})), "\"deny\""),
    ] {
        let output = env.hookbox_with(["bridge", agent, "--from", "claude"], payload.to_string());
        assert_eq!(output.code, Some(0), "{agent}: {output:#?}");
        assert!(output.stdout.contains(want), "{agent}: {output:#?}");
        assert!(output.stdout.contains("rm -rf is not allowed here"), "{agent}: {output:#?}");
        let harmless = payload.to_string().replace("rm -rf /", "ls");
        let output = env.hookbox_with(["bridge", agent, "--from", "claude"], harmless);
        assert!(!output.stdout.contains("deny"), "{agent}: {output:#?}");
    }
}

#[test]
fn only_plugins_that_the_user_switched_on_run_and_no_repository_switches_one_off() {
    for (user, project, want) in [
        (r#"{"enabledPlugins": {"rails@market": true}}"#, "{}", 7),
        (r#"{"enabledPlugins": {"rails@market": false}}"#, "{}", 0),
        ("{}", "{}", 0),
        ("{}", r#"{"enabledPlugins": {"rails@market": true}}"#, 0),
        (
            r#"{"enabledPlugins": {"rails@market": true}}"#,
            r#"{"enabledPlugins": {"rails@market": false}}"#,
            7,
        ),
    ] {
        let env = installed();
        env.file("home/.claude/settings.json", user).file("repo/.claude/settings.json", project);
        assert_eq!(env.list(&FROM).len(), want, "{user} {project}");
        let is_said = problems(&env, &FROM).iter().any(|it| it.contains("is switched off by the project"));
        assert_eq!(is_said, project.contains("false"), "{user} {project}");
    }
}

#[test]
fn a_plugin_of_this_project_alone_runs_here_and_nowhere_else() {
    let env = installed();
    let at = env.path("home/.claude/plugins/cache/market/rails/1.2.0");
    env.file("home/.claude/settings.json", "{}");
    env.file("repo/.claude/settings.json", r#"{"enabledPlugins": {"rails@market": true}}"#);
    for (project, want) in [("repo", 7), ("other", 0)] {
        let list = json!({"version": 2, "plugins": {"rails@market": [
            {"scope": "project", "projectPath": env.path(project), "installPath": at}]}});
        env.file("home/.claude/plugins/installed_plugins.json", list.to_string());
        assert_eq!(env.list(&FROM).len(), want, "{project}");
    }
}

#[test]
fn what_is_wrong_with_a_plugin_is_said() {
    let env = installed();
    let plugin = "home/.claude/plugins/cache/market/rails/1.2.0";
    env.file(
        &format!("{plugin}/.claude-plugin/plugin.json"),
        r#"{"name": "rails", "hooks": ["../out.json", "./gone.json"]}"#,
    );
    let found = problems(&env, &FROM).join("\n");
    assert!(found.contains("names \"../out.json\", expected a file of the plugin"), "{found}");
    assert!(found.contains("gone.json: does not exist, and the plugin's manifest names it"), "{found}");
    fs::remove_dir_all(env.path(plugin)).unwrap();
    let found = problems(&env, &FROM).join("\n");
    assert!(
        found.contains("1.2.0: does not exist: the plugin's hooks do not run")
            || found.contains("the plugin's hooks do not run"),
        "{found}"
    );
    env.file("home/.claude/plugins/installed_plugins.json", "{");
    let found = problems(&env, &FROM).join("\n");
    assert!(found.contains("installed_plugins.json: is not JSON"), "{found}");
}

#[tokio::test]
async fn an_embedding_agent_runs_a_plugin_from_its_directory() {
    let env = TestEnvironment::new();
    copy(&env, "usr/plugins/with a space");
    let manager = env
        .builder()
        .source(AgentHooks::new().plugin(Agent::Claude, env.path("usr/plugins/with a space")))
        .build()
        .await;
    // A line that does not quote its plugin's directory does not start there, as in Claude Code, and this is said.
    let problems = manager.problems();
    assert_eq!(problems.len(), 5);
    assert!(
        problems.iter().all(|it| it.message.contains("needs quotes around $CLAUDE_PLUGIN_ROOT")),
        "{problems:?}"
    );
    assert_eq!(manager.entries()[0].status, EntryStatus::Invalid);
    assert_eq!(manager.entries()[0].name, "claude:plugin/rails#PreToolUse[0]");
    let session = manager.session("s").cwd(env.path("repo").to_str().unwrap());
    let call = |command: &str| ToolCall::new("bash", json!({"command": command}));
    let changed = session.before_tool_call(call("git push")).await;
    assert_eq!(changed.decision.permitted().unwrap().input, json!({"command": "git push --dry-run"}).into());

    copy(&env, "usr/plugins/rails");
    let manager = env
        .builder()
        .source(AgentHooks::new().plugin(Agent::Claude, env.path("usr/plugins/rails")))
        .build()
        .await;
    let session = manager.session("s").cwd(env.path("repo").to_str().unwrap());
    match &session.before_tool_call(call("rm -rf /")).await.decision {
        ToolDecision::Block(ruling) => assert_eq!(ruling.for_user(), "rm -rf is not allowed here"),
        other => panic!("{other:?}"),
    }
    let after = session.after_tool_call(tool_result(call("ls"), json!("out"))).await;
    assert_eq!(after.context, ["run the linter before you go on"]);
}

#[test]
fn nothing_of_the_agent_has_to_be_installed() {
    let env = TestEnvironment::new();
    for agent in Agent::with_commands() {
        let found = verdict(&env, agent, "before_tool_call", &bash("ls"));
        assert_eq!(found["blocked"], false, "{agent}");
        assert_eq!(problems(&env, &["--from", agent.as_str()]), Vec::<String>::new(), "{agent}");
    }
}
