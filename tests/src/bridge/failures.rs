//! Every way in which a guard fails, in every agent.

use std::fs;

use hookbox::EventName;
use serde_json::{Value, json};

use super::{BEFORE, args, blocked, call, first_call, needed, passed};
use crate::answers::Backend;
use crate::environment::TestEnvironment;

/// A way to fail: its name, the word for its cause, and how the guard gets there.
type Failure = (&'static str, &'static str, How);

enum How {
    Native(&'static str),
    Component(Value, &'static str),
    /// This file with this content and mode.
    File(&'static str, &'static str, u32),
    /// The settings speak of it, and it does not exist.
    Missing,
}

fn failures() -> Vec<Failure> {
    vec![
        ("garbage", "malformed_output", How::Native("cat >/dev/null; echo '}{ no'")),
        ("an exit code", "exit", How::Native("echo oops >&2; exit 1")),
        ("a signal", "signal", How::Native("kill -SEGV $$")),
        ("no end", "timeout", How::Native("sleep 1000")),
        ("much output", "output_limit", How::Native("exec yes")),
        ("a trap", "trap", How::Component(json!({"misbehave": "trap"}), "")),
        ("a loop", "fuel", How::Component(json!({"misbehave": "loop"}), "fuel = 5_000_000")),
        ("a wait", "timeout", How::Component(json!({"misbehave": "sleep"}), "")),
        ("much memory", "memory", How::Component(json!({"misbehave": "alloc"}), "memory = \"4MiB\"")),
        ("an error", "exit", How::Component(json!({"fail": "no idea"}), "")),
        ("no component", "incompatible", How::File("guard.wasm", "\u{0}garbage", 0o644)),
        ("no program", "spawn", How::File("guard", "echo no shebang\n", 0o755)),
        ("not executable", "not_found", How::File("guard", "#!/bin/sh\n", 0o644)),
        ("a dangling link", "", How::File("guard", "", 0)),
        ("nothing there", "not_found", How::Missing),
    ]
}

fn place(how: &How, policy: &str) -> (TestEnvironment, &'static str) {
    let env = TestEnvironment::new();
    let settings = format!("on_failure = \"{policy}\"\ntimeout = \"400ms\"");
    let (before, name) = (EventName::BeforeToolCall, "guard");
    let table =
        |name: &str| env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{name}\"]\n{settings}\n"));
    match how {
        How::Native(run) => {
            env.native("home/.hookbox/hooks/guard", "before_tool_call", run);
            table(name);
        }
        How::Component(answer, more) => {
            let settings = format!("{settings}\n{more}");
            Backend::Component.hook(&env, "home/.hookbox", name, &before, answer, &settings);
            env.warm(&env.path("home/.hookbox/hooks/guard.wasm"));
            return (env, "guard.wasm");
        }
        How::File(name, "", _) => {
            env.symlink(&format!("home/.hookbox/hooks/{name}"), "nowhere");
            table(name);
        }
        How::File(name, content, mode) => {
            let path = format!("home/.hookbox/hooks/{name}");
            env.file(&path, content).mode(&path, *mode);
            table(name);
            return (env, name);
        }
        How::Missing => {
            table(name);
        }
    }
    (env, name)
}

#[test]
fn a_guard_that_fails_blocks_or_warns_as_its_owner_asked_in_every_agent() {
    for (what, cause, how) in failures() {
        for policy in ["block", "pass"] {
            let (env, name) = place(&how, policy);
            for (agent, event) in BEFORE.iter().copied() {
                let what = format!("{what} with {policy}");
                let payload = first_call(&env, agent, event, "ls").to_string();
                let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
                if policy == "block" {
                    let reason = blocked(agent, event, &output, &what);
                    assert!(
                        reason.contains(name) && reason.contains(cause),
                        "{what} in {agent}: {output:#?}"
                    );
                    continue;
                }
                let answer = passed(agent, event, &output, &what);
                assert!(output.stderr.contains(name), "{what} in {agent}: {output:#?}");
                // A missing program does not fail in each event: it is a problem of the session.
                let is_failure = !matches!(how, How::Missing | How::File(..));
                let is_shown = agent.shows_warnings();
                if is_failure && is_shown {
                    let shown = answer["systemMessage"].as_str().unwrap_or_default();
                    assert!(shown.contains(name) && shown.contains(cause), "{what} in {agent}: {output:#?}");
                }
            }
        }
    }
}

#[test]
fn a_hook_that_hangs_blocks_nothing_and_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/1-slow",
        "before_tool_call",
        "sleep 1000 & echo $! > \"$HOME/pid\"; wait",
    );
    let tables = ["2", "3", "4"].map(|name| {
        env.native(&format!("home/.hookbox/hooks/{name}-guard"), "before_tool_call", "echo '{}'");
        format!("[hooks.\"{name}-guard\"]\non_failure = \"block\"\n")
    });
    env.file("home/.hookbox/hookbox.toml", tables.concat());
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env.hookbox_with(args(agent, needed(agent, event), &["--deadline", "4s"]), payload);
        passed(agent, event, &output, "a slow hook before guards");
        assert!(output.stderr.contains("1-slow failed (timeout)"), "{agent}: {output:#?}");
        assert!(!output.stderr.contains("guard failed"), "{agent}: {output:#?}");
        let pid = env.read("home/pid").unwrap();
        crate::mcp::wait_until("the slow hook has ended", || !crate::mcp::lives(pid.trim()));
        fs::remove_file(env.path("home/pid")).unwrap();
    }
}
