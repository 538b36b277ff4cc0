//! Sample hooks that belong together, through whole sessions.

use hookbox::event::{AfterTurn, AgentStop, Document, Usage};
use hookbox::manager::Manager;
use hookbox::report::HookReport;
use hookbox::session::Session;
use hookbox::{Report, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, sample};

/// A place where the user has these components, and granted what they ask for.
fn place(names: &[&str]) -> TestEnvironment {
    let env = TestEnvironment::new();
    for name in names {
        env.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &sample(name));
    }
    for name in names {
        let output = env.hookbox(["trust", &format!("{name}.wasm"), "--yes"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    }
    env
}

/// What a sample keeps.
fn bucket(env: &TestEnvironment, name: &str) -> hookbox::store::Bucket {
    let store = hookbox::store::Store::at(env.path("home/.local/share/hookbox"));
    store.bucket([hookbox::trust::Place::Global.identity(None, &format!("{name}.wasm"))])
}

/// A session in `o/r` on this branch.
fn session(manager: &Manager, id: &str, branch: &str) -> Session {
    manager.session(id).repository("o/r", Some(branch.to_owned()))
}

/// What a sample did; it has not failed.
#[track_caller]
fn of<'a>(report: &'a Report, name: &str) -> &'a HookReport {
    let found = report.hooks.iter().find(|hook| hook.name == format!("{name}.wasm"));
    let hook = found.unwrap_or_else(|| panic!("{name} did not run: {report:#?}"));
    assert_eq!(hook.cause, None, "{hook:#?}");
    hook
}

fn conversation(said: &str) -> Document {
    json!([{"role": "user", "content": "go on"}, {"role": "assistant", "content": said}]).into()
}

fn stop(said: &str) -> AgentStop {
    AgentStop { messages: conversation(said), ..AgentStop::default() }
}

fn usage(tokens: u64) -> Usage {
    Usage { current_context_window: tokens, max_context_window: 1000, ..Usage::default() }
}

fn shell(line: &str) -> ToolCall {
    ToolCall::new("bash", json!({"command": line}))
}

fn result(line: &str, output: Value, success: bool) -> ToolResult {
    ToolResult { success: Some(success), ..ToolResult::new(shell(line), output) }
}

#[tokio::test]
async fn what_one_session_learned_the_next_one_of_its_branch_is_told() {
    let env = place(&["session-memory"]);
    let manager = env.builder().build().await;
    let first = session(&manager, "one", "feat/145-x");
    assert!(first.session_start("startup").await.context.is_empty());
    let said = "Done with the parser.\nNext step: run the tests\nBlocker: no API key\nDecision: keep `src/lib.rs`\n\
                Fact: the password=hunter2hunter2 is known\n- [ ] write the docs";
    let notes = first.agent_stop(stop(said)).await;
    assert_eq!(of(&notes.report, "session-memory").metadata["persisted_facts"], 6);
    let end = first.session_end("exit").await;
    assert_eq!(of(&end.report, "session-memory").metadata["persisted_facts"], 6);

    // Another process: nothing is left but the store.
    let manager = env.builder().build().await;
    let start = session(&manager, "two", "feat/145-x").session_start("startup").await;
    let [told] = start.context.as_slice() else { panic!("{start:#?}") };
    for part in [
        "Issue: #145",
        "Branch: feat/145-x",
        "Next step: run the tests",
        "Blocker: no API key",
        "Todo: write the docs",
    ] {
        assert!(told.lines().any(|line| line == part), "{part}: {told}");
    }
    assert!(told.contains("password=[REDACTED]") && !told.contains("hunter2"), "{told}");
    assert_eq!(of(&start.report, "session-memory").metadata["memory_hits"], 6);

    // What belongs to one place is told in no other one.
    for (repository, branch) in [("o/r", "main"), ("o/s", "feat/145-x")] {
        let session = manager.session("three").repository(repository, Some(branch.to_owned()));
        assert!(session.session_start("startup").await.context.is_empty(), "{repository} {branch}");
    }
    let subagent = session(&manager, "two", "feat/145-x").subagent("four");
    assert!(subagent.session_start("startup").await.context.is_empty());
}

#[tokio::test]
async fn the_scope_says_which_sessions_share_a_memory() {
    let env = place(&["session-memory"]);
    for (scope, shared) in [
        ("scope = \"repo\"", [true, true, false]),
        ("scope = \"branch\"", [false, false, false]),
        ("scope = \"issue\", issue = \"145\"", [true, true, false]),
        ("scope = \"issue\"", [true, false, false]),
    ] {
        env.file(
            "home/.hookbox/hookbox.toml",
            format!("[hooks.\"session-memory.wasm\"]\nsettings = {{ {scope} }}\n"),
        );
        let manager = env.builder().build().await;
        let next = format!("Next step: {}", scope.replace(['"', '='], ""));
        drop(session(&manager, "one", "feat/145-x").agent_stop(stop(&next)).await);
        let places = [("o/r", "fix/145-y"), ("o/r", "main"), ("o/s", "feat/145-x")];
        for ((repository, branch), told) in places.into_iter().zip(shared) {
            let session = manager.session("two").repository(repository, Some(branch.to_owned()));
            let context = session.session_start("startup").await.notes.context.join("\n");
            assert_eq!(context.contains(&next), told, "{scope}: {repository} {branch}: {context}");
        }
    }
}

#[tokio::test]
async fn anchors_that_a_compaction_lost_are_said_again() {
    let env = place(&["session-memory"]);
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "feat/145-x");
    let messages = conversation("Next step: run the tests\nBlocker: no API key");
    let before = one.pre_compact("auto", Some(usage(900)), messages).await;
    assert_eq!(of(&before.report, "session-memory").metadata["token_load"], 900);
    let after = one.post_compact("auto", "We work on #145. Blocked: no API key.", Some(usage(90))).await;
    assert_eq!(
        after.context,
        ["Still true, and lost on the way:\nBranch: feat/145-x\nNext step: run the tests"]
    );
    let metadata = &of(&after.report, "session-memory").metadata;
    assert_eq!((&metadata["anchors"], &metadata["retained_anchors"]), (&json!(4), &json!(2)));
    assert_eq!(metadata["compression_ratio"], 0.1);
    drop(one.session_end("rotate").await);
    let start = session(&manager, "two", "feat/145-x").session_start("rotate").await;
    assert_eq!(of(&start.report, "session-memory").metadata["retained_anchors"], 4);
    assert_eq!(start.context.len(), 1, "{:?}", start.context);
}

#[tokio::test]
async fn a_memory_that_is_damaged_counts_as_none_and_says_so() {
    let env = place(&["session-memory"]);
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "main");
    drop(one.agent_stop(stop("Next step: a")).await);
    let bucket = bucket(&env, "session-memory");
    let (keys, _) = bucket.list_keys(None).await.unwrap();
    assert_eq!(keys.len(), 1, "{keys:?}");
    for damage in [
        "{\"version\":1,\"value\":{\"handoff\":5}}",
        "{\"version\":99,\"value\":{}}",
        "",
        "\u{fffd}{",
        "[[[[",
    ] {
        bucket.set(keys[0].clone(), damage.as_bytes().to_vec()).await.unwrap();
        let start = session(&manager, "two", "main").session_start("startup").await;
        assert!(start.context.is_empty(), "{damage}: {:?}", start.context);
        let hook = of(&start.report, "session-memory");
        assert!(hook.log.contains("counts as empty"), "{damage}: {}", hook.log);
    }
    drop(one.agent_stop(stop("Next step: b")).await);
    let start = session(&manager, "two", "main").session_start("startup").await;
    assert!(start.context.join("").contains("Next step: b"));
}

#[tokio::test]
async fn a_session_that_spent_its_budget_hands_over_and_its_large_work_is_blocked_until_then() {
    let env = place(&["budget-rotate"]);
    env.directory("repo/.git").file("repo/big.txt", "x".repeat(100_000)).file("repo/small.txt", "x");
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "feat/145-x");
    let decision = |session: Session, call: ToolCall| async move {
        session.before_tool_call(call).await.decision.blocked().map(|ruling| ruling.reason.clone())
    };
    let fetch = || ToolCall::new("WebFetch", json!({"url": "https://example.com"}));
    let read = |name: &str| ToolCall::new("Read", json!({"file_path": env.path("repo").join(name)}));
    let turn = AfterTurn {
        usage: Some(usage(750)),
        messages: conversation("Next step: run the tests"),
        ..AfterTurn::default()
    };
    drop(one.after_turn(turn).await);
    let warned = one.on_budget_exceeded(usage(710), 0.7).await;
    assert_eq!(warned.callback, None);
    assert!(warned.context[0].starts_with("71% of the token budget"), "{warned:#?}");
    assert_eq!(decision(one.clone(), fetch()).await, None);

    let exceeded = one.on_budget_exceeded(usage(820), 0.8).await;
    let metadata = &of(&exceeded.report, "budget-rotate").metadata;
    assert_eq!((&metadata["trigger_threshold"], &metadata["rotations"]), (&json!(0.8), &json!(1)));
    let callback = exceeded.callback.clone().unwrap();
    assert_eq!((callback.name.as_str(), callback.args.len()), ("rotate", 1));
    let document = callback.args[0].1.clone();
    assert!(document.contains("Issue: #145") && document.contains("Next step: run the tests"), "{document}");
    let reason = "Token budget exceeded at 82% of effective window; rotate session before continuing.";
    for (call, blocked) in
        [(fetch(), true), (read("big.txt"), true), (read("small.txt"), false), (shell("ls"), false)]
    {
        let found = decision(one.clone(), call.clone()).await;
        assert_eq!(found.as_deref(), blocked.then_some(reason), "{call:?}");
    }
    let other = session(&manager, "other", "feat/145-x");
    assert_eq!(decision(other, fetch()).await, None);

    drop(one.session_end("rotate").await);
    let two = session(&manager, "two", "feat/145-x");
    assert_eq!(two.session_start("rotate").await.context, [document]);
    assert_eq!(decision(two, fetch()).await, None);
    // It is told once, and only where it was left.
    assert!(session(&manager, "three", "feat/145-x").session_start("rotate").await.context.is_empty());
}

#[tokio::test]
async fn a_compaction_that_makes_room_ends_the_block() {
    let env = place(&["budget-rotate"]);
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "main");
    drop(one.on_budget_exceeded(usage(820), 0.8).await);
    for (tokens, blocked) in [(750, true), (100, false)] {
        drop(one.post_compact("auto", "summary", Some(usage(tokens))).await);
        let verdict = one.before_tool_call(ToolCall::new("WebFetch", json!({}))).await;
        assert_eq!(verdict.decision.blocked().is_some(), blocked, "{tokens}");
    }
}

#[tokio::test]
async fn every_pattern_of_a_loop_is_seen() {
    let env = place(&["loop-detector"]);
    let manager = env.builder().build().await;
    let fail = |id: &'static str, text: &str| {
        let output = json!({"error": text});
        let manager = manager.clone();
        async move {
            let verdict = session(&manager, id, "main").after_tool_call(result("make", output, false)).await;
            verdict.decision.blocked().map(|ruling| ruling.reason.clone())
        }
    };
    // The same error each time; another one begins anew.
    for (id, errors, blocked) in [
        ("same", ["E1 in 0.1s", "E1 in 0.2s", "E1 in 0.3s"], true),
        ("progress", ["3 failed", "2 failed", "1 failed"], false),
    ] {
        let mut last = None;
        for text in errors {
            last = fail(id, text).await;
        }
        let expected = "Loop detected: identical failing command executed 3 times in 6 minutes. Escalate or change strategy.";
        assert_eq!(last.as_deref(), blocked.then_some(expected), "{id}");
        let before = session(&manager, id, "main").before_tool_call(shell("make")).await;
        assert_eq!(before.decision.blocked().is_some(), blocked, "{id}");
    }

    // Two calls take turns.
    let turns = session(&manager, "turns", "main");
    let mut blocked = Vec::new();
    for line in ["a", "b", "a", "b", "a", "b"] {
        let verdict = turns.after_tool_call(result(line, json!("same"), true)).await;
        blocked.push(verdict.decision.blocked().is_some());
    }
    assert_eq!(blocked, [false, false, false, false, false, true]);
    for (line, expected) in [("a", true), ("b", true), ("c", false)] {
        assert_eq!(
            turns.before_tool_call(shell(line)).await.decision.blocked().is_some(),
            expected,
            "{line}"
        );
    }
    // What was blocked does not count, and another call ends it.
    drop(turns.after_tool_call(ToolResult::blocked(shell("a"), "Loop detected: two calls")).await);
    assert!(turns.before_tool_call(shell("a")).await.decision.blocked().is_some());
    drop(turns.after_tool_call(result("c", json!("new"), true)).await);
    assert!(turns.before_tool_call(shell("a")).await.decision.blocked().is_none());

    // Compactions that do not help.
    let full = session(&manager, "full", "main");
    for round in 1..=3 {
        let before = full.pre_compact("auto", Some(usage(900)), conversation("x")).await;
        assert!(before.decision.blocked().is_none(), "{round}");
        let after = full.post_compact("auto", "summary", Some(usage(890))).await;
        assert_eq!(after.context.len(), usize::from(round == 3), "{round}: {after:#?}");
    }
    let before = full.pre_compact("auto", Some(usage(900)), conversation("x")).await;
    assert!(before.decision.blocked().unwrap().reason.starts_with("Loop detected: 3 compactions in a row"));
    assert!(
        full.pre_compact("manual", Some(usage(900)), conversation("x")).await.decision.blocked().is_none()
    );
    drop(full.post_compact("manual", "summary", Some(usage(90))).await);
    assert!(full.pre_compact("auto", Some(usage(900)), conversation("x")).await.decision.blocked().is_none());
}

#[tokio::test]
async fn a_command_that_failed_before_is_warned_of_once_with_what_helps() {
    let env = place(&["error-kb"]);
    let settings = r#"{ fixes = [{ match = "stale", fix = "rm -r dist" }], quiet = 600 }"#;
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"error-kb.wasm\"]\nsettings = {settings}\n"));
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "main");
    let ran = |line: &'static str, error: Option<&str>| {
        let output = error.map_or(json!("ok"), |error| json!({"error": error}));
        let one = one.clone();
        async move {
            of(&one.after_tool_call(result(line, output, error.is_none())).await.report, "error-kb")
                .metadata
                .clone()
        }
    };
    let told = |line: &'static str| {
        let one = one.clone();
        async move { one.before_tool_call(shell(line)).await.notes.context.join("") }
    };
    assert_eq!(told("npm pack").await, "");
    drop(ran("npm pack", Some("error: /a/dist-1.tgz is stale")).await);
    assert_eq!(told("npm pack").await, "", "once is no pattern");
    drop(ran("npm pack", Some("error: /b/dist-2.tgz is stale")).await);
    let metadata = ran("npm pack --x", Some("error: /c/dist-3.tgz is stale")).await;
    assert_eq!((&metadata["recurrence"], &metadata["error_class"]), (&json!(3), &json!("other")));
    let text = told("npm pack").await;
    assert!(
        text.starts_with(
            "`npm pack` has failed 3 of 3 times; the last error: error: PATH is stale. Known fix: rm -r dist"
        ),
        "{text}"
    );
    assert_eq!(told("npm pack").await, "", "nobody is told twice");
    assert_eq!(told("npm test").await, "");

    // What worked right after a failure of the same program is learned.
    for _ in 0..2 {
        drop(ran("cargo test", Some("error: the lock file needs to be updated")).await);
        drop(ran("cargo update token=abcd1234", None).await);
    }
    let text = told("cargo test").await;
    assert!(text.ends_with("After this error this has worked: `cargo update token=[REDACTED]`"), "{text}");
    drop(ran("cargo test", None).await);
    drop(ran("make", Some("one")).await);
    let failed = ran("make", Some("\u{1b}[31mtwo\u{202e}\n")).await;
    assert_eq!(failed["recurrence"], 1);

    // Two processes count at once.
    let managers = [env.builder().build().await, env.builder().build().await];
    let count = |manager: Manager, id: String| async move {
        for _ in 0..10 {
            drop(
                session(&manager, &id, "main")
                    .after_tool_call(result("go", json!({"error": "E"}), false))
                    .await,
            );
        }
    };
    let [a, b] = managers;
    tokio::join!(count(a, "a".into()), count(b, "b".into()));
    let verdict = one.before_tool_call(shell("go")).await;
    assert_eq!(of(&verdict.report, "error-kb").metadata["failures"], 20);
}

#[tokio::test]
async fn an_error_is_given_its_class_and_changed_only_where_that_was_set() {
    use hookbox::event::{ErrorEvent, ErrorSource};
    let env = place(&["error-kb"]);
    for (settings, expected) in
        [("{}", "request 17 timed out after 30s"), ("{ modify = true }", "request N timed out after Ns")]
    {
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"error-kb.wasm\"]\nsettings = {settings}\n"));
        let manager = env.builder().build().await;
        let error = ErrorEvent {
            source: ErrorSource::Turn(Some(1)),
            message: "request 17 timed out after 30s".into(),
            kind: None,
            attempt: Some(2),
        };
        let verdict = session(&manager, "one", "main").on_error(error).await;
        assert_eq!(verdict.message, expected);
        let metadata = &of(&verdict.report, "error-kb").metadata;
        assert_eq!((&metadata["error_class"], &metadata["attempt"]), (&json!("timeout"), &json!(2)));
    }
}
