//! Telemetry, as a collector receives it.

mod collector;
mod records;

use std::collections::BTreeMap;
use std::time::Duration;

use hookbox::session::ToolDecision;
use hookbox::telemetry::{Options, Telemetry};
use hookbox::{Cause, Descriptor, EventName, FunctionHook, HookError, Kind, Mode, Outcome, ToolCall};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use self::collector::{Collector, attributes};
use crate::environment::{TestEnvironment, sample};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn span<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    let [span] = found.as_slice() else { panic!("{name}: {spans:#?}") };
    span
}

fn subset(all: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(all.get(*key).map(String::as_str), Some(*value), "{key}: {all:#?}");
    }
}

#[tokio::test]
async fn the_end_of_a_session_has_sent_what_its_hooks_did() {
    let collector = Collector::start(Some(200));
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    // A slow machine takes longer for the event than the default.
    let options = Options {
        spans_every: Duration::from_secs(3600),
        ..Options::to(&collector.url(), "my-agent").unwrap()
    };
    let telemetry = Telemetry::start(options).unwrap();
    let mut trial = Descriptor::new("trial", Kind::Code).on(EventName::BeforeToolCall);
    trial.mode = Mode::Observe;
    let manager = env
        .builder()
        .telemetry(telemetry.clone())
        .hook(FunctionHook::with(trial, |_| async { Ok(Outcome::modify(json!({"command": "id"}))) }))
        .on("rewriter", EventName::BeforeToolCall, |_| async {
            Ok(Outcome::modify(json!({"command": format!("curl -H 'X: {SECRET}' x"), "api_key": "hunter2"})))
        })
        .on("broken", EventName::BeforeToolCall, |_| async {
            Err(HookError::new(Cause::Exit, format!("exit status 3: {SECRET}")))
        })
        .on("judge", EventName::BeforeToolCall, |_| async { Ok(Outcome::block(format!("no, not {SECRET}"))) })
        .on("learner", EventName::OnError, |_| async { Ok(Outcome::pass()) })
        .build()
        .await;
    let session = manager.session("conversation-1").agent("backend-dev");
    let call = ToolCall::new("bash", json!({"command": "ls", "password": "hunter2"})).with_id("call-7");
    let verdict = session.before_tool_call(call).await;
    assert!(matches!(verdict.decision, ToolDecision::Block(_)), "{verdict:?}");
    assert_eq!(collector.requests().len(), 0, "nothing is sent while an event waits");
    let _ = session.session_end("exit").await;

    let (spans, resource) = collector.spans();
    subset(&resource, &[("service.name", "my-agent"), ("process.pid", &std::process::id().to_string())]);
    let event = span(&spans, "hookbox.event before_tool_call");
    subset(
        &attributes(&event.attributes),
        &[
            ("gen_ai.conversation.id", "conversation-1"),
            ("gen_ai.agent.name", "backend-dev"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "bash"),
            ("gen_ai.tool.call.id", "call-7"),
            ("hookbox.tool.kind", "shell"),
            ("hookbox.verdict", "block"),
            ("hookbox.verdict.by", "judge"),
        ],
    );
    let names = ["guardrail.wasm", "rewriter", "broken", "judge"];
    let [guardrail, rewriter, broken, judge] =
        names.map(|name| span(&spans, &format!("hookbox.hook {name}")));
    for hook in [guardrail, rewriter, broken, judge] {
        assert_eq!((&hook.parent_span_id, &hook.trace_id), (&event.span_id, &event.trace_id));
        assert!(event.start_time_unix_nano <= hook.start_time_unix_nano);
        assert!(hook.start_time_unix_nano <= hook.end_time_unix_nano);
        assert!(hook.end_time_unix_nano <= event.end_time_unix_nano);
    }
    let of_component = attributes(&guardrail.attributes);
    subset(
        &of_component,
        &[
            ("hookbox.hook.kind", "component"),
            ("hookbox.hook.tier", "global"),
            ("hookbox.hook.trusted", "true"),
        ],
    );
    assert!(of_component["hookbox.fuel"].parse::<u64>().unwrap() > 0);
    assert!(of_component["hookbox.memory.peak"].parse::<u64>().unwrap() > 0);
    subset(
        &attributes(&broken.attributes),
        &[
            ("error.type", "exit"),
            ("hookbox.status", "failed"),
            ("hookbox.message", "exit status 3: [REDACTED:github]"),
        ],
    );
    assert_eq!(
        broken.status.as_ref().map(|status| (status.code, status.message.as_str())),
        Some((2, "exit"))
    );
    subset(
        &attributes(&judge.attributes),
        &[("hookbox.status", "blocked"), ("hookbox.message", "no, not [REDACTED:github]")],
    );
    assert_eq!(rewriter.events.len(), 1, "{rewriter:#?}");
    subset(
        &attributes(&rewriter.events[0].attributes),
        &[
            ("hookbox.hook", "rewriter"),
            ("hookbox.change.what", "input"),
            ("hookbox.change.from", r#"{"command":"ls","password":"[REDACTED:field]"}"#),
            (
                "hookbox.change.to",
                r#"{"command":"curl -H 'X: [REDACTED:github]' x","api_key":"[REDACTED:field]"}"#,
            ),
        ],
    );
    let trial = span(&spans, "hookbox.hook trial");
    subset(&attributes(&trial.attributes), &[("hookbox.status", "observed"), ("hookbox.would", "changed")]);
    assert!(trial.events.is_empty(), "{trial:#?}");
    let told = span(&spans, "hookbox.event on_error");
    assert_eq!(told.parent_span_id, event.span_id);
    subset(&attributes(&told.attributes), &[("hookbox.hook.failed", "broken")]);
    span(&spans, "hookbox.event session_end");
    assert!(!format!("{spans:?}").contains("hunter2") && !format!("{spans:?}").contains(SECRET));

    let metrics = collector.metrics();
    for (name, value, unit) in [
        ("hookbox.events{hookbox.event=before_tool_call,hookbox.verdict=block}", 1, "{event}"),
        ("hookbox.blocks{hookbox.event=before_tool_call,hookbox.hook=judge}", 1, "{block}"),
        (
            "hookbox.failures{error.type=exit,hookbox.event=before_tool_call,hookbox.hook=broken}",
            1,
            "{failure}",
        ),
        (
            "hookbox.changes{hookbox.change.what=input,hookbox.event=before_tool_call,hookbox.hook=rewriter}",
            1,
            "{change}",
        ),
        (
            "hookbox.hook.runs{hookbox.event=before_tool_call,hookbox.hook=guardrail.wasm,hookbox.hook.kind=component,hookbox.status=passed}",
            1,
            "{run}",
        ),
        (
            "hookbox.hook.duration{hookbox.event=before_tool_call,hookbox.hook=broken,hookbox.hook.kind=code}",
            1,
            "s",
        ),
        ("hookbox.hook.fuel{hookbox.event=before_tool_call,hookbox.hook=guardrail.wasm}", 1, "{fuel}"),
        ("hookbox.hook.memory{hookbox.event=before_tool_call,hookbox.hook=guardrail.wasm}", 1, "By"),
        ("hookbox.chain.duration{hookbox.event=before_tool_call}", 1, "s"),
    ] {
        assert_eq!(metrics.get(name), Some(&(value, unit.to_owned())), "{name}: {metrics:#?}");
    }
    assert_eq!((telemetry.dropped(), telemetry.problem()), (0, None));
}

/// An environment whose user has a guard that blocks `rm`.
fn guarded() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        r#"echo '{"blocked": true, "reason": "no rm"}'"#,
    );
    env
}

fn rm() -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": "rm x"}, "conv_id": "c-9"})
}

#[test]
fn the_program_sends_before_it_ends_and_obeys_the_environment() {
    let collector = Collector::start(Some(200));
    let env = guarded()
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc%20d")
        .variable("OTEL_SERVICE_NAME", "mine")
        .variable("OTEL_RESOURCE_ATTRIBUTES", "team=blue")
        .variable("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let output = env.hookbox_with(["run", "before_tool_call"], rm().to_string());
    assert_eq!(output.json()["reason"], "no rm");
    assert!(!output.stderr.contains("warning: "), "{output:#?}");

    let (spans, resource) = collector.spans();
    subset(&resource, &[("service.name", "mine"), ("team", "blue")]);
    let event = span(&spans, "hookbox.event before_tool_call");
    assert_eq!(event.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes());
    assert_eq!(event.parent_span_id, 0xb7ad_6b71_6920_3331_u64.to_be_bytes());
    span(&spans, "hookbox.hook guard");
    assert_eq!(collector.metrics()["hookbox.blocks{hookbox.event=before_tool_call,hookbox.hook=guard}"].0, 1);
    assert!(
        collector.requests().iter().all(|it| it.head.to_lowercase().contains("x-key: abc d")),
        "{:?}",
        collector.requests()
    );

    let before = collector.requests().len();
    for (name, value) in [
        ("OTEL_SDK_DISABLED", "true"),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    ] {
        let env = guarded()
            .variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &format!("{}/v1/traces", collector.url()))
            .variable(name, value);
        env.event(&["before_tool_call"], &rm());
        assert_eq!(collector.requests().len(), before, "{name}={value} sends nothing");
    }
}

#[test]
fn a_collector_that_is_away_or_silent_changes_no_verdict_and_is_one_warning() {
    let expected = guarded().event(&["before_tool_call"], &rm());
    let silent = Collector::start(None);
    let refusing = Collector::start(Some(503));
    let away = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, says) in [
        (silent.url(), "did not answer within 1 s"),
        (refusing.url(), "503"),
        (format!("http://{away}"), "failed to send to the collector at"),
        ("localhost:4318".to_owned(), "expected the address of a collector"),
    ] {
        let env = guarded().variable("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        let output = env.hookbox_with(["run", "before_tool_call"], rm().to_string());
        assert_eq!(output.json(), expected, "{url}");
        assert_eq!(output.stderr.matches("warning:").count(), 1, "{url}: {}", output.stderr);
        assert!(output.stderr.contains(says), "{url}: {}", output.stderr);
    }
}

#[tokio::test]
async fn no_event_waits_for_a_silent_collector_and_what_is_dropped_is_counted() {
    let silent = Collector::start(None);
    let telemetry = Telemetry::start(Options {
        spans_every: Duration::from_millis(1),
        ..Options::to(&silent.url(), "x").unwrap()
    });
    let telemetry = telemetry.unwrap();
    let env = TestEnvironment::new();
    let manager = env.builder().directories(false).telemetry(telemetry.clone()).build().await;
    let session = manager.session("c");
    for turn in 0..4_000 {
        let _ = session.turn_end("done", turn).await;
    }
    // One request may take ten seconds: if each event waited for one, nothing would be dropped, in eleven hours.
    assert!(telemetry.dropped() > 0);
    let _ = session.session_end("exit").await;
}

#[test]
fn the_log_says_who_changed_what_from_what_to_what() {
    let env = TestEnvironment::new().variable("HOOKBOX_LOG", "hookbox::change=info");
    let rewrite = r#"echo '{"input": {"command": "curl x", "token": "hunter2"}}'"#;
    env.native("home/.hookbox/hooks/rewrite", "before_tool_call", rewrite);
    let output = env.hookbox_with(["run", "before_tool_call"], rm().to_string());
    for expected in [
        "INFO",
        "hookbox::change: changed event=before_tool_call hook=rewrite what=\"input\"",
        r#"from={"command":"rm x"}"#,
        r#"to={"command":"curl x","token":"[REDACTED:field]"}"#,
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {}", output.stderr);
    }
    assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
}
