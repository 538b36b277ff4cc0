//! Hooks of other agents that do not run, run twice, or are set by somebody else.

use hookbox_agents::Agent;
use serde_json::json;

use super::configurations::{configure, project};
use super::{all_of, bash, problems, statuses, verdict};
use crate::environment::TestEnvironment;

#[test]
fn what_switches_hooks_off_is_respected_and_said() {
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]});
    let with = |off: bool| json!({"disableAllHooks": off, "hooks": hooks}).to_string();
    let env = TestEnvironment::new();
    env.file("home/.claude/settings.json", with(false)).file("repo/.claude/settings.json", with(true));
    let args = ["--from", "claude", "--trust", "all"];
    // A repository speaks of its own hooks only.
    assert_eq!(
        statuses(&env, &args),
        [".claude/settings.json#PreToolUse[0] disabled", "~/.claude/settings.json#PreToolUse[0] active"]
    );
    let said = problems(&env, &args).join("\n");
    assert!(said.contains("repo/.claude/settings.json: \"disableAllHooks\": true: none of the project's hooks of Claude Code runs"), "{said}");
    env.file("home/.claude/settings.json", with(true)).file("repo/.claude/settings.json", with(false));
    assert_eq!(
        statuses(&env, &args),
        [".claude/settings.json#PreToolUse[0] disabled", "~/.claude/settings.json#PreToolUse[0] disabled"]
    );
    assert_eq!(env.event(&[&["before_tool_call"], &args[..]].concat(), &bash("rm"))["blocked"], false);

    // A file of Copilot CLI's hooks speaks for itself.
    let entry = json!([{"type": "command", "bash": "exit 2"}]);
    for (name, off) in [("a", true), ("b", false)] {
        let hooks = json!({"version": 1, "disableAllHooks": off, "hooks": {"preToolUse": entry}});
        env.file(&format!("home/.copilot/hooks/{name}.json"), hooks.to_string());
    }
    assert_eq!(
        statuses(&env, &["--from", "copilot"]),
        ["~/.copilot/hooks/a.json#preToolUse[0] disabled", "~/.copilot/hooks/b.json#preToolUse[0] active"]
    );
    env.file("home/.copilot/settings.json", json!({"disableAllHooks": true}).to_string());
    assert_eq!(
        statuses(&env, &["--from", "copilot"]),
        ["~/.copilot/hooks/a.json#preToolUse[0] disabled", "~/.copilot/hooks/b.json#preToolUse[0] disabled"]
    );

    let gemini = json!({"hooksConfig": {"disabled": ["off"]}, "hooks": {"BeforeTool": [{"hooks": [
        {"name": "off", "type": "command", "command": "exit 2"}, {"name": "on", "type": "command", "command": "true"}]}]}});
    env.file("repo/.gemini/settings.json", gemini.to_string());
    assert_eq!(
        statuses(&env, &all_of(Agent::Gemini)),
        [".gemini/settings.json#BeforeTool[0] disabled", ".gemini/settings.json#BeforeTool[1] active"]
    );
}

#[test]
fn hookbox_does_not_start_itself_and_says_so() {
    let env = TestEnvironment::new();
    let entry = json!({"type": "command", "command": "hookbox bridge claude", "timeout": 20});
    let settings =
        json!({"hooks": {"PreToolUse": [{"hooks": [entry, {"type": "command", "command": "true"}]}]}});
    env.file("repo/.claude/settings.json", settings.to_string());
    assert_eq!(statuses(&env, &all_of(Agent::Claude)), [".claude/settings.json#PreToolUse[0] active"]);
    let said = problems(&env, &all_of(Agent::Claude)).join("\n");
    assert!(said.contains("1 entry that calls hookbox itself left out: it would start itself"), "{said}");

    // A line that does more than that is a guard like any other.
    for line in ["exit 2 && hookbox bridge claude", "echo 'see hookbox bridge claude' >&2; exit 2"] {
        configure(&env, Agent::Claude, line);
        assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["blocked"], true, "{line}");
    }
}

#[test]
fn hooks_that_stand_there_twice_all_run_and_that_is_said() {
    let hooks = |line: &str| {
        format!(r#"{{"PreToolUse": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}}"#)
    };
    for (first, second) in [("exit 2", "true"), ("true", "exit 2")] {
        let env = TestEnvironment::new();
        let text = format!(r#"{{"hooks": {}, "hooks": {}}}"#, hooks(first), hooks(second));
        env.file("repo/.claude/settings.json", text);
        assert_eq!(
            statuses(&env, &all_of(Agent::Claude)),
            [".claude/settings.json#PreToolUse[0] active", ".claude/settings.json#PreToolUse[1] active"]
        );
        let said = problems(&env, &all_of(Agent::Claude)).join("\n");
        assert!(said.contains("\"hooks\" appears twice: the hooks of both run"), "{said}");
        assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["blocked"], true);
    }
}

#[test]
fn a_repository_cannot_set_a_users_hook() {
    let env = TestEnvironment::new();
    for (name, message, hint) in [
        (
            "~/.claude/settings.json#PreToolUse[0]",
            "is a hook of the user's",
            "a repository cannot set a user's hook: take its table out",
        ),
        (
            "claude:plugin/guard#Stop[0]",
            "is a hook of the user's",
            "a repository cannot set a user's hook: take its table out",
        ),
        (
            ".claude/settings.json#PreToolUse[0]",
            "is not a hook of this root",
            "configure it in .claude/settings.json, or take its table out",
        ),
    ] {
        env.file("repo/.hookbox/hookbox.toml", format!("[hooks.{name:?}]\non_failure = \"block\"\n"));
        let said = problems(&env, &all_of(Agent::Claude)).join("\n");
        assert!(said.contains(message) && said.contains(hint), "{name}: {said}");
        let is_users = message == "is a hook of the user's";
        let found = verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"));
        assert_eq!(found["blocked"], !is_users, "{name}: {found}");
    }
}

#[test]
fn what_cannot_run_is_listed_with_its_reason() {
    let env = TestEnvironment::new();
    let settings = json!({"hooks": {
        "PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "is it safe?"}]}],
        "PreToolUze": [{"hooks": [{"type": "command", "command": "true"}]}],
        "PostToolBatch": [{"hooks": [{"type": "command", "command": "true"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "no-such-program"}]}],
    }});
    env.file("repo/.claude/settings.json", settings.to_string());
    let rows = env.list(&all_of(Agent::Claude));
    let told: Vec<(String, String)> = rows
        .iter()
        .map(|row| {
            (row["name"].as_str().unwrap().to_owned(), row["problem"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    assert!(rows.iter().all(|row| row["status"] == "invalid"), "{rows:#?}");
    for (name, why) in [
        (
            ".claude/settings.json#PreToolUse[0]",
            "expected \"command\" or \"http\", the only types that are run, found \"prompt\"",
        ),
        (".claude/settings.json#PreToolUze[0]", "did you mean PreToolUse?"),
        (".claude/settings.json#PostToolBatch[0]", "hookbox has no event for Claude Code's PostToolBatch"),
        (".claude/settings.json#Stop[0]", "\"no-such-program\" is not a program on PATH"),
    ] {
        assert!(told.iter().any(|(it, problem)| it == name && problem.contains(why)), "{name}: {told:#?}");
    }
}

#[test]
fn a_table_of_the_settings_speaks_of_a_hook_of_another_agent_and_is_quiet_where_nobody_asks_for_it() {
    let env = project(Agent::Claude, "exit 2");
    env.file(
        "repo/.hookbox/hookbox.toml",
        "[hooks.\".claude/settings.json#PreToolUse[0]\"]\nenabled = false\n[hooks.\".claude/settings.json#Gone[7]\"]\non_failure = \"block\"\n",
    );
    assert_eq!(problems(&env, &[]), Vec::<String>::new());
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], false);
    let rows = statuses(&env, &all_of(Agent::Claude));
    assert!(rows.contains(&".claude/settings.json#PreToolUse[0] disabled".to_owned()), "{rows:?}");
    // A guard that is gone fails.
    assert!(rows.contains(&".claude/settings.json#Gone[7] invalid".to_owned()), "{rows:?}");
}
