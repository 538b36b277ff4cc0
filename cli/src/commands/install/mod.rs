//! `hookbox install` and `hookbox uninstall`: hookbox in the configuration of other agents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hookbox::internal::discovery::{self, show_duration};
use hookbox::internal::private_dir;
use hookbox::manager::{Entry, EntryStatus};
use hookbox::{EventName, Kind, escape};
use hookbox_agents::Agent;
use hookbox_agents::bridge::Bridge;
use hookbox_agents::bridge::install::{
    Change, FileChange, InstallFailure, InstallOptions, Installer, wanted_events,
};
use hookbox_agents::config::{Level, Surroundings};
use serde_json::{Value, json};

use crate::error::{EXIT_FAILED, InputError, hint, note, report, warn};
use crate::interrupt::unless_interrupted;
use crate::{human, named, options, output};

/// The name by which a shell finds the program, where others use the configuration as well.
const NAME: &str = "hookbox";

/// The directory of the original files of the system's configuration.
const SYSTEM_DATA: &str = "var/lib/hookbox";

/// Make another agent run hookbox.
///
/// Adds entries to the agent's hook configuration; other entries and comments stay. `hookbox uninstall`
/// restores the original. Installing again with other options changes the entries in place.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Install {
    #[command(flatten)]
    which: Which,
    /// Install only this event, by the agent's own name; may be repeated [default: all but those that fire
    /// many times for one answer; others such as ConfigChange if a hook subscribes to them].
    #[arg(long = "event", value_name = "NAME")]
    events: Vec<String>,
    /// Maximum time to answer, such as 10s, up to 10m; the agent is told to wait 15 s longer [default: 15s].
    #[arg(long, value_name = "D", value_parser = options::duration)]
    deadline: Option<Duration>,
    #[arg(
        help = format!(
            "Let hookbox run the hooks that are configured for this agent as well: {} or all; may be repeated",
            options::names(Agent::with_commands())
        ),
        long,
        value_name = "AGENT",
        value_parser = options::whose
    )]
    from: Vec<options::Whose>,
    /// The program that the agent runs [default: the path of this one; for a project, hookbox].
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// Also block tool calls if the program is missing or killed.
    #[arg(long)]
    strict: bool,
}

/// Remove hookbox from another agent.
///
/// Restores the original file if it is unchanged since install; otherwise removes only hookbox's entries.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
}

/// The selection of agents and files.
#[derive(Args, Debug)]
struct Which {
    #[arg(
        help = format!("The agents: {}", options::names(Agent::ALL)),
        value_name = "AGENT",
        value_parser = named::agent(),
        hide_possible_values = true,
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    agents: Vec<Agent>,
    /// Every agent that has a configuration directory in your home.
    #[arg(long)]
    all: bool,
    /// The user's own configuration, for every project [default].
    #[arg(long, conflicts_with_all = ["project", "local", "system"])]
    user: bool,
    /// The project's configuration, which others get with the repository.
    #[arg(long, conflicts_with_all = ["local", "system"])]
    project: bool,
    /// The user's own configuration for this project; Claude Code has it.
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
    dry_run: bool,
    /// Print the result as JSON: an array with an object per agent.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Which {
    fn level(&self) -> Level {
        match (self.project, self.local, self.system) {
            (true, ..) => Level::Project,
            (_, true, _) => Level::Local,
            (.., true) => Level::System,
            _ => Level::User,
        }
    }

    fn open(&self) -> Result<(Installer, Surroundings), InputError> {
        self.locate.enter()?;
        let options = self.locate.discovery()?;
        let repository = discovery::repository(&options);
        let project = repository.clone().unwrap_or_else(|| options.cwd.clone());
        let system = options::system_root(self.system_root.as_deref())?;
        // Whoever installed it, another administrator uninstalls it.
        let of_system = || Some(Path::new("/").join(&system).join(SYSTEM_DATA));
        let own = || private_dir::default_data(options.home.as_deref());
        let data = if self.system { of_system() } else { own() };
        let data = data.ok_or_else(|| {
            let what = "expected a place for the original files, found no home directory";
            InputError::new(what, "set HOME or XDG_DATA_HOME")
        })?;
        let surroundings = Surroundings { home: options.home.clone(), system, ..Surroundings::new(project) };
        let surroundings = surroundings.variables(|name| std::env::var_os(name));
        let installer = Installer::new(surroundings.clone(), data).repository(repository).dry(self.dry_run);
        Ok((installer, surroundings))
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
        let level = self.level();
        let agents: Vec<Agent> = Agent::ALL
            .into_iter()
            .filter(|it| installer.file(*it, level).is_ok() && installer.has_directory(*it))
            .collect();
        if agents.is_empty() {
            let what = "expected an agent that is installed here, found the configuration directory of none";
            return Err(InputError::new(what, "name the agent, such as `hookbox install claude`"));
        }
        Ok(agents)
    }

    /// Checks the options for every agent before anything is changed, so that a failure of one changes none.
    /// With `--all`, options that OpenCode's fixed plugin cannot have are not a failure.
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
    fn each(
        &self,
        agents: &[Agent],
        act: impl Fn(Agent) -> Result<FileChange, InstallFailure>,
        keys: impl Fn(&FileChange) -> Value,
    ) -> anyhow::Result<ExitCode> {
        let done: Vec<_> = agents.iter().map(|agent| (*agent, act(*agent))).collect();
        let mut code = ExitCode::SUCCESS;
        let mut rows = Vec::new();
        for (agent, done) in done {
            match done {
                Ok(done) if self.json => rows.push(self.row(agent, &done, keys(&done))),
                Ok(done) => self.show(agent, &done)?,
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

    /// Returns the object of a change in JSON, with the keys of its command.
    fn row(&self, agent: Agent, done: &FileChange, keys: Value) -> Value {
        let mut row = json!({
            "agent": agent.as_str(),
            "level": self.level().as_str(),
            "path": done.path,
            "change": done.change.as_str(),
            "events": done.events,
        });
        if let (Some(row), Value::Object(keys)) = (row.as_object_mut(), keys) {
            row.extend(keys);
            if self.dry_run {
                row.insert("diff".to_owned(), done.diff().into());
            }
        }
        row
    }

    /// Prints a change for a person.
    fn show(&self, agent: Agent, done: &FileChange) -> anyhow::Result<()> {
        let (title, path) = (agent.title(), shown(&done.path));
        let is_install = !done.next.is_empty();
        if self.dry_run && done.change == Change::Created && !agent.runs_commands() {
            let lines = done.after.iter().flatten().filter(|byte| **byte == b'\n').count();
            output::line(&format!("{title}: would create {path} ({lines} lines)"))?;
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
            output::line(&match done.change {
                Change::Unchanged if is_install => format!("{title}: {path} is as it should be"),
                Change::Unchanged => format!("{title}: nothing of hookbox in {path}"),
                Change::Created => format!("{title}: created {path}"),
                Change::Changed => format!("{title}: changed {path}"),
                Change::Restored => format!("{title}: {path} is byte for byte what it was before"),
                Change::Deleted => format!("{title}: removed {path}, which was not there before"),
                Change::Removed => format!("{title}: removed hookbox's entries from {path}; all others stay"),
            })?;
        }
        if is_install && !self.dry_run {
            output::line(&format!("  events: {}", done.events.join(", ")))?;
        }
        match &done.original {
            Some(original) if is_install => {
                output::line(&format!("  the original: {}", shown(original)))?;
            }
            Some(original) => {
                let original = shown(original);
                note(format_args!(
                    "the original of {path}, from before hookbox was installed, is kept as {original}"
                ));
            }
            None => {}
        }
        if let Some(earlier) = &done.earlier {
            note(format_args!("an earlier original of {path} is kept as {}", shown(earlier)));
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

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy(), 4096)
}

fn failed_row(agent: Agent, level: Level, failure: &InstallFailure) -> Value {
    let error = failure.to_string();
    json!({ "agent": agent.as_str(), "level": level.as_str(), "error": error })
}

fn complain(failure: InstallFailure) -> ExitCode {
    let mut what = failure.to_string();
    let hint = match failure {
        InstallFailure::File(error) => {
            let next = error.hint.clone();
            let code = report(&error.into());
            hint(next);
            return if code == ExitCode::SUCCESS { ExitCode::from(EXIT_FAILED) } else { code };
        }
        InstallFailure::Fixed { .. } => "leave out --event, --from and --deadline".to_owned(),
        InstallFailure::Deadline { .. } => {
            what = format!("--deadline: {what}");
            "give a time such as 15s, up to 10m".to_owned()
        }
        InstallFailure::Variable { variable, .. } => {
            format!(
                "set {variable} to an absolute path: the agent finds another directory wherever it starts"
            )
        }
        InstallFailure::Home { .. } => "set HOME".to_owned(),
        InstallFailure::Project { level, .. } => {
            format!("go into a project's directory, or leave out --{level}")
        }
        InstallFailure::Level { .. } => {
            "use --user, --project or --system, if the agent has that level".to_owned()
        }
        InstallFailure::Event(error) => {
            let served = error.agent.events().iter().chain(error.agent.other_events());
            let names: Vec<_> = served.map(|it| it.name).collect();
            what = format!("{} has no event {:?} that hookbox serves", error.agent.title(), error.name);
            format!("did you mean {}? the events are {}", error.nearest, names.join(", "))
        }
        _ => "see `hookbox install --help`".to_owned(),
    };
    report(&InputError::new(what, hint).into())
}

impl Install {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
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
        if level == Level::System {
            warn_of_owner(&program);
        }
        let deadline = self.deadline.unwrap_or(Bridge::DEADLINE);
        // The others who use a project or the machine have other home directories.
        let home = surroundings.home.as_ref().filter(|_| !matches!(level, Level::Project | Level::System));
        let home = home.and_then(|home| home.to_str()).filter(|home| !home.contains(['\n', '\r']));
        let home = home.map(str::to_owned);
        let mut from: Vec<Agent> = self.from.into_iter().flat_map(|it| it.0).collect();
        from.sort();
        from.dedup();
        let options = InstallOptions {
            events: self.events,
            from,
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
        // A search creates the private directories, and a dry run creates nothing.
        let entries = if which.dry_run { None } else { Some(entries(&which.locate).await) };
        let guards = entries.as_deref().map(guards);
        let options_of = |agent: Agent| match &entries {
            Some(entries) if options.events.is_empty() => {
                InstallOptions { events: wanted_events(agent, |it| wants(entries, it)), ..options.clone() }
            }
            _ => options.clone(),
        };
        let keys = |done: &FileChange| {
            json!({
                "guards": guards,
                "program": options.program,
                "deadline": show_duration(options.deadline),
                "backup": done.original,
                "earlier": done.earlier,
                "switched_off": done.switches.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "next": done.next,
            })
        };
        let code = which.each(&agents, |agent| installer.install(agent, level, &options_of(agent)), keys)?;
        if !which.json && code == ExitCode::SUCCESS {
            guards.iter().for_each(|guards| say_next(&agents, guards));
        }
        Ok(code)
    }
}

impl Uninstall {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (installer, _) = self.which.open()?;
        let level = self.which.level();
        let agents = self.which.agents(&installer)?;
        self.which.permit(&agents, &installer)?;
        let keys = |done: &FileChange| json!({ "original": done.original });
        self.which.each(&agents, |agent| installer.uninstall(agent, level), keys)
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
    // The usual name is for other users, who have the program elsewhere.
    program == NAME || on_path(program).any(|path| is_file(&path))
}

/// Returns the hooks that are found here.
async fn entries(locate: &options::Locate) -> Arc<[Entry]> {
    match unless_interrupted(locate.manager()).await {
        Ok(Ok(manager)) => manager.entries(),
        _ => Arc::default(),
    }
}

/// Returns true if a hook that you trust subscribes to this event.
fn wants(entries: &[Entry], event: &EventName) -> bool {
    let is_active = |it: &&Entry| it.trusted && it.status == EntryStatus::Active;
    entries.iter().filter(is_active).any(|it| it.events.contains(event))
}

/// Returns the names of the hooks that can block a tool call, except built-in ones, which guard hookbox alone.
fn guards(entries: &[Entry]) -> Vec<String> {
    let is_guard = |it: &&Entry| {
        it.kind != Kind::Builtin && !it.observe && it.events.contains(&EventName::BeforeToolCall)
    };
    entries.iter().filter(is_guard).map(|it| it.name.clone()).collect()
}

/// Prints the next steps: a guard, if there is none, and a check.
fn say_next(agents: &[Agent], guards: &[String]) {
    if guards.is_empty() {
        warn("no hook of yours blocks a tool call yet: the agent runs everything as before");
        hint("add a guard, such as the sample: cp target/hooks/guardrail.wasm ~/.hookbox/hooks/");
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
    hint(format_args!("then check that it blocks: hookbox doctor {}", names.join(" ")));
}

/// Warns if a user could replace the program that all agents of the machine run.
fn warn_of_owner(program: &str) {
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(program).ok().map(|it| it.uid()).filter(|owner| *owner != 0);
    if let Some(owner) = owner {
        warn(format_args!(
            "{}: user {owner} can replace this program, which every user's agent runs",
            shown(Path::new(program))
        ));
        hint("install hookbox for the system, such as in /usr/local/bin");
    }
}

/// Returns the path of this program. The path on `PATH` comes first, if it is this program: a later version
/// will be there.
fn own_program() -> anyhow::Result<String> {
    let real = std::env::current_exe()?.canonicalize()?;
    let on_path = on_path(NAME)
        .find(|path| path.is_absolute() && path.is_file())
        .filter(|path| path.canonicalize().is_ok_and(|it| it == real));
    on_path.unwrap_or(real).into_os_string().into_string().map_err(|path| {
        let what = format!("expected a path in UTF-8, found {:?}", PathBuf::from(path));
        InputError::new(what, "give another one with --program").into()
    })
}

/// Returns the paths of a program in the directories of `PATH`.
fn on_path(program: &str) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(program)).collect::<Vec<_>>().into_iter()
}
