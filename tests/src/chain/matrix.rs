//! Every way to fail × both failure policies × every event × both back ends.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hookbox::hook::Cause;
use hookbox::{EventName, Status};
use serde_json::json;

use super::{BEFORE, before, data, reason, report, warned};
use crate::answers::{Backend, each, user};
use crate::environment::TestEnvironment;

/// One way to fail.
struct Failure {
    name: &'static str,
    cause: Cause,
    how: How,
}

enum How {
    /// These lines of bash are the hook's `run`.
    Script(&'static str),
    /// The component misbehaves in this way, with these settings.
    Component(serde_json::Value, &'static str),
    /// Something happens to the file of a good native hook after it was found.
    Later(fn(&Path)),
}

use How::{Component, Later, Script};

fn failures() -> Vec<Failure> {
    let traceback =
        "cat >&2 <<'END'\nTraceback (most recent call last):\nKeyError: 'tool_input'\nEND\nexit 1";
    let native = [
        ("empty output and a traceback", Cause::Exit, traceback),
        ("a deny before a crash", Cause::Exit, "echo '{\"blocked\":true,\"reason\":\"no\"}'; exit 1"),
        ("exit code 2", Cause::Exit, "echo no >&2; exit 2"),
        ("an answer that is cut off", Cause::MalformedOutput, "printf '{\"blocked\":true'"),
        ("two answers", Cause::MalformedOutput, "echo '{}{}'"),
        ("words", Cause::MalformedOutput, "echo Allowed."),
        ("no UTF-8", Cause::MalformedOutput, "printf '\\377\\376'"),
        ("a signal", Cause::Signal, "kill -SEGV $$"),
        ("no end", Cause::Timeout, "sleep 1000"),
        ("no end, with an answer", Cause::Timeout, "echo '{}'; exec 1>&-; while :; do sleep 1000; done"),
        ("output without end", Cause::OutputLimit, "exec yes"),
    ];
    let component = [
        ("an error", Cause::Exit, json!({"fail": "no idea"}), ""),
        ("an exit", Cause::Exit, json!({"misbehave": "exit"}), ""),
        ("a panic", Cause::Trap, json!({"misbehave": "trap"}), ""),
        ("a loop", Cause::Fuel, json!({"misbehave": "loop"}), "fuel = 5_000_000"),
        ("a wait", Cause::Timeout, json!({"misbehave": "sleep"}), ""),
        ("much memory", Cause::Memory, json!({"misbehave": "alloc"}), "memory = \"4MiB\""),
        ("much output", Cause::OutputLimit, json!({"misbehave": "print"}), "output = \"64KiB\""),
    ];
    let later: [(_, _, fn(&Path)); 5] = [
        ("deleted since", Cause::NotFound, |path| fs::remove_file(path).unwrap()),
        ("not executable since", Cause::Spawn, |path| mode(path, 0o644)),
        ("another file since: no shebang", Cause::Spawn, |path| replace(path, "echo '{}'\n")),
        ("another file since: no interpreter", Cause::Spawn, |path| replace(path, "#!/nowhere/sh\n")),
        ("a directory since", Cause::Spawn, |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    let native = native.map(|(name, cause, run)| Failure { name, cause, how: Script(run) });
    let component = component.map(|(name, cause, answer, settings)| Failure {
        name,
        cause,
        how: Component(answer, settings),
    });
    let later = later.map(|(name, cause, then)| Failure { name, cause, how: Later(then) });
    native.into_iter().chain(component).chain(later).collect()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn replace(path: &Path, text: &str) {
    fs::remove_file(path).unwrap();
    fs::write(path, text).unwrap();
    mode(path, 0o755);
}

#[tokio::test]
async fn every_failure_is_a_warning_or_a_block_at_every_event() {
    for failure in failures() {
        for policy in ["pass", "block"] {
            let env = TestEnvironment::new();
            let timeout = if failure.cause == Cause::Timeout { "150ms" } else { "30s" };
            let settings = |more: &str| format!("on_failure = \"{policy}\"\ntimeout = \"{timeout}\"\n{more}");
            let names: Vec<String> = EventName::ALL
                .iter()
                .map(|event| match &failure.how {
                    Script(run) => {
                        let stem = format!("x-{event}");
                        let pass = json!({});
                        Backend::Native.hook(&env, "home/.hookbox", &stem, event, &pass, &settings(""));
                        env.native(&format!("home/.hookbox/hooks/{stem}"), event.as_str(), run);
                        stem
                    }
                    Component(answer, more) => {
                        let stem = format!("x-{event}");
                        Backend::Component.hook(&env, "home/.hookbox", &stem, event, answer, &settings(more))
                    }
                    Later(_) => {
                        let stem = format!("x-{event}");
                        Backend::Native.hook(&env, "home/.hookbox", &stem, event, &json!({}), &settings(""))
                    }
                })
                .collect();
            let manager = env.builder().build().await;
            assert!(manager.problems().is_empty(), "{}: {:?}", failure.name, manager.problems());
            if let Later(then) = failure.how {
                names.iter().for_each(|name| then(&env.path(format!("home/.hookbox/hooks/{name}"))));
            }
            let session = manager.session("c");
            for (event, name) in EventName::ALL.iter().zip(&names) {
                let what = format!("{} at {event} with {policy}", failure.name);
                let fired = session.fire(data(event)).await;
                let blocks = policy == "block" && event.allows().block;
                let found = report(&fired, name);
                if *event == EventName::TurnEnd && failure.cause == Cause::MalformedOutput {
                    // The output at turn_end is ignored.
                    assert_eq!(found.status, Status::Passed, "{what}");
                    continue;
                }
                assert_eq!(found.cause, Some(failure.cause), "{what}: {found:#?}");
                let status = if blocks { Status::Blocked } else { Status::Failed };
                assert_eq!(found.status, status, "{what}");
                assert!(
                    warned(&fired, &[name, failure.cause.as_str()]),
                    "{what}: {:?}",
                    fired.verdict.warnings
                );
                match reason(&fired) {
                    Some(reason) => {
                        assert!(blocks, "{what}: {reason}");
                        assert!(reason.contains(name.as_str()), "{what}: {reason}");
                        assert!(reason.contains(failure.cause.as_str()), "{what}: {reason}");
                    }
                    None => assert!(!blocks, "{what}"),
                }
                assert!(!fired.verdict.modified && fired.verdict.context.is_empty(), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn after_a_failure_the_next_one_blocks_too_and_the_next_healthy_call_works() {
    let env = TestEnvironment::new();
    let settings = "on_failure = \"block\"\nfuel = 5_000_000";
    Backend::Component.hook(&env, "home/.hookbox", "x", BEFORE, &json!({}), settings);
    let session = env.builder().build().await.session("c");
    for deed in ["trap", "loop", "exit", "print", "alloc"] {
        for _ in 0..3 {
            let fired = session.fire(before(json!({"answer": {"misbehave": deed}}))).await;
            assert!(fired.verdict.block.is_some(), "{deed}");
        }
        let fired = session.fire(before(json!({"answer": {"modify": {"command": "well"}}}))).await;
        assert_eq!(fired.verdict.block, None, "{deed}");
        assert_eq!(fired.event.tool_call().unwrap().input.value(), &json!({"command": "well"}), "{deed}");
    }
}

/// A broken file of hookbox's own is named, disarms no guard, and stops nothing else.
#[tokio::test]
async fn broken_files_of_our_own_disarm_no_guard() {
    let garbage: fn(&TestEnvironment, &str) = |env, path| {
        env.file(path, "\u{0}garbage");
    };
    let directory: fn(&TestEnvironment, &str) = |env, path| {
        env.directory(path);
    };
    let looped: fn(&TestEnvironment, &str) = |env, path| {
        env.symlink(path, path.rsplit('/').next().unwrap());
    };
    each(async |backend| {
        for path in [
            "home/.hookbox/hookbox.toml",
            "repo/.hookbox/hookbox.toml",
            "home/.local/share/hookbox/trust.json",
            "home/.local/share/hookbox",
            "home/.cache/hookbox",
        ] {
            for (kind, breaks) in [("garbage", garbage), ("directory", directory), ("loop", looped)] {
                if kind == "directory" && path.ends_with("/hookbox") {
                    continue;
                }
                let env = TestEnvironment::new();
                let guard = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
                // The guard's own answer stands in its settings where it is a component.
                if path == "home/.hookbox/hookbox.toml" && backend == Backend::Component {
                    env.copy("home/.hookbox/hooks/guard.wasm", &crate::environment::sample("guardrail"));
                }
                let at = env.path(path);
                let _ = fs::remove_file(&at);
                let _ = fs::remove_dir_all(&at);
                breaks(&env, path);
                let call = json!({"tool_name": "bash", "tool_input": {"command": "sudo ls"}});
                let output = env.hookbox_with(["run", "before_tool_call"], call.to_string());
                let verdict = output.json();
                assert_eq!(verdict["blocked_by"], json!(guard), "{kind} at {path}: {output:#?}");
                let named =
                    output.stderr.contains(path.trim_start_matches("home/").trim_start_matches("repo/"));
                assert!(named, "{kind} at {path} is not named: {output:#?}");
            }
        }
    })
    .await;
}
