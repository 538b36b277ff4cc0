//! The look for hooks: what a repository brought takes none of the user's time, and slows one event.

use serde_json::json;

use super::{BEFORE, args, blocked, call, needed, passed};
use crate::compiling::heavy;
use crate::environment::{Output, TestEnvironment, program};

/// A place where what is learned of components stays, and is said.
fn learning() -> TestEnvironment {
    TestEnvironment::new().variable("HOOKBOX_LOG", "hookbox=debug")
}

const AGAIN: &str = "a component failed before";

/// Asks until a file that has just been written counts as settled.
fn until_remembered(ask: impl Fn() -> Output) -> Output {
    (0..1_000).map(|_| ask()).find(|output| output.stderr.contains(AGAIN)).unwrap()
}

#[test]
fn a_repositorys_component_takes_nothing_of_the_users_time_and_slows_one_event() {
    let env = learning();
    env.directory("repo/.git").file("repo/.hookbox/hooks/heavy.wasm", heavy(40, 60_000));
    // More than half of its share, were the look to shorten that.
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        "sleep 2; echo '{\"blocked\":true,\"reason\":\"not that\"}'",
    );
    for (agent, event) in [BEFORE[0], BEFORE[2]] {
        let payload = call(&env, agent, event, "ls").to_string();
        let ask = || env.hookbox_with(args(agent, needed(agent, event), &["--deadline", "6s"]), &payload);
        let output = until_remembered(ask);
        assert!(blocked(agent, event, &output, "a guard").contains("not that"), "{output:#?}");
        assert!(output.stderr.contains("heavy.wasm"), "the user is told each time: {output:#?}");
        assert!(!output.stderr.contains("compiling a component"), "{output:#?}");
    }
}

#[test]
fn what_is_no_component_is_known_by_its_bytes_too() {
    let env = learning();
    env.directory("repo/.git").file("repo/.hookbox/hooks/one.wasm", "\0garbage");
    let (agent, event) = BEFORE[0];
    let payload = call(&env, agent, event, "ls").to_string();
    let output = until_remembered(|| env.hookbox_with(args(agent, None, &[]), &payload));
    passed(agent, event, &output, "garbage");
    assert!(output.stderr.contains("one.wasm"), "{output:#?}");
    // A file that changed is looked at again.
    env.file("repo/.hookbox/hooks/one.wasm", "");
    let output = env.hookbox_with(args(agent, None, &[]), &payload);
    assert!(output.stderr.contains("is empty") && !output.stderr.contains(AGAIN), "{output:#?}");
}

#[test]
fn compiling_has_a_limit_of_memory() {
    let env = learning();
    env.file("home/.hookbox/hooks/heavy.wasm", heavy(8, 60_000));
    let mut command = env.command("bash");
    command.args(["-c", "ulimit -d 60000; exec \"$@\"", "-"]).arg(program()).args(["list", "--json"]);
    let output = env.run(&mut command, json!({}).to_string());
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(
        output.stderr.contains("MiB of memory") || output.stdout.contains("MiB of memory"),
        "{output:#?}"
    );
}
