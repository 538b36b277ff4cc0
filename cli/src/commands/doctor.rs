//! `hookbox doctor`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::interrupt::unless_interrupted;
use anstyle::AnsiColor;
use clap::Args;
use hookbox::discovery::{ManagedDir, PluginPolicy};
use hookbox::hook::Origin;
use hookbox::manager::{EntryStatus, Manager, Problem};
use hookbox::{EventName, escape};
use hookbox_agents::Agent;
pub(crate) use hookbox_agents::bridge::doctor::LINE;
use hookbox_agents::bridge::doctor::{self, Examination, Status, Trial};
use hookbox_agents::config::Surroundings;
use hookbox_plugins::{Hosts, PluginName, Source};

use crate::commands::guard::warn_of_no_git;
use crate::error::{EXIT_FAILED, hint, is_coloured, warn_of_problems, warn_with_hint};
use crate::{named, options, output};

/// The column of the messages.
const TEXT: usize = 26;

/// Check that each configured agent blocks a dangerous command.
///
/// Runs the command line that each agent has configured, with a call that has to be blocked; the call itself
/// is not made. The exit code is 0 if every agent that calls hookbox is guarded. It is 1 if anything would
/// let the call through, or if no agent calls hookbox.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// The agents, each of which has to be guarded [default: those that are configured].
    #[arg(value_name = "AGENT", value_parser = named::agent(), hide_possible_values = true)]
    agents: Vec<Agent>,
    /// The line of the shell tool that has to be blocked; it is not run.
    #[arg(long = "try", alias = "command", value_name = "LINE", default_value = doctor::LINE)]
    line: String,
    /// Only check the administrator's policy. The exit code is 0 if it is in force, 3 if there is none, 4 if a file of it
    /// cannot be used, 5 if a hook of it does not work, 6 if a pinned plugin is missing.
    #[arg(long, conflicts_with_all = ["agents", "system_root"])]
    managed: bool,
    /// Print JSON: an array of objects, one per agent; with --managed one object.
    #[arg(long)]
    json: bool,
    /// Read the system's configuration below this directory, such as a mounted image [default: /].
    #[arg(long, value_name = "DIR")]
    system_root: Option<PathBuf>,
    #[command(flatten)]
    locate: options::Locate,
}

impl Doctor {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        self.locate.note_home();
        let manager = unless_interrupted(self.locate.manager()).await??;
        let policy = Policy::of(&ManagedDir::of_system(), &manager);
        if self.managed {
            if self.json {
                output::json(&policy.json())?;
            } else {
                policy.problems.iter().for_each(|it| warn_with_hint(it, it.hint.as_ref()));
                output::line(&policy.line())?;
            }
            return Ok(ExitCode::from(policy.state.exit));
        }
        warn_of_problems(&manager);
        if manager.git().is_none() {
            warn_of_no_git();
        }
        let doctor = of(&self.locate, self.system_root.as_deref(), &self.line)?;
        let agents = if self.agents.is_empty() { Agent::ALL.to_vec() } else { self.agents.clone() };
        let mut found = Vec::new();
        for agent in agents {
            found.push(unless_interrupted(doctor.examine(agent, &manager)).await?);
        }
        let must = |it: &&Examination| it.configured || !self.agents.is_empty();
        let is_well = found.iter().any(|it| it.configured) && found.iter().filter(must).all(|it| it.guarded);
        if self.json {
            output::json(&found)?;
        } else {
            let is_absent = |it: &&Examination| {
                let has_failed = it.findings.iter().any(|it| it.status == Status::Failed);
                self.agents.is_empty() && !it.configured && !has_failed
            };
            let (absent, examined): (Vec<&Examination>, Vec<_>) = found.iter().partition(is_absent);
            let mut blocks: Vec<String> = examined.into_iter().map(block).collect();
            if policy.state != State::ABSENT || policy.is_required {
                blocks.insert(0, format!("{}\n", policy.line()));
            }
            if !absent.is_empty() {
                let titles: Vec<&str> = absent.iter().map(|it| it.title).collect();
                blocks.push(format!("not set up: {}\n", titles.join(", ")));
            }
            output::text(&blocks.join("\n"))?;
            if found.iter().all(|it| !it.configured) {
                hint("no agent calls hookbox; to guard the agents of this machine: hookbox setup");
            }
        }
        let is_wanting = policy.is_required && policy.state.exit != 0;
        Ok(if is_well && !is_wanting { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}

/// The state of the administrator's policy.
struct Policy {
    directory: PathBuf,
    is_required: bool,
    state: State,
    hooks: Vec<String>,
    problems: Vec<Problem>,
}

/// A name, and the exit code.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    name: &'static str,
    exit: u8,
}

impl State {
    const ABSENT: Self = Self { name: "absent", exit: 3 };
}

impl Policy {
    fn of(managed: &ManagedDir, manager: &Manager) -> Self {
        let is_its = |it: &&Problem| it.path.starts_with(&managed.path);
        let problems: Vec<Problem> = manager.problems().iter().filter(is_its).cloned().collect();
        let entries = manager.entries();
        let hooks: Vec<_> = entries.iter().filter(|it| it.tier.origin() == Origin::Managed).collect();
        let pinned = PluginPolicy::read(managed).map(|it| it.pinned).unwrap_or_default();
        let name = |source: &String| Source::parse(source, &Hosts::new("/")).and_then(|it| it.name());
        let is_there = |name: PluginName| managed.path.join("plugins").join(name.dir()).is_dir();
        let is_gone = |source: &String| !name(source).is_ok_and(is_there);
        let state = match () {
            () if problems.iter().any(|it| it.hides) => State { name: "unusable", exit: 4 },
            () if hooks.is_empty() && !managed.settings_file().exists() => State::ABSENT,
            () if hooks.iter().any(|it| it.status == EntryStatus::Invalid) => {
                State { name: "broken", exit: 5 }
            }
            () if pinned.iter().any(is_gone) => State { name: "incomplete", exit: 6 },
            () => State { name: "in force", exit: 0 },
        };
        let hooks =
            hooks.iter().filter(|it| it.status == EntryStatus::Active).map(|it| it.name.clone()).collect();
        Self { directory: managed.path.clone(), is_required: managed.is_required(), state, hooks, problems }
    }

    fn line(&self) -> String {
        let (hooks, required) = (self.hooks.len(), if self.is_required { ", required" } else { "" });
        let plural = if hooks == 1 { "" } else { "s" };
        format!("policy {}: {}, {hooks} hook{plural}{required}", self.directory.display(), self.state.name)
    }

    fn json(&self) -> serde_json::Value {
        let problem = |it: &Problem| serde_json::json!({ "path": it.path.to_string_lossy(), "message": it.message, "hint": it.hint.as_deref() });
        serde_json::json!({
            "directory": self.directory.to_string_lossy(),
            "state": self.state.name,
            "required": self.is_required,
            "hooks": self.hooks,
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

/// Returns the doctor for this directory and this line, who tries the guards as well.
pub(crate) fn of(
    locate: &options::Locate,
    system_root: Option<&Path>,
    line: &str,
) -> anyhow::Result<doctor::Doctor> {
    let (home, system) = (locate.home()?, options::system_root(system_root)?);
    let surroundings = Surroundings::new(std::env::current_dir()?).variables(|name| std::env::var_os(name));
    let surroundings = Surroundings { home, system, ..surroundings };
    let version = format!("hookbox {}", crate::version());
    let trials = hookbox_guards::GUARDS.iter().map(|guard| Trial {
        hook: guard.hook(),
        text: guard.trial.to_owned(),
        is_output: !guard.events.contains(&EventName::BeforeToolCall),
    });
    Ok(doctor::Doctor::new(surroundings, version).line(line).trials(trials.collect()))
}

/// Returns the examination of an agent as text.
fn block(found: &Examination) -> String {
    let state = match (found.configured, found.guarded) {
        (_, true) => painted("guarded", AnsiColor::Green),
        (true, false) => painted("NOT guarded", AnsiColor::Red),
        (false, false) => painted("does not call hookbox", AnsiColor::Yellow),
    };
    let mut text = format!("{} ({}): {state}\n", found.title, found.agent);
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<9} {value}");
    };
    let program = found.program.as_ref().map(|path| escape(&path.to_string_lossy(), 500));
    // A finding tells it of a configured agent.
    if program.is_some() || !found.configured {
        field("program", program.as_deref().unwrap_or("not on PATH"));
    }
    let events: Vec<&str> = found.events.iter().map(|it| it.event.as_str()).collect();
    if !events.is_empty() {
        field("events", &events.join(" "));
    }
    for finding in &found.findings {
        let status = match finding.status {
            Status::Ok => painted("ok       ", AnsiColor::Green),
            Status::Warning => painted("warning  ", AnsiColor::Yellow),
            Status::Failed => painted("FAILED   ", AnsiColor::Red),
        };
        let _ = writeln!(text, "  {status} {:<13} {}", finding.about, finding.message);
        if let Some(hint) = &finding.hint {
            let _ = writeln!(text, "{:TEXT$}hint: {hint}", "");
        }
    }
    text
}

/// Returns the word in this color, if standard output may have colors.
fn painted(word: &str, colour: AnsiColor) -> String {
    let style = colour.on_default();
    if is_coloured(&std::io::stdout()) { format!("{style}{word}{style:#}") } else { word.to_owned() }
}
