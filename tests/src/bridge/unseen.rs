//! What hides which hooks there are, or what they ask for: of the user's own files it counts as a guard that fails.

use std::fs;
use std::process::Command;

use hookbox::dialect::agent::Agent;
use serde_json::json;

use super::{BEFORE, args, blocked, call, needed, passed};
use crate::environment::{TestEnvironment, sample};

/// What is wrong in a root, the file that says so, and how it comes about.
type Hole = (&'static str, &'static str, fn(&TestEnvironment, &str));

fn text(env: &TestEnvironment, path: &str) {
    env.file(path, "}{ neither one nor the other");
}

fn other_form(env: &TestEnvironment, path: &str) {
    env.file(path, "hooks = 5\n");
}

fn pipe(env: &TestEnvironment, path: &str) {
    env.directory(path);
    fs::remove_dir(env.path(path)).unwrap();
    assert!(Command::new("mkfifo").arg(env.path(path)).status().unwrap().success());
}

fn directory(env: &TestEnvironment, path: &str) {
    env.directory(path);
}

fn looped(env: &TestEnvironment, path: &str) {
    env.symlink(path, path.rsplit('/').next().unwrap());
}

fn dangling(env: &TestEnvironment, path: &str) {
    env.symlink(path, "nowhere");
}

fn closed(env: &TestEnvironment, path: &str) {
    env.directory(path).mode(path, 0);
}

fn cut(env: &TestEnvironment, path: &str) {
    env.file(path, &fs::read(sample("guardrail")).unwrap()[..5000]);
}

fn nothing(env: &TestEnvironment, path: &str) {
    env.file(path, "");
}

fn crowd(env: &TestEnvironment, path: &str) {
    for number in 0..257 {
        env.script(&format!("{path}/{number:03}"), "#!/bin/sh\necho turn_end\n");
    }
}

/// Those of files that hold no hook themselves.
const PLACES: [Hole; 17] = [
    ("a root that is a file", "", text),
    ("a root that is a pipe", "", pipe),
    ("a root that leads to itself", "", looped),
    ("a root that leads nowhere", "", dangling),
    ("a directory that is a file", "/hooks", text),
    ("a directory that is a pipe", "/hooks", pipe),
    ("a directory that leads to itself", "/hooks", looped),
    ("a directory that nobody may read", "/hooks", closed),
    ("plugins that are a file", "/plugins", text),
    ("settings that are no TOML", "/hookbox.toml", text),
    ("settings that are a directory", "/hookbox.toml", directory),
    ("settings that are a pipe", "/hookbox.toml", pipe),
    ("settings that lead to themselves", "/hookbox.toml", looped),
    ("settings of another form", "/hookbox.toml", other_form),
    ("declarations that are no JSON", "/hooks.json", text),
    ("declarations that are a pipe", "/hooks.json", pipe),
    ("servers that are no JSON", "/mcp.json", text),
];

const COMPONENTS: [Hole; 5] = [
    ("a component that was cut", "/hooks/x.wasm", cut),
    ("an empty component", "/hooks/x.wasm", nothing),
    ("no component", "/hooks/x.wasm", text),
    ("a component that leads nowhere", "/hooks/x.wasm", dangling),
    ("a component that leads to itself", "/hooks/x.wasm", looped),
];

fn is_seen_by_nobody(env: &TestEnvironment, path: &str) -> bool {
    fs::read_dir(env.path(path)).is_err()
}

#[test]
fn what_hides_the_users_hooks_blocks_in_every_agent_and_names_the_file() {
    let crowded: Hole = ("a crowd", "/hooks", crowd);
    for (what, file, breaks) in PLACES.into_iter().chain([crowded]) {
        let env = TestEnvironment::new();
        let path = format!("home/.hookbox{file}");
        breaks(&env, &path);
        if what.contains("nobody may read") && !is_seen_by_nobody(&env, &path) {
            // The superuser may.
            continue;
        }
        // Each hook of a crowd is asked what it is.
        let agents = if file == "/hooks" && what == "a crowd" { &BEFORE[..1] } else { &BEFORE[..] };
        for (agent, event) in agents.iter().copied() {
            let payload = call(&env, agent, event, "ls").to_string();
            let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
            let reason = blocked(agent, event, &output, what);
            for part in [format!(".hookbox{file}").as_str(), "hint: "] {
                assert!(reason.contains(part), "{what} in {agent}: {reason}");
            }
        }
        // Who tries hooks by hand sees the problem, and everything else works.
        let run = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        assert_eq!(env.event(&["before_tool_call"], &run)["blocked"], false, "{what}");
        let list = env.hookbox(["list"]);
        assert_eq!(list.code, Some(0), "{what}: {list:#?}");
    }
}

#[test]
fn what_hides_a_repositorys_hooks_stops_nobody() {
    for (what, file, breaks) in PLACES.into_iter().chain(COMPONENTS) {
        let env = TestEnvironment::new();
        env.directory("repo/.git");
        breaks(&env, &format!("repo/.hookbox{file}"));
        for (agent, event) in [BEFORE[0], BEFORE[6]] {
            for trust in ["recorded", "all"] {
                let payload = call(&env, agent, event, "ls").to_string();
                let output =
                    env.hookbox_with(args(agent, needed(agent, event), &["--trust", trust]), payload);
                passed(agent, event, &output, what);
                let is_said = output.stderr.contains(&format!(".hookbox{file}"));
                assert!(is_said || is_readable(&env, what), "{what}: {output:#?}");
            }
        }
    }
}

/// The superuser may read everything.
fn is_readable(env: &TestEnvironment, what: &str) -> bool {
    what.contains("nobody may read") && !is_seen_by_nobody(env, "repo/.hookbox/hooks")
}

#[test]
fn a_home_directory_that_nobody_knows_blocks() {
    for home in ["relative", "."] {
        let env = TestEnvironment::new().variable("HOME", home);
        for (agent, event) in BEFORE {
            let payload = call(&env, agent, event, "ls").to_string();
            let args = |more: &[&str]| args(agent, needed(agent, event), more);
            let output = env.hookbox_with(args(&[]), &payload);
            assert!(blocked(agent, event, &output, home).contains("HOME"), "{output:#?}");
            passed(agent, event, &env.hookbox_with(args(&["--no-hooks"]), &payload), "no hooks");
        }
    }
}

#[test]
fn a_component_that_cannot_be_read_blocks_unless_its_owner_says_otherwise() {
    for (what, file, breaks) in COMPONENTS {
        let env = TestEnvironment::new();
        breaks(&env, &format!("home/.hookbox{file}"));
        for settings in ["", "[hooks.\"x.wasm\"]\non_failure = \"block\"\n"] {
            env.file("home/.hookbox/hookbox.toml", settings);
            for (agent, event) in BEFORE {
                let payload = call(&env, agent, event, "ls").to_string();
                let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
                let reason = blocked(agent, event, &output, what);
                assert!(reason.contains("x.wasm"), "{what}: {output:#?}");
                assert!(!settings.is_empty() || reason.contains("hint: "), "{what}: {output:#?}");
            }
        }
        // Who tries hooks by hand sees the problem, and everything else works.
        env.file("home/.hookbox/hookbox.toml", "");
        let run = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        assert_eq!(env.event(&["before_tool_call"], &run)["blocked"], false, "{what}");
    }
}

#[test]
fn a_guard_that_was_read_before_still_blocks_when_it_is_broken() {
    let env = TestEnvironment::new();
    let cache = env.path("cache");
    let env =
        env.variable("XDG_CACHE_HOME", cache.to_str().unwrap()).variable("HOOKBOX_LOG", "hookbox=debug");
    env.symlink("home/.hookbox/hooks/x.wasm", sample("guardrail").to_str().unwrap());
    let ask = || {
        let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
        env.hookbox_with(args(Agent::Claude, None, &[]), payload)
    };
    // A file that has just been built is remembered when it is some seconds old.
    assert!((0..10_000).any(|_| ask().stderr.contains("a component is as it was")));
    fs::remove_file(env.path("home/.hookbox/hooks/x.wasm")).unwrap();
    cut(&env, "home/.hookbox/hooks/x.wasm");
    let reason = blocked(Agent::Claude, "PreToolUse", &ask(), "cut");
    assert!(reason.contains("x.wasm") && reason.contains("hint: "), "{reason}");
}

#[test]
fn what_is_known_to_pass_passes() {
    for (what, file, breaks) in COMPONENTS {
        for (settings, name) in [
            ("[hooks.\"x.wasm\"]\non_failure = \"pass\"\n", "x.wasm"),
            ("[hooks.\"x.wasm\"]\nenabled = false\n", ""),
        ] {
            let env = TestEnvironment::new();
            breaks(&env, &format!("home/.hookbox{file}"));
            env.file("home/.hookbox/hookbox.toml", settings);
            for (agent, event) in BEFORE {
                let payload = call(&env, agent, event, "ls").to_string();
                let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
                passed(agent, event, &output, what);
                assert!(output.stderr.contains(name), "{what}: {output:#?}");
            }
        }
    }
    // An executable says nothing of its failures: what the settings do not say is known.
    let env = TestEnvironment::new();
    env.script("home/.hookbox/hooks/odd", "no shebang\n").symlink("home/.hookbox/hooks/gone", "nowhere");
    for (agent, event) in BEFORE {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
        passed(agent, event, &output, "executables");
        assert!(output.stderr.contains("odd") && output.stderr.contains("gone"), "{output:#?}");
    }
}

#[test]
fn a_guard_that_can_be_seen_judges_before_what_cannot() {
    let env = super::guard(&json!({"block": "not that"}), "pass");
    env.file("home/.hookbox/hooks.json", "{");
    let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
    let output = env.hookbox_with(args(Agent::Claude, None, &[]), payload);
    assert_eq!(blocked(Agent::Claude, "PreToolUse", &output, "both"), "not that");
}
