//! Components that no compiler would make.

use std::time::Duration;

use hookbox::hook::Cause;
use hookbox::manager::EntryStatus;
use hookbox::{Limits, Status};

use super::{guard, guarded, hook, run, sudo};
use crate::environment::{TestEnvironment, guest};

/// A deadline that a busy machine does not reach, where fuel or memory is the bound.
const FUEL: &str = "fuel = 20_000_000\ntimeout = \"60s\"";
/// Fuel that never ends, where time is the bound.
const TIME: &str = "fuel = 1_000_000_000_000_000\ntimeout = \"300ms\"";

#[tokio::test]
async fn what_a_component_does_when_it_runs_ends_for_its_cause_and_the_guard_judges() {
    use Cause::{Fuel, MalformedOutput, Memory, OutputLimit, Timeout, Trap};
    let mut wrong = Vec::new();
    for (name, settings, causes, words) in [
        ("run-loop", FUEL, &[Fuel][..], "20000000"),
        ("run-loop", TIME, &[Timeout], "300ms"),
        ("run-recursion", FUEL, &[Trap], "stack"),
        ("run-trap", FUEL, &[Trap], "unreachable"),
        ("run-tables", FUEL, &[Memory], "100000"),
        ("run-memories", FUEL, &[Memory], "67108864"),
        ("run-fill", FUEL, &[Fuel, Memory, Trap], ""),
        ("run-fill-again", FUEL, &[Fuel], ""),
        ("run-fill-again", TIME, &[Timeout], ""),
        ("run-copy-again", FUEL, &[Fuel], ""),
        ("run-copy-again", TIME, &[Timeout], ""),
        ("run-table-fill-again", FUEL, &[Fuel], ""),
        ("run-table-fill-again", TIME, &[Timeout], ""),
        ("run-handles", FUEL, &[Memory, Trap], "handles"),
        ("run-sleep", TIME, &[Timeout], "300ms"),
        ("run-forged-handle", FUEL, &[Trap, MalformedOutput], "handle"),
        ("run-double-drop", FUEL, &[Trap, MalformedOutput], "handle"),
        ("run-log-outside", FUEL, &[Trap, MalformedOutput], ""),
        ("read-line-again", FUEL, &[Fuel], "20000000"),
        ("read-line-again", TIME, &[Timeout], "300ms"),
        ("read-line-long", FUEL, &[Fuel], "20000000"),
        ("read-line-outside", FUEL, &[Trap, MalformedOutput], ""),
        ("run-bad-text", FUEL, &[MalformedOutput], "utf-8"),
        ("run-text-outside", FUEL, &[MalformedOutput], ""),
        ("run-text-over-the-edge", FUEL, &[MalformedOutput, OutputLimit], ""),
        ("run-answer-outside", FUEL, &[MalformedOutput], ""),
        ("run-answer-unaligned", FUEL, &[MalformedOutput], ""),
        ("run-unknown-action", FUEL, &[MalformedOutput], ""),
        ("run-huge-list", FUEL, &[MalformedOutput, OutputLimit], ""),
        ("run-list-of-nothing", FUEL, &[OutputLimit], "4194304"),
        ("run-same-text", FUEL, &[OutputLimit], "4194304"),
        ("realloc-outside", FUEL, &[Trap, MalformedOutput], ""),
        ("realloc-loop", FUEL, &[Fuel], ""),
        ("after-loop", FUEL, &[Fuel], ""),
        ("after-trap", FUEL, &[Trap], ""),
    ] {
        let env = TestEnvironment::new();
        env.copy("home/.hookbox/hooks/hostile.wasm", &guest(name));
        guard(&env, "hostile.wasm", settings);
        let manager = env.builder().build().await;
        let fired = manager.session("c").fire(sudo()).await;
        let report = &fired.report.hooks[0];
        let shown = format!("{name}: {:?} in {:?}: {:?}", report.cause, report.duration, report.message);
        eprintln!("{shown}");
        let message = report.message.as_deref().unwrap_or_default();
        if report.status != Status::Failed
            || !report.cause.is_some_and(|cause| causes.contains(&cause))
            || !message.contains(words)
        {
            wrong.push(shown);
        }
        assert!(!message.contains(char::is_control) && message.len() < 2_000, "{name}: {report:#?}");
        assert!(report.memory_peak.unwrap() <= 64 << 20, "{name}: {report:#?}");
        guarded(&fired, name);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn what_a_component_does_before_it_is_a_hook_is_one_problem_with_its_reason() {
    let cases = [
        ("start-trap", "unreachable"),
        ("start-loop", "fuel"),
        ("start-data", "out of bounds"),
        ("describe-recursion", "stack"),
        ("describe-trap", "unreachable"),
        ("describe-bad-text", "utf-8"),
        ("describe-outside", "describe"),
        ("describe-huge-list", "describe"),
        ("describe-many", "describe"),
        ("describe-nothing", "subscribes to no event"),
        ("describe-unknown-event", r"\u{1b}[2J\u{202e}"),
        ("describe-read-parent", "cannot be enforced"),
        ("describe-read-escapes", "cannot be enforced"),
        ("describe-http-credentials", "cannot be enforced"),
        ("describe-env-assignment", "cannot be enforced"),
        ("large-memory", "memory"),
        ("many-memories", "memory"),
        ("large-table", "tables"),
    ];
    let env = TestEnvironment::new();
    for (name, _) in cases {
        env.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &guest(name));
    }
    guard(&env, "none.wasm", "");
    // A busy machine takes longer to use up the fuel.
    let limits = Limits { timeout: Some(Duration::from_secs(120)), ..Limits::default() };
    let manager = env.builder().limits(limits).build().await;
    for (name, words) in cases {
        let entries = manager.entries();
        let entry = entries.iter().find(|entry| entry.name == format!("{name}.wasm")).unwrap();
        let problem = entry.problem.as_deref().unwrap_or_default();
        eprintln!("{name}: {problem}");
        assert_eq!(entry.status, EntryStatus::Invalid, "{entry:?}");
        assert!(problem.contains(words), "{name}: expected {words:?} in {problem:?}");
        assert!(!problem.contains(char::is_control) && problem.len() < 2_000, "{name}: {problem:?}");
        assert!(!problem.contains('\u{202e}'), "{name}: {problem:?}");
    }
    let fired = manager.session("c").fire(sudo()).await;
    guarded(&fired, "beside what is no hook");
}

#[tokio::test]
async fn what_is_odd_but_harmless_is_a_hook_like_any_other() {
    for name in ["many-tables", "start-flood", "realloc-overlap"] {
        let outcome = run(&hook(name).await).await;
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn what_a_component_says_never_reaches_a_terminal_as_it_is() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/escapes.wasm", &guest("run-escapes"));
    let manager = env.builder().build().await;
    let fired = manager.session("c").fire(sudo()).await;
    let report = &fired.report.hooks[0];
    assert_eq!(report.status, Status::Blocked);
    let message = report.message.as_deref().unwrap();
    assert!(message.starts_with(r"\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{202e}allowed"), "{message:?}");
}
