//! How cost grows with hooks, bytes, events at once, files and sessions: curves.
//!
//! The points of a panel take turns, like the sides of a row.

use std::fs;
use std::path::Path;
use std::time::Instant;

use hookbox::manager::Manager;
use hookbox::report::Status;
use hookbox::session::{Session, ToolVerdict};
use hookbox::trust::TrustPolicy;
use hookbox::{
    Allocation, Descriptor, Document, EventName, FunctionHook, Kind, Outcome, Runtime, Settings, ToolCall,
};
use hookbox::{Component, ComponentHook};
use serde_json::json;
use tempfile::TempDir;

use crate::Extent;
use crate::place::Place;
use crate::row::{Aim, Row, Runner, quantile, race, timed};

/// One curve: microseconds by size.
pub(crate) struct Curve {
    /// The chart that shows it, and its name there if there are several.
    pub(crate) panel: &'static str,
    pub(crate) name: &'static str,
    pub(crate) x_label: &'static str,
    pub(crate) y_label: &'static str,
    /// Size and median in microseconds, in rising order.
    pub(crate) points: Vec<(f64, f64)>,
    /// The microseconds of each round, point by point.
    rounds: Vec<Vec<f64>>,
    growth: Growth,
    /// The size with which the row compares the largest one.
    against: f64,
}

/// The growth that is aimed at.
#[derive(Clone, Copy, PartialEq)]
enum Growth {
    /// The cost is for one event, whatever the size is.
    None,
    /// The cost is for all of the size.
    Linear,
}

impl Curve {
    /// Returns the steepest exponent between two neighboring points: 0 is flat, 1 is linear. Steps that end below
    /// twice the cheapest point are noise on a floor, and are left out.
    pub(crate) fn exponent(&self) -> f64 {
        let floor = self.points.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
        let above = self.points.windows(2).filter(|step| step[1].1 > 2.0 * floor);
        above.map(|step| (step[1].1 / step[0].1).ln() / (step[1].0 / step[0].0).ln()).fold(0.0, f64::max)
    }

    /// Returns the finding, such as `superlinear: 1.31`. A linear curve may be a tenth steeper: that is noise.
    pub(crate) fn verdict(&self) -> String {
        let exponent = self.exponent();
        let most = if self.growth == Growth::Linear { 1.1 } else { 0.1 };
        let word = match (exponent > most, self.growth) {
            (true, Growth::Linear) => "superlinear",
            (true, Growth::None) => "grows",
            (false, Growth::Linear) => "linear or less",
            (false, Growth::None) => "flat",
        };
        format!("{word}: {exponent:.2}")
    }

    /// Compares the largest size with a smaller one, for each of its units if the cost is for all of them.
    fn row(&self) -> Option<Row> {
        let largest = self.points.len().checked_sub(1)?;
        let small = self.points.iter().position(|(x, _)| *x == self.against)?;
        let of = |at: usize| -> Vec<f64> {
            let per = if self.growth == Growth::Linear { self.points[at].0 } else { 1.0 };
            self.rounds[at].iter().map(|time| time / per).collect()
        };
        let [largest_size, size] = [self.points[largest].0, self.points[small].0];
        let mut name = format!("{largest_size} {}", self.x_label);
        if !self.name.is_empty() {
            name = format!("{name}, {}", self.name);
        }
        let each = if self.growth == Growth::Linear { ", each" } else { "" };
        let name = format!("{name}{each}: of {size}");
        Some(Row::compare(&name, "µs", &of(largest), &of(small), Some(Aim::RatioAtMost(1.5))))
    }
}

/// Returns a row for each curve.
pub(crate) fn rows(curves: &[Curve]) -> Vec<Row> {
    for curve in curves {
        eprintln!(
            "   {}{}{}: {}",
            curve.panel,
            if curve.name.is_empty() { "" } else { ", " },
            curve.name,
            curve.verdict()
        );
    }
    curves.iter().filter_map(Curve::row).collect()
}

/// Measures all curves.
pub(crate) fn curves(extent: Extent, place: &Place) -> Vec<Curve> {
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let load = |path: &Path| {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        one.block_on(Runtime::new(Allocation::Pooled, None).load(bytes)).unwrap()
    };
    let guardrail = load(&place.hook("guardrail.wasm"));
    let whole = Some(place.test_hook("whole.wasm")).filter(|path| path.exists()).map(|path| load(&path));
    let mut curves = vec![hooks(extent, &one, &guardrail), payload(extent, &one, &guardrail, false)];
    curves.extend(whole.map(|whole| payload(extent, &one, &whole, true)));
    curves.push(concurrency(extent, &guardrail));
    curves.extend(files(extent, &one, place));
    curves.push(sessions(extent, &one));
    curves
}

/// Hooks in one chain.
fn hooks(extent: Extent, tokio: &tokio::runtime::Runtime, guardrail: &Component) -> Curve {
    let sizes = points(extent, &[1, 3, 10, 30, 100, 300, 1000]);
    let mut sides: Vec<Runner<'_>> = Vec::new();
    for &size in &sizes {
        let session = session(tokio, guardrail, size);
        sides.push(Box::new(move || timed(|| tokio.block_on(passing(&session, shell_call())))));
    }
    let rounds = race(extent.rounds(100), &mut sides);
    Curve::new("Hooks in one chain", "hooks", "µs per event", &sizes, rounds, Growth::Linear, 100)
}

/// Bytes of a tool's input. Making the input is the agent's part, and so is freeing it.
fn payload(extent: Extent, tokio: &tokio::runtime::Runtime, hook: &Component, reads_all: bool) -> Curve {
    let sizes = points(extent, &[1, 4, 16, 64, 256, 1024, 4096, 16384]);
    let session = session(tokio, hook, 1);
    let mut sides: Vec<Runner<'_>> = Vec::new();
    for &size in &sizes {
        let session = session.clone();
        let input = json!({"command": "cargo test", "content": "x".repeat((size << 10) - 50)});
        let kept = Document::new(input.clone());
        sides.push(Box::new(move || {
            // A document keeps its text: a guest that reads all of it gets a new one.
            let document = if reads_all { Document::new(input.clone()) } else { kept.clone() };
            // The tool is unknown, so that the host works out no facts, and the guest asks for the command.
            let call = ToolCall::new("program", document.clone());
            timed(|| tokio.block_on(passing(&session, call)))
        }));
    }
    let rounds = race(extent.rounds(100), &mut sides);
    let growth = if reads_all { Growth::Linear } else { Growth::None };
    let against = if reads_all { 1024 } else { 4 };
    let name = if reads_all { "all of it is read" } else { "one field is read" };
    Curve { name, ..Curve::new("Size of the input", "KB", "µs per event", &sizes, rounds, growth, against) }
}

/// Events at once, in sessions of their own.
fn concurrency(extent: Extent, guardrail: &Component) -> Curve {
    let sizes = points(extent, &[1, 4, 16, 64, 256]);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let session = session(&tokio, guardrail, 1);
    let mut sides: Vec<Runner<'_>> = Vec::new();
    for &size in &sizes {
        let (tokio, session) = (&tokio, &session);
        sides.push(Box::new(move || {
            // A short round would measure the start of two threads that sleep.
            let times = 256 / size;
            let started = Instant::now();
            for _ in 0..times {
                let events: Vec<_> = (0..size)
                    .map(|at| {
                        let session = session.subagent(at.to_string());
                        tokio.spawn(async move { drop(passing(&session, shell_call()).await) })
                    })
                    .collect();
                tokio.block_on(async {
                    for event in events {
                        event.await.unwrap();
                    }
                });
            }
            started.elapsed() / (times * size) as u32
        }));
    }
    let rounds = race(extent.rounds(60), &mut sides);
    drop(sides);
    Curve::new(
        "Events at once, two threads",
        "events at once",
        "µs per event",
        &sizes,
        rounds,
        Growth::None,
        1,
    )
}

/// Files in the repository: an event there, and finding its hooks.
fn files(extent: Extent, tokio: &tokio::runtime::Runtime, place: &Place) -> [Curve; 2] {
    let sizes = points(extent, &[10, 100, 1000, 10_000]);
    let root = TempDir::new().unwrap();
    let runtime = Runtime::new(Allocation::Pooled, None);
    let (mut events, mut finding): (Vec<Runner<'_>>, Vec<Runner<'_>>) = (Vec::new(), Vec::new());
    for &size in &sizes {
        let repository = root.path().join(size.to_string());
        fill(&repository, size, &place.hook("guardrail.wasm"));
        let builder = {
            let (home, runtime) = (root.path().join("home"), runtime.clone());
            move || {
                Manager::builder()
                    .cwd(&repository)
                    .home(&home)
                    .cache(Some(home.join("cache")))
                    .data(Some(home.join("data")))
                    .trust(TrustPolicy::All)
                    .runtime(runtime.clone())
            }
        };
        let manager = tokio.block_on(builder().build());
        assert!(manager.hook("guardrail.wasm").is_some(), "{:?}", manager.problems());
        let session = manager.session("bench");
        let call = || ToolCall::new("bash", json!({"command": "cat src/0/0.rs && cargo test"}));
        events.push(Box::new(move || timed(|| tokio.block_on(passing(&session, call())))));
        finding.push(Box::new(move || timed(|| tokio.block_on(builder().build()))));
    }
    [("an event", events), ("finding the hooks", finding)].map(|(name, mut sides)| {
        let rounds = race(extent.rounds(100), &mut sides);
        let curve = Curve::new("Files in the repository", "files", "µs", &sizes, rounds, Growth::None, 100);
        Curve { name, ..curve }
    })
}

/// Makes a repository with so many files and one hook.
fn fill(repository: &Path, files: usize, hook: &Path) {
    for dir in [".git", ".hookbox/hooks"] {
        fs::create_dir_all(repository.join(dir)).unwrap();
    }
    fs::copy(hook, repository.join(".hookbox/hooks/guardrail.wasm")).unwrap();
    for file in 0..files {
        let dir = repository.join("src").join((file / 100).to_string());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{}.rs", file % 100)), "fn main() {}\n").unwrap();
    }
}

/// Sessions that are open in one process, with 100 hooks from code, an event each.
fn sessions(extent: Extent, tokio: &tokio::runtime::Runtime) -> Curve {
    let sizes = points(extent, &[1, 10, 100, 1000, 10_000]);
    let mut builder = Manager::builder().directories(false).self_protection(false);
    for at in 0..100 {
        builder =
            builder.hook(FunctionHook::new(format!("hook-{at}"), EventName::BeforeToolCall, |_| async {
                Ok(Outcome::pass())
            }));
    }
    let manager = tokio.block_on(builder.build());
    let mut sides: Vec<Runner<'_>> = Vec::new();
    for &size in &sizes {
        let sessions: Vec<Session> = (0..size).map(|at| manager.session(format!("session-{at}"))).collect();
        sides.push(Box::new(move || {
            let times = (100 / size).max(1);
            let started = Instant::now();
            tokio.block_on(async {
                for session in sessions.iter().cycle().take(times * size) {
                    drop(passing(session, shell_call()).await);
                }
            });
            started.elapsed() / (times * size) as u32
        }));
    }
    let rounds = race(extent.rounds(20), &mut sides);
    Curve::new("Open sessions, 100 hooks", "open sessions", "µs per event", &sizes, rounds, Growth::None, 100)
}

impl Curve {
    fn new(
        panel: &'static str,
        x_label: &'static str,
        y_label: &'static str,
        sizes: &[usize],
        rounds: Vec<Vec<f64>>,
        growth: Growth,
        against: usize,
    ) -> Self {
        let medians = rounds.iter().map(|times| quantile(times, 0.5));
        let points = sizes.iter().map(|size| *size as f64).zip(medians).collect();
        Self { panel, name: "", x_label, y_label, points, rounds, growth, against: against as f64 }
    }
}

/// Returns all sizes, or every other one from the last.
fn points(extent: Extent, all: &[usize]) -> Vec<usize> {
    let mut some: Vec<usize> = all.iter().rev().step_by(if extent.quick { 2 } else { 1 }).copied().collect();
    some.reverse();
    some
}

/// Returns a session with so many copies of a hook.
fn session(tokio: &tokio::runtime::Runtime, component: &Component, hooks: usize) -> Session {
    let mut builder = Manager::builder().directories(false).self_protection(false);
    for at in 0..hooks {
        let mut descriptor =
            Descriptor::new(format!("hook-{at}"), Kind::Component).on(EventName::BeforeToolCall);
        // Enough for a guest that has 16 MB of input in its memory.
        (descriptor.budget.memory, descriptor.budget.fuel) = (512 << 20, 100_000_000_000);
        builder = builder.hook(ComponentHook::new(component.clone(), descriptor, Settings::new()));
    }
    tokio.block_on(builder.build()).session("bench")
}

fn shell_call() -> ToolCall {
    ToolCall::new("bash", json!({"command": "cargo test --workspace"}))
}

/// Sends an event that every hook lets pass.
async fn passing(session: &Session, call: ToolCall) -> ToolVerdict {
    let verdict = session.before_tool_call(call).await;
    let passed = verdict.report.hooks.iter().all(|hook| hook.status == Status::Passed);
    assert!(passed && !verdict.report.hooks.is_empty(), "{verdict:?}");
    verdict
}
