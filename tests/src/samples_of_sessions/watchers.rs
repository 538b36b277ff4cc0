//! Samples that watch a session: loops, errors, counts, and a long conversation.

use super::*;

#[tokio::test]
async fn every_pattern_of_a_loop_is_seen() {
    let env = place(&["loop-detector"]);
    let manager = env.builder().build().await;
    let fail = |id: &'static str, text: &str| {
        let output = json!({"error": text});
        let manager = manager.clone();
        async move {
            let verdict = session(&manager, id, "main").after_tool_call(result("make", output, false)).await;
            verdict.decision.blocked().map(|ruling| ruling.for_user().to_owned())
        }
    };
    // The same error each time; another one starts again.
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
    // A blocked call does not count, and another call ends it.
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
    assert!(
        before.decision.blocked().unwrap().for_user().starts_with("Loop detected: 3 compactions in a row")
    );
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
        let result = result(line, output, error.is_none());
        let one = one.clone();
        async move { of(&one.after_tool_call(result).await.report, "error-kb").metadata.clone() }
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
    let elsewhere = manager.session("two").repository("o/other", Some("main".to_owned()));
    let context = elsewhere.before_tool_call(shell("npm pack")).await.notes.context;
    assert_eq!(context, [""; 0], "another repository is told nothing");
    let text = told("npm pack").await;
    assert!(
        text.starts_with(
            "`npm pack` has failed 3 of 3 times; the last error: error: PATH is stale. Known fix: rm -r dist"
        ),
        "{text}"
    );
    assert_eq!(told("npm pack").await, "", "nobody is told twice");
    assert_eq!(told("npm test").await, "");

    // A success right after a failure of the same program is learned.
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
        let mut error = ErrorEvent::new(ErrorSource::Turn(Some(1)), "request 17 timed out after 30s");
        error.attempt = Some(2);
        let verdict = session(&manager, "one", "main").on_error(error).await;
        assert_eq!(verdict.message, expected);
        let metadata = &of(&verdict.report, "error-kb").metadata;
        assert_eq!((&metadata["error_class"], &metadata["attempt"]), (&json!("timeout"), &json!(2)));
    }
}

#[tokio::test]
async fn telemetry_counts_every_event_and_writes_one_line_at_the_end() {
    use hookbox::event::{ErrorEvent, ErrorSource};
    let env = place(&["telemetry"]);
    let manager = env.builder().build().await;
    let one = session(&manager, "one", "main");
    drop(one.session_start("rotate").await);
    drop(one.user_message_send("go").await);
    let calls = (0..8).map(|number| {
        let one = one.clone();
        async move {
            let line = format!("make {number}");
            drop(one.before_tool_call(shell(&line)).await);
            let mut result = result(&line, json!("x"), number > 1);
            result.duration_ms = Some(70);
            of(&one.after_tool_call(result).await.report, "telemetry");
        }
    });
    futures(calls.collect()).await;
    let mut error = ErrorEvent::new(ErrorSource::Turn(None), "it timed out");
    error.attempt = Some(2);
    drop(one.on_error(error).await);
    drop(one.on_budget_exceeded(usage(820), 0.8).await);
    drop(one.pre_compact("auto", Some(usage(820)), conversation("x")).await);
    drop(one.post_compact("auto", "s", Some(usage(82))).await);
    drop(one.turn_end("done", 1).await);
    drop(one.agent_stop(stop("done")).await);
    let end = one.session_end("exit").await;
    let line = of(&end.report, "telemetry").metadata["telemetry"].clone();
    for (name, expected) in [
        ("conversation", json!("one")),
        ("repository", json!("o/r")),
        ("reason", json!("exit")),
        ("rotations_so_far", json!(1)),
        ("starts", json!(1)),
        ("messages", json!(1)),
        ("calls", json!(8)),
        ("calls.shell", json!(8)),
        ("results.worked", json!(6)),
        ("results.failed", json!(2)),
        ("success_rate", json!(0.75)),
        ("duration_ms.le_100", json!(8)),
        ("duration_ms.mean", json!(70.0)),
        ("errors.class.timeout", json!(1)),
        ("retries", json!(1)),
        ("budget.at_80", json!(1)),
        ("compactions", json!(1)),
        ("compression_ratio", json!(0.1)),
        ("turns", json!(1)),
        ("stops", json!(1)),
    ] {
        assert_eq!(line[name], expected, "{name}: {line:#}");
    }
    assert!(line["bootstrap_ms"].is_u64() && line["length_ms"].is_u64(), "{line:#}");
    let (keys, _) = bucket(&env, "telemetry").list_keys(None).await.unwrap();
    assert_eq!(keys, ["rotations"], "the counters of the session are gone");
    let file = crate::samples_with_rights::find(&env.path("home/.local/share"), "telemetry.jsonl");
    assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(&file[0]).unwrap()).unwrap(), line);
    // A session that was ended has nothing left to say.
    let end = one.session_end("exit").await;
    assert_eq!(of(&end.report, "telemetry").metadata["telemetry"].get("calls"), None);
}

/// Measures the cost of a conversation of a megabyte, as on the pages.
#[tokio::test]
async fn a_conversation_of_a_megabyte_stays_within_the_default_budget() {
    let env = place(&["session-memory", "budget-rotate"]);
    let manager = env.builder().build().await;
    let line = |number: usize| match number % 4 {
        0 => format!("Fact: number {number} is \u{1b}[31mred\u{1b}[0m and \u{202e}turned\u{0}"),
        1 => format!("we look at src/module_{number}.rs and at tests/case_{number}.rs, token=abcd{number}"),
        2 => format!("- [ ] todo {number} 漢字 \u{1F600}"),
        _ => format!("Blocker: {number} \\\"}}]"),
    };
    let lines: Vec<String> = (0..10_000).map(line).collect();
    let plain = lines.join("\n");
    let odd = json!([{"role": "assistant", "content": "x".repeat(1 << 20)}, {"role": "user", "content": "Fact: a"}]);
    let nothing = Value::from(vec![json!([]); 300_000]);
    let large: Vec<Value> =
        (0..40).map(|_| json!({"role": "assistant", "content": "Fact: y ".repeat(13_000)})).collect();
    for (name, messages) in [
        ("ten thousand lines", json!([{"role": "assistant", "content": plain.repeat(2)}])),
        (
            "short lines",
            json!([{"role": "user", "content": (0..90_000).map(|n| format!("Todo: {n}\n")).collect::<String>()}]),
        ),
        (
            "what is resolved",
            json!([{"role": "user", "content": format!("{plain}\n{}", "Resolved: 9\n".repeat(90_000))}]),
        ),
        ("one line", odd),
        ("nothings", nothing),
        ("four megabytes", Value::from(large)),
    ] {
        let session = session(&manager, name, "main");
        let before = session.pre_compact("auto", Some(usage(900)), messages.into()).await;
        for sample in ["session-memory", "budget-rotate"] {
            let hook = of(&before.report, sample);
            let (fuel, memory) = (hook.fuel.unwrap(), hook.memory_peak.unwrap());
            assert!(
                fuel < 500_000_000 && memory < 32 << 20,
                "{sample}: {name}: fuel {fuel}, memory {memory}"
            );
        }
        let start = session.session_start("rotate").await;
        let told = start.context.join("\n");
        let plain = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(told.len() < 16_000 && told.chars().all(plain), "{told:?}");
        assert!(!told.contains("abcd1"), "{told}");
    }
}
