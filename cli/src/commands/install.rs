//! `hookbox install` and `hookbox uninstall`: hookbox in the configuration of other agents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hookbox::bridge::Bridge;
use hookbox::bridge::config::{Level, Surroundings};
use hookbox::bridge::install::{
    Change, InstallFailure, InstallOptions, Installed, Installer, Undone, Uninstalled, unified,
};
use hookbox::dialect::agent::Agent;
use hookbox::discovery::{self, show_duration};
use hookbox::private_dir;
use hookbox::text::escape;
use serde_json::{Value, json};

use crate::error::{EXIT_FAILED, InputError, hint, note, report, warn};
use crate::{human, options, output};

/// The name by which a shell finds the program, where others use the configuration as well.
const NAME: &str = "hookbox";

/// Make other agents run hookbox at their events.
///
/// Adds entries to the agent's hook configuration; other entries and comments stay. `hookbox uninstall`
/// brings the original back. Installing again with other options changes the entries in place.
#[derive(Args, Debug)]
pub(crate) struct Install {
    #[command(flatten)]
    which: Which,
    /// Install only this event, by the agent's own name; may be repeated [default: all but those that fire
    /// many times for one answer].
    #[arg(long = "event", value_name = "NAME")]
    events: Vec<String>,
    /// Maximum time to answer, such as 10s, up to 10m; the agent is told to wait 15 s longer [default: 15s].
    #[arg(long, value_name = "D", value_parser = options::duration)]
    deadline: Option<Duration>,
    /// The program that the agent runs [default: the path of this one; for a project, hookbox].
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// Also block tool calls if the program is missing or killed.
    #[arg(long)]
    strict: bool,
}

/// Remove hookbox from the hook configuration of other agents.
///
/// Restores the original file if it is unchanged since install; otherwise removes only hookbox's entries.
#[derive(Args, Debug)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
}

/// The selection of agents and files.
#[derive(Args, Debug)]
struct Which {
    /// The agents: claude, codex, gemini, qwen, copilot, cursor, opencode.
    #[arg(value_name = "AGENT", required_unless_present = "all", conflicts_with = "all")]
    agents: Vec<Agent>,
    /// Every agent that has a configuration directory at the user level.
    #[arg(long)]
    all: bool,
    /// The user's own configuration, for every project [default].
    #[arg(long, conflicts_with_all = ["project", "local"])]
    user: bool,
    /// The project's configuration, which others get with the repository.
    #[arg(long, conflicts_with = "local")]
    project: bool,
    /// The user's own configuration for this project; Claude Code has it.
    #[arg(long)]
    local: bool,
    /// Show the difference as a unified diff; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON: an array with an object per agent.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Which {
    fn level(&self) -> Level {
        match (self.project, self.local) {
            (true, _) => Level::Project,
            (_, true) => Level::Local,
            _ => Level::User,
        }
    }

    fn open(&self) -> Result<(Installer, Surroundings), InputError> {
        self.locate.enter()?;
        let options = self.locate.discovery()?;
        let project = discovery::repository(&options).unwrap_or_else(|| options.cwd.clone());
        let data = private_dir::default_data(options.home.as_deref()).ok_or_else(|| {
            let what = "expected a place for the original files, found no home directory";
            InputError::new(what, "set HOME or XDG_DATA_HOME")
        })?;
        let surroundings = Surroundings { home: options.home.clone(), ..Surroundings::new(project) };
        let surroundings = surroundings.variables(|name| std::env::var_os(name));
        Ok((Installer::new(surroundings.clone(), data).dry(self.dry_run), surroundings))
    }

    /// Requires a human, if anything is to be changed.
    fn permit(&self, agents: &[Agent], installer: &Installer) -> anyhow::Result<()> {
        if self.dry_run {
            return Ok(());
        }
        let files = agents.iter().filter_map(|agent| installer.file(*agent, self.level()).ok());
        human::required(&self.locate, &files.collect::<Vec<_>>(), false)
    }

    fn agents(&self, installer: &Installer) -> Result<Vec<Agent>, InputError> {
        if !self.all {
            let mut agents = self.agents.clone();
            agents.sort();
            agents.dedup();
            return Ok(agents);
        }
        let is_there = |agent: &Agent| {
            let file = installer.file(*agent, Level::User).ok();
            // Their file lies one directory deeper.
            let up = if matches!(agent, Agent::Copilot | Agent::OpenCode) { 2 } else { 1 };
            file.and_then(|it| it.ancestors().nth(up).map(Path::is_dir)).unwrap_or(false)
        };
        let level = self.level();
        let agents: Vec<Agent> =
            Agent::ALL.into_iter().filter(|it| installer.file(*it, level).is_ok() && is_there(it)).collect();
        if agents.is_empty() {
            let what = "expected an agent that is installed here, found the configuration directory of none";
            return Err(InputError::new(what, "name the agent, such as `hookbox install claude`"));
        }
        Ok(agents)
    }

    /// Checks the options for every agent before anything is changed, so that a failure of one changes none.
    /// With `--all`, options that OpenCode's fixed plugin cannot have are no failure.
    fn check(
        &self,
        agents: &[Agent],
        installer: &Installer,
        options: &InstallOptions,
    ) -> anyhow::Result<Option<ExitCode>> {
        let checked = agents.iter().map(|agent| (*agent, installer.check(*agent, self.level(), options)));
        let failed = checked.filter_map(|(agent, checked)| Some((agent, checked.err()?)));
        let failed = failed.filter(|(_, it)| !(self.all && matches!(it, InstallFailure::Fixed { .. })));
        let failed: Vec<_> = failed.collect();
        if failed.is_empty() {
            return Ok(None);
        }
        let rows: Vec<_> = failed.iter().map(|(agent, it)| failed_row(*agent, self.level(), it)).collect();
        let mut code = ExitCode::SUCCESS;
        for (_, failure) in failed {
            code = complain(failure);
        }
        if self.json {
            output::json(&rows)?;
        }
        Ok(Some(code))
    }

    /// Acts on each agent, also if one fails, and only then prints the results: a full standard output stops
    /// no agent.
    fn each<T>(
        &self,
        agents: &[Agent],
        act: impl Fn(Agent) -> Result<T, InstallFailure>,
        row: impl Fn(Agent, &T) -> Value,
        show: impl Fn(Agent, &T) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let done: Vec<_> = agents.iter().map(|agent| (*agent, act(*agent))).collect();
        let mut code = ExitCode::SUCCESS;
        let mut rows = Vec::new();
        for (agent, done) in done {
            match done {
                Ok(done) if self.json => rows.push(row(agent, &done)),
                Ok(done) => show(agent, &done)?,
                Err(failure) => {
                    rows.push(failed_row(agent, self.level(), &failure));
                    code = complain(failure);
                }
            }
        }
        if self.json {
            output::json(&rows)?;
        }
        Ok(code)
    }
}

fn failed_row(agent: Agent, level: Level, failure: &InstallFailure) -> Value {
    let error = failure.to_string();
    json!({ "agent": agent.as_str(), "level": level.as_str(), "error": error })
}

fn complain(failure: InstallFailure) -> ExitCode {
    match failure {
        InstallFailure::File(error) => {
            let next = error.hint.clone();
            let code = report(&error.into());
            hint(next);
            if code == ExitCode::SUCCESS { ExitCode::from(EXIT_FAILED) } else { code }
        }
        InstallFailure::Fixed { .. } => {
            report(&InputError::new(failure.to_string(), "leave out --event and --deadline").into())
        }
        InstallFailure::Deadline { .. } => {
            let what = format!("--deadline: {failure}");
            report(&InputError::new(what, "give a time such as 15s, up to 10m").into())
        }
        InstallFailure::Variable { variable, .. } => {
            let hint = format!(
                "set {variable} to an absolute path: the agent finds another directory wherever it starts"
            );
            report(&InputError::new(failure.to_string(), hint).into())
        }
        InstallFailure::Home { .. } => report(&InputError::new(failure.to_string(), "set HOME").into()),
        InstallFailure::Level { .. } => {
            let hint = "use --user or --project, where the agent has one";
            report(&InputError::new(failure.to_string(), hint).into())
        }
        InstallFailure::Event(error) => {
            let names: Vec<_> = error.agent.events().iter().map(|it| it.name).collect();
            let next = format!("did you mean {}? the events are {}", error.nearest, names.join(", "));
            let what = format!("{} has no event {:?} that hookbox serves", error.agent.title(), error.name);
            report(&InputError::new(what, next).into())
        }
        other => report(&InputError::new(other.to_string(), "see `hookbox install --help`").into()),
    }
}

impl Install {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (installer, surroundings) = self.which.open()?;
        let level = self.which.level();
        let agents = self.which.agents(&installer)?;
        let program = match self.program {
            Some(program) => program,
            None if level == Level::Project => NAME.to_owned(),
            None => own_program()?,
        };
        if program.is_empty() || program.contains(['\n', '\r', '\0']) {
            let what = format!("--program {program:?}: expected a path or a name");
            return Err(InputError::new(what, "give the path of hookbox").into());
        }
        if level != Level::Project && program.contains('/') && !program.starts_with('/') {
            let what =
                format!("--program {program:?}: expected an absolute path, or a name that is on the PATH");
            let hint = "agents start in other directories; for a repository's own program use --project";
            return Err(InputError::new(what, hint).into());
        }
        if !is_executable(&program, &surroundings.project) {
            warn(format_args!("--program {program:?}: there is no program that can be executed there now"));
        }
        let deadline = self.deadline.unwrap_or(Bridge::DEADLINE);
        // The others who use a project have other home directories.
        let home = surroundings.home.as_ref().filter(|_| level != Level::Project);
        let home = home.and_then(|home| home.to_str()).filter(|home| !home.contains(['\n', '\r']));
        let home = home.map(str::to_owned);
        let options = InstallOptions {
            events: self.events,
            home,
            deadline,
            is_strict: self.strict,
            ..InstallOptions::new(program)
        };
        let which = self.which;
        which.permit(&agents, &installer)?;
        if let Some(code) = which.check(&agents, &installer, &options)? {
            return Ok(code);
        }
        which.each(
            &agents,
            |agent| installer.install(agent, level, &options),
            |agent, done| row(agent, level, &options, done, which.dry_run, &surroundings),
            |agent, done| show(agent, level, done, which.dry_run, &surroundings),
        )
    }
}

impl Uninstall {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (installer, _) = self.which.open()?;
        let level = self.which.level();
        let agents = self.which.agents(&installer)?;
        let dry = self.which.dry_run;
        self.which.permit(&agents, &installer)?;
        self.which.each(
            &agents,
            |agent| installer.uninstall(agent, level),
            |agent, done| undone_row(agent, level, done, dry),
            |agent, done| show_undone(agent, done, dry),
        )
    }
}

/// Returns true if a shell finds the program: a path, relative to the project, or a name on the PATH.
fn is_executable(program: &str, project: &Path) -> bool {
    let is_file = |path: &Path| {
        path.metadata().is_ok_and(|it| it.is_file() && std::os::unix::fs::MetadataExt::mode(&it) & 0o111 != 0)
    };
    if program.contains('/') {
        return is_file(&project.join(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The usual name is for others, who have the program elsewhere.
    program == NAME || std::env::split_paths(&path).any(|directory| is_file(&directory.join(program)))
}

/// Returns the path of this program. The path on `PATH` comes first, if it is this program: a later version
/// will be there.
fn own_program() -> anyhow::Result<String> {
    let own = std::env::current_exe()?;
    let real = own.canonicalize()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(NAME))
        .find(|candidate| candidate.is_file())
        .filter(|candidate| candidate.canonicalize().is_ok_and(|it| it == real));
    on_path.unwrap_or(real).into_os_string().into_string().map_err(|path| {
        let what = format!("expected a path in UTF-8, found {:?}", PathBuf::from(path));
        InputError::new(what, "give another one with --program").into()
    })
}

/// Returns what the user still has to do or to know.
fn next(agent: Agent, level: Level, surroundings: &Surroundings) -> Vec<String> {
    let mut next = Vec::new();
    match agent {
        Agent::Codex => {
            next.push(
                "start codex and approve the hooks in /hooks: it runs none before, and says nothing"
                    .to_owned(),
            );
            if level == Level::Project {
                next.push(
                    "trust the project when codex asks: it reads the project's hooks only then".to_owned(),
                );
            }
        }
        Agent::Gemini => {
            next.push(
                "trust the folder when gemini asks: in one that is not trusted it runs no hooks".to_owned(),
            );
        }
        Agent::Copilot if level == Level::Project => {
            next.push(
                "trust the folder when copilot asks: it reads the repository's hooks only then".to_owned(),
            );
        }
        Agent::Claude if level != Level::User => {
            next.push(
                "trust the folder when claude asks: it runs the hooks of a project only then".to_owned(),
            );
        }
        _ => {}
    }
    let root = escape(&surroundings.project.display().to_string(), 500);
    if level != Level::User && matches!(agent, Agent::Claude | Agent::Gemini | Agent::Qwen) {
        next.push(format!("start {agent} in {root}: it does not look above the directory where it starts"));
    }
    next.push(format!("restart {} where it is running", agent.title()));
    if level == Level::Project {
        next.push(format!("everyone who works in {root} needs hookbox on the PATH"));
    }
    next
}

fn row(
    agent: Agent,
    level: Level,
    options: &InstallOptions,
    done: &Installed,
    dry: bool,
    surroundings: &Surroundings,
) -> Value {
    let switches: Vec<_> = done.switches.iter().map(ToString::to_string).collect();
    let mut row = json!({
        "agent": agent.as_str(),
        "level": level.as_str(),
        "path": done.path,
        "change": word(done.change),
        "events": done.events,
        "program": options.program,
        "deadline": show_duration(options.deadline),
        "backup": done.backup,
        "earlier": done.earlier,
        "switched_off": switches,
        "next": next(agent, level, surroundings),
    });
    if dry && let Some(row) = row.as_object_mut() {
        let diff = unified(&done.path.to_string_lossy(), done.before.as_deref(), Some(&done.after));
        row.insert("diff".to_owned(), diff.into());
    }
    row
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Changed => "changed",
        Change::Unchanged => "unchanged",
    }
}

fn show(
    agent: Agent,
    level: Level,
    done: &Installed,
    dry: bool,
    surroundings: &Surroundings,
) -> anyhow::Result<()> {
    let path = escape(&done.path.to_string_lossy(), 4096);
    let is_whole_plugin = agent == Agent::OpenCode && done.change == Change::Created;
    if dry && is_whole_plugin {
        let lines = done.after.split(|byte| *byte == b'\n').count().saturating_sub(1);
        output::line(&format!("{}: would create {path} ({lines} lines)", agent.title()))?;
    } else if dry {
        let diff = unified(&done.path.to_string_lossy(), done.before.as_deref(), Some(&done.after));
        if !diff.is_empty() {
            output::line(diff.trim_end_matches('\n'))?;
        }
        note(match done.change {
            Change::Unchanged => format!("{}: {path} would stay as it is", agent.title()),
            _ => format!("{}: nothing was changed in {path}", agent.title()),
        });
    } else {
        let what = match done.change {
            Change::Created => "created",
            Change::Changed => "changed",
            Change::Unchanged => "is as it should be:",
        };
        output::line(&format!("{}: {what} {path}", agent.title()))?;
        output::line(&format!("  events: {}", done.events.join(", ")))?;
        if let Some(backup) = &done.backup {
            output::line(&format!("  the original: {}", escape(&backup.to_string_lossy(), 4096)))?;
        }
        if let Some(earlier) = &done.earlier {
            let earlier = escape(&earlier.to_string_lossy(), 4096);
            note(format_args!("{path}: an original of an earlier time is kept as {earlier}"));
        }
    }
    for switch in &done.switches {
        warn(format_args!("{path}: {switch}"));
    }
    handmade(agent, done.handmade, &path);
    if !dry && done.change != Change::Unchanged {
        next(agent, level, surroundings).iter().for_each(hint);
    }
    Ok(())
}

fn handmade(agent: Agent, count: usize, path: &str) {
    if count > 0 {
        let what = if count == 1 { "an entry runs" } else { "some entries run" };
        note(format_args!("{path}: {what} hookbox for {} in another way, and was left alone", agent.title()));
    }
}

fn undone_word(undone: Undone) -> &'static str {
    match undone {
        Undone::Nothing => "unchanged",
        Undone::Restored => "restored",
        Undone::Deleted => "deleted",
        Undone::Removed => "removed",
    }
}

fn undone_row(agent: Agent, level: Level, done: &Uninstalled, dry: bool) -> Value {
    let mut row = json!({
        "agent": agent.as_str(),
        "level": level.as_str(),
        "path": done.path,
        "change": undone_word(done.undone),
        "events": done.events,
        "original": done.original,
    });
    if dry && let Some(row) = row.as_object_mut() {
        let diff = unified(&done.path.to_string_lossy(), done.before.as_deref(), done.after.as_deref());
        row.insert("diff".to_owned(), diff.into());
    }
    row
}

fn show_undone(agent: Agent, done: &Uninstalled, dry: bool) -> anyhow::Result<()> {
    let path = escape(&done.path.to_string_lossy(), 4096);
    if dry {
        let diff = unified(&done.path.to_string_lossy(), done.before.as_deref(), done.after.as_deref());
        if !diff.is_empty() {
            output::line(diff.trim_end_matches('\n'))?;
        }
        note(match done.undone {
            Undone::Nothing => format!("{}: {path} would stay as it is", agent.title()),
            _ => format!("{}: nothing was changed in {path}", agent.title()),
        });
    } else {
        let title = agent.title();
        output::line(&match done.undone {
            Undone::Nothing => format!("{title}: nothing of hookbox in {path}"),
            Undone::Restored => format!("{title}: {path} is byte for byte what it was before"),
            Undone::Deleted => format!("{title}: removed {path}, which was not there before"),
            Undone::Removed => {
                format!(
                    "{title}: removed hookbox's entries from {path}; everything else in it stays as it is"
                )
            }
        })?;
    }
    if let Some(original) = &done.original {
        let original = escape(&original.to_string_lossy(), 4096);
        note(format_args!("what was in {path} before hookbox was installed is kept as {original}"));
    }
    handmade(agent, done.handmade, &path);
    Ok(())
}
