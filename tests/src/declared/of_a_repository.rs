//! What a repository declares: its trust, and its limits.

use serde_json::json;

use super::{bash, declare, problems, statuses, succeeds};
use crate::environment::{TestEnvironment, sample};

#[test]
fn what_a_repository_declares_runs_once_it_is_trusted_and_not_before() {
    let env = TestEnvironment::new();
    env.file("repo/hooks/x.sh", "echo ran >> \"$HOME/ran\"\n");
    declare(
        &env,
        "repo/.hookbox/hooks.json",
        "PreToolUse",
        &json!([{"command": "sh hooks/x.sh"}, {"command": "echo other >> \"$HOME/ran\""}]),
    );
    assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] untrusted", "hooks.json#PreToolUse[1] untrusted"]);
    assert_eq!(env.list(&[])[0]["events"], json!(["before_tool_call"]), "its file says what it is for");
    let output = env.hookbox_with(["run", "before_tool_call"], bash("ls").to_string());
    assert!(output.stderr.contains("hookbox trust 'hooks.json#PreToolUse[0]'"), "{output:#?}");
    let other = env.hookbox_with(["run", "turn_end"], "{}");
    assert!(!other.stderr.contains("untrusted"), "{other:#?}");
    assert_eq!(env.read("home/ran"), None);

    let shown = env.hookbox(["trust", "hooks.json#PreToolUse[0]", "--yes"]);
    succeeds(&shown);
    for word in ["runs    sh hooks/x.sh", "events  before_tool_call", "with    hooks/x.sh", "all your rights"]
    {
        assert!(shown.stderr.contains(word), "{word}: {shown:#?}");
    }
    assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] active", "hooks.json#PreToolUse[1] untrusted"]);
    env.event(&["before_tool_call"], &bash("ls"));
    assert_eq!(env.read("home/ran").as_deref(), Some("ran\n"));
    assert_eq!(env.hookbox(["grants", "--json"]).json()[0]["status"], "current");

    let ambiguous = env.hookbox(["trust", ".hookbox/hooks.json", "--yes"]);
    assert!(ambiguous.stderr.contains("expected one hook, found 2"), "{ambiguous:#?}");
    succeeds(&env.hookbox(["untrust", "hooks.json#PreToolUse[0]"]));
    assert_eq!(statuses(&env)[0], "hooks.json#PreToolUse[0] untrusted");
}

#[test]
fn trust_shows_the_matcher_and_the_condition_of_a_hook() {
    let env = TestEnvironment::new();
    let commands = json!([{"type": "command", "command": "true", "if": "Bash(rm *)"}]);
    let hooks = json!({"PreToolUse": [{"matcher": "Ba.*|\u{1b}", "hooks": commands}]});
    env.file("repo/.hookbox/hooks.json", json!({"hooks": hooks}).to_string());
    env.file("repo/.claude/settings.json", json!({"hooks": hooks}).to_string());
    for args in [
        &["trust", "hooks.json#PreToolUse[0]", "--yes"][..],
        &["trust", ".claude/settings.json#PreToolUse[0]", "--yes", "--from", "claude"],
    ] {
        let shown = env.hookbox(args);
        succeeds(&shown);
        for line in [r"  matcher Ba.*|\u{1b}", "  if      Bash(rm *)"] {
            assert!(shown.stderr.lines().any(|it| it == line), "{args:?}: {shown:#?}");
        }
    }
}

#[test]
fn whatever_changes_of_a_trusted_command_takes_the_trust_away() {
    let entry = json!({"command": "sh hooks/x.sh"});
    type Change = fn(&TestEnvironment);
    let changes: [(&str, Change); 4] = [
        ("the script that its line names", |env| {
            env.file("repo/hooks/x.sh", "echo evil >> \"$HOME/ran\"\n");
        }),
        ("a file of the hooks directory", |env| {
            env.file("repo/.hookbox/hooks/helper", "");
        }),
        ("its entry", |env| {
            declare(
                env,
                "repo/.hookbox/hooks.json",
                "PreToolUse",
                &json!([{"command": "sh hooks/x.sh", "priority": 1}]),
            );
        }),
        ("its settings", |env| {
            env.file(
                "repo/.hookbox/hookbox.toml",
                "[hooks.\"hooks.json#PreToolUse[0]\"]\nsettings = { a = 1 }\n",
            );
        }),
    ];
    for (what, change) in changes {
        let env = TestEnvironment::new();
        env.file("repo/hooks/x.sh", "echo ran >> \"$HOME/ran\"\n");
        declare(&env, "repo/.hookbox/hooks.json", "PreToolUse", &json!([entry]));
        succeeds(&env.hookbox(["trust", "hooks.json#PreToolUse[0]", "--yes"]));
        change(&env);
        let output = env.hookbox_with(["run", "before_tool_call"], bash("ls").to_string());
        assert!(output.stderr.contains("has changed since you trusted it"), "{what}: {output:#?}");
        assert_eq!(env.read("home/ran"), None, "{what}");
    }
}

#[tokio::test]
async fn a_command_that_changes_between_discovery_and_run_does_not_run() {
    let env = TestEnvironment::new();
    env.file("repo/hooks/x.sh", "echo ran >> \"$0.ran\"\n");
    declare(&env, "repo/.hookbox/hooks.json", "PreToolUse", &json!([{"command": "sh hooks/x.sh"}]));
    succeeds(&env.hookbox(["trust", "hooks.json#PreToolUse[0]", "--yes"]));
    let manager = env.builder().build().await;
    let session = manager.session("c");
    let call = || hookbox::ToolCall::new("bash", json!({"command": "ls"}));
    assert_eq!(session.before_tool_call(call()).await.report.hooks[0].cause, None);
    env.file("repo/hooks/x.sh", "echo evil >> \"$0.ran\"\n");
    let verdict = session.before_tool_call(call()).await;
    assert_eq!(verdict.report.hooks[0].cause, Some(hookbox::Cause::Untrusted));
    assert_eq!(env.read("repo/hooks/x.sh.ran").as_deref(), Some("ran\n"));
}

#[test]
fn what_a_repository_declares_leads_nowhere_else() {
    let env = TestEnvironment::new();
    env.copy("outside/guardrail.wasm", &sample("guardrail"));
    env.file("outside/hooks.json", r#"{"version": 1, "hooks": {"PreToolUse": [{"command": "true"}]}}"#);
    env.symlink("repo/.kodelet/hooks.json", "../../outside/hooks.json");
    declare(
        &env,
        "repo/.hookbox/hooks.json",
        "PreToolUse",
        &json!([{"component": "../outside/guardrail.wasm"}, {"component": env.path("outside/guardrail.wasm")}]),
    );
    assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] invalid", "hooks.json#PreToolUse[1] invalid"]);
    let problems = problems(&env);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems.iter().all(|it| it.contains("leads out of the repository")), "{problems:?}");
}

#[test]
fn a_component_that_a_repository_declares_is_confined_and_the_settings_speak_of_an_entry_by_its_name() {
    let env = TestEnvironment::new();
    env.copy("repo/guards/guardrail.wasm", &sample("guardrail"));
    declare(
        &env,
        "repo/.hookbox/hooks.json",
        "PreToolUse",
        &json!([{"component": "guards/guardrail.wasm"}, {"component": "guards/guardrail.wasm", "name": "off"}]),
    );
    env.file("repo/.hookbox/hookbox.toml", "[hooks.off]\nenabled = false\n");
    let list = env.list(&[]);
    let row = list.iter().find(|row| row["name"] == "hooks.json#PreToolUse[0]").unwrap();
    assert_eq!(
        (&row["status"], &row["trusted"], &row["kind"]),
        (&json!("active"), &json!(false), &json!("component"))
    );
    assert_eq!(row["path"], json!(env.path("repo/guards/guardrail.wasm")));
    let off = list.iter().find(|row| row["name"] == "off").unwrap();
    assert_eq!(off["status"], "disabled");
    let verdict = env.event(&["before_tool_call"], &bash("sudo ls"));
    assert_eq!(
        (&verdict["blocked"], &verdict["blocked_by"]),
        (&json!(true), &json!("hooks.json#PreToolUse[0]"))
    );
}
