//! Calls through the public API: an event in, a verdict and a report out, with fuel, a wall-clock limit, a memory limit
//! and a WASI context.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookbox::ComponentHook;
use hookbox::manager::Manager;
use hookbox::session::{Session, ToolDecision};
use hookbox::{Allocation, Budget, Descriptor, Document, EventName, Kind, Runtime, Settings, ToolCall};
use serde_json::{Value, json};

use crate::Extent;
use crate::bare::{BareHook, Floor};
use crate::place::Place;
use crate::row::{Aim, Row, Runner, race, timed};

/// The system's allocator, which counts the allocations of each thread.
pub(crate) struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator is unsafe by nature; see SAFETY")]
// SAFETY: every method passes its arguments to the system's allocator, and returns its result.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // During the end of a thread nothing is counted.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The line of the tool calls.
pub(crate) const LINE: &str = "cargo test --workspace";

/// Sizes of a tool's input.
const SIZES: [(&str, usize); 3] = [("1 KB", 1 << 10), ("64 KB", 64 << 10), ("1 MB", 1 << 20)];

/// A tool input of about so many bytes.
pub(crate) fn input(size: usize) -> Value {
    json!({"command": LINE, "content": "x".repeat(size.saturating_sub(100))})
}

/// The payload of kodelet around it.
pub(crate) fn payload(input: &Value) -> String {
    json!({
        "event": "before_tool_call", "conv_id": "bench", "cwd": "/", "invoked_by": "main",
        "tool_name": "bash", "tool_input": input, "tool_user_id": "call-1",
    })
    .to_string()
}

/// A runtime of tokio with one thread.
pub(crate) fn one_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A session with so many hooks of a component.
pub(crate) async fn session(path: &Path, hooks: usize, budget: Option<Budget>) -> Session {
    let runtime = Runtime::new(Allocation::Pooled, None);
    let mut builder = Manager::builder().directories(false).builtins(false);
    for number in 0..hooks {
        let component = runtime.load(std::fs::read(path).unwrap()).await.unwrap();
        let mut descriptor =
            Descriptor::new(format!("hook-{number}"), Kind::Component).on(EventName::BeforeToolCall);
        descriptor.budget = budget.unwrap_or(descriptor.budget);
        builder = builder.hook(ComponentHook::new(component, descriptor, Settings::new()));
    }
    builder.build().await.session("bench")
}

/// Checks that a guard blocks a denied command and passes another one.
pub(crate) async fn check(session: &Session) {
    let decide = async |line: &str| {
        let verdict = session.before_tool_call(ToolCall::new("bash", json!({ "command": line }))).await;
        matches!(verdict.decision, ToolDecision::Block(_))
    };
    assert!(decide("sudo ls").await && !decide(LINE).await);
}

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let mut rows = Vec::new();
    let tokio = one_thread();
    let (guard, whole) = (place.hook("guardrail.wasm"), place.test_hook("whole.wasm"));
    let (bare_guard, bare_whole, floor) = (BareHook::new(&guard), BareHook::new(&whole), Floor::new(place));
    let [one, ten, whole] = [(&guard, 1), (&guard, 10), (&whole, 1)]
        .map(|(path, hooks)| tokio.block_on(session(path, hooks, None)));
    tokio.block_on(async {
        check(&one).await;
        check(&ten).await;
        check(&whole).await;
    });
    assert!(floor.call(&payload(&json!({"command": "sudo ls"}))).is_some());

    // The agent keeps its input: to free a megabyte is not a part of the call. Inputs of all sizes take turns, too.
    let inputs = SIZES.map(|(_, size)| Arc::new(input(size)));
    let documents = inputs.each_ref().map(|input| Document::new(Value::clone(input)));
    let mut sides: Vec<Runner<'_>> = Vec::new();
    for (input, document) in inputs.iter().zip(&documents) {
        sides.push(Box::new(|| tokio.block_on(before_tool_call(&one, document))));
        sides.push(Box::new(|| timed(|| bare_guard.call(input, LINE))));
    }
    sides.push(Box::new(|| tokio.block_on(before_tool_call(&ten, &documents[0]))));
    let times = race(extent.rounds(500), &mut sides);
    for (at, (name, size)) in SIZES.into_iter().enumerate() {
        let aim = (size == 1 << 10).then_some(Aim::RatioAtMost(1.4));
        let name = format!("guard, {name}: the bare engine");
        rows.push(Row::compare(&name, "µs", &times[2 * at], &times[2 * at + 1], aim));
    }
    for (name, at) in [("64 KB", 2), ("1 MB", 4)] {
        let name = format!("one field of {name}: of 1 KB");
        rows.push(Row::compare(&name, "µs", &times[at], &times[0], Some(Aim::RatioAtMost(1.1))));
    }
    rows.push(Row::compare("ten components: one", "µs", &times[6], &times[0], Some(Aim::RatioAtMost(10.0))));

    for ((name, size), input) in SIZES.into_iter().zip(&inputs) {
        let payload = payload(input);
        let times = race(
            extent.rounds(200),
            &mut [
                Box::new(|| {
                    // A new document each time: its text is made once, and that counts.
                    let document = Document::new(Value::clone(input));
                    tokio.block_on(before_tool_call(&whole, &document))
                }),
                Box::new(|| timed(|| bare_whole.call(input, LINE))),
                Box::new(|| timed(|| floor.call(&payload))),
            ],
        );
        let aim = (size > 1 << 10).then_some(Aim::RatioAtMost(1.2));
        let [ours, bare, floor] = &times[..] else { unreachable!() };
        rows.push(Row::compare(&format!("whole payload, {name}: the bare engine"), "µs", ours, bare, aim));
        rows.push(Row::compare(&format!("whole payload, {name}: text handed over"), "µs", ours, floor, None));
    }
    rows.extend(unheard(extent, &tokio));
    rows.extend(two_threads(extent, &guard));
    rows.extend(endless(extent, place));
    rows
}

/// Sends `before_tool_call` inside a task, as an agent does, and returns its time with that of freeing the verdict.
pub(crate) async fn before_tool_call(session: &Session, input: &Document) -> Duration {
    let call = ToolCall::new("bash", input.clone());
    let started = Instant::now();
    drop(session.before_tool_call(call).await);
    started.elapsed()
}

/// An event that no hook subscribes to: its time and its allocations.
fn unheard(extent: Extent, tokio: &tokio::runtime::Runtime) -> Vec<Row> {
    /// Events of one round: the clock would be most of a single one.
    const EVENTS: u32 = 1_000;
    let document = Document::new(input(1 << 10));
    let (times, allocated) = tokio.block_on(async {
        let hook = hookbox::FunctionHook::new("other", EventName::SessionEnd, |_| async {
            Ok(hookbox::Outcome::pass())
        });
        let builder = Manager::builder().directories(false).builtins(false).hook(hook);
        let session = builder.build().await.session("bench");
        let mut times = Vec::new();
        for _ in 0..extent.rounds(200) {
            let calls: Vec<ToolCall> = (0..EVENTS).map(|_| ToolCall::new("bash", document.clone())).collect();
            let started = Instant::now();
            for call in calls {
                drop(session.before_tool_call(call).await);
            }
            times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(EVENTS));
        }
        let call = ToolCall::new("bash", document.clone());
        let before = ALLOCATIONS.get();
        drop(session.before_tool_call(call).await);
        (times, ALLOCATIONS.get() - before)
    });
    vec![
        Row::alone("an event that no hook wants", "ns", &times, Some(200.0)),
        Row::alone("an event that no hook wants: allocations", "", &[allocated as f64], Some(0.0)),
    ]
}

/// Calls on two threads at once, against one; the same of the bare engine tells what the processors of this machine give.
fn two_threads(extent: Extent, guard: &Path) -> [Row; 2] {
    let document = Document::new(input(1 << 10));
    let bare_input = Arc::new(input(1 << 10));
    let (session, bare) = (one_thread().block_on(session(guard, 1, None)), BareHook::new(guard));
    let ours = |threads| {
        on_threads(threads, |calls| {
            one_thread().block_on(async {
                for _ in 0..calls {
                    before_tool_call(&session, &document).await;
                }
            });
        })
    };
    let theirs =
        |threads| on_threads(threads, |calls| (0..calls).for_each(|_| drop(bare.call(&bare_input, LINE))));
    let times = race(
        extent.rounds(60),
        &mut [Box::new(|| ours(2)), Box::new(|| ours(1)), Box::new(|| theirs(2)), Box::new(|| theirs(1))],
    );
    let [two, one, bare_two, bare_one] = &times[..] else { unreachable!() };
    [
        Row::compare("calls on two threads: on one", "µs", two, one, Some(Aim::TimesFaster(1.8))),
        Row::compare("the bare engine on one thread: on two", "µs", bare_one, bare_two, None),
    ]
}

/// Makes calls on so many threads at once, and returns the time of one call.
fn on_threads(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    /// Calls of each thread in a round.
    const CALLS: usize = 500;
    let barrier = std::sync::Barrier::new(threads);
    let times = std::thread::scope(|scope| {
        let work = || {
            barrier.wait();
            let started = Instant::now();
            work(CALLS);
            started.elapsed()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).max().unwrap()
    });
    times / u32::try_from(threads * CALLS).unwrap()
}

/// Fifty endless hooks on one thread: when the last of them has ended, and how long another task waits.
fn endless(extent: Extent, place: &Place) -> Vec<Row> {
    const HOOKS: usize = 50;
    const LIMIT: Duration = Duration::from_millis(50);
    let tokio = one_thread();
    let mut budget = Budget::for_kind(Kind::Component);
    (budget.wall, budget.fuel) = (LIMIT, u64::MAX / 4);
    let (mut ends, mut waits) = (Vec::new(), Vec::new());
    tokio.block_on(async {
        let session = session(&place.test_hook("hostile.wasm"), 1, Some(budget)).await;
        for _ in 0..extent.rounds(20).max(3) {
            let started = Instant::now();
            let calls: Vec<_> = (0..HOOKS)
                .map(|_| {
                    let session = session.clone();
                    tokio::spawn(async move {
                        let call = ToolCall::new("bash", json!({"do": "loop"}));
                        let verdict = session.before_tool_call(call).await;
                        let cause = verdict.notes.report.hooks[0].cause;
                        assert_eq!(cause, Some(hookbox::hook::Cause::Timeout), "{verdict:?}");
                        started.elapsed()
                    })
                })
                .collect();
            let mut longest = Duration::ZERO;
            while !calls.iter().all(tokio::task::JoinHandle::is_finished) {
                let turn = Instant::now();
                tokio::task::yield_now().await;
                longest = longest.max(turn.elapsed());
            }
            let mut last = Duration::ZERO;
            for call in calls {
                last = last.max(call.await.unwrap());
            }
            ends.push(last.as_secs_f64() * 1e3);
            waits.push(longest.as_secs_f64() * 1e3);
        }
    });
    vec![
        Row::alone("50 endless hooks, limit 50 ms: all ended", "ms", &ends, Some(65.0)),
        Row::alone("50 endless hooks: another task waits", "ms", &waits, Some(10.0)),
    ]
}
