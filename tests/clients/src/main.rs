//! Runs real clients, each against a mock model on this machine, with hookbox as their hook command: `cargo
//! test-clients`.
//!
//! The result is the state of files (did the tool run, and with which input?) and the texts that the model
//! got, never a client's own words. Without a network namespace a client could reach further than this
//! machine; with one (Linux, `unshare`) it cannot. There `/etc` is a copy, so that hookbox can be installed
//! for the whole system.

mod answers;
mod api;
mod case;
mod client;
mod http;
mod matrix;
mod mock;
mod npm;
mod place;
mod process;

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use serde_json::{Value, json};

use hookbox::trust::{AllowanceFile, Term, now_ms};

use crate::api::Wish;
use crate::case::{Case, Components};
use crate::client::Client;
use crate::matrix::{Row, median};
use crate::mock::Mock;
use crate::place::Place;

const USAGE: &str = "\
usage: cargo test-clients [--agent NAME]... [--all] [--case TEXT] [--keep DIR] [--record-answers] [--time PROGRAM]

  --agent NAME  codex, gemini, claude, qwen, copilot, opencode, kimi, cline, pi, droid, kilo, vibe, openhands, auggie, grok or qoder; may be given again [default: codex and gemini]
  --all         every agent
  --case TEXT   only the cases whose name holds this
  --keep DIR    leave what the clients wrote, printed and asked in DIR
  --record-answers  record how the clients take odd answers of a hook, in tests/data/odd-answers.json, and nothing else
  --time PROGRAM  measure the time that this hookbox adds to a call, and nothing else: a release, on a quiet machine";

/// The longest time of a client for one case: several times the time on a slow machine.
const LIMIT: Duration = Duration::from_secs(150);

/// The sessions with hookbox, and those without it, whose calls are measured.
const SESSIONS: usize = 3;

/// Set for the program that runs in the namespace.
const INSIDE: &str = "HOOKBOX_CLIENTS_INSIDE";

fn main() -> ExitCode {
    match Options::parse(env::args().skip(1)) {
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            ExitCode::from(2)
        }
        Ok(options) => match options.run() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

/// The clients to run, and the options.
struct Options {
    clients: Vec<&'static Client>,
    cases: Vec<Case>,
    /// True if no case is left out.
    is_whole: bool,
    keep: Option<PathBuf>,
    /// True if the clients' handling of odd answers is recorded instead.
    records: bool,
    /// The program whose added time is measured instead.
    time: Option<PathBuf>,
    /// The directory of the builds.
    target: PathBuf,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut clients, mut cases, mut keep) = (Vec::new(), case::all(), None);
        let (mut target, mut time, mut records, mut is_whole) = (PathBuf::new(), None, false, true);
        while let Some(name) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("expected a value after {name}"));
            match name.as_str() {
                "--all" => clients.extend(&client::ALL),
                "--agent" => {
                    let name = value()?;
                    clients.push(Client::named(&name).ok_or_else(|| format!("unknown agent {name:?}"))?);
                }
                "--case" => {
                    let text = value()?;
                    cases.retain(|case| case.name.contains(&text));
                    is_whole = false;
                }
                "--keep" => keep = Some(PathBuf::from(value()?)),
                "--record-answers" => records = true,
                "--time" => time = Some(PathBuf::from(value()?)),
                "--target" => target = PathBuf::from(value()?),
                _ => return Err(format!("unknown argument {name:?}")),
            }
        }
        if clients.is_empty() {
            clients.extend(client::ALL.iter().take(2));
        }
        Ok(Self { clients, cases, is_whole, keep, records, time, target })
    }

    /// Returns whether every case had the expected result.
    fn run(&self) -> Result<bool, String> {
        // Before the network is gone.
        let cache = self.target.join("clients");
        let mut dirs = Vec::new();
        for client in &self.clients {
            let node: Vec<_> =
                client.node.map(|version| (client::node_package(), version)).into_iter().collect();
            dirs.push(npm::install(&cache, client.package, client.version, &node)?);
        }
        let has_system = enter_namespace(&cache.join("etc"))?;
        let scratch = tempfile::Builder::new().prefix("hookbox-clients-").tempdir();
        let scratch = scratch.map_err(|error| format!("no scratch directory: {error}"))?;
        let root = self.keep.as_deref().unwrap_or(scratch.path());
        if self.records {
            return self.record(&dirs, root).map(|()| true).map_err(|error| error.to_string());
        }
        if let Some(program) = &self.time {
            return self.measure(&dirs, program, root).map(|()| true).map_err(|error| error.to_string());
        }
        let (mut all, mut good) = (0_u32, 0_u32);
        for (client, dir) in self.clients.iter().zip(&dirs) {
            let mut row = Row::new(client);
            for case in self.cases.iter().filter(|case| case.is_for(client, has_system)) {
                let begun = Instant::now();
                let ran = self.run_case(client, dir, case, root, &self.target.join("debug/hookbox"));
                let (differs, _) = ran.unwrap_or_else(|error| (vec![error.to_string()], Vec::new()));
                let word = if differs.is_empty() { "ok".to_owned() } else { differs.join("; ") };
                let secs = begun.elapsed().as_secs_f32();
                say(&format!(
                    "{:<9} {:<9} {:<42} {secs:>5.1}s  {word}",
                    client.name, client.version, case.name
                ));
                all += 1;
                good += u32::from(differs.is_empty());
                row.add(&case.name, differs.is_empty());
            }
            if self.is_whole {
                row.write().map_err(|error| format!("failed to write the matrix: {error}"))?;
            }
        }
        say(&format!("{good} of {all} cases ok"));
        Ok(good == all && all > 0)
    }

    /// Records how the clients take odd answers.
    fn record(&self, dirs: &[PathBuf], root: &Path) -> io::Result<()> {
        let file = answers::file();
        let mut whole: Value = serde_json::from_slice(&fs::read(&file)?)?;
        // The hooks of some are plugins, which hookbox itself writes; those of others it does not run.
        let with_commands = |it: &(&&Client, &PathBuf)| {
            !["cline", "opencode", "pi", "droid", "kilo", "vibe", "openhands", "auggie", "grok", "qoder"]
                .contains(&it.0.name)
        };
        for (client, dir) in self.clients.iter().zip(dirs).filter(with_commands) {
            let odd = whole.get("answers").and_then(Value::as_array).cloned().unwrap_or_default();
            let recorded = answers::record(client, dir, &self.target.join("debug/hookbox"), root, &odd)?;
            say(&format!("{:<9} {:<9} {} answers", client.name, client.version, odd.len()));
            if let Some(all) = whole.get_mut("recorded").and_then(Value::as_object_mut) {
                all.insert(client.name.to_owned(), recorded);
            }
        }
        fs::write(&file, format!("{whole:#}\n"))
    }

    /// Measures the time that this program adds to a call of each client, and writes it into the table.
    fn measure(&self, dirs: &[PathBuf], program: &Path, root: &Path) -> io::Result<()> {
        for (client, dir) in self.clients.iter().zip(dirs) {
            let added = self.added_time(client, dir, root, program);
            let shown = added.map_or_else(|| "not measured".to_owned(), |it| format!("{it} ms"));
            say(&format!("{:<9} {:<9} {shown}", client.name, client.version));
            matrix::write_time(client, added)?;
        }
        Ok(())
    }

    /// Returns the time that hookbox with a guard adds to a call, in milliseconds: the difference of the medians of two
    /// kinds of sessions, which take turns. `None` if they have too few calls.
    fn added_time(&self, client: &Client, dir: &Path, root: &Path, program: &Path) -> Option<i64> {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..SESSIONS {
            for (is_guarded, all) in [(true, &mut with), (false, &mut without)] {
                let (differs, times) =
                    self.run_case(client, dir, &case::timed(is_guarded), root, program).ok()?;
                differs.is_empty().then_some(())?;
                all.extend(times.into_iter().skip(1));
            }
        }
        let ms = |times| i64::try_from(median(times)?.as_millis()).ok();
        Some(ms(with)? - ms(without)?)
    }

    /// Returns the differences from the expected result, and the time of each call.
    fn run_case(
        &self,
        client: &Client,
        dir: &Path,
        case: &Case,
        root: &Path,
        program: &Path,
    ) -> io::Result<(Vec<String>, Vec<Duration>)> {
        let data = root.join(format!("{}/home/.local/share/hookbox", case.dir(client)));
        let wish = Wish::new(case.lines());
        let model = Mock::start(wish.clone(), allowing(data, case.is_allowed()))?;
        let root = root.join(case.dir(client));
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let place = Place::new(&root, program, dir, model.url())?;
        let components =
            Components { samples: &self.target.join("hooks"), tests: &self.target.join("test-hooks") };
        case.put(client, &components, &place)?;
        client.configure(&place, case.trust, case.installed)?;
        client.give_script(&place, &wish)?;
        let ended = process::run(
            client
                .command(&place, case.trust, case.asks)
                .args(case.only.map_or(&[][..], |(_, arguments)| arguments)),
            LIMIT,
            place.root(),
        )?;
        client.restore(&place, case.installed)?;
        client.show_session(&place, &model)?;
        let lines = model
            .seen()
            .into_iter()
            .map(|seen| format!("{}\n", json!({"path": seen.path, "body": seen.body})));
        fs::write(root.join("requests.jsonl"), lines.collect::<String>())?;
        Ok((case.differs(client, &place, &model, &ended), wish.call_times()))
    }
}

/// Returns a function that allows the first call that is blocked, once, as `hookbox allow` does on a terminal.
fn allowing(data: PathBuf, is_wanted: bool) -> impl Fn() + Send + Sync + 'static {
    let allowed = Mutex::new(!is_wanted);
    move || {
        let mut allowed = allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if *allowed {
            return;
        }
        let granted = AllowanceFile::new(data.clone()).update(|all| {
            let code = all.pending.first()?.code.clone();
            all.grant(&code, Term::Once, now_ms()).ok()
        });
        *allowed = granted.is_ok_and(|it| it.is_some());
    }
}

/// Continues in namespaces with loopback alone and a copy of `/etc`, if the system allows it. Returns true there.
fn enter_namespace(etc: &Path) -> Result<bool, String> {
    if env::var_os(INSIDE).is_some() {
        return Ok(true);
    }
    if etc.exists() {
        fs::remove_dir_all(etc).map_err(|error| format!("{}: {error}", etc.display()))?;
    }
    // Files that only the administrator may read are left out.
    let up =
        "ip link set lo up && mkdir -p \"$0\" && { cp -R -P /etc/. \"$0\" 2>&-; mount --bind \"$0\" /etc; }";
    let network = ["--user", "--map-root-user", "--mount", "--net"];
    // If this program ends, everything in it ends; not every container allows that.
    let processes = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let unshare = |processes: &[&str], line: &str| {
        let mut command = Command::new("unshare");
        command.args(network).args(processes).args(["sh", "-c", line]).arg(etc);
        command
    };
    let works = |processes: &&[&str]| {
        let mut probe = unshare(processes, up);
        let probed = probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        probed.is_ok_and(|status| status.success())
    };
    let Some(processes) = [&processes[..], &[]].into_iter().find(works) else {
        eprintln!(
            "note: no namespace can be made here: the clients could reach more than this machine, and the \
             cases of the system's configuration are left out"
        );
        return Ok(false);
    };
    let program = env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    // Not by `exec`: the first process of a namespace ignores Ctrl-C. The shell ends when this program does.
    let mut inside = unshare(processes, &format!("{up} && \"$@\"; exit $?"));
    let error = inside.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1").exec();
    Err(format!("cannot go on in a network namespace: {error}"))
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A closed standard output is ignored.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
