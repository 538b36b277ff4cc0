//! The five guards as components: the time of a shell call, and generated lines that must not make one fail.

use hookbox::internal::tool_result;
use std::path::Path;
use std::time::{Duration, Instant};

use hookbox::ComponentHook;
use hookbox::hook::Subscription;
use hookbox::manager::Manager;
use hookbox::session::{Session, ToolDecision};
use hookbox::{Allocation, Cause, Descriptor, Kind, Runtime, Settings, Status, ToolCall};
use serde_json::{Value, json};

use crate::Extent;
use crate::calls::{check, one_thread, session};
use crate::place::Place;
use crate::row::{Row, Runner, race};

/// The guards.
const GUARDS: [&str; 5] = ["destructive", "git", "injection", "secrets", "supply-chain"];

/// The files of the corpus whose safe lines are what agents run all day.
const EVERYDAY: [&str; 6] = ["builds", "everyday", "git", "network", "search", "text"];

/// The aim for one shell call with all guards, in microseconds.
const AIM: f64 = 60.0;

/// The output of a tool.
const OUTPUT: &str = "test result: ok. 12 passed; 0 failed";

/// A session with all guards, with the subscriptions of their manifests and without permissions.
async fn all(place: &Place) -> Session {
    guards(place, Settings::new(), |it| it).await
}

/// A session with all guards with these settings, and with other subscriptions.
async fn guards(place: &Place, settings: Settings, change: fn(Subscription) -> Subscription) -> Session {
    let runtime = Runtime::new(Allocation::Pooled, None);
    let mut builder = Manager::builder().directories(false).builtins(false);
    for name in GUARDS {
        let bytes = std::fs::read(place.guard(name)).unwrap();
        let component = runtime.load(bytes).await.unwrap();
        let mut descriptor = Descriptor::new(name, Kind::Component);
        descriptor.subscriptions = component.manifest().subscriptions.iter().cloned().map(change).collect();
        builder = builder.hook(ComponentHook::new(component, descriptor, settings.clone()));
    }
    builder.build().await.session("bench")
}

/// Sends a shell call and its output through a session, and returns the time.
async fn shell_call(session: &Session, line: &str, output: &str) -> Duration {
    let call = ToolCall::new("bash", json!({ "command": line }));
    let result = tool_result(call.clone(), Value::from(output));
    let started = Instant::now();
    drop(session.before_tool_call(call).await);
    drop(session.after_tool_call(result).await);
    started.elapsed()
}

/// The safe lines of every day.
fn everyday(place: &Place) -> Vec<String> {
    let mut lines = Vec::new();
    for name in EVERYDAY {
        let path = place.root.join(format!("guards/corpus/{name}.jsonl"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["label"] == "pass" {
                lines.push(line["command"].as_str().unwrap().to_owned());
            }
        }
    }
    lines
}

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let (tokio, lines) = (one_thread(), everyday(place));
    let guards = tokio.block_on(all(place));
    let guardrail = tokio.block_on(session(&place.hook("guardrail.wasm"), 1, None));
    tokio.block_on(async {
        check(&guardrail).await;
        let call = |line: &str| guards.before_tool_call(ToolCall::new("bash", json!({ "command": line })));
        assert!(matches!(call("git push --force").await.decision, ToolDecision::Block(_)));
        assert!(!matches!(call("git push").await.decision, ToolDecision::Block(_)));
    });
    let mut each = [0_usize; 3];
    let [ours, one, same] = &mut each;
    let next = |at: &mut usize| {
        *at = (*at + 1) % lines.len();
        lines[*at].as_str()
    };
    let times = race(
        extent.rounds(500),
        &mut [
            Box::new(|| tokio.block_on(shell_call(&guards, next(ours), OUTPUT))) as Runner<'_>,
            Box::new(|| tokio.block_on(shell_call(&guardrail, next(one), OUTPUT))),
            Box::new(|| {
                *same += 1;
                tokio.block_on(shell_call(&guards, "ls", OUTPUT))
            }),
        ],
    );
    // The median line, and not the mean of those of a turn.
    let mut by_line: Vec<f64> = Vec::new();
    for line in &lines {
        let mut fastest = f64::MAX;
        for _ in 0..extent.rounds(20) {
            fastest = fastest.min(tokio.block_on(shell_call(&guards, line, OUTPUT)).as_secs_f64() * 1e6);
        }
        by_line.push(fastest);
    }
    vec![
        Row::alone("five guards, the median everyday line", "µs", &by_line, Some(AIM)),
        Row::compare("five guards, everyday lines: one guardrail", "µs", &times[0], &times[1], None),
        Row::compare("five guards, everyday lines: only `ls`", "µs", &times[0], &times[2], None),
    ]
}

/// Sends the generated lines of a file through all guards with the strictest preset, and returns the number of failures. A
/// line that a guard does not see by its subscription, and would block, is a failure, too.
pub(crate) fn lines(path: &Path, place: &Place) -> usize {
    let tokio = one_thread();
    let strict = Settings::from([("preset".to_owned(), "strict".to_owned())]);
    let (seen, all) = tokio.block_on(async {
        let all = |mut it: Subscription| {
            it.tools.clear();
            it
        };
        (guards(place, strict.clone(), |it| it).await, guards(place, strict, all).await)
    });
    let text = std::fs::read_to_string(path).unwrap();
    let (mut count, mut failures, mut most, mut of) = (0_usize, 0_usize, 0_u64, String::new());
    for (at, line) in text.lines().enumerate() {
        let line: String = serde_json::from_str(line).unwrap();
        let reports = tokio.block_on(async {
            let call = ToolCall::new("bash", json!({ "command": line }));
            let result = tool_result(call.clone(), Value::from(line.as_str()));
            let other = all.before_tool_call(call.clone()).await.notes.report;
            let before = seen.before_tool_call(call).await.notes.report;
            let unseen = before.hooks.iter().filter(|it| it.passed_over.is_some());
            for hook in unseen {
                let blocks =
                    other.hooks.iter().find(|it| it.name == hook.name && it.status == Status::Blocked);
                if blocks.is_some() {
                    failures += 1;
                    println!("{} does not see line {at}, and would block it: {line:?}", hook.name);
                }
            }
            [before, seen.after_tool_call(result).await.notes.report]
        });
        count += 1;
        for hook in reports.iter().flat_map(|it| &it.hooks) {
            if hook.fuel > Some(most) {
                most = hook.fuel.unwrap_or_default();
                of = format!("{}, line {at}", hook.name);
            }
            // Without permissions, a guard cannot remember what the agent has made.
            if let Some(cause) = hook.cause.filter(|it| *it != Cause::Denied) {
                failures += 1;
                let begin: String = line.chars().take(200).collect();
                println!("{}: {cause:?}, line {at}: {begin:?}", hook.name);
            }
        }
    }
    println!(
        "{count} lines through five components: {failures} failures; the most fuel of a call: {most} ({of})"
    );
    failures
}
