//! No entry of any format gives an event to an interpreter as its script.

use serde_json::{Value, json};

use super::{bash, declare};
use crate::environment::TestEnvironment;

/// A call whose text a shell would run.
fn call(env: &TestEnvironment) -> Value {
    bash(&format!("echo `touch {}`", env.path("mark").display()))
}

/// Sees that the only hook of this place is `invalid` for this reason, and that no text of an event is run.
#[track_caller]
fn is_refused(env: &TestEnvironment, more: &[&str], shown: &str) {
    let args = [&["before_tool_call", "--trust", "all"], more].concat();
    env.event(&args, &call(env));
    assert!(!env.path("mark").exists(), "{shown}: the event was run as a script");
    let rows = env.list(&[&["--trust", "all"], more].concat());
    let [row] = rows.as_slice() else { panic!("{shown}: {rows:#?}") };
    assert_eq!(row["status"], "invalid", "{shown}: {row:#}");
    let problem = row["problem"].to_string();
    assert!(problem.contains("would run its input as code"), "{shown}: {problem}");
}

#[test]
fn no_entry_of_any_format_starts_an_interpreter_without_a_script_and_with_the_payload() {
    for entry in [
        json!({"command": "bash"}),
        json!({"command": ["bash"]}),
        json!({"command": ["/bin/sh", "-s", "--", "x"]}),
        json!({"command": "exec python3 -u"}),
        json!({"hooks": [{"type": "command", "command": "bash"}]}),
        json!({"hooks": [{"type": "command", "command": "bash", "shell": "bash"}]}),
        json!({"hooks": [{"type": "command", "command": "bash", "args": []}]}),
        json!({"hooks": [{"type": "command", "command": "env", "args": ["-i", "bash"]}]}),
    ] {
        let env = TestEnvironment::new();
        declare(&env, "home/.hookbox/hooks.json", "PreToolUse", &json!([entry]));
        is_refused(&env, &[], &entry.to_string());
    }

    let env = TestEnvironment::new();
    let group = json!([{"hooks": [{"type": "command", "command": "bash"}]}]);
    declare(&env, "home/.hookbox/plugins/o@r/hooks/hooks.json", "PreToolUse", &group);
    is_refused(&env, &[], "a plugin");

    let env = TestEnvironment::new();
    let server = json!({"mcpServers": {"s": {"command": "bash", "args": ["-s"]}}, "hooks": {"PreToolUse": [{"tool": "s.t"}]}});
    env.file("home/.hookbox/mcp.json", server.to_string());
    is_refused(&env, &[], "a server");
}

#[test]
fn no_entry_of_another_agent_starts_an_interpreter_with_the_payload() {
    use crate::foreign::{configure, of_projects};
    for agent in of_projects() {
        let env = TestEnvironment::new();
        configure(&env, agent, "bash");
        is_refused(&env, &["--from", agent.as_str()], agent.as_str());
    }
}

#[test]
fn a_program_with_arguments_judges_and_finds_its_directories() {
    let guard = "#!/bin/bash\necho \"$1 $2\" > \"$HOME/args\"\ncat > /dev/null\necho no >&2\nexit 2\n";
    let env = TestEnvironment::new();
    env.script("repo/a b/guard.sh", guard).directory("repo/.git");
    let args = json!(["${CLAUDE_PROJECT_DIR}/a b/guard.sh", "`touch x` $HOME", "${CLAUDE_PROJECT_DIR}/y"]);
    let group = json!([{"hooks": [{"type": "command", "command": "bash", "args": args}]}]);
    declare(&env, "home/.hookbox/hooks.json", "PreToolUse", &group);
    let found = env.event(&["before_tool_call"], &call(&env));
    assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &json!("no")), "{found}");
    let want = format!("`touch x` $HOME {}/y\n", env.path("repo").display());
    assert_eq!(env.read("home/args"), Some(want), "no shell reads the words");
    assert!(!env.path("mark").exists());

    // The same in a plugin, and in Claude Code's own settings.
    let env = TestEnvironment::new();
    env.script("home/.hookbox/plugins/o@r/guard.sh", guard);
    let group = json!([{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/guard.sh", "args": ["1", "2"]}]}]);
    declare(&env, "home/.hookbox/plugins/o@r/hooks/hooks.json", "PreToolUse", &group);
    assert_eq!(env.event(&["before_tool_call"], &call(&env))["reason"], "no");

    let env = TestEnvironment::new();
    env.script("repo/guard.sh", guard).directory("repo/.git");
    let group = json!({"hooks": {"PreToolUse": [{"hooks": [
        {"type": "command", "command": "bash", "args": ["${CLAUDE_PROJECT_DIR}/guard.sh", "1", "2"]}]}]}});
    env.file("home/.claude/settings.json", group.to_string());
    assert_eq!(env.event(&["before_tool_call", "--from", "claude"], &call(&env))["reason"], "no");
}

#[test]
fn an_unknown_key_of_a_command_blocks_and_one_that_describes_it_is_silent() {
    let entry = |more: Value| {
        let mut entry = json!({"type": "command", "command": "true"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([{"description": "d", "id": "i", "hooks": [entry]}])
    };
    for (more, is_valid) in [
        (json!({"description": "d", "id": "i", "statusMessage": "s", "$comment": "c"}), true),
        (json!({"runas": "nobody"}), false),
        (json!({"Args": ["x"]}), false),
        (json!({"enabled": false}), false),
    ] {
        let own = TestEnvironment::new();
        declare(&own, "home/.hookbox/hooks.json", "PreToolUse", &entry(more.clone()));
        let outside = TestEnvironment::new();
        let settings = json!({"hooks": {"PreToolUse": entry(more.clone())}});
        outside.file("home/.claude/settings.json", settings.to_string());
        for (env, from) in [(own, &[][..]), (outside, &["--from", "claude"])] {
            let found = env.event(&[&["before_tool_call"], from].concat(), &bash("ls"));
            assert_eq!(found["blocked"], !is_valid, "{more} {from:?}: {found}");
            let output = env.hookbox([&["list", "--json"], from].concat());
            assert_eq!(output.stderr.is_empty(), is_valid, "{more} {from:?}: {output:#?}");
            let key = more.as_object().unwrap().keys().next().unwrap();
            assert_eq!(output.stdout.contains(key.as_str()), !is_valid, "{more} {from:?}: {output:#?}");
        }
    }
}
