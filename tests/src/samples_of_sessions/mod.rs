//! Sample hooks that belong together, through whole sessions.

mod watchers;

use hookbox::event::{AfterTurn, AgentStop, Document, Usage};
use hookbox::internal::tool_result;
use hookbox::manager::Manager;
use hookbox::report::HookReport;
use hookbox::session::Session;
use hookbox::{Report, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, sample};

/// Makes an environment whose user has these components, and granted their rights.
pub(crate) fn place(names: &[&str]) -> TestEnvironment {
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

/// Returns the bucket of a sample.
pub(crate) fn bucket(env: &TestEnvironment, name: &str) -> hookbox::store::Bucket {
    let store = hookbox::store::Store::at(env.path("home/.local/share/hookbox"));
    store.bucket([hookbox::trust::Scope::Global.identity(None, &format!("{name}.wasm"))])
}

/// A session in `o/r` on this branch.
fn session(manager: &Manager, id: &str, branch: &str) -> Session {
    manager.session(id).repository("o/r", Some(branch.to_owned()))
}

/// Returns the answer of a sample; it has not failed.
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
    let mut result = tool_result(shell(line), output);
    result.success = Some(success);
    result
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

    // The memory of one place is not told in another.
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
    for (number, (scope, shared)) in [
        ("scope = \"repo\"", [true, true, false]),
        ("scope = \"branch\"", [false, false, false]),
        ("scope = \"issue\", issue = \"145\"", [true, true, false]),
        ("scope = \"issue\"", [true, false, false]),
    ]
    .into_iter()
    .enumerate()
    {
        env.file(
            "home/.hookbox/hookbox.toml",
            format!("[hooks.\"session-memory.wasm\"]\nsettings = {{ {scope} }}\n"),
        );
        let manager = env.builder().build().await;
        let next = format!("Next step: number {number}");
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
        session.before_tool_call(call).await.decision.blocked().map(|ruling| ruling.for_user().to_owned())
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
    // The warning is given once, and only in its place.
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

/// Runs these at the same time.
async fn futures<F: Future<Output = ()> + Send + 'static>(all: Vec<F>) {
    let running: Vec<_> = all.into_iter().map(tokio::spawn).collect();
    for one in running {
        one.await.unwrap();
    }
}

/// The flow of the Base Coat specification, section 8, with all of them at once.
#[tokio::test]
async fn a_session_goes_round_with_all_of_them_together() {
    const ALL: [&str; 5] = ["budget-rotate", "error-kb", "loop-detector", "session-memory", "telemetry"];
    let env = place(&ALL);
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"budget-rotate.wasm\"]\nsettings = { inject = false }\n");
    let manager = env.builder().build().await;
    let healthy = |report: &Report| {
        for hook in &report.hooks {
            assert_eq!(hook.cause, None, "{hook:#?}");
        }
    };
    let one = session(&manager, "one", "feat/145-x");
    healthy(&one.session_start("startup").await.report);
    healthy(&one.user_message_send("fix the build").await.report);
    for attempt in 1..=2 {
        let before = one.before_tool_call(shell("make")).await;
        healthy(&before.report);
        assert_eq!(before.decision.permitted().unwrap().input, shell("make").input, "{attempt}");
        healthy(&one.after_tool_call(result("make", json!({"error": "error: no rule"}), false)).await.report);
    }
    let warned = one.before_tool_call(shell("make")).await;
    assert!(warned.context.join("").contains("`make` has failed 2 of 2 times"), "{warned:#?}");
    let third = one.after_tool_call(result("make", json!({"error": "error: no rule"}), false)).await;
    assert_eq!(third.decision.blocked().unwrap().by, "loop-detector.wasm");

    let messages = || conversation("Next step: write a rule\nBlocker: no rule for all\nDecision: use make");
    let turn = AfterTurn { usage: Some(usage(820)), messages: messages(), ..AfterTurn::default() };
    healthy(&one.after_turn(turn).await.report);
    let exceeded = one.on_budget_exceeded(usage(820), 0.8).await;
    healthy(&exceeded.report);
    assert_eq!(exceeded.callback.as_ref().unwrap().name, "rotate");
    let fetch = ToolCall::new("WebFetch", json!({"url": "https://example.com"}));
    assert_eq!(
        one.before_tool_call(fetch.clone()).await.decision.blocked().unwrap().by,
        "budget-rotate.wasm"
    );
    healthy(&one.pre_compact("rotate", Some(usage(820)), messages()).await.report);
    let after = one.post_compact("rotate", "Issue #145 on feat/145-x: write a rule.", Some(usage(100))).await;
    healthy(&after.report);
    assert_eq!(after.context, ["Still true, and lost on the way:\nBlocker: no rule for all"]);
    healthy(&one.session_end("rotate").await.report);

    let two = session(&manager, "two", "feat/145-x");
    let start = two.session_start("rotate").await;
    healthy(&start.report);
    let [told] = start.context.as_slice() else { panic!("it is told once: {start:#?}") };
    for part in ["Issue: #145", "Branch: feat/145-x", "Next step: write a rule", "Blocker: no rule for all"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(of(&start.report, "session-memory").metadata["retained_anchors"], 4);
    let two = two.before_tool_call(fetch.clone()).await;
    assert_eq!(two.decision.permitted().unwrap().input, fetch.input);
}
