//! Hooks that a repository configures for another agent run only once the user trusts them.

use hookbox_agents::{Agent, AgentHooks};
use serde_json::{Value, json};

use super::{bash, statuses};
use crate::environment::{Output, TestEnvironment};

const NAME: &str = ".claude/settings.json#PreToolUse[0]";
const FROM: [&str; 2] = ["--from", "claude"];

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

/// A project with a guard of Claude Code's, which uses a file beside it and one elsewhere.
fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script(
        "repo/.claude/hooks/guard.sh",
        "#!/bin/bash\ntouch \"$HOME/ran\"\n. \"$CLAUDE_PROJECT_DIR/scripts/lib.sh\"\nblock\n",
    );
    env.file("repo/scripts/lib.sh", "block() { echo no >&2; exit 2; }\n");
    settings(&env, "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh \"$CLAUDE_PROJECT_DIR/scripts/lib.sh\"");
    env
}

fn settings(env: &TestEnvironment, line: &str) {
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": line}]}]});
    env.file("repo/.claude/settings.json", json!({"hooks": hooks}).to_string());
}

fn run(env: &TestEnvironment) -> Value {
    env.event(&[&["before_tool_call"], &FROM[..]].concat(), &bash("ls"))
}

#[test]
fn a_projects_hook_runs_once_it_is_trusted_and_not_after_it_changed() {
    let env = project();
    assert_eq!(statuses(&env, &FROM), [format!("{NAME} untrusted")]);
    let output = env.hookbox_with(["run", "before_tool_call", "--from", "claude"], bash("ls").to_string());
    let command = format!("review it with `hookbox trust --from claude '{NAME}'`");
    assert!(output.stderr.contains(&command), "{output:#?}");
    assert_eq!(run(&env)["blocked"], false);
    assert_eq!(env.read("home/ran"), None, "it did not run");

    let shown = env.hookbox(["trust", "--from", "claude", NAME, "--yes"]);
    succeeds(&shown);
    for word in ["guard.sh", "scripts/lib.sh"] {
        assert!(shown.stderr.contains(word), "{word}: {shown:#?}");
    }
    assert_eq!(statuses(&env, &FROM), [format!("{NAME} active")]);
    assert_eq!((&run(&env)["blocked"], &run(&env)["reason"]), (&json!(true), &json!("no")));

    type Change = fn(&TestEnvironment);
    let changes: [(&str, Change); 4] = [
        ("the line", |env| settings(env, "exit 2")),
        ("a file beside it", |env| {
            env.file("repo/.claude/hooks/new", "x");
        }),
        ("a file that the line names", |env| {
            env.file("repo/scripts/lib.sh", "block() { curl evil; }\n");
        }),
        ("the matcher", |env| {
            let hooks = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]});
            env.file("repo/.claude/settings.json", json!({"hooks": hooks}).to_string());
        }),
    ];
    for (what, change) in changes {
        let env = project();
        succeeds(&env.hookbox(["trust", "--from", "claude", NAME, "--yes"]));
        change(&env);
        assert_eq!(statuses(&env, &FROM), [format!("{NAME} untrusted")], "{what}");
        assert_eq!(run(&env)["blocked"], false, "{what}");
    }

    succeeds(&env.hookbox(["untrust", "--from", "claude", NAME]));
    assert_eq!(statuses(&env, &FROM), [format!("{NAME} untrusted")]);
}

#[test]
fn trust_holds_in_one_repository_and_is_listed() {
    let env = project();
    succeeds(&env.hookbox(["trust", "--from", "claude", NAME, "--yes"]));
    let grants = env.hookbox(["grants", "--from", "claude", "--json"]).json();
    assert_eq!(
        (&grants[0]["name"], &grants[0]["kind"], &grants[0]["path"]),
        (&json!(NAME), &json!("command"), &json!(NAME))
    );
    env.directory("other/.git").script("other/.claude/hooks/guard.sh", "#!/bin/bash\nexit 2\n");
    let content = env.read("repo/.claude/settings.json").unwrap();
    env.file("other/.claude/settings.json", content);
    let other = env.path("other");
    let rows = env.list(&["--from", "claude", "--cwd", other.to_str().unwrap()]);
    assert_eq!(rows[0]["status"], "untrusted");
}

#[test]
fn a_hook_of_another_agent_is_no_hook_where_nobody_asks_for_it() {
    let env = project();
    let output = env.hookbox(["trust", NAME, "--yes"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    let output = env.hookbox(["list", "--from", "cloude"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("did you mean claude?"), "{output:#?}");
}

#[tokio::test]
async fn what_changes_after_the_look_does_not_run() {
    let env = project();
    succeeds(&env.hookbox(["trust", "--from", "claude", NAME, "--yes"]));
    let manager = env.builder().source(AgentHooks::new().agent(Agent::Claude)).build().await;
    assert_eq!(manager.entries()[0].status.as_str(), "active");
    env.file("repo/scripts/lib.sh", "block() { :; }\n");
    let session = manager.session("s");
    let call = hookbox::ToolCall::new("bash", json!({"command": "ls"}));
    let verdict = session.before_tool_call(call).await;
    let cause = verdict.report.hooks[0].cause.map(hookbox::Cause::as_str);
    assert_eq!(cause, Some("untrusted"), "{verdict:?}");
    assert_eq!(env.read("home/ran"), None);
}

#[test]
fn what_an_entry_sets_for_its_command_is_trusted_with_it() {
    let env = TestEnvironment::new();
    env.script("repo/guard.sh", "exit 0\n").script("repo/tools/guard.sh", "exit 0\n");
    let line = "sh $GEMINI_PROJECT_DIR/guard.sh";
    let entry = json!({"type": "command", "command": line, "env": {"GEMINI_PROJECT_DIR": "tools"}});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}});
    env.file("repo/.claude/settings.json", hooks.to_string());
    let shown = env.hookbox(["trust", "--from", "claude", NAME, "--yes"]);
    succeeds(&shown);
    let more = "not all files that it uses can be known";
    assert!(shown.stderr.contains("tools/") && shown.stderr.contains(more), "{shown:#?}");
    assert_eq!(statuses(&env, &FROM), [format!("{NAME} active")]);
    env.script("repo/tools/guard.sh", "touch \"$HOME/ran\"; exit 2\n");
    assert_eq!(statuses(&env, &FROM), [format!("{NAME} untrusted")]);
    assert_eq!(run(&env)["blocked"], false);
    assert_eq!(env.read("home/ran"), None);
}

#[test]
fn what_a_project_sets_leads_no_shell_to_other_files() {
    let env = TestEnvironment::new();
    env.script("repo/guard.sh", "exit 0\n").script("repo/tools/x.sh", "touch \"$HOME/ran\"\n");
    let entry = json!({"type": "command", "command": "bash guard.sh", "env": {"BASH_ENV": "tools/x.sh"}});
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}});
    env.file("repo/.claude/settings.json", hooks.to_string());
    succeeds(&env.hookbox(["trust", "--from", "claude", NAME, "--yes"]));
    assert_eq!(run(&env)["blocked"], false);
    assert_eq!(env.read("home/ran"), None);
}

#[test]
fn the_directory_of_an_event_is_not_taken_for_the_project() {
    let env = TestEnvironment::new();
    env.script("repo/guard.sh", "exit 0\n").script("repo/sub/guard.sh", "exit 2\n");
    let entry = json!({"type": "command", "command": "sh $GEMINI_CWD/guard.sh"});
    env.file(
        "repo/.gemini/settings.json",
        json!({"hooks": {"BeforeTool": [{"hooks": [entry]}]}}).to_string(),
    );
    let name = ".gemini/settings.json#BeforeTool[0]";
    let shown = env.hookbox(["trust", "--from", "gemini", name, "--yes"]);
    succeeds(&shown);
    assert!(shown.stderr.contains("not all files that it uses can be known"), "{shown:#?}");
}
