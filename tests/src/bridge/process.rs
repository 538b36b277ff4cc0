//! The process itself: its pipes, its signals, its deadline.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use hookbox::EventName;
use hookbox::manager::Manager;
use hookbox_agents::agent::{Agent, Effect, Printed, Reply};
use hookbox_agents::bridge::Bridge;
use serde_json::json;

use super::{BEFORE, args, blocked, call, effect, guard, needed, passed, reads_exit_codes};
use crate::answers::Backend;
use crate::environment::{Output, TestEnvironment, program, side_by_side};
use crate::mcp::{lives, wait_until};

#[test]
fn a_block_that_cannot_be_written_is_exit_code_2_with_the_reason() {
    let env = guard(&json!({"block": "not that"}), "pass");
    let bridge = program();
    let bridge = bridge.to_str().unwrap();
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        for to in [">/dev/full", ">&-", ">/dev/null"] {
            let event_of = needed(agent, event).map(|event| format!("--event {event}")).unwrap_or_default();
            let line = format!("{bridge} bridge {agent} {event_of} {to}");
            let output = env.run(env.command("bash").args(["-c", &line]), &payload);
            assert_eq!(output.code, Some(2), "{agent} {to}: {output:#?}");
            let reason = blocked(agent, event, &output, to);
            assert!(reason.contains("not that"), "{agent} {to}: {output:#?}");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = env.command(bridge);
        command.args(args(agent, needed(agent, event), &[])).stdout(writer);
        let output = env.run(&mut command, &payload);
        assert_eq!(output.code, Some(2), "{agent}: {output:#?}");
        assert!(blocked(agent, event, &output, "no reader").contains("not that"), "{agent}: {output:#?}");
    }
}

#[test]
fn what_passes_passes_also_where_nobody_reads_the_answer() {
    let env = guard(&json!({}), "pass");
    for to in [">/dev/full", ">&-", "2>&-", "2>/dev/full"] {
        let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
        let line = format!("{} bridge claude {to}", program().display());
        let output = env.run(env.command("bash").args(["-c", &line]), &payload);
        passed(Agent::Claude, "PreToolUse", &output, to);
    }
}

#[test]
fn a_block_is_written_also_where_standard_error_is_closed_or_full() {
    let env = guard(&json!({"block": "not that", "warnings": ["w"]}), "pass");
    for (agent, event) in BEFORE.iter().copied() {
        for to in ["2>&-", "2>/dev/full"] {
            let payload = call(&env, agent, event, "ls").to_string();
            let line = format!("{} bridge {agent} --event {event} {to}", program().display());
            let output = env.run(env.command("bash").args(["-c", &line]), &payload);
            if reads_exit_codes(agent) {
                // The reason has no other place.
                assert_eq!(blocked(agent, event, &output, to), "", "{output:#?}");
                continue;
            }
            assert_eq!(output.code, Some(0), "{output:#?}");
            assert!(blocked(agent, event, &output, to).contains("not that"), "{output:#?}");
        }
    }
}

/// Starts the bridge with a standard input that stays open, and writes this to it.
fn open_ended(
    env: &TestEnvironment,
    args: &[std::ffi::OsString],
    input: &str,
) -> (std::process::Child, std::process::ChildStdin) {
    let mut child = env.command(program()).args(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    (child, stdin)
}

fn ended(child: std::process::Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn an_input_that_is_never_closed_is_answered_in_time() {
    let of = |policy| BEFORE.iter().map(move |(agent, event)| (*agent, *event, policy));
    side_by_side(of("block").chain(of("pass")), |(agent, event, policy)| {
        let env = guard(&json!({"block": "not that"}), policy);
        let payload = call(&env, agent, event, "ls").to_string();
        let within = |time: &str| args(agent, needed(agent, event), &["--deadline", time]);
        // The whole event is there, so it is judged, and nothing waits for more.
        let (child, stdin) = open_ended(&env, &within("60s"), &payload);
        let output = ended(child);
        drop(stdin);
        assert!(blocked(agent, event, &output, "the whole event").contains("not that"), "{output:#?}");
        assert!(!output.stderr.contains("did not close standard input"), "{output:#?}");
        for part in ["", &payload[..40]] {
            let (child, stdin) = open_ended(&env, &within("3s"), part);
            let output = ended(child);
            drop(stdin);
            if policy == "block" {
                blocked(agent, event, &output, "a part of the event");
            } else {
                passed(agent, event, &output, "a part of the event");
                assert!(output.stderr.contains("did not close standard input"), "{output:#?}");
            }
        }
    });
}

#[test]
fn asked_to_end_it_still_blocks_and_leaves_no_hook_behind() {
    for signal in ["TERM", "INT", "HUP"] {
        let env = TestEnvironment::new();
        let hang = r#"echo $$ > "$HOME/hook"; sleep 1000"#;
        env.native("home/.hookbox/hooks/guard", "before_tool_call", hang);
        env.file("home/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
        let kill =
            |pid: u32| Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().unwrap();
        for (agent, event) in [BEFORE[0], BEFORE[1], BEFORE[4]] {
            let payload = call(&env, agent, event, "ls").to_string();
            let args = args(agent, Some(event), &[]);
            // While a hook runs.
            let (child, stdin) = open_ended(&env, &args, &payload);
            drop(stdin);
            let pid = || env.read("home/hook").filter(|it| it.ends_with('\n'));
            wait_until("the hook runs", || pid().is_some());
            assert!(kill(child.id()).success());
            let output = ended(child);
            blocked(agent, event, &output, signal);
            assert!(output.code == Some(0) && output.stdout.contains("asked to end"), "{output:#?}");
            let pid = pid().unwrap();
            wait_until("the hook has ended", || !lives(pid.trim()));
            fs::remove_file(env.path("home/hook")).unwrap();
            // While it waits for the event: once it handles signals.
            let (child, stdin) = open_ended(&env, &args, "");
            wait_until("signals are handled", || handles_signals(child.id()));
            assert!(kill(child.id()).success());
            let output = ended(child);
            drop(stdin);
            blocked(agent, event, &output, signal);
        }
    }
}

/// Killed it can end nothing itself: what it started ends all the same, with all that belongs to it.
#[test]
#[cfg(target_os = "linux")]
fn killed_it_takes_its_hooks_with_it() {
    let hang = r#"sleep 1000 & echo $! $$ > "$HOME/hook"; wait"#;
    for is_file in [true, false] {
        let env = TestEnvironment::new();
        if is_file {
            env.native("home/.hookbox/hooks/guard", "before_tool_call", hang);
        } else {
            let declared = json!({"hooks": {"before_tool_call": [{"command": hang, "name": "guard"}]}});
            env.file("home/.hookbox/hooks.json", declared.to_string());
        }
        let (agent, event) = BEFORE[0];
        let payload = call(&env, agent, event, "ls").to_string();
        let (mut child, stdin) = open_ended(&env, &args(agent, None, &[]), &payload);
        drop(stdin);
        let pids = || env.read("home/hook").filter(|it| it.ends_with('\n'));
        wait_until("the hook runs", || pids().is_some());
        // The hook may run before the kernel knows what to end with its host.
        wait_until("the hook is tied to it", || has_leash(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in pids().unwrap().split_whitespace() {
            wait_until("the hook and what it started have ended", || !lives(pid));
        }
    }
}

/// Returns true if the process has a descriptor whose events are signals (`O_ASYNC`), as that of a leash.
fn has_leash(pid: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return false };
    descriptors.flatten().any(|it| {
        let text = fs::read_to_string(it.path()).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.and_then(|it| u32::from_str_radix(it.trim(), 8).ok()).is_some_and(|it| it & 0o20000 != 0)
    })
}

/// Returns true if the process catches SIGTERM.
fn handles_signals(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << 14) != 0 && mask & 2 != 0 && mask & 1 != 0)
}

#[test]
fn a_hook_cannot_write_into_the_answer() {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/a",
        "before_tool_call",
        "echo noise >&2; echo '{\"blocked\":true,\"reason\":\"no\"}'",
    );
    env.native("home/.hookbox/hooks/b", "before_tool_call", "printf '\\033[31mnoise'");
    let env = env.variable("HOOKBOX_LOG", "trace");
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env.hookbox_with(args(agent, Some(event), &[]), payload);
        blocked(agent, event, &output, "noise");
        let lines = usize::from(!reads_exit_codes(agent));
        assert_eq!(output.stdout.lines().count(), lines, "{output:#?}");
    }
}

fn judged(agent: Agent, event: &str, reply: &Reply) -> Effect {
    let printed =
        Printed { exit_code: Some(reply.exit_code.into()), stdout: &reply.stdout, stderr: &reply.stderr };
    agent.effect(agent.event(event).unwrap(), printed)
}

#[test]
fn a_panic_a_hang_and_an_error_while_hooks_are_looked_for_block_in_every_agent() {
    let env = TestEnvironment::new();
    for (agent, event) in BEFORE.iter().copied() {
        for given in [Some(event.to_owned()), None] {
            let payload = call(&env, agent, event, "ls").to_string();
            let bridge = || Bridge::new(agent, given.clone()).deadline(Duration::from_millis(50));
            let run = |work: fn() -> Result<Manager, &'static str>, bridge: &Bridge| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let answer = bridge.answer(payload.as_bytes(), async |_: &std::path::Path| work());
                runtime.block_on(answer).reply
            };
            // A panic, as the program sees it: nobody answers any more.
            let panics = bridge();
            let known = panics.known();
            let worker = std::thread::scope(|scope| {
                scope.spawn(|| run(|| panic!("the look for hooks fell"), &panics)).join()
            });
            assert!(worker.is_err());
            let reply = known.failed("hookbox failed while it ran the hooks");
            assert!(judged(agent, event, &reply).is_blocked(), "{agent} {given:?}: {reply:?}");
            let reply = run(|| Err("no directory"), &bridge());
            assert!(judged(agent, event, &reply).is_blocked(), "{agent} {given:?}: {reply:?}");
            let hangs = bridge();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let never = async |_: &std::path::Path| std::future::pending::<Result<Manager, String>>().await;
            let reply = runtime.block_on(hangs.answer(payload.as_bytes(), never)).reply;
            assert!(judged(agent, event, &reply).is_blocked(), "{agent} {given:?}: {reply:?}");
        }
    }
}

#[test]
fn a_look_for_hooks_that_takes_too_long_blocks_for_nobody_knows_what_there_is() {
    let env = TestEnvironment::new();
    // The question for its event hangs for longer than the bridge may take.
    env.script("home/.hookbox/hooks/silent", "#!/bin/bash\nsleep 1000\n");
    for (agent, event) in [BEFORE[0], BEFORE[2]] {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env.hookbox_with(args(agent, None, &["--deadline", "1s"]), payload);
        assert!(effect(agent, event, &output).is_blocked(), "{output:#?}");
    }
}

/// The command under a limit of the shell.
fn limited(env: &TestEnvironment, limit: &str, args: &[std::ffi::OsString]) -> Command {
    let mut command = env.command("bash");
    command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "-"]).arg(program()).args(args);
    command
}

#[test]
fn a_limit_of_the_size_of_files_ends_no_bridge_and_disarms_no_guard() {
    for backend in [Backend::Native, Backend::Component] {
        for answer in [json!({}), json!({"block": "not that"})] {
            let env = TestEnvironment::new();
            let settings = "on_failure = \"block\"";
            backend.hook(&env, "home/.hookbox", "guard", &EventName::BeforeToolCall, &answer, settings);
            // Its code is compiled by now.
            env.hookbox(["list"]);
            for (agent, event) in BEFORE.iter().copied() {
                let payload = call(&env, agent, event, "ls").to_string();
                let args = args(agent, needed(agent, event), &[]);
                let output = env.run(&mut limited(&env, "-f 0", &args), &payload);
                // A result that cannot be cached is computed again.
                if answer == json!({}) {
                    passed(agent, event, &output, "a guard that passes");
                } else {
                    assert!(blocked(agent, event, &output, "a guard").contains("not that"), "{output:#?}");
                }
            }
        }
    }
}

#[test]
fn however_few_files_may_be_open_the_guard_is_not_passed_by() {
    for (backend, root) in [
        (Backend::Native, "home/.hookbox"),
        (Backend::Component, "home/.hookbox"),
        (Backend::Native, "repo/.hookbox"),
    ] {
        let env = TestEnvironment::new();
        env.directory("repo/.git");
        let answer = json!({"block": "not that"});
        backend.hook(&env, root, "guard", &EventName::BeforeToolCall, &answer, "on_failure = \"block\"");
        let (agent, event) = BEFORE[0];
        let payload = call(&env, agent, event, "ls").to_string();
        let args = args(agent, None, &["--trust", "all"]);
        for files in 3..40 {
            let output = env.run(&mut limited(&env, &format!("-n {files}"), &args), &payload);
            // Before its main function the loader needs some itself.
            if output.code == Some(127) {
                continue;
            }
            blocked(agent, event, &output, &format!("{files} files, {root}"));
        }
    }
}

#[test]
fn without_hooks_garbage_passes() {
    let env = TestEnvironment::new();
    let output = env.hookbox_with(["bridge", "claude", "--no-hooks"], [0; 16]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.contains("hint: "), "{output:#?}");
}

#[test]
fn a_strict_call_blocks_where_the_process_at_work_is_stopped_or_killed() {
    let agents =
        [(Agent::Claude, "PreToolUse"), (Agent::Codex, "PreToolUse"), (Agent::Copilot, "preToolUse")];
    for (signal, deadline) in [("STOP", "1s"), ("KILL", "10s")] {
        for (agent, event) in agents {
            let env = TestEnvironment::new();
            // A stopped process answers neither in time nor ever.
            let run = format!("kill -{signal} $PPID; sleep 1");
            env.native("home/.hookbox/hooks/hang", "before_tool_call", &run);
            let payload = call(&env, agent, event, "ls").to_string();
            let arguments = args(agent, Some(event), &["--deadline", deadline, "--strict"]);
            let output = env.hookbox_with(arguments, payload);
            assert_eq!(output.code, Some(0), "{agent} {signal}: {output:#?}");
            assert!(effect(agent, event, &output).is_blocked(), "{agent} {signal}: {output:#?}");
            assert!(output.stdout.contains("hookbox was stopped or killed"), "{agent} {signal}: {output:#?}");
        }
    }
    // Otherwise it answers as ever, on standard output and with the exit code.
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        "echo '{\"blocked\":true,\"reason\":\"no\"}'",
    );
    let payload = call(&env, Agent::Claude, "PreToolUse", "ls").to_string();
    let plain = env.hookbox_with(args(Agent::Claude, Some("PreToolUse"), &[]), payload.clone());
    let strict = env.hookbox_with(args(Agent::Claude, Some("PreToolUse"), &["--strict"]), payload);
    assert_eq!((&plain.code, &plain.stdout), (&strict.code, &strict.stdout));
    env.file("home/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
    let output = env.hookbox_with(args(Agent::Claude, Some("Unheard"), &["--strict"]), "{}");
    assert_eq!(output.code, Some(2), "{output:#?}");
}
