//! `hookbox demo`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result};
use clap::Args;
use hookbox::manager::Manager;
use hookbox::report::HookReport;
use hookbox::text::escape;
use hookbox::{EventName, Kind, Outcome, Report, Status};
use hookbox_agent::{Agent, Model, OpenAi, Scripted, Step, Tools};
use serde_json::{Value, json};

use crate::error::InputError;
use crate::telemetry;

/// Writes a line of the account; a reader that went away (`| head`) ends nothing.
macro_rules! say {
    ($($line:tt)*) => {{
        let _ = writeln!(anstream::stdout(), $($line)*);
    }};
}

/// The sample components that the demo installs.
const COMPONENTS: [&str; 5] = ["guardrail", "redactor", "turn-logger", "compact-threshold", "follow-up"];

/// The native hooks that it installs in the user's home: unchanged executables.
const NATIVE: [(&str, &str); 3] = [
    ("foo-txt-remover", include_str!("../../../sample-hooks/native/foo-txt-remover")),
    ("turn-logger.sh", include_str!("../../../sample-hooks/native/turn-logger.sh")),
    ("no-deploys", include_str!("demo/no-deploys.sh")),
];

/// The native hook that the repository brings: it must not run.
const UNTRUSTED: &str = include_str!("demo/from-the-repository.sh");

const TASK: &str = "Look around, check the configuration, and deploy.";

/// Watch an agent session with native and component hooks at work, in a temporary directory.
///
/// The model is scripted, unless OPENAI_BASE_URL (with OPENAI_API_KEY and OPENAI_MODEL) names an OpenAI-compatible
/// endpoint. The tools are real.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Where the sample components are [default: beside the program's own build].
    #[arg(long, value_name = "DIR")]
    hooks: Option<PathBuf>,
    /// What to ask of the model.
    #[arg(long, default_value = TASK)]
    task: String,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hooks = self.components()?;
        let place = tempfile::Builder::new().prefix("hookbox-demo-").tempdir()?;
        let (home, work) = (place.path().join("home"), place.path().join("project"));
        install(&hooks, &home, &work)?;

        // Native hooks run in the directory of the process.
        std::env::set_current_dir(&work)?;
        let manager = telemetry::attach(Manager::builder())
            .cwd(&work)
            .home(&home)
            .cache(Some(place.path().join("cache")))
            .on("conventions", EventName::SessionStart, |_| async {
                Ok(Outcome::inject("Convention: keep notes in notes.md."))
            })
            .build()
            .await;
        let account = Rc::new(RefCell::new(Account::default()));
        account.borrow().begin(&manager, &work);
        let watcher = Rc::clone(&account);
        let watch = move |step: Step<'_>| watcher.borrow_mut().step(&step);
        let tools = Tools::new(&work)?;
        match OpenAi::from_env() {
            Some(model) => run(Agent::new(model, tools, manager, watch), &self.task).await?,
            None => run(Agent::new(script(), tools, manager, watch), &self.task).await?,
        }
        account.borrow().end();
        Ok(ExitCode::SUCCESS)
    }

    /// Where the sample components are: as told, beside the build (`target/debug/hookbox`, `target/hooks`), or below
    /// the working directory.
    fn components(&self) -> Result<PathBuf> {
        let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.join("hooks")));
        let candidates = match &self.hooks {
            Some(directory) => vec![directory.clone()],
            None => beside.into_iter().chain([PathBuf::from("target/hooks")]).collect(),
        };
        let complete = |directory: &&PathBuf| {
            COMPONENTS.iter().all(|name| directory.join(format!("{name}.wasm")).is_file())
        };
        if let Some(directory) = candidates.iter().find(complete) {
            return Ok(directory.clone());
        }
        let looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        let what = format!("expected the sample components, found none in {}", looked.join(" or in "));
        Err(InputError::new(what, "build them with `cargo hooks`, or name their directory with --hooks")
            .into())
    }
}

async fn run<M: Model>(mut agent: Agent<M>, task: &str) -> Result<()> {
    agent.run(task).await.map(drop)
}

/// A home with the user's hooks, and a repository that brings one of its own.
fn install(components: &Path, home: &Path, work: &Path) -> Result<()> {
    let hooks = home.join(".hookbox/hooks");
    fs::create_dir_all(&hooks)?;
    for name in COMPONENTS {
        let file = format!("{name}.wasm");
        fs::copy(components.join(&file), hooks.join(&file)).with_context(|| format!("cannot copy {file}"))?;
    }
    fs::write(home.join(".hookbox/hookbox.toml"), include_str!("demo/hookbox.toml"))?;
    for (name, script) in NATIVE {
        executable(&hooks.join(name), script)?;
    }
    let brought = work.join(".hookbox/hooks");
    fs::create_dir_all(&brought)?;
    executable(&brought.join("from-the-repository"), UNTRUSTED)?;
    fs::write(work.join("foo.txt"), "left over\n")?;
    fs::write(work.join("README.md"), "# A project\n")?;
    fs::write(work.join("config.env"), "REGION=eu-west-1\nAWS_KEY=AKIAIOSFODNN7EXAMPLE\n")?;
    fs::write(work.join("build.log"), "step ok: compiled one more file of the project\n".repeat(300))?;
    // So that the work directory is a repository of its own wherever the temporary directory lies.
    if !Command::new("git")
        .args(["init", "-q"])
        .current_dir(work)
        .status()
        .is_ok_and(|status| status.success())
    {
        fs::create_dir(work.join(".git"))?;
    }
    Ok(())
}

fn executable(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// A model that does what models do, also what they should not.
fn script() -> Scripted {
    let turn = |text: &str, name: &str, input: Value| json!({"text": text, "calls": [[name, input]]});
    Scripted::new(
        vec![
            turn("I look around first.", "bash", json!({"command": "ls"})),
            turn("Something is in the way. I clean up.", "bash", json!({"command": "sudo rm -rf /"})),
            turn("Then I read the configuration.", "read_file", json!({"path": "config.env"})),
            turn("And another one.", "read_file", json!({"path": "../elsewhere/config.env"})),
            turn("Now I deploy.", "bash", json!({"command": "make deploy"})),
            turn("I read the log.", "read_file", json!({"path": "build.log"})),
            json!({"text": "The project is deployed."}),
            json!({"text": "I write that down and tidy up.", "calls": [
                ["write_file", {"path": "notes.md", "content": "Deployed.\n"}],
                ["bash", {"command": "rm foo.txt"}],
            ]}),
            json!({"text": "All done."}),
        ],
        5_000,
    )
}

const EVENT: Style = AnsiColor::Cyan.on_default().bold();
const AGENT: Style = AnsiColor::Green.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const QUIET: Style = Style::new().dimmed();

/// The readable account: what each event and each hook did, how long it took, and what the agent did
/// differently because of it.
#[derive(Default)]
struct Account {
    components: Vec<Duration>,
    processes: Vec<Duration>,
    /// What was said already: a hook that is not trusted is reported in every event, here once.
    said: HashSet<String>,
}

impl Account {
    fn begin(&self, manager: &Manager, work: &Path) {
        say!("An agent works in {}, with these hooks:\n", work.display());
        for entry in manager.entries().iter() {
            let status = entry.status.as_str();
            say!("  {:<22} {:<10} {:<7} {status}", entry.name, entry.kind.as_str(), entry.tier.as_str());
        }
        say!("  {:<22} {:<10} {:<7} active\n", "conventions", "code", "code");
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Said(text) => say!("\n{AGENT}model{AGENT:#} {}", escape(text, 300)),
            Step::Wants(name, input) => {
                say!("{AGENT}wants{AGENT:#} {name} {}", escape(input.text(), 200));
            }
            Step::Ran(name, output) => {
                say!("{AGENT}ran{AGENT:#}   {name}: {}", escape(output.trim(), 100));
            }
            Step::Event(report) => self.event(report),
            Step::Warning(text) => {
                if self.said.insert((*text).to_owned()) {
                    say!("    {QUIET}warning: {}{QUIET:#}", escape(text, 300));
                }
            }
            Step::Because(what) => say!("    {GOOD}→ {}{GOOD:#}", escape(what, 300)),
        }
    }

    fn event(&mut self, report: &Report) {
        say!("  {EVENT}{}{EVENT:#} {QUIET}{}{QUIET:#}", report.event, time(report.duration));
        for hook in &report.hooks {
            self.hook(hook);
        }
        for failure in &report.on_error {
            self.event(&failure.report);
        }
    }

    fn hook(&mut self, hook: &HookReport) {
        if hook.status == Status::Untrusted && !self.said.insert(hook.name.clone()) {
            return;
        }
        match (hook.status, hook.kind) {
            (Status::Untrusted | Status::Skipped, _) => {}
            (_, Kind::Component) => self.components.push(hook.duration),
            (_, Kind::Native) => self.processes.push(hook.duration),
            _ => {}
        }
        let style = match hook.status {
            Status::Blocked | Status::Failed | Status::Untrusted => BAD,
            Status::Changed | Status::Asked => GOOD,
            _ => QUIET,
        };
        let cost = match (hook.fuel, hook.memory_peak) {
            (Some(fuel), Some(memory)) => format!("  fuel {fuel}, {} KiB", memory / 1024),
            _ => String::new(),
        };
        let kind = hook.kind.as_str();
        let status = hook.status.as_str();
        let took = time(hook.duration);
        say!("    {:<22} {kind:<10} {style}{status:<9}{style:#} {took:>9}{QUIET}{cost}{QUIET:#}", hook.name);
        for line in hook.log.lines().take(3) {
            say!("      {QUIET}log: {line}{QUIET:#}");
        }
    }

    fn end(&self) {
        say!("\n{} calls into components, median {};", self.components.len(), median(&self.components));
        say!(
            "{} processes started for native hooks, median {}.",
            self.processes.len(),
            median(&self.processes)
        );
        say!("A debug build spends longer on its own side of a call: `cargo bench` has the comparison.");
    }
}

fn median(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).map_or_else(|| "-".to_owned(), |duration| time(*duration))
}

fn time(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..10_000 => format!("{micros} µs"),
        micros => format!("{} ms", micros / 1000),
    }
}
