//! `hookbox setup`, `hookbox upgrade` and `hookbox remove --all`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use hookbox_agents::Agent;
use hookbox_agents::config::{Level, read};
use serde_json::json;

use super::{CLAUDE, SETTINGS, done, path_of, refused};
use crate::environment::{Output, TestEnvironment, program, sample};

const DATA: &str = "home/.local/share/hookbox";
const COPY: &str = "home/.local/share/hookbox/bin/hookbox";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs hookbox in the home directory: beside the sessions that calls have open in the repository, nobody changes anything
/// without a terminal.
fn at_home(env: &TestEnvironment, args: &[&str]) -> Output {
    env.hookbox([args, &["--cwd", env.path("home").to_str().unwrap()]].concat())
}

/// Runs the command that an agent has for a shell line.
fn asked(env: &TestEnvironment, agent: Agent, line: &str) -> Output {
    let text = fs::read(path_of(env, agent, Level::User)).unwrap();
    let entries = read(agent, &text).unwrap().entries;
    let entry = entries.iter().find(|it| it.event == "PreToolUse" && it.command != "mine").unwrap();
    let call = agent.shell_call(agent.event("PreToolUse").unwrap(), line, &env.path("repo"), "s");
    env.run(env.command("sh").args(["-c", &entry.command]), call.to_string())
}

/// Returns the paths below a directory, but for empty directories of the user, and the cache that the tests share.
fn tree(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for path in fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()) {
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            found.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    let shared = [".local", ".local/share", ".cache", ".cache/hookbox", ".cache/hookbox/code"];
    found.retain(|path| !shared.iter().any(|it| path == Path::new(it)));
    found.sort();
    found
}

#[test]
fn one_command_guards_every_agent_of_a_machine_and_one_takes_it_out_again() {
    let env = TestEnvironment::new();
    env.file(CLAUDE, SETTINGS)
        .directory("home/.kimi-code")
        .copy("home/.hookbox/hooks/mine.wasm", &sample("guardrail"));
    let before = tree(&env.path("home"));
    // It writes nothing without an answer.
    refused(&env.hookbox(["setup"]), 2, &["--yes"]);
    let output = env.hookbox(["setup", "--dry-run"]);
    done(&output);
    for word in ["Claude Code", "Kimi Code", "not here:", "destructive", "journal:", "bin/hookbox"] {
        assert!(output.stderr.contains(word), "no {word}: {output:#?}");
    }
    let rows = env.hookbox(["setup", "--dry-run", "--json"]).json();
    assert_eq!((&rows[0]["agent"], &rows[0]["change"]), (&json!("claude"), &json!("changed")));
    assert_eq!(tree(&env.path("home")), before);

    let output = env.hookbox(["setup", "--yes", "--json"]);
    done(&output);
    let told = output.json();
    assert_eq!(told["program"], env.path(COPY).to_str().unwrap());
    assert_eq!(told["guards_added"].as_array().unwrap().len(), 5);
    assert_eq!(told["journal_enabled"], true);
    let rows = told["agents"].as_array().unwrap();
    let states: Vec<_> = rows.iter().map(|it| (it["agent"].as_str().unwrap(), &it["guarded"])).collect();
    assert_eq!(states, [("claude", &json!(true)), ("kimi", &json!(true))]);
    for agent in [Agent::Claude, Agent::Kimi] {
        let output = asked(&env, agent, "rm -rf ~");
        assert!(output.stdout.contains("deny"), "{agent}: {output:#?}");
    }
    assert!(env.hookbox(["log"]).stdout.contains("rm -rf ~"));
    let again = at_home(&env, &["setup", "--yes", "--json"]).json();
    assert!(again["agents"].as_array().unwrap().iter().all(|it| it["change"] == "unchanged"), "{again}");
    let output = at_home(&env, &["setup", "--yes"]);
    assert_eq!(output.stdout, "Claude Code: guarded\nKimi Code: guarded\n", "{output:#?}");

    refused(&at_home(&env, &["remove", "--all"]), 2, &["--yes"]);
    let output = at_home(&env, &["remove", "--all", "--yes"]);
    done(&output);
    assert!(output.stderr.contains("the program itself stays"), "{output:#?}");
    assert_eq!(env.read(CLAUDE).unwrap(), SETTINGS);
    assert_eq!(tree(&env.path("home")), before);
    assert!(!env.path("home/.cache/hookbox").exists());
}

#[test]
fn a_machine_without_an_agent_is_told_so_and_an_agent_may_be_named() {
    let env = TestEnvironment::new();
    refused(&env.hookbox(["setup", "--yes"]), 1, &["found no agent on this machine"]);
    assert!(!env.path(DATA).exists());
    let told = env.hookbox(["setup", "--yes", "--agent", "kimi", "--no-journal", "--json"]).json();
    assert_eq!((&told["agents"][0]["agent"], &told["journal_enabled"]), (&json!("kimi"), &json!(false)));
    // The options of an agent stay.
    done(&env.hookbox(["install", "codex", "--strict", "--deadline", "5s", "--event", "PreToolUse"]));
    let before = env.read("home/.codex/hooks.json").unwrap();
    // Codex runs no hook that its user has not approved.
    let output = env.hookbox(["setup", "--yes"]);
    assert!(output.stdout.contains("Codex: NOT guarded") && output.stderr.contains("/hooks"), "{output:#?}");
    assert_eq!((output.code, env.hookbox(["setup", "--yes", "--agent", "kimi"]).code), (Some(1), Some(0)));
    assert_eq!(env.read("home/.codex/hooks.json").unwrap(), before);
}

#[test]
fn guards_that_the_user_left_out_are_named_and_stay_out() {
    let env = TestEnvironment::new();
    env.directory("home/.kimi-code");
    done(&env.hookbox(["guard", "add", "destructive", "--yes"]));
    let output = env.hookbox(["setup", "--yes"]);
    done(&output);
    assert!(output.stderr.contains("guards that you do not have: git, injection"), "{output:#?}");
    assert!(!env.path("home/.hookbox/hooks/secrets.wasm").exists());
}

#[test]
fn a_file_that_cannot_be_read_is_a_failure_of_the_upgrade() {
    let env = TestEnvironment::new();
    done(&env.hookbox(["install", "claude", "kimi"]));
    env.file(CLAUDE, " ".repeat(5 << 20));
    let output = env.hookbox(["upgrade"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("Claude Code") && output.stderr.contains("at most"), "{output:#?}");
    assert!(output.stdout.contains("Kimi Code"), "{output:#?}");
}

#[test]
fn what_cannot_be_removed_keeps_the_program_that_it_runs() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").directory("other/.git");
    let other = env.path("other");
    done(&env.hookbox(["install", "claude", "--local", "--cwd", other.to_str().unwrap()]));
    done(&env.hookbox(["install", "claude"]));
    let output = env.hookbox(["remove", "--all", "--yes"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("other/.claude/settings.local.json still calls hookbox"), "{output:#?}");
    assert!(env.path(COPY).exists() && !env.path(CLAUDE).exists());
    done(&env.hookbox(["uninstall", "claude", "--local", "--cwd", other.to_str().unwrap()]));
    done(&env.hookbox(["remove", "--all", "--yes"]));
    assert!(!env.path(DATA).exists());
}

#[test]
fn an_upgrade_moves_every_agent_and_leaves_no_call_unguarded() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    refused(&env.hookbox(["upgrade"]), 1, &["no agent of yours calls hookbox", "hookbox setup"]);
    done(&env.hookbox(["install", "claude"]));
    // An earlier version, and an entry of a time when entries named the program itself.
    let bin = env.path(DATA).join("bin");
    fs::rename(bin.join(VERSION), bin.join("0.0.9")).unwrap();
    fs::remove_file(bin.join("hookbox")).unwrap();
    std::os::unix::fs::symlink("0.0.9/hookbox", bin.join("hookbox")).unwrap();
    let own = program();
    let old = ["--program", own.to_str().unwrap(), "--strict", "--deadline", "7s"];
    done(&env.hookbox([&["install", "codex"][..], &old].concat()));

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let mut calls = 0;
            while !is_over.load(Ordering::Relaxed) || calls < 3 {
                let output = asked(&env, Agent::Claude, "rm -rf /");
                assert!(output.stdout.contains("deny"), "call {calls}: {output:#?}");
                calls += 1;
            }
        });
        let told = at_home(&env, &["upgrade", "--json"]).json();
        is_over.store(true, Ordering::Relaxed);
        calls.join().unwrap();
        assert_eq!((&told["before"], &told["version"]), (&json!("0.0.9"), &json!(VERSION)));
        let changes: Vec<_> = told["agents"].as_array().unwrap().iter().map(|it| &it["change"]).collect();
        assert_eq!(changes, ["unchanged", "changed"], "{told}");
    });
    assert_eq!(fs::read_link(bin.join("hookbox")).unwrap(), Path::new(VERSION).join("hookbox"));
    let codex = env.read("home/.codex/hooks.json").unwrap();
    assert!(codex.contains(env.path(COPY).to_str().unwrap()), "{codex}");
    assert!(codex.contains("--deadline 7s") && codex.contains("--strict"), "{codex}");
    // A session that began before may still run the earlier version; after the next upgrade nobody does.
    assert!(bin.join("0.0.9/hookbox").exists());
    assert_eq!(at_home(&env, &["upgrade", "--json"]).json()["removed"], json!(["0.0.9"]));
}

#[test]
fn a_program_that_cannot_be_copied_is_run_in_its_place() {
    let env = TestEnvironment::new();
    env.directory(DATA).mode(DATA, 0o700).file(&format!("{DATA}/bin"), "in the way");
    let output = env.hookbox(["install", "claude"]);
    done(&output);
    assert!(output.stderr.contains("cannot be copied there"), "{output:#?}");
    assert!(env.read(CLAUDE).unwrap().contains(program().canonicalize().unwrap().to_str().unwrap()));
}
