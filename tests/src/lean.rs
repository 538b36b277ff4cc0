//! An event in a process of its own does not compile, read again, start threads, or open files without need.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use hookbox_guards::GUARDS;
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, guest, program, sample};
use crate::mcp::wait_until;

const UNCHANGED: &str = "a component is unchanged";

/// With a cache of its own, so that a test sees the compiled and kept files.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    let cache = env.path("cache");
    let env = env.variable("XDG_CACHE_HOME", cache.to_str().unwrap());
    env.variable("HOOKBOX_LOG", "hookbox=debug").variable("NO_COLOR", "1")
}

fn payload(env: &TestEnvironment, line: &str) -> String {
    json!({
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": env.path("repo"),
        "tool_name": "Bash",
        "tool_input": {"command": line},
    })
    .to_string()
}

fn bridge(env: &TestEnvironment, line: &str) -> Output {
    let output = env.hookbox_with(["bridge", "claude"], payload(env, line));
    assert_eq!(output.code, Some(0), "{output:#?}");
    output
}

fn is_blocked(output: &Output) -> bool {
    output.stdout.contains("\"permissionDecision\":\"deny\"")
}

/// Returns true if the event compiled a component, or started a process that does.
fn compiles(output: &Output) -> bool {
    ["compiling a component", "a process compiles a component"]
        .iter()
        .any(|line| output.stderr.contains(line))
}

/// The compiled code in the cache.
fn code(env: &TestEnvironment) -> Vec<PathBuf> {
    crate::cache::code(&env.path("cache/hookbox/code"))
}

#[test]
fn a_component_is_compiled_once_and_again_only_where_its_code_is_gone_or_damaged() {
    let env = environment();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    for round in ["first", "second", "gone", "third", "damaged", "fourth"] {
        match round {
            "gone" => code(&env).iter().for_each(|file| fs::remove_file(file).unwrap()),
            // Another file in its place: a mapped file keeps its bytes.
            "damaged" => code(&env).iter().for_each(|file| {
                fs::remove_file(file).unwrap();
                fs::write(file, "no code").unwrap();
            }),
            _ => {}
        }
        let output = bridge(&env, "rm -rf build");
        assert!(is_blocked(&output), "{round}: {output:#?}");
        let is_new = matches!(round, "first" | "gone" | "damaged");
        assert_eq!(compiles(&output), is_new, "{round}: {output:#?}");
        // Another process may still write what it has compiled.
        let is_kept = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes != b"no code");
        wait_until("the code is kept", || code(&env).len() == 1 && code(&env).iter().all(is_kept));
    }
}

#[test]
fn an_unchanged_component_is_not_read_again_and_another_one_in_its_place_is() {
    let env = environment();
    let hook = env.path("home/.hookbox/hooks/guard.wasm");
    let link = |to: &Path| {
        let _ = fs::remove_file(&hook);
        env.symlink("home/.hookbox/hooks/guard.wasm", to.to_str().unwrap());
    };
    let (guardrail, logger) = (sample("guardrail"), sample("turn-logger"));
    env.warm(&guardrail);
    env.warm(&logger);
    // A file that has just been built is read until it is some seconds old.
    let remembered = |name: &str| {
        let is_remembered = |output: &Output| output.stderr.contains(UNCHANGED);
        (0..10_000)
            .map(|_| bridge(&env, "rm -rf build"))
            .find(is_remembered)
            .unwrap_or_else(|| panic!("{name}"))
    };
    link(&guardrail);
    assert!(is_blocked(&remembered("guardrail")));
    link(&logger);
    let output = bridge(&env, "rm -rf build");
    assert!(!is_blocked(&output) && !output.stderr.contains(UNCHANGED), "{output:#?}");
    link(&guardrail);
    assert!(is_blocked(&bridge(&env, "rm -rf build")));
    assert!(is_blocked(&remembered("guardrail again")));

    // A process that serves many events starts with what is known; a command that shows hooks reads them.
    for (command, is_read) in [(&["mcp"][..], false), (&["list"], true), (&["cache", "warm"], true)] {
        let output = env.hookbox_with(command, String::new());
        assert_eq!(output.stderr.contains(UNCHANGED), !is_read, "{command:?}: {output:#?}");
    }

    // The caches are not needed.
    for file in code(&env) {
        fs::remove_file(file).unwrap();
    }
    let output = bridge(&env, "rm -rf build");
    assert!(is_blocked(&output) && compiles(&output), "{output:#?}");
    env.file("cache/hookbox/components.json", "{}");
    let output = bridge(&env, "rm -rf build");
    assert!(is_blocked(&output) && !output.stderr.contains(UNCHANGED), "{output:#?}");
}

#[test]
fn an_event_opens_the_code_of_the_components_that_it_runs_and_of_no_other() {
    let env = environment();
    for guard in &GUARDS {
        env.file(&format!("home/.hookbox/hooks/{}.wasm", guard.name), guard.component);
    }
    let warmed = env.hookbox(["cache", "warm"]);
    assert_eq!(warmed.code, Some(0), "{warmed:#?}");
    // A file that has just been written is remembered when it is some seconds old.
    let remembers = |output: &Output| output.stderr.matches(UNCHANGED).count() == GUARDS.len();
    assert!((0..10_000).any(|_| remembers(&bridge(&env, "ls"))));
    // Whoever opened these files would compile again.
    for file in code(&env) {
        fs::remove_file(&file).unwrap();
        fs::write(file, "no code").unwrap();
    }
    let is_damaged = |file: &PathBuf| fs::read(file).is_ok_and(|bytes| bytes == b"no code");
    let output = bridge(&env, "ls");
    assert!(!is_blocked(&output) && !compiles(&output), "{output:#?}");
    assert!(code(&env).len() == GUARDS.len() && code(&env).iter().all(is_damaged));
    let output = bridge(&env, "git push --force");
    assert!(is_blocked(&output) && compiles(&output), "{output:#?}");
    wait_until("its code is kept", || code(&env).iter().any(|file| !is_damaged(file)));
    assert!(code(&env).iter().any(is_damaged), "the line names nothing that the other guards look for");
}

#[test]
fn a_component_of_a_repository_is_remembered_as_untrusted() {
    let env = environment();
    env.directory("repo/.git").symlink("home/.hookbox/hooks/own.wasm", sample("guardrail").to_str().unwrap());
    env.copy("repo/.hookbox/hooks/theirs.wasm", &sample("turn-logger"));
    let remembered = |path: &str| {
        let cache: Value = serde_json::from_str(&env.read("cache/hookbox/components.json")?).unwrap();
        cache["components"][env.path(path).to_str().unwrap()]["trusted"].as_bool()
    };
    // A file that has just been copied is remembered when it is some seconds old.
    assert!((0..10_000).any(|_| {
        bridge(&env, "ls");
        let [own, theirs] =
            ["home/.hookbox/hooks/own.wasm", "repo/.hookbox/hooks/theirs.wasm"].map(&remembered);
        (own, theirs) == (Some(true), Some(false))
    }));
}

#[test]
fn no_database_is_opened_and_no_certificate_read_where_no_hook_asks_for_it() {
    // A reader of a pipe without a writer waits for ever.
    let env = environment().variable("SSL_CERT_FILE", "").variable("SSL_CERT_DIR", "");
    let pipe = env.path("certificates");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let env = env.variable("SSL_CERT_FILE", pipe).variable("SSL_CERT_DIR", pipe);
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    // A busy machine needs more than one event until the guard is compiled.
    assert!((0..1000).any(|_| !is_blocked(&bridge(&env, "ls"))));
    assert!(is_blocked(&bridge(&env, "rm -rf build")));
    let data = env.path("home/.local/share/hookbox");
    let mut kept: Vec<PathBuf> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.sort();
    // The code of the block, the note that a session is open, and the time of the event are the only things.
    assert_eq!(kept, ["allowances.json", "allowances.lock", "seen", "sessions"].map(|name| data.join(name)));
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_of_an_event_has_one_thread_beside_the_main_one() {
    let env = environment();
    env.copy("home/.hookbox/hooks/endless.wasm", &guest("run-loop"));
    // To compile takes threads.
    bridge(&env, "ls");
    let mut command = env.command(program());
    command.args(["bridge", "claude"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload(&env, "ls").as_bytes()).unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(threads(&child));
    }
    let output = child.wait_with_output().unwrap();
    // Its threads are counted while it works: the hook runs until its fuel is used up.
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("endless.wasm"), "{stdout}");
    assert_eq!(most, 2, "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
fn threads(child: &Child) -> usize {
    fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count)
}
