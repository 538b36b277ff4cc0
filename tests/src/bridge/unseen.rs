//! A file of the user that is broken may contain a guard, so that it counts as a guard that fails.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use hookbox_agents::Agent;
use serde_json::json;

use super::{BEFORE, args, blocked, call, first_call, needed, passed};
use crate::environment::{Output, TestEnvironment, sample};

/// A fault in a root, the file that the reason names, and the function that causes it.
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
        // `hookbox run` reports the problem, and everything else works.
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
                let payload = first_call(&env, agent, event, "ls").to_string();
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
        for (agent, event) in BEFORE.iter().copied() {
            let payload = call(&env, agent, event, "ls").to_string();
            let args = |more: &[&str]| args(agent, needed(agent, event), more);
            let output = env.hookbox_with(args(&[]), &payload);
            assert!(blocked(agent, event, &output, home).contains("HOME"), "{output:#?}");
            passed(agent, event, &env.hookbox_with(args(&["--no-hooks"]), &payload), "no hooks");
        }
    }
}

#[test]
fn a_command_that_was_installed_for_another_home_directory_blocks_and_says_so() {
    for (home, means) in [("home", "other"), ("other", "home"), ("gone", "home"), ("home", "gone")] {
        let env = TestEnvironment::new();
        env.directory("other");
        let (home, means) = (env.path(home), env.path(means));
        let env = env.variable("HOME", home.to_str().unwrap());
        for (agent, event) in BEFORE.iter().copied() {
            let payload = call(&env, agent, event, "ls").to_string();
            let output = env.hookbox_with(
                args(agent, needed(agent, event), &["--home", means.to_str().unwrap()]),
                &payload,
            );
            let reason = blocked(agent, event, &output, "another home");
            for part in [home.to_str().unwrap(), means.to_str().unwrap(), "hint: "] {
                assert!(reason.contains(part), "{agent}: {reason}");
            }
        }
    }
    // By whatever path: it is the same directory.
    let env = TestEnvironment::new();
    env.symlink("link", "home");
    let link = env.path("link");
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env
            .hookbox_with(args(agent, needed(agent, event), &["--home", link.to_str().unwrap()]), &payload);
        passed(agent, event, &output, "the same home");
        assert_eq!(output.stderr, "", "{agent}");
    }
}

/// Runs the program where the system's accounts say that the user lives in `home/account`.
fn at_account(env: &TestEnvironment, args: &[OsString], input: &str) -> Option<Output> {
    let mut command = env.command("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount --bind \"$0\" /etc/passwd && exec \"$@\"");
    command.arg(env.path("passwd")).arg(crate::environment::program()).args(args);
    let output = env.run(&mut command, input);
    let is_refused = ["unshare:", "mount:"].iter().any(|word| output.stderr.contains(word));
    (!is_refused).then_some(output)
}

#[test]
fn a_home_directory_that_is_not_the_users_blocks_where_the_users_own_has_hooks() {
    let env = TestEnvironment::new();
    let account = env.path("account");
    env.file("passwd", format!("root:x:0:0:root:{}:/bin/sh\n", account.display()));
    for (has_hooks, more) in
        [(false, vec![]), (true, vec![]), (true, vec!["--home".into(), env.path("home").into()])]
    {
        env.directory(if has_hooks { "account/.hookbox" } else { "account" });
        let blocks = has_hooks && more.is_empty();
        for (agent, event) in BEFORE.iter().copied() {
            let payload = call(&env, agent, event, "ls").to_string();
            let args: Vec<OsString> =
                args(agent, needed(agent, event), &[]).into_iter().chain(more.clone()).collect();
            let Some(output) = at_account(&env, &args, &payload) else {
                eprintln!("skipped: no namespace of its own for the accounts of the system");
                return;
            };
            if blocks {
                let reason = blocked(agent, event, &output, "another home");
                assert!(reason.contains(account.to_str().unwrap()) && reason.contains("--home"), "{reason}");
            } else {
                passed(agent, event, &output, "no other hooks");
                assert_eq!(output.stderr, "", "{agent}");
            }
        }
        let list = at_account(&env, &[["list".into()].as_slice(), more.as_slice()].concat(), "").unwrap();
        let is_told = list.stderr.contains(account.to_str().unwrap());
        assert_eq!((list.code, is_told), (Some(0), blocks), "{list:#?}");
    }
}

#[test]
fn what_others_may_write_is_not_used_and_blocks() {
    let hook = "#!/bin/sh\n[ \"$1\" = run ] && touch \"$0-ran\" && echo '{}' || echo before_tool_call\n";
    for file in [
        "",
        "/hooks",
        "/hooks/guard",
        "/hookbox.toml",
        "/hooks.json",
        "/mcp.json",
        "/plugins",
        "/plugins/a@b",
        "/plugins/a@b/hooks",
        "/plugins/a@b/hooks/guard",
    ] {
        let env = TestEnvironment::new();
        for (at, text) in [("hookbox.toml", ""), ("hooks.json", "{\"hooks\": {}}"), ("mcp.json", "{}")] {
            env.file(&format!("home/.hookbox/{at}"), text);
        }
        for at in ["hooks/guard", "plugins/a@b/hooks/guard"] {
            env.script(&format!("home/.hookbox/{at}"), hook);
        }
        let path = format!("home/.hookbox{file}");
        let mode = fs::metadata(env.path(&path)).unwrap().permissions().mode() & 0o777;
        env.mode(&path, mode | 0o002);
        for (agent, event) in [BEFORE[0], BEFORE[6]] {
            let payload = call(&env, agent, event, "ls").to_string();
            let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
            let reason = blocked(agent, event, &output, file);
            for part in [env.path(&path).to_str().unwrap(), "others may write it", "chmod go-w"] {
                assert!(reason.contains(part), "{file}: {reason}");
            }
        }
        // Nothing that it leads to runs; who tries hooks by hand is told.
        for at in ["hooks/guard", "plugins/a@b/hooks/guard"].map(|at| format!("/{at}")) {
            let ran = env.path(format!("home/.hookbox{at}-ran")).exists();
            assert!(!ran || !at.starts_with(file), "{file}: {at} ran");
        }
        let run = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        let output = env.hookbox_with(["run", "before_tool_call"], run.to_string());
        assert!(
            output.code == Some(0) && output.stderr.contains("others may write it"),
            "{file}: {output:#?}"
        );
        env.mode(&path, mode);
        let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
        let output = env.hookbox_with(args(Agent::Claude, None, &[]), payload);
        passed(Agent::Claude, "PreToolUse", &output, file);
    }
}

#[test]
fn a_component_that_cannot_be_read_blocks_unless_its_owner_says_otherwise() {
    for (what, file, breaks) in COMPONENTS {
        let env = TestEnvironment::new();
        breaks(&env, &format!("home/.hookbox{file}"));
        // On a busy machine the first event would be answered while the component is still being looked at.
        env.hookbox(["cache", "warm"]);
        for settings in ["", "[hooks.\"x.wasm\"]\non_failure = \"block\"\n"] {
            env.file("home/.hookbox/hookbox.toml", settings);
            for (agent, event) in BEFORE.iter().copied() {
                let payload = first_call(&env, agent, event, "ls").to_string();
                let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
                let reason = blocked(agent, event, &output, what);
                assert!(reason.contains("x.wasm"), "{what}: {output:#?}");
                assert!(!settings.is_empty() || reason.contains("hint: "), "{what}: {output:#?}");
            }
        }
        // `hookbox run` reports the problem, and everything else works.
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
    assert!((0..10_000).any(|_| ask().stderr.contains("a component is unchanged")));
    fs::remove_file(env.path("home/.hookbox/hooks/x.wasm")).unwrap();
    cut(&env, "home/.hookbox/hooks/x.wasm");
    let reason = blocked(Agent::Claude, "PreToolUse", &ask(), "cut");
    // On a busy machine the file is still being looked at.
    let has_step = ["hint: ", "hookbox cache warm"].iter().any(|it| reason.contains(it));
    assert!(reason.contains("x.wasm") && has_step, "{reason}");
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
            for (agent, event) in BEFORE.iter().copied() {
                let payload = first_call(&env, agent, event, "ls").to_string();
                let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
                passed(agent, event, &output, what);
                assert!(output.stderr.contains(name), "{what}: {output:#?}");
            }
        }
    }
    // An executable says nothing of its failures: what the settings do not say is known.
    let env = TestEnvironment::new();
    env.script("home/.hookbox/hooks/odd", "no shebang\n").symlink("home/.hookbox/hooks/gone", "nowhere");
    for (agent, event) in BEFORE.iter().copied() {
        let payload = first_call(&env, agent, event, "ls").to_string();
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
    let reason = blocked(Agent::Claude, "PreToolUse", &output, "both");
    assert!(reason.starts_with("not that (hookbox: guard;"), "{reason}");
}
