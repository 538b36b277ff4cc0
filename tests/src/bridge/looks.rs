//! The look for hooks: what a repository brought takes none of the user's time, and slows one event.

use hookbox_agents::Agent;
use serde_json::json;

use super::{BEFORE, args, blocked, call, needed, passed};
use crate::environment::{Output, TestEnvironment, program};

/// A component that is no hook, with so many functions of so many instructions: a long work for the compiler.
fn heavy(functions: u32, steps: u32) -> Vec<u8> {
    let mut body = vec![0];
    for step in 0..steps {
        // local.get 0, i64.const STEP, i64.mul, local.get 1, i64.xor, local.tee 1, local.set 0
        body.extend(
            [&[0x20, 0, 0x42][..], &leb(step % (1 << 20)), &[0x7e, 0x20, 1, 0x85, 0x22, 1, 0x21, 0]].concat(),
        );
    }
    body.push(0x0b);
    let count = leb(functions);
    let function = [leb(u32::try_from(body.len()).unwrap()), body].concat();
    let section =
        |id: u8, content: &[u8]| [&[id][..], &leb(u32::try_from(content.len()).unwrap()), content].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        // One type: two i64, nothing.
        section(1, &[1, 0x60, 2, 0x7e, 0x7e, 0]),
        section(3, &[&count[..], &vec![0; functions as usize]].concat()),
        section(10, &[count.clone(), function.repeat(functions as usize)].concat()),
    ]
    .concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

/// A number as WebAssembly has it. Below 64 the last byte is no sign of a negative one.
fn leb(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 && low < 0x40 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

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
fn a_component_of_the_users_that_takes_too_long_to_compile_slows_one_event() {
    let env = learning();
    env.file("home/.hookbox/hooks/heavy.wasm", heavy(40, 60_000));
    for policy in ["block", "pass"] {
        env.file(
            "home/.hookbox/hookbox.toml",
            format!("[hooks.\"heavy.wasm\"]\non_failure = \"{policy}\"\n"),
        );
        let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
        let ask = || env.hookbox_with(args(Agent::Claude, None, &["--deadline", "2s"]), &payload);
        let output = until_remembered(ask);
        if policy == "block" {
            let reason = blocked(Agent::Claude, "PreToolUse", &output, policy);
            assert!(reason.contains("heavy.wasm") && reason.contains("compile"), "{reason}");
        } else {
            passed(Agent::Claude, "PreToolUse", &output, policy);
        }
    }
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
