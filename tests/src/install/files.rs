//! The files of hostile repositories, careful users and other programs.

use std::os::unix::fs::symlink;

use super::{CLAUDE, SETTINGS, done, refused};
use crate::environment::{TestEnvironment, program};

#[test]
fn a_symlink_of_the_users_own_is_written_through() {
    let env = TestEnvironment::new();
    env.file("elsewhere/claude.json", SETTINGS).directory("home/.claude");
    env.symlink(CLAUDE, "../../elsewhere/claude.json");
    done(&env.hookbox(["install", "claude"]));
    assert!(std::fs::symlink_metadata(env.path(CLAUDE)).unwrap().is_symlink());
    assert!(env.read("elsewhere/claude.json").unwrap().contains("bridge claude"));
    done(&env.hookbox(["uninstall", "claude"]));
    assert_eq!(env.read("elsewhere/claude.json").unwrap(), SETTINGS);

    // Its whole directory may be one.
    env.directory("elsewhere/codex").symlink("home/.codex", "../elsewhere/codex");
    done(&env.hookbox(["install", "codex"]));
    assert!(env.path("elsewhere/codex/hooks.json").is_file());
    done(&env.hookbox(["uninstall", "codex"]));
    assert!(!env.path("elsewhere/codex/hooks.json").exists() && env.path("home/.codex").is_dir());

    env.directory("home/.gemini").symlink("home/.gemini/settings.json", "gone.json");
    refused(&env.hookbox(["install", "gemini"]), 1, &["leads nowhere"]);
}

#[test]
fn a_symlink_of_a_project_never_leads_out_of_it() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").directory("elsewhere").file("elsewhere/settings.json", SETTINGS);
    let absolute = env.path("elsewhere");
    for (link, to) in [
        ("repo/.claude", "../elsewhere".into()),
        ("repo/.claude", absolute.clone()),
        ("repo/.claude/settings.json", "../../elsewhere/settings.json".into()),
        ("repo/.claude/settings.json", absolute.join("settings.json")),
    ] {
        let link = env.path(link);
        if link.ends_with("settings.json") {
            env.directory("repo/.claude");
        }
        symlink(&to, &link).unwrap();
        for command in ["install", "uninstall"] {
            refused(&env.hookbox([command, "claude", "--project"]), 1, &["out of the project"]);
        }
        assert_eq!(env.read("elsewhere/settings.json").unwrap(), SETTINGS);
        assert_eq!(std::fs::read_dir(&absolute).unwrap().count(), 1);
        std::fs::remove_file(&link).unwrap();
    }
    // One that stays in it does no harm.
    std::fs::remove_dir(env.path("repo/.claude")).unwrap();
    env.directory("repo/config").symlink("repo/.claude", "config");
    done(&env.hookbox(["install", "claude", "--project"]));
    assert!(env.path("repo/config/settings.json").is_file());
}

#[test]
fn what_is_no_file_of_the_users_to_write_is_left_alone() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS).mode(CLAUDE, 0o444);
    refused(&env.hookbox(["install", "claude"]), 1, &["read-only"]);
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
    env.directory("home/.codex/hooks.json");
    refused(&env.hookbox(["install", "codex"]), 1, &["regular file"]);
    // A pipe is not waited for.
    env.directory("home/.gemini");
    let pipe = env.path("home/.gemini/settings.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&env.hookbox(["install", "gemini"]), 1, &["regular file"]);
    let env = TestEnvironment::new();
    env.file(CLAUDE, " ".repeat(5 << 20));
    refused(&env.hookbox(["install", "claude"]), 1, &["at most"]);
}

#[test]
fn a_file_that_the_agent_itself_refuses_is_not_written() {
    for (agent, path, text, want) in [
        ("claude", CLAUDE, "{\"a\": \"b\tc\"}", "line 1, column 8"),
        ("claude", CLAUDE, "{\n\"hooks\":\u{a0}{}}", "line 2, column"),
        ("codex", "home/.codex/hooks.json", "\u{feff}{}", "byte order mark"),
        ("codex", "home/.codex/hooks.json", "{\"version\": 1}", "unknown field `version`"),
        (
            "codex",
            "home/.codex/hooks.json",
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\", \"timeout\": 1.5}]}]}}",
            "expected u64",
        ),
        ("copilot", "home/.copilot/hooks/hookbox.json", "\u{feff}{\"version\": 1}", "byte order mark"),
        ("gemini", "home/.gemini/settings.json", "{\n  \"a\": 1, // mine\n}\n", "line 3, column 1:"),
        ("qwen", "home/.qwen/settings.json", "{\"a\": \"b\tc\"}", "line 1, column 8"),
    ] {
        let env = TestEnvironment::new();
        env.file(path, text);
        refused(&env.hookbox(["install", agent]), 1, &[want, "runs no hook"]);
        assert_eq!(env.read(path).unwrap(), text);
    }
    let env = TestEnvironment::new();
    env.file(CLAUDE, "\u{feff}{}").file("home/.gemini/settings.json", "{ // mine\n}");
    done(&env.hookbox(["install", "claude", "gemini"]));
}

#[test]
fn originals_are_kept_where_nobody_else_reads_and_never_in_the_project() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS);
    done(&env.hookbox(["install", "claude"]));
    let kept = env.path("home/.local/share/hookbox/install");
    for entry in std::fs::read_dir(&kept).unwrap() {
        let mode = std::os::unix::fs::MetadataExt::mode(&entry.unwrap().metadata().unwrap());
        assert_eq!(mode & 0o077, 0);
    }
    let inside = env.path("repo/data");
    env.directory("repo/.git");
    let env = env.variable("XDG_DATA_HOME", inside.to_str().unwrap());
    refused(&env.hookbox(["install", "codex", "--project"]), 1, &["inside the repository"]);
    assert!(!env.path("repo/.codex").exists());
}

#[test]
fn what_a_killed_process_has_left_is_removed() {
    let env = TestEnvironment::new();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let of = |process: u32| format!("home/.claude/.settings.json.hookbox-{process}-0");
    env.file(&of(gone.id()), "{").file(&of(std::process::id()), "{");
    env.file("home/.claude/.settings.json.hookbox-x-0", "{");
    done(&env.hookbox(["install", "claude"]));
    assert!(!env.path(of(gone.id())).exists() && env.path(of(std::process::id())).exists());
    assert!(env.path("home/.claude/.settings.json.hookbox-x-0").exists());
}

#[test]
fn many_at_once_are_as_one() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS);
    let children: Vec<_> = (0..6)
        .map(|_| env.command(program()).args(["install", "claude", "--guards", "none"]).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let text = env.read(CLAUDE).unwrap();
    assert_eq!(text.matches("bridge claude --event PreToolUse ").count(), 1);
    let names: Vec<_> =
        std::fs::read_dir(env.path("home/.claude")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["settings.json"], "no temporary file stays");
    done(&env.hookbox(["uninstall", "claude"]));
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
}
