//! The cost of a call, in one run: through the public API, on the bare engine, and as a process.
//!
//! * `hookbox`: `Session::before_tool_call` with the sample `guardrail`: a fresh instance, fuel, deadline, memory
//!   limit, facts, verdict and report. The tool's input stays in the host as a document.
//! * `floor`: the bare engine with the same pool: a fresh instance of a guest that is handed the payload, parses it
//!   and looks at one field; synchronous, without fuel, deadline, limits or WASI.
//! * `native`: the guardrail's native form, a process per call, through the public API.
//!
//! Criterion measures one case after another. For ratios that hold also on a noisy machine, `cargo xtask bench` lets
//! the sides take turns.

#![allow(missing_docs, reason = "criterion's macros write functions without documentation")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a bench that cannot run should stop"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use hookbox::ComponentHook;
use hookbox::manager::Manager;
use hookbox::native::NativeHook;
use hookbox::session::{Session, ToolDecision};
use hookbox::{Allocation, Runtime};
use hookbox::{Descriptor, EventName, Kind, Settings, ToolCall};
use serde_json::{Value, json};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

const SIZES: [(&str, usize); 3] = [("1KB", 1 << 10), ("64KB", 64 << 10), ("1MB", 1 << 20)];

fn main() {
    let bench = Bench::new();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("before_tool_call");
    group.sample_size(50).measurement_time(Duration::from_secs(3));
    for (name, size) in SIZES {
        let input = input(size);
        let payload = payload(&input);
        let call = || ToolCall::new("bash", input.clone());
        group.bench_function(BenchmarkId::new("floor", name), |b| b.iter(|| bench.floor(&payload)));
        let tokio = &bench.tokio;
        // Making the call is the agent's part: it has the model's text to parse in any case.
        group.bench_function(BenchmarkId::new("hookbox", name), |b| {
            b.to_async(tokio).iter_batched(
                call,
                |call| async { bench.component.before_tool_call(call).await },
                criterion::BatchSize::SmallInput,
            );
        });
        group.bench_function(BenchmarkId::new("native", name), |b| {
            b.to_async(tokio).iter_batched(
                call,
                |call| async { bench.native.before_tool_call(call).await },
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}

struct Bench {
    tokio: tokio::runtime::Runtime,
    engine: Engine,
    floor: InstancePre<()>,
    component: Session,
    native: Session,
}

impl Bench {
    fn new() -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (engine, floor) = floor(&built("test-hooks").join("floor.wasm"));
        let bytes = std::fs::read(built("hooks").join("guardrail.wasm")).unwrap();
        let (component, native) = tokio.block_on(async {
            let component = Runtime::new(Allocation::Pooled, None).load(bytes).await.unwrap();
            let descriptor = |kind| Descriptor::new("guardrail", kind).on(EventName::BeforeToolCall);
            let hook = ComponentHook::new(component, descriptor(Kind::Component), Settings::new());
            let twin = NativeHook::new(descriptor(Kind::Native), built("twins").join("native/guardrail"));
            let builder = || Manager::builder().directories(false).self_protection(false);
            let component = builder().hook(hook).build().await.session("bench");
            (component, builder().hook(twin).build().await.session("bench"))
        });
        let bench = Self { tokio, engine, floor, component, native };
        bench.check();
        bench
    }

    /// All three say no to the same command, and nothing else is measured.
    fn check(&self) {
        let input = json!({"command": "sudo ls"});
        assert!(self.floor(&payload(&input)).is_some());
        for session in [&self.component, &self.native] {
            let call = ToolCall::new("bash", input.clone());
            let verdict = self.tokio.block_on(session.before_tool_call(call));
            assert!(matches!(verdict.decision, ToolDecision::Block(_)), "{verdict:?}");
        }
    }

    fn floor(&self, payload: &str) -> Option<String> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.floor.instantiate(&mut store).unwrap();
        let check = instance.get_typed_func::<(&str,), (Option<String>,)>(&mut store, "check").unwrap();
        check.call(&mut store, (payload,)).unwrap().0
    }
}

/// A tool input of about so many bytes.
fn input(size: usize) -> Value {
    json!({"command": "cargo test --workspace", "content": "x".repeat(size.saturating_sub(200))})
}

/// The payload of kodelet around it.
fn payload(input: &Value) -> String {
    json!({
        "event": "before_tool_call", "conv_id": "bench", "cwd": "/", "invoked_by": "main",
        "tool_name": "bash", "tool_input": input, "tool_user_id": "call-1",
    })
    .to_string()
}

/// Builds what `xtask` makes by this name, and where it is.
fn built(what: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "xtask", "--", what])
        .current_dir(root)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "hint: rustup target add wasm32-wasip2");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join(if what == "twins" { "hooks" } else { what })
}

/// The bare engine: the pool that hookbox uses, and nothing else of it.
fn floor(path: &Path) -> (Engine, InstancePre<()>) {
    let mut pool = PoolingAllocationConfig::new();
    pool.linear_memory_keep_resident(16 << 20).pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config.concurrency_support(false).allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_file(&engine, path).unwrap();
    let mut linker = Linker::new(&engine);
    // The standard library imports WASI; this guest never calls it.
    linker.define_unknown_imports_as_traps(&component).unwrap();
    let pre = linker.instantiate_pre(&component).unwrap();
    (engine, pre)
}
