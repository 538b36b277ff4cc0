//! A fleet on one machine: a registry with a signed plugin, two users below the policy that pins it, a guard that three workers
//! serve, a collector of the users' records, and a backtest of their past on Ray. Some of it is killed on the way.
//! `cargo xtask fleet --demo` runs this in namespaces, where `etc/hookbox` of its directory is `/etc/hookbox`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fleet::{Balancer, LINES, Process, Worker, wait_until};
use crate::place::Place;

/// The users, and numbers that no other user is likely to have.
const USERS: [(&str, u32); 2] = [("ada", 61_001), ("bob", 61_002)];

/// The events of each user, and its files of past calls with the calls of each.
const EVENTS: usize = 60;
const FILES: usize = 12;
const CALLS: usize = 1000;

/// The addresses: the network has nobody else.
const REGISTRY: &str = "127.0.0.1:5000";
const COLLECTOR: &str = "127.0.0.1:4318";
const RAY: &str = "127.0.0.1:6379";

const RULES: &str =
    "[[rule]]\ncommand = \"make deploy\"\nanswer = \"block\"\nreason = \"The pipeline deploys.\"\n";

/// Notes its node and its arguments, and is hookbox.
const JUDGE: &str =
    "#!/bin/sh\necho $RAY_RAYLET_PID >> \"${0%/*}/starts\"\nexec \"${0%/*}/hookbox\" \"$@\"\n";

/// Runs the demo in this directory, which has the program, with `wasmtime`, a composed service, and two environments of Python.
pub(crate) fn run(dir: &Path, wasmtime: &Path, service: &Path, ray: &Path, otlp: &Path) -> ExitCode {
    let demo = Demo { dir, ray, otlp };
    let users = USERS.map(|(name, id)| User::new(&demo, name, id));
    let mut workers = [(); 3].map(|()| Worker::start(wasmtime, service));
    let balancer = Balancer::start(dir, &workers);
    let mut registry = demo.registry();
    demo.publish(&balancer.origin);
    for user in &users {
        let state = parsed(&run_with(&mut user.hookbox(&["doctor", "--managed", "--json"]), ""));
        assert!(state["state"] == "in force" && state["hooks"].as_array().unwrap().len() == 2, "{state}");
    }
    println!("2 users: the policy is in force, with the plugin and a service of three workers");

    let mut collector = demo.collector();
    let _senders = users.each_ref().map(|it| Process::start(&mut it.hookbox(&["log", "send", "--follow"])));
    let (done, all) = (AtomicUsize::new(0), EVENTS * USERS.len());
    let mut rows = Vec::new();
    let cluster = std::thread::scope(|scope| {
        let cluster = scope.spawn(|| demo.cluster());
        let working = users.each_ref().map(|user| scope.spawn(|| user.work(&done)));
        let sixths =
            |reached| wait_until("the users work", || done.load(Ordering::Relaxed) * 6 >= all * reached);
        sixths(1);
        workers[0].process.kill();
        sixths(2);
        collector.kill();
        let (gone, before) = (Instant::now(), done.load(Ordering::Relaxed));
        let fails = || !run_with(&mut users[0].hookbox(&["log", "send"]), "").status.success();
        wait_until("a sender finds no collector", fails);
        sixths(4);
        let during = done.load(Ordering::Relaxed) - before;
        let outage = gone.elapsed().as_secs();
        collector = demo.collector();
        sixths(5);
        registry.kill();
        let kept = usize::from(demo.sync().1 != "current");
        let lost = working.into_iter().map(|it| it.join().unwrap()).sum();
        rows.push(row("worker", "1 of 3", lost, all, "verdicts"));
        rows.push(row("registry", "before a further sync", kept, 1, "plugins"));
        let (lost, twice) = demo.lost_records(&users);
        let killed = format!("for {outage} s and {during} events");
        rows.push(row("collector", &killed, lost, all, &format!("records, {twice} came twice")));
        println!("{all} events of the users are judged");
        cluster.join().unwrap()
    });
    rows.push(demo.backtest(&users));
    drop(cluster);

    println!("\n{:<10} {:<34} LOST", "PART", "KILLED");
    rows.iter().for_each(|(line, _)| println!("{line}"));
    let is_whole = rows.iter().all(|(_, lost)| *lost == 0);
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns a row of the table, and the number of lost things in it.
fn row(part: &str, killed: &str, lost: usize, all: usize, things: &str) -> (String, usize) {
    (format!("{part:<10} {killed:<34} {lost} of {all} {things}"), lost)
}

struct Demo<'a> {
    dir: &'a Path,
    ray: &'a Path,
    otlp: &'a Path,
}

impl Demo<'_> {
    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Makes a command with few variables, in the directory. Its errors go to a file there.
    fn command(&self, program: impl AsRef<Path>, log: &str) -> Command {
        let program = program.as_ref();
        let mut command = Command::new(program);
        let log = File::options().create(true).append(true).open(self.dir.join(log)).unwrap();
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.dir);
        command.env("TMPDIR", self.dir).env("RAY_USAGE_STATS_ENABLED", "0").env("RAY_ADDRESS", RAY);
        command.current_dir(self.dir).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    fn hookbox(&self, args: &[&str]) -> Command {
        let mut command = self.command(self.dir.join("hookbox"), "hookbox.log");
        command.args(args);
        command
    }

    fn registry(&self) -> Process {
        let storage = self.dir.join("registry");
        let settings = json!({
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": storage}},
            "http": {"addr": REGISTRY, "secret": "demo"},
        });
        // JSON is YAML.
        let settings = self.file("registry.yml", &settings.to_string());
        let process =
            Process::start(self.command("docker-registry", "registry.log").arg("serve").arg(settings));
        listens(REGISTRY);
        process
    }

    /// Publishes the plugin, pins it, and brings it: first without a signature, which must fail.
    fn publish(&self, service: &str) {
        self.file("base/hooks/deploy.rules.toml", RULES);
        let target = format!("oci://{REGISTRY}/org/base:1");
        let published =
            parsed(&run_with(&mut self.hookbox(&["plugin", "publish", "base", &target, "--json"]), ""));
        let (pinned, digest) =
            (published["reference"].as_str().unwrap(), published["digest"].as_str().unwrap());
        self.file(
            "etc/hookbox/hookbox.toml",
            &format!(
                "pinned_plugins = [\"{pinned}\"]\n[journal]\nenabled = true\ncollector = \"http://{COLLECTOR}\"\n\
                 [hooks.secrets]\nhttp = {{ event = \"before_tool_call\", url = \"{service}/secrets\" }}\n\
                 on_failure = \"block\"\n[hooks.\"org/base/deploy.rules.toml\"]\non_failure = \"block\"\n"
            ),
        );
        fs::create_dir_all(self.dir.join("etc/hookbox/plugins")).unwrap();
        let openssl = |args: &[&str]| succeeds(self.command("openssl", "openssl.log").args(args));
        openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "cosign.key"]);
        openssl(&["ec", "-in", "cosign.key", "-pubout", "-out", "etc/hookbox/cosign.pub"]);
        let (code, _) = self.sync();
        assert_eq!(code, Some(1), "a plugin without a signature was not refused");
        let mut sign = self.command(self.otlp.join("bin/python"), "sign.log");
        sign.arg(script("sign.py")).args([REGISTRY, "org/base", digest, "cosign.key"]);
        succeeds(&mut sign);
        assert_eq!(self.sync(), (Some(0), "installed".to_owned()));
        println!("registry: org/base is refused without a signature, and installed with one\n  {pinned}");
    }

    /// Brings what is pinned. Returns the exit code, and the state of the plugin.
    fn sync(&self) -> (Option<i32>, String) {
        let output = run_with(&mut self.hookbox(&["plugin", "sync", "--managed", "--json"]), "");
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), rows[0]["state"].as_str().unwrap_or_default().to_owned())
    }

    fn collector(&self) -> Process {
        let mut command = self.command(self.otlp.join("bin/python"), "collector.log");
        let (_, port) = COLLECTOR.split_once(':').unwrap();
        let process =
            Process::start(command.arg(script("collector.py")).arg(port).arg(self.dir.join("taken")));
        listens(COLLECTOR);
        process
    }

    /// Returns the number of the users' records that the collector does not get in time, and of those that came again.
    fn lost_records(&self, users: &[User]) -> (usize, usize) {
        let ids = |user: &User| {
            let output = run_with(&mut user.hookbox(&["log", "--json", "-n", "0"]), "");
            let lines = String::from_utf8(output.stdout).unwrap();
            let id =
                |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
            lines.lines().map(id).collect::<Vec<_>>()
        };
        let expected: BTreeSet<String> = users.iter().flat_map(ids).collect();
        assert_eq!(expected.len(), EVENTS * users.len(), "the journals have a record of each event");
        let taken = || fs::read_to_string(self.dir.join("taken")).unwrap_or_default();
        let missing = |taken: &str| {
            let taken: BTreeSet<&str> = taken.lines().collect();
            expected.iter().filter(|it| !taken.contains(it.as_str())).count()
        };
        let begin = Instant::now();
        while missing(&taken()) > 0 && begin.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let taken = taken();
        let lost = missing(&taken);
        (lost, taken.lines().count() + lost - expected.len())
    }

    /// Starts a head of Ray without processors, and two nodes with one each.
    fn cluster(&self) -> Vec<Process> {
        let node = |number: usize, args: &[&str]| {
            let mut command = self.command(self.ray.join("bin/ray"), &format!("node-{number}.log"));
            command.args(["start", "--block", "--object-store-memory=80000000"]).args(args);
            // Each address is one of this machine.
            let process = Process::start(command.arg(format!("--node-ip-address=127.0.0.{number}")));
            // One after another: of two that start at the same time, one may fail.
            let log = self.dir.join(format!("node-{number}.log"));
            let is_up = || fs::read_to_string(&log).is_ok_and(|it| it.contains("Ray runtime started"));
            wait_until("a node of Ray starts", is_up);
            process
        };
        let (temp, address) =
            (format!("--temp-dir={}", self.dir.join("ray").display()), format!("--address={RAY}"));
        vec![
            node(1, &["--head", "--port=6379", "--num-cpus=0", "--include-dashboard=false", &temp]),
            node(2, &["--num-cpus=1", &address]),
            node(3, &["--num-cpus=1", &address]),
        ]
    }

    /// Judges the users' journals and some past calls on Ray, and kills a node that has work. Returns the row about it.
    fn backtest(&self, users: &[User]) -> (String, usize) {
        for user in users {
            let team = self.dir.join("calls").join(user.name);
            fs::create_dir_all(&team).unwrap();
            for entry in fs::read_dir(user.home.join(".local/share/hookbox/journal")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|it| it == "jsonl") {
                    fs::copy(&path, team.join(path.file_name().unwrap())).unwrap();
                }
            }
            for file in 0..FILES {
                let text: String =
                    (0..CALLS).map(|at| past_call(&format!("{}-{file}-{at}", user.name), at)).collect();
                fs::write(team.join(format!("past-{file}.jsonl")), text).unwrap();
            }
        }
        let judge = self.file("judge", JUDGE);
        fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = self.command(self.ray.join("bin/python"), "backtest.log");
        command.arg(Place::find().root.join("examples/fleet/backtest_ray.py"));
        command.args(["calls", "counts.json"]).arg(&judge).args(["--hook", "base/hooks"]);
        println!("{} files of past calls go to Ray", (FILES + 1) * users.len());
        let mut run = command.spawn().unwrap();
        let starts = || fs::read_to_string(self.dir.join("starts")).unwrap_or_default();
        wait_until("the nodes have work", || starts().lines().count() > 4);
        // Its raylet is the node: the work on it ends, too.
        let raylet = starts().lines().last().unwrap().parse().unwrap();
        kill(Pid::from_raw(raylet), Signal::SIGKILL).unwrap();
        assert!(
            run.wait().unwrap().success(),
            "{}",
            fs::read_to_string(self.dir.join("backtest.log")).unwrap()
        );

        let one = parsed(&run_with(
            &mut self.hookbox(&["backtest", "calls", "--json", "--hook", "base/hooks"]),
            "",
        ));
        let ray: Value = serde_json::from_slice(&fs::read(self.dir.join("counts.json")).unwrap()).unwrap();
        let sum = |of: &Value| of.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        let blocked = |of: &Value| of["hooks"]["deploy.rules.toml"]["block"].as_u64().unwrap();
        let (all, counted) = (sum(&one["verdicts"]), sum(&ray["verdicts"]));
        let lost = all.abs_diff(counted) + blocked(&one).abs_diff(blocked(&ray));
        println!(
            "backtest: {counted} calls on Ray, {} blocked; {all} and {} in one process",
            blocked(&ray),
            blocked(&one)
        );

        let page = Place::find().target.join("fleet-report.html");
        let mut report = self.hookbox(&["report", "--records", "calls", "--results", "counts.json", "--out"]);
        succeeds(report.arg(&page));
        println!("report: {}", page.display());
        let again = starts().lines().count() - (FILES + 1) * users.len();
        let killed = format!("1 of 2; {again} of its files ran again");
        row("Ray node", &killed, lost as usize, all as usize, "calls")
    }
}

/// A user of the system, with an agent.
struct User {
    name: &'static str,
    id: String,
    home: PathBuf,
    program: PathBuf,
}

impl User {
    fn new(demo: &Demo<'_>, name: &'static str, id: u32) -> Self {
        let home = demo.dir.join("home").join(name);
        fs::create_dir_all(&home).unwrap();
        chown(&home, Some(id), Some(id)).unwrap();
        Self { name, id: id.to_string(), home, program: demo.dir.join("hookbox") }
    }

    fn hookbox(&self, args: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &self.id, "--regid", &self.id, "--clear-groups", "--"]).arg(&self.program);
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.home);
        command.current_dir(&self.home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Sends the events of an agent, one after another. Returns the number of those without a right verdict of every hook.
    fn work(&self, done: &AtomicUsize) -> usize {
        let lines = LINES.iter().chain(&[("make deploy", true)]).cycle();
        let is_lost = |(line, blocks): &(&str, bool)| {
            let event = json!({"conv_id": self.name, "tool_name": "bash", "tool_input": {"command": line}});
            let output =
                run_with(&mut self.hookbox(&["run", "before_tool_call", "--report"]), &event.to_string());
            let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            done.fetch_add(1, Ordering::Relaxed);
            let has_failed = |hook: &Value| !hook["cause"].is_null();
            let is_right =
                report["hooks"].as_array().is_some_and(|all| !all.is_empty() && !all.iter().any(has_failed))
                    && report["verdict"]["blocked"] == *blocks;
            if !is_right {
                eprintln!("{}: {line}: {report}", self.name);
            }
            !is_right
        };
        lines.take(EVENTS).filter(|it| is_lost(it)).count()
    }
}

/// A line of a session file, with a call that the policy blocks in one of seven.
fn past_call(id: &str, at: usize) -> String {
    let line = if at.is_multiple_of(7) { "make deploy".to_owned() } else { format!("make {at}") };
    let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": line}});
    let line = json!({
        "type": "assistant", "sessionId": id, "cwd": "/srv", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": [call]},
    });
    format!("{line}\n")
}

fn script(name: &str) -> PathBuf {
    Place::find().root.join("bench/fleet").join(name)
}

fn listens(address: &str) {
    wait_until(address, || TcpStream::connect(address).is_ok());
}

fn succeeds(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn run_with(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}
