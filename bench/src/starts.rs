//! Starting with many components: compiling them, finding them again, and the memory that they take.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hookbox::manager::Manager;
use serde_json::json;

use crate::Extent;
use crate::calls::one_thread;
use crate::place::Place;
use crate::row::{Row, timed};

/// The number of distinct components.
const COMPONENTS: usize = 100;

/// Finds the hooks of a home directory, calls each once, and prints the milliseconds and the memory of the process in KiB.
/// It runs in a process of its own.
pub(crate) fn found_and_called(home: &Path) {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let before = resident();
    let started = Instant::now();
    let ran = tokio.block_on(async {
        let manager = Manager::builder().home(home).cwd(home).build().await;
        let event = hookbox::ToolCall::new("bash", json!({"command": "ls"}));
        manager.session("bench").before_tool_call(event).await.notes.report.hooks.len()
    });
    let time = started.elapsed();
    println!("{ran} {} {}", time.as_secs_f64() * 1e3, resident().saturating_sub(before));
}

/// Returns the resident memory of this process, in KiB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
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
    let (mut again, mut memory, mut python) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..extent.rounds(30) {
        let started = start(home);
        assert!(started.hooks >= count, "{} hooks of {count} ran", started.hooks);
        again.push(started.ms);
        memory.push(started.kib / 1024.0 / count as f64);
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
        Row::alone(&format!("memory of one of {count} components"), "MiB", &memory, hundred.then_some(0.5)),
    ]
}

/// The result of one process.
struct Started {
    hooks: usize,
    ms: f64,
    kib: f64,
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
    let [hooks, ms, kib] = numbers[..] else { panic!("{text:?}") };
    Started { hooks: hooks as usize, ms, kib }
}

fn python_start() -> Duration {
    timed(|| Command::new(crate::place::python()).args(["-c", "pass"]).status().unwrap())
}

/// The sample components of 60 to 310 KB that run before a tool call.
fn samples(place: &Place) -> Vec<Vec<u8>> {
    let tokio = one_thread();
    let runtime = hookbox::Runtime::new(hookbox::Allocation::OnDemand, None);
    let mut files: Vec<_> = fs::read_dir(place.target.join("hooks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "wasm"))
        .collect();
    files.sort();
    let asked = |bytes: &Vec<u8>| {
        let component = tokio.block_on(runtime.load(bytes.clone())).unwrap();
        component.manifest().subscriptions.iter().any(|it| it.event == hookbox::EventName::BeforeToolCall)
    };
    files.iter().map(|path| fs::read(path).unwrap()).filter(asked).collect()
}

/// A component of other bytes that does the same: with one more custom section.
pub(crate) fn distinct(component: &[u8], number: usize) -> Vec<u8> {
    let mut bytes = component.to_owned();
    // Section 0, six bytes long: a name of one letter, and a number.
    bytes.extend([0, 6, 1, b'n']);
    bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
    bytes
}
