//! `builtin:self-protection`: the agent's tools do not change what guards the agent.

use hookbox::ToolCall;
use hookbox::builtin::SELF_PROTECTION;
use hookbox::session::Decision;
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

fn shell(line: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": line}})
}

#[test]
fn a_tool_call_that_changes_a_guarded_file_is_blocked_and_a_read_is_not() {
    let env = TestEnvironment::new();
    env.directory("elsewhere/hooks").directory("repo/.git").directory("home/dot");
    env.symlink("repo/link", "../elsewhere").symlink("home/.hookbox", "dot");
    env.file("home/dot/hookbox.toml", "");
    env.symlink("repo/.kodelet", "../elsewhere");
    for (tool, input, blocked) in [
        ("Write", json!({"file_path": ".hookbox/hooks/x"}), true),
        ("Edit", json!({"file_path": "~/.hookbox/hookbox.toml"}), true),
        ("Write", json!({"file_path": "~/dot/hookbox.toml"}), true),
        ("Write", json!({"file_path": "link/hooks/x"}), true),
        ("write_file", json!({"path": "~/.claude/settings.json"}), true),
        ("delete_file", json!({"path": ".hookbox"}), true),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Add File: .codex/hooks.json\n"}), true),
        ("mcp__files__write_file", json!({"path": ".hookbox/hookbox.toml"}), true),
        // Input that is no JSON, and more paths than a fact holds.
        ("Write", json!("{\"file_path\": \".hookbox/hooks/x\", "), true),
        ("Write", json!("{\"file_path\": \"src/main.rs\", "), false),
        (
            "Write",
            json!({"paths": (0..400).map(|n| format!("f{n}")).chain([".hookbox/hooks/x".into()]).collect::<Vec<_>>()}),
            true,
        ),
        ("mcp__files__read_file", json!({"path": ".hookbox/hookbox.toml"}), false),
        ("Read", json!({"file_path": ".hookbox/hookbox.toml"}), false),
        ("Write", json!({"file_path": "src/hookbox.toml"}), false),
        ("Bash", json!({"command": "hookbox trust x"}), true),
        ("Bash", json!({"command": "rm ~/.cache/hookbox/x"}), true),
        ("Bash", json!({"command": "ls .hookbox"}), false),
        ("TodoWrite", json!({"todos": ["hookbox trust x"]}), false),
    ] {
        let verdict = env.event(&["before_tool_call"], &json!({"tool_name": tool, "tool_input": input}));
        assert_eq!(verdict["blocked"], blocked, "{tool} {input}: {verdict}");
    }
    let reason = env.event(&["before_tool_call"], &shell("hookbox trust x"))["reason"].clone();
    let reason = reason.as_str().unwrap();
    for words in ["`hookbox trust`", "ask the user", "~/.hookbox/hookbox.toml", "enabled = false"] {
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn it_is_listed_and_only_the_user_can_switch_it_off() {
    let env = TestEnvironment::new();
    let row = |env: &TestEnvironment| {
        let rows = env.list_all(&[]);
        let row = rows.iter().find(|row| row["name"] == SELF_PROTECTION).unwrap();
        assert_eq!((&row["kind"], &row["tier"]), (&json!("builtin"), &json!("built in")));
        (row["status"].clone(), row["priority"].clone())
    };
    let blocked = |env: &TestEnvironment, args: &[&str]| {
        env.event(&[&["before_tool_call"], args].concat(), &shell("hookbox trust x"))["blocked"].clone()
    };
    let off = format!("[hooks.\"{SELF_PROTECTION}\"]\nenabled = false\n");
    assert_eq!(row(&env), (json!("active"), json!(50)));

    env.file("repo/.hookbox/hookbox.toml", format!("{off}on_failure = \"block\"\n"));
    let output = env.hookbox(["list"]);
    assert!(output.stderr.contains("a repository has no say in a built-in hook"), "{output:#?}");
    assert_eq!((row(&env).0, blocked(&env, &[])), (json!("active"), json!(true)));

    env.file("home/.kodelet/hookbox.toml", off.replace("enabled = false", "priority = 7"));
    assert_eq!(row(&env), (json!("active"), json!(7)));
    env.file("home/.hookbox/hookbox.toml", &off);
    assert_eq!((row(&env).0, blocked(&env, &[])), (json!("disabled"), json!(false)));

    env.file("home/.hookbox/hookbox.toml", "");
    assert_eq!((blocked(&env, &[]), blocked(&env, &["--no-hooks"])), (json!(true), json!(false)));
}

#[tokio::test]
async fn an_embedder_has_it_unless_it_says_otherwise() {
    let env = TestEnvironment::new();
    let call = || ToolCall::new("bash", json!({"command": "rm -rf .hookbox"}));
    for (guard, directories) in [(true, true), (true, false), (false, true), (false, false)] {
        let manager =
            env.builder().builtins(true).self_protection(guard).directories(directories).build().await;
        let verdict = manager.session("c").before_tool_call(call()).await;
        assert_eq!(matches!(verdict.decision, Decision::Block(_)), guard, "{directories}");
        assert_eq!(manager.hook(SELF_PROTECTION).is_some(), guard);
    }
}

#[test]
fn inside_a_hook_it_judges_as_anywhere_else() {
    let env = TestEnvironment::new().variable("HOOKBOX_DEPTH", "1");
    for (line, blocked) in [("ls", false), ("hookbox trust x", true)] {
        assert_eq!(env.event(&["before_tool_call"], &shell(line))["blocked"], blocked, "{line}");
    }
}
