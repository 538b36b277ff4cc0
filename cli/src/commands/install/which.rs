//! The agents and files that a command changes, and the report of each change.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::{discovery, shown_path};
use hookbox_agents::Agent;
use hookbox_agents::bridge::install::{Change, FileChange, InstallFailure, InstallOptions, Installer};
use hookbox_agents::config::{Level, Surroundings};
use serde_json::{Value, json};

use crate::error::{EXIT_FAILED, InputError, hint, note, report, warn};
use crate::{human, named, options, output};

/// The directory of the original files of the system's configuration.
const SYSTEM_DATA: &str = "var/lib/hookbox";

/// The selection of agents and files.
#[derive(Args, Debug, Default)]
pub(super) struct Which {
    #[arg(
        help = format!("The agents: {}", options::names(Agent::ALL)),
        value_name = "AGENT",
        value_parser = named::agent(),
        hide_possible_values = true,
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(super) agents: Vec<Agent>,
    /// Every agent that has a configuration directory in your home.
    #[arg(long)]
    all: bool,
    /// The user's own configuration, for every project [default].
    #[arg(long, conflicts_with_all = ["project", "local", "system"])]
    user: bool,
    /// The project's configuration, which others get with the repository.
    #[arg(long, conflicts_with_all = ["local", "system"])]
    project: bool,
    /// The user's own configuration for this project; Claude Code and Qoder have it.
    #[arg(long, conflicts_with = "system")]
    local: bool,
    /// The system's configuration, for every user; no repository can switch its hooks off.
    #[arg(long)]
    system: bool,
    /// Change the system below this directory, such as a mounted image [default: /].
    #[arg(long, value_name = "DIR", requires = "system")]
    system_root: Option<PathBuf>,
    /// Show the difference as a unified diff; change nothing.
    #[arg(short = 'n', long)]
    pub(super) dry_run: bool,
    /// Print the result as JSON: an array with an object per agent.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) locate: options::Locate,
}

impl Which {
    /// Selects these agents, at the user's level.
    pub(super) fn of_user(agents: Vec<Agent>, dry_run: bool, json: bool, locate: options::Locate) -> Self {
        Self { agents, user: true, dry_run, json, locate, ..Self::default() }
    }

    pub(super) fn level(&self) -> Level {
        match (self.project, self.local, self.system) {
            (true, ..) => Level::Project,
            (_, true, _) => Level::Local,
            (.., true) => Level::System,
            _ => Level::User,
        }
    }

    /// Returns true if the configuration is that of the user alone.
    pub(super) fn is_users(&self) -> bool {
        matches!(self.level(), Level::User | Level::Local)
    }

    pub(super) fn open(&self) -> Result<(Installer, Surroundings), InputError> {
        self.locate.enter()?;
        let options = self.locate.discovery()?;
        let repository = discovery::repository(&options);
        let project = repository.clone().unwrap_or_else(|| options.cwd.clone());
        let system = options::system_root(self.system_root.as_deref())?;
        // Whoever installed it, another administrator uninstalls it.
        let of_system = || Ok(Path::new("/").join(&system).join(SYSTEM_DATA));
        let data = if self.system { of_system() } else { self.locate.data_path() }?;
        let surroundings = Surroundings { home: options.home.clone(), system, ..Surroundings::new(project) };
        let surroundings = surroundings.variables(|name| std::env::var_os(name));
        let installer = Installer::new(surroundings.clone(), data).repository(repository).dry(self.dry_run);
        Ok((installer, surroundings))
    }

    /// Requires a human, if anything is to be changed.
    pub(super) fn permit(&self, agents: &[Agent], installer: &Installer) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        let files = agents.iter().filter_map(|agent| installer.file(*agent, self.level()).ok());
        human::required(&self.locate, &files.collect::<Vec<_>>(), false)
    }

    pub(super) fn agents(&self, installer: &Installer) -> Result<Vec<Agent>, InputError> {
        if !self.all {
            let mut agents = self.agents.clone();
            agents.sort();
            agents.dedup();
            return Ok(agents);
        }
        let level = self.level();
        let agents: Vec<Agent> = Agent::ALL
            .into_iter()
            .filter(|it| installer.file(*it, level).is_ok() && installer.has_directory(*it))
            .collect();
        if agents.is_empty() {
            let what = "expected an agent that is installed here, found the configuration directory of none";
            return Err(InputError::new(what, "name the agent, such as claude"));
        }
        Ok(agents)
    }

    /// Checks the options and the files of every agent before anything is changed, so that wrong options for one change none.
    /// A file that cannot be changed stops no other. With `--all`, options that OpenCode's fixed plugin cannot have are not
    /// a failure.
    pub(super) fn check(
        &self,
        agents: &[Agent],
        installer: &Installer,
        options: &InstallOptions,
    ) -> anyhow::Result<Option<ExitCode>> {
        let planner = installer.clone().dry(true);
        let mut failed = self.rows(agents, |agent| planner.install(agent, self.level(), options));
        failed.retain(|(_, _, it)| it.is_err());
        let is_every = failed.len() == agents.len();
        failed.retain(|(_, _, it)| match it {
            Err(InstallFailure::Fixed { .. }) => !self.all,
            Err(InstallFailure::File(_)) => is_every,
            _ => true,
        });
        if failed.is_empty() { Ok(None) } else { self.report(failed, |_| json!({})).map(Some) }
    }

    /// Acts on each agent, also if one fails, and only then prints the results: a full standard output stops
    /// no agent.
    pub(super) fn each(
        &self,
        agents: &[Agent],
        act: impl Fn(Agent) -> Result<FileChange, InstallFailure>,
        keys: impl Fn(&FileChange) -> Value,
    ) -> anyhow::Result<ExitCode> {
        self.report(self.rows(agents, act), keys)
    }

    fn rows(&self, agents: &[Agent], act: impl Fn(Agent) -> Result<FileChange, InstallFailure>) -> Vec<Row> {
        agents.iter().map(|agent| (*agent, self.level(), act(*agent))).collect()
    }

    /// Prints the results. In JSON a change has the further keys of its command.
    fn report(&self, rows: Vec<Row>, keys: impl Fn(&FileChange) -> Value) -> anyhow::Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut all = Vec::new();
        for row in rows {
            let mut json = row_of(&row);
            match row {
                (_, _, Ok(done)) if self.json => {
                    json = output::joined(json, json!({ "events": done.events }));
                    json = output::joined(json, keys(&done));
                    if self.dry_run {
                        json = output::joined(json, json!({ "diff": done.diff() }));
                    }
                }
                (agent, _, Ok(done)) => self.show(agent, &done)?,
                (_, _, Err(failure)) => code = complain(failure),
            }
            all.push(json);
        }
        if self.json {
            output::json(&all)?;
        }
        Ok(code)
    }

    /// Prints a change for a person.
    fn show(&self, agent: Agent, done: &FileChange) -> anyhow::Result<()> {
        let (title, path) = (agent.title(), shown_path(&done.path));
        let is_install = !done.next.is_empty();
        if self.dry_run && done.change == Change::Created && !agent.runs_commands() {
            let lines = done.after.iter().flatten().filter(|byte| **byte == b'\n').count();
            output::text(&format!("{title}: would create {path} ({lines} lines)"))?;
        } else if self.dry_run {
            let diff = done.diff();
            if !diff.is_empty() {
                output::line(diff.trim_end_matches('\n'))?;
            }
            note(match done.change {
                Change::Unchanged => format!("{title}: {path} would stay as it is"),
                _ => format!("{title}: nothing was changed in {path}"),
            });
        } else {
            output::text(&match done.change {
                Change::Unchanged if is_install => format!("{title}: {path} is up to date"),
                Change::Unchanged => format!("{title}: nothing of hookbox in {path}"),
                Change::Created => format!("{title}: created {path}"),
                Change::Changed => format!("{title}: changed {path}"),
                Change::Restored => format!("{title}: {path} is byte for byte what it was before"),
                Change::Deleted => format!("{title}: removed {path}, which was not there before"),
                Change::Removed => format!("{title}: removed hookbox's entries from {path}; all others stay"),
            })?;
        }
        if is_install && !self.dry_run {
            output::text(&format!("  events: {}", done.events.join(", ")))?;
        }
        match &done.original {
            Some(original) if is_install => {
                output::text(&format!("  the original: {}", shown_path(original)))?;
            }
            Some(original) => {
                let original = shown_path(original);
                note(format_args!(
                    "the original of {path}, from before hookbox was installed, is kept as {original}"
                ));
            }
            None => {}
        }
        if let Some(earlier) = &done.earlier {
            note(format_args!("an earlier original of {path} is kept as {}", shown_path(earlier)));
        }
        for switch in &done.switches {
            warn(format_args!("{path}: {switch}"));
        }
        if done.handmade > 0 {
            let what = if done.handmade == 1 { "an entry runs" } else { "some entries run" };
            note(format_args!("{path}: {what} hookbox for {title} in another way, and was left alone"));
        }
        if !self.dry_run && done.change != Change::Unchanged {
            done.next.iter().for_each(hint);
        }
        Ok(())
    }
}

/// An agent at a level, and what became of its file.
pub(super) type Row = (Agent, Level, Result<FileChange, InstallFailure>);

/// Returns every agent at the levels that belong to the user alone.
pub(super) fn of_users() -> impl Iterator<Item = (Agent, Level)> {
    Agent::ALL.into_iter().flat_map(|agent| [Level::User, Level::Local].map(|level| (agent, level)))
}

/// Returns the object of a row in JSON.
pub(super) fn row_of((agent, level, done): &Row) -> Value {
    let (agent, level) = (agent.as_str(), level.as_str());
    match done {
        Ok(done) => {
            json!({ "agent": agent, "level": level, "path": done.path, "change": done.change.as_str() })
        }
        Err(failure) => json!({ "agent": agent, "level": level, "error": failure.to_string() }),
    }
}

/// Prints a row, with this sentence about the change.
pub(super) fn tell((agent, _, done): &Row, sentence: impl Fn(&FileChange) -> String) -> anyhow::Result<()> {
    match done {
        Ok(done) => output::text(&format!("{}: {}", agent.title(), sentence(done))).map(drop),
        Err(failure) => {
            warn(format_args!("{}: {failure}", agent.title()));
            Ok(())
        }
    }
}

/// Prints a failure and its hint, and returns the exit code.
pub(super) fn complain(failure: InstallFailure) -> ExitCode {
    let what = failure.to_string();
    let hint = match failure {
        InstallFailure::File(error) => {
            let next = error.hint.clone();
            let code = report(&error.into());
            hint(next);
            return if code == ExitCode::SUCCESS { ExitCode::from(EXIT_FAILED) } else { code };
        }
        InstallFailure::Fixed { .. } => "leave out --event, --from and --deadline".into(),
        InstallFailure::Options { hint, .. } => hint,
        _ => "see `hookbox install --help`".into(),
    };
    report(&InputError::new(what, hint).into())
}
