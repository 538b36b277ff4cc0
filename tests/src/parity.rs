//! A component and the native form of the same source answer alike.

use hookbox::Context;
use hookbox::dialect::kodelet;
use hookbox::event::EventName;
use hookbox::manager::Manager;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::environment::{TestEnvironment, sample, twin};

/// A native hook costs a process for each.
const CASES: u32 = 48;

/// Sends generated events to a sample in both forms, and compares the verdicts that `hookbox run` would print.
fn agree(name: &str, event: &EventName, payloads: impl Strategy<Value = Value>) {
    let (component, native) = (TestEnvironment::new(), TestEnvironment::new());
    component.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &sample(name));
    native.copy(&format!("home/.hookbox/hooks/{name}"), &twin(name));
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let managers = [&component, &native].map(|env| tokio.block_on(env.builder().build()));
    for manager in &managers {
        assert_eq!(manager.entries()[0].events, std::slice::from_ref(event), "{:?}", manager.problems());
    }
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&payloads, |payload| {
        let [component, native] = managers.each_ref().map(|it| tokio.block_on(verdict(it, event, &payload)));
        prop_assert_eq!(component, native, "payload: {}", payload);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{name}: {error}"));
}

async fn verdict(manager: &Manager, event: &EventName, payload: &Value) -> Value {
    let context = Context::new("c", "/w");
    let decoded = kodelet::decode(event, payload.as_object().unwrap().clone(), &context).unwrap();
    let fired = manager.session("c").fire_event(decoded.event).await;
    // A component may have asked for some tools only; its native form sees them all.
    assert!(fired.report.hooks.iter().all(|hook| hook.cause.is_none()), "{:#?}", fired.report);
    let mut verdict = kodelet::verdict(&fired.verdict, &fired.event);
    // The name of the file is what differs.
    if let Some(by) = verdict.get_mut("blocked_by") {
        *by = json!(by.as_str().unwrap().trim_end_matches(".wasm"));
    }
    verdict
}

/// A text of pieces, some of which matter.
fn text(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => "\\PC{0,6}"];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

const SHELL: &[&str] = &[
    "sudo ",
    "rm ",
    "-rf ",
    "-r ",
    "-f ",
    "ls",
    " ",
    " | ",
    "bash",
    "sh",
    "curl ",
    "wget ",
    "; ",
    " && ",
    "$(",
    ")",
    "'",
    "\"",
    "`",
    "\\",
    "\n",
    "# ",
    "/bin/",
    "A=1 ",
    ":(){:|:&};:",
    "bash -c ",
    "{ ",
    " }",
];

const OUTPUT: &[&str] = &[
    "password=",
    "password: ",
    "hunter2x",
    "token",
    "=",
    ": ",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123456789abcdefghijABCD",
    "Bearer abcdef0123456789",
    "\n",
    " ",
    "sk-0123456789abcdefghijkl",
    "\"apiKey\": \"",
    "\"",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
    "ü漢",
    "&",
];

#[test]
fn guardrail() {
    // Names that both forms know as a shell or as something else.
    let tool = prop::sample::select(&[
        "bash",
        "Bash",
        "run_shell_command",
        "shell",
        "read_file",
        "write",
        "unheard_of",
    ]);
    let input = text(SHELL).prop_flat_map(|line| {
        prop::sample::select(vec![
            json!({"command": line}),
            json!({"cmd": line}),
            json!({"command": ["bash", "-lc", line]}),
            json!({"command": line, "timeout": 5}),
            json!(line),
            json!({"file_path": line}),
        ])
    });
    let payloads = (tool, input).prop_map(|(tool, input)| json!({"tool_name": tool, "tool_input": input}));
    agree("guardrail", &EventName::BeforeToolCall, payloads);
}

#[test]
fn redactor() {
    let leaf = prop_oneof![
        text(OUTPUT).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let key =
        prop::sample::select(&["output", "apiKey", "db_password", "lines", "max_tokens", "secret", "ü"]);
    let output = leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Map<_, _>>()
                .into()),
        ]
    });
    let payloads = output.prop_map(|output| json!({"tool_name": "bash", "tool_output": output}));
    agree("redactor", &EventName::AfterToolCall, payloads);
}

fn usage() -> impl Strategy<Value = Value> {
    let tokens = || prop_oneof![Just(0_u64), 0..200_000_u64, any::<u64>()];
    let full = (tokens(), tokens())
        .prop_map(|(now, max)| json!({"current_context_window": now, "max_context_window": max}));
    prop_oneof![
        4 => full,
        1 => tokens().prop_map(|now| json!({"current_context_window": now})),
        1 => Just(Value::Null),
    ]
}

#[test]
fn compact_threshold() {
    let payloads =
        (usage(), any::<u32>()).prop_map(|(usage, turn)| json!({"usage": usage, "turn_number": turn}));
    agree("compact-threshold", &EventName::AfterTurn, payloads);
}

#[test]
fn turn_logger() {
    let payloads = (usage(), any::<Option<u32>>(), any::<Option<bool>>())
        .prop_map(|(usage, turn, tools)| json!({"usage": usage, "turn_number": turn, "tools_used": tools}));
    agree("turn-logger", &EventName::AfterTurn, payloads);
}

#[test]
fn follow_up() {
    let by = prop::sample::select(&["main", "subagent"]);
    let message = (prop::sample::select(&["user", "assistant"]), "\\PC{0,20}")
        .prop_map(|(role, content)| json!({"role": role, "content": content}));
    let payloads = (by, prop::collection::vec(message, 0..4))
        .prop_map(|(by, messages)| json!({"invoked_by": by, "messages": messages}));
    agree("follow-up", &EventName::AgentStop, payloads);
}
