//! Measures the cost of an event as a process, from exec to exit: `hookbox bridge claude`, compared with a
//! script that only reads its event.
//!
//! The processes take turns, and the ratios are of each round, so that they are right on a noisy machine too.
//! The program is measured as it is installed: as a copy. The file that a linker has written through a mapping
//! lies in single pages in the system's cache, and a start of it takes a fifth longer.
//! `HOOKBOX_BIN` names another program than the one that cargo has just built. `HOOKBOX_ROUNDS` sets the
//! number of rounds (default: 200).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot run should stop")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The default number of rounds.
const ROUNDS: usize = 200;

/// The age from which a file is cached, and a little more.
const SETTLED: Duration = Duration::from_secs(4);

fn main() {
    let place = Place::new();
    let rows = place.rows();
    for row in &rows {
        row.warm();
    }
    std::thread::sleep(SETTLED);
    for row in &rows {
        row.warm();
        row.check();
    }
    let rounds = std::env::var("HOOKBOX_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(ROUNDS).max(1);
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); rows.len()];
    for round in 0..rounds {
        // No process always follows the same one.
        for turn in 0..rows.len() {
            let at = (turn + round) % rows.len();
            let cost = rows.get(at).unwrap().run("ls").0;
            costs.get_mut(at).unwrap().push(cost);
        }
    }
    table(&rows, &costs);
}

/// The cost of one process.
#[derive(Clone, Copy)]
struct Cost {
    /// From its start to its end, in milliseconds.
    wall: f64,
    /// The time of processors, in milliseconds.
    processor: f64,
    page_faults: f64,
}

impl Cost {
    /// Measures work that waits for its only process.
    fn of<T>(work: impl FnOnce() -> T) -> (Self, T) {
        let usage = || getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let processor = |usage: &Usage| {
            (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e3
        };
        let (before, begin) = (usage(), Instant::now());
        let result = work();
        let (wall, after) = (begin.elapsed().as_secs_f64() * 1e3, usage());
        let page_faults = (after.minor_page_faults() - before.minor_page_faults()) as f64;
        (Self { wall, processor: processor(&after) - processor(&before), page_faults }, result)
    }
}

fn table(rows: &[Row], costs: &[Vec<Cost>]) {
    let of = |name: &str| costs.get(rows.iter().position(|row| row.name == name).unwrap()).unwrap();
    let (script, one) = (of(SCRIPT), of(ONE));
    let rounds = script.len();
    println!("{rounds} rounds; medians, and the medians of the ratios of each round\n");
    println!("| process | ms | to the script | to one component | processor, ms | page faults |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (row, costs) in rows.iter().zip(costs) {
        let to = |other: &[Cost]| median(costs.iter().zip(other).map(|(a, b)| a.wall / b.wall).collect());
        let all = |part: fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        let (name, wall, processor) = (row.name, all(|it| it.wall), all(|it| it.processor));
        let (script, one, faults) = (to(script), to(one), all(|it| it.page_faults));
        println!("| {name} | {wall:.2} | {script:.2} | {one:.2} | {processor:.2} | {faults} |");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}

const SCRIPT: &str = "bash, `cat >/dev/null`";
const ONE: &str = "bridge, one component";

/// A process that takes turns with the others.
struct Row {
    name: &'static str,
    command: Vec<PathBuf>,
    /// The home directory.
    home: PathBuf,
    /// True if `rm -rf /` must be blocked.
    guards: bool,
}

impl Row {
    fn is_bridge(&self) -> bool {
        self.command.len() > 1
    }

    fn run(&self, line: &str) -> (Cost, Value) {
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
        let (cost, output) = Cost::of(|| command.spawn().unwrap().wait_with_output().unwrap());
        assert!(output.status.success(), "{}: {:?}", self.name, output);
        (cost, serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    fn warm(&self) {
        for _ in 0..2 {
            self.run("ls");
        }
    }

    fn check(&self) {
        if !self.is_bridge() {
            return;
        }
        let (_, passed) = self.run("ls");
        assert_eq!(passed, Value::Null, "{}", self.name);
        if self.guards {
            let (_, blocked) = self.run("rm -rf /");
            let decision = blocked.pointer("/hookSpecificOutput/permissionDecision");
            assert_eq!(decision, Some(&"deny".into()), "{}: {blocked}", self.name);
        }
    }
}

/// Returns the payload of Claude Code before a tool runs.
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

/// Home directories with hooks, and the programs.
struct Place {
    dir: TempDir,
    /// The program as it was built.
    built: PathBuf,
    guardrail: Vec<u8>,
}

impl Place {
    fn new() -> Self {
        let built = Path::new(env!("CARGO_BIN_EXE_hookbox"));
        // The build directory has a directory per profile, and that of the samples.
        let target = built.parent().and_then(Path::parent).unwrap();
        let guardrail = target.join("hooks/guardrail.wasm");
        let guardrail = fs::read(&guardrail)
            .unwrap_or_else(|error| panic!("{}: {error}; hint: cargo hooks", guardrail.display()));
        let hookbox = std::env::var_os("HOOKBOX_BIN").map_or(built.to_owned(), PathBuf::from);
        Self { dir: TempDir::with_prefix("hookbox-bench-").unwrap(), built: hookbox, guardrail }
    }

    fn rows(&self) -> Vec<Row> {
        let script = self.dir.path().join("script");
        fs::write(&script, "#!/bin/bash\ncat >/dev/null\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let bare = |name, program: &Path| {
            let home = self.home("bare", Vec::new());
            Row { name, command: vec![program.to_owned()], home, guards: false }
        };
        let installed = self.dir.path().join("hookbox");
        fs::copy(&self.built, &installed).unwrap();
        let of = |program: &Path, name, directory: &str, hooks: Vec<Vec<u8>>| {
            let guards = !hooks.is_empty();
            let command = [program, Path::new("bridge"), Path::new("claude")];
            let home = self.home(directory, hooks);
            Row { name, command: command.map(Path::to_owned).into(), home, guards }
        };
        let bridge = |name, directory: &str, hooks| of(&installed, name, directory, hooks);
        let guardrail = || self.guardrail.clone();
        vec![
            bare("/bin/true", Path::new("/bin/true")),
            bare(SCRIPT, &script),
            bridge("bridge, no hooks", "none", Vec::new()),
            bridge(ONE, "one", vec![guardrail()]),
            of(&self.built, "the same, as the linker left it", "built", vec![guardrail()]),
            bridge("bridge, ten copies of it", "copies", vec![guardrail(); 10]),
            bridge("bridge, ten components", "ten", (0..10).map(|n| self.variant(n)).collect()),
        ]
    }

    /// A component of other bytes that does the same: with one more custom section.
    fn variant(&self, n: u8) -> Vec<u8> {
        let mut bytes = self.guardrail.clone();
        // Section 0, three bytes long: a name of one letter, and one byte.
        bytes.extend([0, 3, 1, b'n', n]);
        bytes
    }

    fn home(&self, name: &str, hooks: Vec<Vec<u8>>) -> PathBuf {
        let home = self.dir.path().join(name);
        let directory = home.join(".hookbox/hooks");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).unwrap();
        for (n, bytes) in hooks.into_iter().enumerate() {
            fs::write(directory.join(format!("guardrail{n}.wasm")), bytes).unwrap();
        }
        home
    }
}
