//! Starting with many components: compiling them, finding them again, and the memory that they take.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hookbox::manager::Manager;
use hookbox::report::Status;
use hookbox::{EventName, Kind, ToolCall};
use serde_json::json;

use crate::Extent;
use crate::calls::one_thread;
use crate::place::Place;
use crate::row::{Row, timed};

/// The number of distinct components.
const COMPONENTS: usize = 100;

/// Finds the hooks of a home directory, calls each once, and prints the number of those that passed, the milliseconds,
/// and the memory of the process in KiB: its own, and the pages of files that are mapped. It runs in a process of its own.
pub(crate) fn found_and_called(home: &Path) {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let [own, mapped] = memory();
    let started = Instant::now();
    let (passed, manager) = tokio.block_on(async {
        let manager = Manager::builder().home(home).cwd(home).build().await;
        let session = manager.session("bench");
        let call = ToolCall::new("bash", json!({"command": "ls"}));
        let run = session.tool(call, |call| async { call.finished(json!("src")) }).await;
        let hooks = run.reports.iter().flat_map(|report| &report.hooks);
        let passed = hooks.filter(|it| it.kind == Kind::Component && it.status == Status::Passed).count();
        (passed, manager)
    });
    let time = started.elapsed();
    let [own_now, mapped_now] = memory();
    println!("{passed} {} {} {}", time.as_secs_f64() * 1e3, own_now - own, mapped_now - mapped);
    drop(manager);
}

/// Returns the memory of this process in KiB: its own, and the pages of files that are mapped.
fn memory() -> [i64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    ["RssAnon:", "RssFile:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    })
}

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path();
    let hooks = home.join(".hookbox/hooks");
    DirBuilder::new().recursive(true).mode(0o700).create(&hooks).unwrap();
    let count = if extent.quick { COMPONENTS / 10 } else { COMPONENTS };
    let samples = samples(place);
    for number in 0..count {
        let bytes = distinct(&samples[number % samples.len()], number);
        fs::write(hooks.join(format!("hook-{number:03}.wasm")), bytes).unwrap();
    }
    let first = start(home);
    eprintln!("   {count} components compiled, found and called in {:.0} ms", first.ms);
    // The answers of files that have just been written are not remembered yet.
    std::thread::sleep(Duration::from_secs(4));
    start(home);
    let (mut again, mut own, mut mapped, mut python) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..extent.rounds(30) {
        let started = start(home);
        assert_eq!(started.passed, count);
        again.push(started.ms);
        own.push(started.own / 1024.0 / count as f64);
        mapped.push(started.mapped / 1024.0 / count as f64);
        python.push(python_start().as_secs_f64() * 3e3);
    }
    let hundred = !extent.quick;
    vec![
        Row::alone(&format!("first start, {count} components (compiling)"), "ms", &[first.ms], None),
        Row::alone(
            &format!("second start, {count} components, each called"),
            "ms",
            &again,
            hundred.then_some(100.0),
        ),
        Row::compare(
            &format!("second start, {count} components: three python3"),
            "ms",
            &again,
            &python,
            hundred.then_some(crate::row::Aim::RatioAtMost(1.0)),
        ),
        Row::alone(&format!("memory of one of {count} components"), "MiB", &own, hundred.then_some(0.5)),
        Row::alone(&format!("mapped code of one of {count} components"), "MiB", &mapped, None),
    ]
}

/// The result of one process.
struct Started {
    passed: usize,
    ms: f64,
    own: f64,
    mapped: f64,
}

fn start(home: &Path) -> Started {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["found-and-called".as_ref(), home.as_os_str()])
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
    let [passed, ms, own, mapped] = numbers[..] else { panic!("{text:?}") };
    Started { passed: passed as usize, ms, own, mapped }
}

fn python_start() -> Duration {
    timed(|| Command::new(crate::place::python()).args(["-c", "pass"]).status().unwrap())
}

/// The sample components that run before or after a tool call, once, and need no permission: a hook that fails would
/// measure its failure.
fn samples(place: &Place) -> Vec<Vec<u8>> {
    let tokio = one_thread();
    let runtime = hookbox::Runtime::new(hookbox::Allocation::OnDemand, None);
    let mut files: Vec<_> = fs::read_dir(place.target.join("hooks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "wasm"))
        .collect();
    files.sort();
    let suits = |bytes: &Vec<u8>| {
        let component = tokio.block_on(runtime.load(bytes.clone())).unwrap();
        let manifest = component.manifest();
        let event = match &manifest.subscriptions[..] {
            [one] => Some(&one.event),
            _ => None,
        };
        manifest.capabilities.is_empty()
            && matches!(event, Some(EventName::BeforeToolCall | EventName::AfterToolCall))
    };
    files.iter().map(|path| fs::read(path).unwrap()).filter(suits).collect()
}

/// A component of other bytes that does the same: with one more custom section.
pub(crate) fn distinct(component: &[u8], number: usize) -> Vec<u8> {
    let mut bytes = component.to_owned();
    // Section 0, six bytes long: a name of one letter, and a number.
    bytes.extend([0, 6, 1, b'n']);
    bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
    bytes
}
