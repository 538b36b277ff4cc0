//! What is refused, and what is warned of.

use super::{CLAUDE, done, refused};
use crate::environment::{Output, TestEnvironment};

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let env = TestEnvironment::new();
    refused(&env.hookbox(["install", "claud"]), 2, &["did you mean claude"]);
    let other = env.hookbox(["install", "windsurf"]);
    refused(&other, 2, &["the agents are claude", "any-language.md"]);
    assert!(!other.stderr.contains("did you mean"), "{other:#?}");
    refused(&env.hookbox(["install"]), 2, &["AGENT"]);
    refused(&env.hookbox(["install", "claude", "--event", "PreTool"]), 2, &["did you mean PreToolUse?"]);
    let other = env.hookbox(["install", "claude", "--event", "nope"]);
    refused(&other, 2, &["the events are SessionStart"]);
    assert!(!other.stderr.contains("did you mean"), "{other:#?}");
    refused(&env.hookbox(["install", "codex", "--local"]), 2, &["Codex", "local"]);
    refused(&env.hookbox(["install", "claude", "--program", "a\nb"]), 2, &["--program"]);
    env.file(CLAUDE, "{\n  // mine\n}\n");
    let hint = "remove the comment in line 2 and run it again: Claude Code runs no hook";
    // Before a guard is added, and before anything is asked.
    for words in [&["install", "claude", "--guards", "git"][..], &["setup", "--agent", "claude", "--yes"]] {
        refused(&env.hookbox(words), 1, &["line 2, column 3", hint]);
        assert!(!env.path("home/.hookbox").exists() && !env.path("home/.local").exists(), "{words:?}");
    }
    env.file(CLAUDE, "{\"hooks\": {}, \"hooks\": {}}");
    refused(&env.hookbox(["install", "claude"]), 1, &["line 1, column 15", "once"]);
    assert_eq!(env.read(CLAUDE).unwrap(), "{\"hooks\": {}, \"hooks\": {}}");
    // One that fails keeps no other from it.
    let output = env.hookbox(["install", "claude", "codex"]);
    assert_eq!(output.code, Some(1));
    assert!(env.path("home/.codex/hooks.json").exists());
    let env = env.variable("HOOKBOX_DEPTH", "1");
    for command in ["install", "uninstall"] {
        refused(
            &env.hookbox([command, "gemini"]),
            2,
            &["a hook can neither trust nor grant nor allow nor install"],
        );
    }
    assert!(!env.path("home/.gemini").exists());
}

#[test]
fn the_last_copy_of_an_original_is_never_thrown_away() {
    let original = "{\"precious\": 1}";
    for left in [None, Some("{}\n")] {
        let env = TestEnvironment::new();
        env.file(CLAUDE, original);
        let backup = env.hookbox(["install", "claude", "--json"]).json()[0]["backup"].clone();
        let kept = || std::fs::read_to_string(backup.as_str().unwrap()).unwrap();
        assert_eq!(kept(), original);
        match left {
            None => std::fs::remove_file(env.path(CLAUDE)).unwrap(),
            Some(text) => {
                env.file(CLAUDE, text);
            }
        }
        for _ in 0..2 {
            let row = env.hookbox(["uninstall", "claude", "--json"]).json()[0].clone();
            assert_eq!((&row["change"], &row["original"]), (&"unchanged".into(), &backup));
            assert_eq!(kept(), original);
        }
        let output = env.hookbox(["uninstall", "claude"]);
        assert!(output.stderr.contains("is kept as"), "{output:#?}");
        // Installed anew it is out of the way, and still there.
        let row = env.hookbox(["install", "claude", "--json"]).json()[0].clone();
        let earlier = row["earlier"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(earlier).unwrap(), original);
        let row = env.hookbox(["uninstall", "claude", "--json"]).json()[0].clone();
        assert_eq!(row["change"], if left.is_some() { "restored" } else { "deleted" });
        assert_eq!(std::fs::read_to_string(earlier).unwrap(), original);
    }
}

#[test]
fn a_variable_that_means_another_directory_everywhere_is_refused() {
    for (agent, name, value) in [
        ("claude", "CLAUDE_CONFIG_DIR", "cc"),
        ("claude", "CLAUDE_CONFIG_DIR", "~/cc"),
        ("codex", "CODEX_HOME", "~/cc"),
        ("gemini", "GEMINI_CLI_HOME", "./cc"),
        ("qwen", "QWEN_HOME", "cc"),
        ("opencode", "XDG_CONFIG_HOME", "cc"),
        ("pi", "PI_CODING_AGENT_DIR", "cc"),
    ] {
        let env = TestEnvironment::new().variable(name, value);
        for command in ["install", "uninstall"] {
            refused(&env.hookbox([command, agent]), 2, &[name, "absolute path"]);
        }
        done(&env.hookbox(["install", agent, "--project", "--dry-run"]));
    }
    let env = TestEnvironment::new().variable("QWEN_HOME", "~/cc");
    done(&env.hookbox(["install", "qwen"]));
    assert!(env.path("home/cc/settings.json").exists());
}

#[test]
fn what_can_be_known_before_is_wrong_for_all_or_none() {
    let env = TestEnvironment::new();
    refused(&env.hookbox(["install", "gemini", "--deadline", "0s"]), 2, &["a time"]);
    for deadline in ["36000m", "11m"] {
        refused(&env.hookbox(["install", "gemini", "--deadline", deadline]), 2, &["--deadline", "up to 10m"]);
    }
    refused(
        &env.hookbox(["install", "claude", "gemini", "--event", "PreToolUse"]),
        2,
        &["Gemini CLI has no event"],
    );
    refused(&env.hookbox(["install", "claude", "codex", "--local"]), 2, &["Codex"]);
    refused(&env.hookbox(["install", "claude", "--program", "./hookbox"]), 2, &["absolute path"]);
    assert!(!env.path("home/.claude").exists() && !env.path("repo/.claude").exists());
    let output = env.hookbox(["install", "claude", "codex", "--local", "--json"]);
    let rows = |output: &Output| serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap();
    assert!(rows(&output)[0]["error"].as_str().unwrap().contains("local"), "{output:#?}");
    env.file(CLAUDE, "[]");
    let output = env.hookbox(["install", "claude", "codex", "--json"]);
    let rows = rows(&output);
    assert!(rows[0]["error"].as_str().unwrap().contains("an object"), "{rows}");
    assert_eq!((output.code, &rows[1]["change"]), (Some(1), &"created".into()));
    done(&env.hookbox(["install", "gemini", "--deadline", "10m"]));
}

#[test]
fn where_an_agent_looks_in_its_own_directory_alone_is_said() {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    for (agent, want) in
        [("claude", true), ("gemini", true), ("qwen", true), ("codex", false), ("copilot", false)]
    {
        let row = env.hookbox(["install", agent, "--project", "--json"]).json()[0].clone();
        assert_eq!(row["next"].to_string().contains("does not look above"), want, "{agent}");
    }
}

#[test]
fn what_switches_hooks_off_is_said() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, "{\"disableAllHooks\": true}");
    let output = env.hookbox(["install", "claude"]);
    assert!(output.stderr.contains("\"disableAllHooks\": true switches every hook off"), "{output:#?}");
    let rows = env.hookbox(["install", "codex", "--json"]).json();
    assert!(rows[0]["next"][0].as_str().unwrap().contains("/hooks"));
}
