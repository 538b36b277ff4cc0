//! The cost of the chain itself, without the hooks: ten hooks that do nothing, called one after another, and the same ten
//! through a session, with facts, fold, deadlines and report.

#![allow(missing_docs, reason = "criterion's macros write functions without documentation")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot run should stop")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use hookbox::FunctionHook;
use hookbox::event::EventData;
use hookbox::manager::{Builder, Manager};
use hookbox::session::Session;
use hookbox::{Budget, Context, Event, EventName, Hook, Kind, Outcome, ToolCall};
use serde_json::json;

const HOOKS: usize = 10;

fn main() {
    let bench = Bench::new();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("chain");
    group.sample_size(100).measurement_time(Duration::from_secs(2));
    group.bench_function("ten hooks, directly", |b| {
        b.to_async(&bench.tokio).iter_batched(call, |call| bench.directly(call), BatchSize::SmallInput);
    });
    for (name, session) in
        [("ten hooks, through a session", &bench.ten), ("no hook, through a session", &bench.none)]
    {
        group.bench_function(name, |b| {
            b.to_async(&bench.tokio).iter_batched(
                call,
                |call| session.before_tool_call(call),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}

fn call() -> ToolCall {
    ToolCall::new("bash", json!({"command": "make test"}))
}

/// A hook that does nothing.
fn hook(name: String) -> FunctionHook {
    FunctionHook::new(name, EventName::BeforeToolCall, |_| async { Ok(Outcome::pass()) })
}

struct Bench {
    tokio: tokio::runtime::Runtime,
    hooks: Vec<Arc<dyn Hook>>,
    ten: Session,
    none: Session,
}

impl Bench {
    fn new() -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let names = || (0..HOOKS).map(|n| format!("hook-{n}"));
        let hooks = names().map(|name| Arc::new(hook(name)) as Arc<dyn Hook>).collect();
        let session = |builder: Builder| {
            tokio
                .block_on(async { builder.directories(false).builtins(false).build().await.session("bench") })
        };
        let ten = session(names().fold(Manager::builder(), |builder, name| builder.hook(hook(name))));
        let none = session(Manager::builder());
        let report = tokio.block_on(ten.before_tool_call(call())).notes.report;
        assert_eq!(report.hooks.len(), HOOKS);
        Self { tokio, hooks, ten, none }
    }

    async fn directly(&self, call: ToolCall) {
        let context = Arc::new(Context::new("bench", "/"));
        let event = Event { context, data: EventData::BeforeToolCall(call) };
        let budget = Budget::for_kind(Kind::Code);
        for hook in &self.hooks {
            let _ = black_box(hook.run(&event, &budget).await);
        }
    }
}
