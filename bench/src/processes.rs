//! An event as a process, from exec to exit, as agents with hook commands run it: `hookbox bridge claude` beside a
//! script that only reads its event, and beside a packaged guard.
//!
//! The time on the wall, and apart from it the processor's time and the faults of pages: a machine with idle cores hides
//! what a busy one shows.

use std::cell::RefCell;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Extent;
use crate::place::Place;
use crate::row::{Aim, Row, Runner, race};
use crate::spawned::{interpreter, script};
use crate::starts::distinct;

/// The age from which a file is cached, and a little more.
const SETTLED: Duration = Duration::from_secs(4);

/// A sender that finds no collector ends in far less.
const SENDER: Duration = Duration::from_millis(50);

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let dir = TempDir::with_prefix("hookbox-bench-").unwrap();
    let Some(hookbox) = place.program(dir.path()) else { return Vec::new() };
    let guardrail = fs::read(place.hook("guardrail.wasm")).unwrap();
    let bridge = [hookbox.as_os_str(), "bridge".as_ref(), "claude".as_ref()].map(PathBuf::from);
    let process = |name: &str, command: &[PathBuf], hooks: &[Vec<u8>]| Process {
        command: command.to_vec(),
        home: home(&dir.path().join(name), hooks),
        used: RefCell::default(),
    };
    let different: Vec<Vec<u8>> = (0..10).map(|number| distinct(&guardrail, number)).collect();
    let cat = script(dir.path(), "cat", "#!/bin/bash\ncat >/dev/null\n");
    let mut processes = vec![
        process("script", &[cat], &[]),
        process("none", &bridge, &[]),
        process("one", &bridge, std::slice::from_ref(&guardrail)),
        process("copies", &bridge, &vec![guardrail.clone(); 10]),
        process("different", &bridge, &different),
        process("journal", &bridge, std::slice::from_ref(&guardrail)),
        process("sender", &bridge, std::slice::from_ref(&guardrail)),
    ];
    let recorded = "[journal]\nenabled = true\n";
    fs::write(dir.path().join("journal/.hookbox/hookbox.toml"), recorded).unwrap();
    // Nobody listens there.
    let sent = format!("{recorded}collector = \"http://127.0.0.1:9\"\n");
    fs::write(dir.path().join("sender/.hookbox/hookbox.toml"), sent).unwrap();
    let node = interpreter("node", &["-p", "process.execPath"]);
    let packaged = place.peer("cc-safety-net/node_modules/cc-safety-net/dist/bin/cc-safety-net.js");
    if let (Some(node), Some(packaged)) = (node, packaged) {
        processes.push(process("packaged", &[node, packaged, "hook".into(), "--claude-code".into()], &[]));
    }
    for process in &processes {
        process.run("ls");
    }
    std::thread::sleep(SETTLED);
    for process in &processes {
        process.run("ls");
    }
    for process in &processes[2..] {
        process.check();
    }

    processes.iter().for_each(|process| process.used.borrow_mut().clear());
    let sending = dir.path().join("sender/.local/share/hookbox/journal/sending");
    let mut sides: Vec<Runner<'_>> = processes
        .iter()
        .map(|process| {
            let sending = sending.starts_with(&process.home).then_some(&sending);
            Box::new(move || process.run_sending("ls", sending)) as Runner<'_>
        })
        .collect();
    let times = race(extent.rounds(300), &mut sides);
    let (script, one) = (&times[0], &times[2]);
    let row = |name, ours, theirs, aim| Row::compare(name, "µs", ours, theirs, aim);
    let mut rows = vec![
        row("process, no hooks: script", &times[1], script, None),
        row("process, one component: script", one, script, Some(Aim::RatioAtMost(1.15))),
        row("process, ten copies: one", &times[3], one, Some(Aim::RatioAtMost(1.1))),
        row("process, ten different: one", &times[4], one, Some(Aim::RatioAtMost(1.4))),
        row(
            "process, one component and the journal: without it",
            &times[5],
            one,
            Some(Aim::RatioAtMost(1.1)),
        ),
    ];
    let start: Vec<f64> = times[6].iter().zip(&times[5]).map(|(with, without)| with - without).collect();
    rows.push(Row::alone("process, the start of a sender of records", "µs", &start, Some(1000.0)));
    if let Some(packaged) = times.get(7) {
        let aim = Some(Aim::TimesFaster(5.0));
        rows.push(row("process, one component: cc-safety-net", one, packaged, aim));
    }
    // The first is the warm-up of the race.
    let used =
        |at: usize| -> (Vec<f64>, Vec<f64>) { processes[at].used.borrow()[1..].iter().copied().unzip() };
    let (script, one) = (used(0), used(2));
    rows.push(Row::compare("process, one component: script, processor", "µs cpu", &one.0, &script.0, None));
    rows.push(Row::compare("process, one component: script, faults", "faults", &one.1, &script.1, None));
    rows
}

/// A process that takes turns with others.
struct Process {
    command: Vec<PathBuf>,
    /// The home directory, and where it runs.
    home: PathBuf,
    /// Microseconds of the processor and faults of pages of each run.
    used: RefCell<Vec<(f64, f64)>>,
}

impl Process {
    /// Runs it with a shell line, and returns its time and its answer.
    fn run(&self, line: &str) -> (Duration, Value) {
        let (stdin, mut event) = std::io::pipe().unwrap();
        event.write_all(payload(&self.home, line).as_bytes()).unwrap();
        drop(event);
        let (program, arguments) = self.command.split_first().unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.home)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("XDG_CACHE_HOME", self.home.join(".cache"))
            .env("XDG_DATA_HOME", self.home.join(".local/share"))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let before = children();
        let begin = Instant::now();
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let time = begin.elapsed();
        let after = children();
        let cpu = (after.user_time() + after.system_time()) - (before.user_time() + before.system_time());
        let faults = after.minor_page_faults() - before.minor_page_faults();
        self.used.borrow_mut().push((cpu.num_microseconds() as f64, faults as f64));
        assert!(output.status.success(), "{:?}: {output:?}", self.command);
        (time, serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// Runs it with a shell line, and returns its time. It starts a sender, if the file of the last attempt is named; the sender
    /// ends before the next side begins.
    fn run_sending(&self, line: &str, last_attempt: Option<&PathBuf>) -> Duration {
        let Some(last_attempt) = last_attempt else { return self.run(line).0 };
        fs::remove_file(last_attempt).unwrap();
        let (time, _) = self.run(line);
        assert!(last_attempt.exists(), "no sender was started");
        std::thread::sleep(SENDER);
        time
    }

    /// Checks that it blocks a dangerous line and passes another one.
    fn check(&self) {
        let decision = |line| self.run(line).1.pointer("/hookSpecificOutput/permissionDecision").cloned();
        assert_eq!(decision("ls"), None, "{:?}", self.command);
        assert_eq!(decision("rm -rf /"), Some("deny".into()), "{:?}", self.command);
    }
}

/// Returns what all ended children have used, with their own children.
fn children() -> Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap()
}

/// The payload of Claude Code before a tool runs.
fn payload(cwd: &Path, line: &str) -> String {
    json!({
        "session_id": "8f6275e5-5752-43b4-90b6-1d723010ddea",
        "transcript_path": "/home/dev/.claude/projects/project/8f6275e5.jsonl",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": line, "description": "run a command"},
        "tool_use_id": "toolu_000",
    })
    .to_string()
}

/// Makes a home directory with hooks.
fn home(home: &Path, hooks: &[Vec<u8>]) -> PathBuf {
    let directory = home.join(".hookbox/hooks");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).unwrap();
    for (number, bytes) in hooks.iter().enumerate() {
        fs::write(directory.join(format!("guardrail{number}.wasm")), bytes).unwrap();
    }
    home.to_owned()
}
