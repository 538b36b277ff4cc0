//! Work after an answer: it does not change the answer, and does not delay it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use hookbox::EventName;
use hookbox::manager::Manager;
use hookbox_agents::bridge::Bridge;
use serde_json::json;

use super::{BEFORE, args, blocked, call, effect, guard, needed, reads_exit_codes};
use crate::answers::{Backend, user};
use crate::environment::{Output, TestEnvironment, guest, program, side_by_side};
use crate::mcp::{lives, wait_until};

/// A place with hooks that fail, a guard that blocks, and a hook of `on_error` that does this.
fn listening(run: &str) -> TestEnvironment {
    let env = guard(&json!({"block": "not that"}), "pass");
    for name in ["1-fails", "2-fails", "3-fails"] {
        env.native(&format!("home/.hookbox/hooks/{name}"), "before_tool_call", "exit 3");
    }
    env.native("home/.hookbox/hooks/listener", "on_error", run);
    env
}

/// A hook that never ends.
const HANGS: &str = r#"echo $$ > "$HOME/pid"; sleep 1000"#;

#[test]
fn a_block_is_answered_whatever_the_hooks_of_on_error_do() {
    for run in [HANGS, "exec yes", "kill -KILL $PPID; sleep 1000"] {
        let env = listening(run);
        for (agent, event) in BEFORE.iter().copied() {
            let payload = call(&env, agent, event, "ls").to_string();
            let output = env.hookbox_with(args(agent, needed(agent, event), &["--deadline", "3s"]), payload);
            // An exit code comes at the end only.
            if reads_exit_codes(agent) {
                assert!(matches!(output.code, None | Some(2)), "{agent}: {output:#?}");
                assert_eq!(output.code.is_none(), run.starts_with("kill"), "{agent} {run}: {output:#?}");
                continue;
            }
            assert!(matches!(output.code, None | Some(0)), "{agent}: {output:#?}");
            let output = Output { code: Some(0), ..output };
            assert!(blocked(agent, event, &output, run).contains("not that"), "{agent}: {output:#?}");
        }
    }
}

#[test]
fn the_agent_has_its_answer_before_a_hook_of_on_error_has_ended() {
    let all = BEFORE.iter().copied().filter(|(agent, _)| !reads_exit_codes(*agent));
    side_by_side(all, |(agent, event)| {
        let env = listening(
            r#"cat "$HOME/gate" > /dev/null; touch "$HOME/heard"; echo '{"action": "injectContext", "warnings": ["told"]}'"#,
        );
        assert!(Command::new("mkfifo").arg(env.path("home/gate")).status().unwrap().success());
        let mut command = env.command(program());
        command.args(args(agent, needed(agent, event), &[])).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let payload = call(&env, agent, event, "ls").to_string();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert!(!env.path("home/heard").exists(), "{agent}");
        std::fs::write(env.path("home/gate"), "").unwrap();
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(env.path("home/heard").exists() && stderr.contains("told"), "{agent}: {stderr}");
        let output = Output { code: ended.status.code(), stdout: answer, stderr };
        assert!(blocked(agent, event, &output, "an answer").contains("not that"), "{output:#?}");
    });
}

#[test]
fn asked_to_end_while_a_hook_of_on_error_runs_the_program_has_answered() {
    for signal in ["TERM", "INT", "HUP"] {
        let env = listening(HANGS);
        let event = BEFORE[0].1;
        let payload = call(&env, BEFORE[0].0, event, "ls").to_string();
        for command in [vec!["bridge", "claude"], vec!["run", "before_tool_call"]] {
            let mut child = env.command(program()).args(&command).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
            let pid = || env.read("home/pid").filter(|it| it.ends_with('\n'));
            wait_until("the hook of on_error runs", || pid().is_some());
            let signalled =
                Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(signalled.unwrap().success());
            let ended = child.wait_with_output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let output = Output {
                code: ended.status.code(),
                stdout: text(&ended.stdout),
                stderr: text(&ended.stderr),
            };
            assert!(output.code == Some(0) && output.stdout.contains("not that"), "{command:?}: {output:#?}");
            let pid = pid().unwrap();
            wait_until("the hook has ended", || !lives(pid.trim()));
            std::fs::remove_file(env.path("home/pid")).unwrap();
        }
    }
}

#[test]
fn what_fails_after_the_ruling_is_answered_with_the_ruling() {
    let env = guard(&json!({"block": "not that"}), "pass");
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        let bridge = Bridge::new(agent, Some(event.to_owned())).deadline(Duration::from_secs(60));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let look = async |_: &std::path::Path| Ok::<Manager, String>(env.builder().build().await);
        let answer = runtime.block_on(bridge.answer(payload.as_bytes(), look));
        let failed = bridge.known().failed("hookbox failed while it ran the hooks");
        assert_eq!((failed.exit_code, failed.stdout), (answer.reply.exit_code, answer.reply.stdout));
    }
}

#[test]
fn a_hook_that_observes_what_was_blocked_cannot_lose_the_block() {
    let env = TestEnvironment::new();
    user(&env, Backend::Native, "1-guard", &EventName::BeforeToolCall, &json!({"block": "not that"}));
    // The hook sleeps for an hour, and declares that it only observes.
    env.copy("home/.hookbox/components/watch.wasm", &guest("hostile"));
    env.file(
        "home/.hookbox/hooks.json",
        json!({"hooks": {"before_tool_call": [
            {"component": ".hookbox/components/watch.wasm", "name": "watch", "observe": true}
        ]}})
        .to_string(),
    );
    // Its code is compiled by now.
    env.hookbox(["list"]);
    let (agent, event) = BEFORE[0];
    let mut payload = call(&env, agent, event, "ls");
    payload["tool_input"]["do"] = json!("sleep");
    let output = env.hookbox_with(args(agent, None, &["--deadline", "3s"]), payload.to_string());
    assert!(effect(agent, event, &output).is_blocked(), "{output:#?}");
    assert!(output.stdout.contains("not that") && output.stderr.contains("watch"), "{output:#?}");
}
