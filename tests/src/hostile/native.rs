//! Native hooks that misbehave, beside those of [`crate::limits`].

use std::time::Duration;

use hookbox::event::EventData;
use hookbox::hook::Cause;
use hookbox::{Status, ToolCall};
use serde_json::json;

use super::{guard, guarded, sudo};
use crate::environment::TestEnvironment;

const DISK: &str = "home/.hookbox/hooks/hostile";

#[tokio::test]
async fn a_native_hook_that_misbehaves_ends_and_the_guard_judges() {
    for (what, run, timeout, cause) in [
        (
            // The script bounds itself: 40 processes and no more, each of them gone with its group.
            "forks",
            "for i in $(seq 40); do (while :; do sleep 1; done) & done; wait",
            "1s",
            Some(Cause::Timeout),
        ),
        ("forks and leaves", "for i in $(seq 40); do sleep 1000 & done; echo '{}'", "30s", None),
        ("ignores SIGTERM", "trap '' TERM INT HUP; while :; do sleep 1; done", "500ms", Some(Cause::Timeout)),
        ("keeps the pipe open", "(sleep 1000) & exec >&-; wait", "500ms", Some(Cause::Timeout)),
        ("floods stderr and answers", "head -c 50000000 /dev/zero >&2; echo '{}'", "30s", None),
        ("floods stderr for ever", "yes >&2", "500ms", Some(Cause::Timeout)),
        ("leaves before it reads", "echo '{}'; exit 0", "30s", None),
        ("fails before it reads", "exit 3", "30s", Some(Cause::Exit)),
        ("closes its input", "exec 0<&-; sleep 0.1; echo '{}'", "30s", None),
    ] {
        let env = TestEnvironment::new();
        env.native(DISK, "before_tool_call", &run.replace("sleep 1000", "sleep 1000.5"));
        guard(&env, "hostile", &format!("timeout = \"{timeout}\""));
        let manager = env.builder().build().await;
        // 10 MB that a hook may or may not read.
        let input = json!({"command": "sudo ls", "padding": "x".repeat(10 << 20)});
        let fired = manager.session("c").fire(EventData::BeforeToolCall(ToolCall::new("bash", input))).await;
        let report = &fired.report.hooks[0];
        assert_eq!(report.cause, cause, "{what}: {report:#?}");
        assert!(report.log.len() < 129 << 10, "{what}: a log of {} bytes", report.log.len());
        assert!(report.duration < Duration::from_secs(30), "{what} took {:?}", report.duration);
        guarded(&fired, what);
    }
}

#[tokio::test]
async fn a_hook_that_is_gone_or_another_since_it_was_found_fails_or_is_itself() {
    for (what, change, cause) in [
        ("deleted", "rm", Some(Cause::NotFound)),
        ("no longer executable", "chmod", Some(Cause::Spawn)),
        ("a directory", "mkdir", Some(Cause::Spawn)),
        ("no program", "garbage", Some(Cause::Spawn)),
        ("a dangling link", "link", Some(Cause::NotFound)),
    ] {
        let env = TestEnvironment::new();
        env.native(DISK, "before_tool_call", "echo '{}'");
        guard(&env, "hostile", "");
        let manager = env.builder().build().await;
        let path = env.path(DISK);
        match change {
            "chmod" => drop(env.mode(DISK, 0o644)),
            _ => std::fs::remove_file(&path).unwrap(),
        }
        match change {
            "mkdir" => drop(env.directory(DISK)),
            "garbage" => drop(env.script(DISK, "echo no shebang")),
            "link" => drop(env.symlink(DISK, "nowhere")),
            _ => {}
        }
        let fired = manager.session("c").fire(sudo()).await;
        let report = &fired.report.hooks[0];
        assert_eq!((report.status, report.cause), (Status::Failed, cause), "{what}: {report:#?}");
        guarded(&fired, what);
    }
}

/// A component is read once, when it is found: a later file in its place does not run.
#[tokio::test]
async fn a_component_that_is_replaced_after_it_was_found_still_runs_as_it_was() {
    for replaced in [true, false] {
        let env = TestEnvironment::new();
        guard(&env, "none", "");
        let manager = env.builder().build().await;
        let path = env.path("home/.hookbox/hooks/guardrail.wasm");
        std::fs::remove_file(&path).unwrap();
        if replaced {
            env.copy("home/.hookbox/hooks/guardrail.wasm", &crate::environment::guest("run-trap"));
        }
        guarded(&manager.session("c").fire(sudo()).await, "after its file changed");
    }
}
