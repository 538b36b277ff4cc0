//! The options that several commands share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use hookbox::manager::{self, Builder, DEFAULT_ROOTS, Manager};
use hookbox::trust::TrustPolicy;
use hookbox::{Allocation, Limits, Runtime, discovery};
use hookbox_agents::agent::UnknownAgent;
use hookbox_agents::{Agent, AgentHooks};
use hookbox_journal::journal::Journal;
use hookbox_system::files::private_dir;
use hookbox_system::units::{UnitError, parse_duration};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::error::{InputError, note};
use crate::named::Named;
use crate::progress::looking;
use crate::{compiler, telemetry};

/// The heading of the options that say where hooks are.
const WHERE: &str = "Where hooks are found";

/// The heading of the options that select hooks.
const WHICH: &str = "Which hooks run";

/// The longest wait for components that are not compiled, of a user who asked for one and of a process that serves many
/// events.
const STARTING: Duration = Duration::from_secs(600);

/// The hint for a private data directory that cannot be used.
const DATA: &str = "set HOME or XDG_DATA_HOME to a directory of your own, outside the repository";

/// The option of a command that asks only if an agent has a session open here, which is a question for a human in any case.
#[derive(Args, Debug)]
pub(crate) struct Yes {
    /// Do not ask. If an agent has a session open here, hookbox asks in any case.
    #[arg(short = 'y', long = "yes")]
    _yes: bool,
}

/// The directories in which hooks are found.
#[derive(Args, Debug, Default)]
pub(crate) struct Locate {
    /// Work in this directory instead of the current one.
    #[arg(short = 'C', long, value_name = "DIR", help_heading = WHERE, value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Look for hooks in directories of this name; repeatable [default: .hookbox and .kodelet].
    #[arg(long, value_name = "NAME", help_heading = WHERE, hide_short_help = true)]
    root: Vec<String>,
    /// Your home directory, with your own hooks [default: HOME].
    #[arg(long, value_name = "DIR", help_heading = WHERE, hide_short_help = true, value_hint = ValueHint::DirPath)]
    home: Option<PathBuf>,
}

/// The directories in which hooks are found, and other agents' hooks.
#[derive(Args, Debug)]
pub(crate) struct Find {
    #[command(flatten)]
    pub(crate) locate: Locate,
    #[arg(
        help = format!(
            "Also use the hooks that are configured for this agent: {} or all; repeatable",
            names(Agent::with_commands())
        ),
        long,
        value_name = "AGENT",
        value_parser = Named::new(whose, || Agent::with_commands().map(Agent::as_str).chain(["all"]).map(str::to_owned).collect()),
        hide_possible_values = true,
        hide_short_help = true,
        help_heading = WHERE
    )]
    from: Vec<Whose>,
}

/// Returns the names of agents, for a help text.
pub(crate) fn names(agents: impl IntoIterator<Item = Agent>) -> String {
    agents.into_iter().map(Agent::as_str).collect::<Vec<_>>().join(", ")
}

/// The agents of one `--from`.
#[derive(Clone, Debug)]
pub(crate) struct Whose(pub(crate) Vec<Agent>);

/// Reads the agents of `--from`.
pub(crate) fn whose(text: &str) -> Result<Whose, String> {
    if text == "all" {
        return Ok(Whose(Agent::with_commands().collect()));
    }
    let agent: Agent = text.parse().map_err(|unknown: UnknownAgent| unknown.to_string())?;
    if !agent.runs_commands() {
        return Err(format!("{} has no command hooks; hint: give another agent", agent.title()));
    }
    Ok(Whose(vec![agent]))
}

/// The directories in which hooks are found, and the choice of those that run.
#[derive(Args, Debug)]
pub(crate) struct Discover {
    #[command(flatten)]
    pub(crate) find: Find,
    /// The hooks of a repository that run: those that you have trusted, or all.
    #[arg(long, value_enum, default_value = "recorded", help_heading = WHICH)]
    trust: Trust,
    /// Run no hook at all, built-in ones included.
    #[arg(long, help_heading = WHICH)]
    no_hooks: bool,
    /// The command of the agent that the hooks are for, such as commit; those in skip_commands get no hooks.
    #[arg(
        long = "agent-command",
        alias = "command",
        value_name = "NAME",
        help_heading = WHICH,
        hide_short_help = true
    )]
    command: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Trust {
    Recorded,
    All,
}

impl Locate {
    /// Changes to the directory of `--cwd`: hooks run there, and paths are relative to it.
    pub(crate) fn enter(&self) -> Result<(), InputError> {
        let Some(cwd) = &self.cwd else { return Ok(()) };
        std::env::set_current_dir(cwd).map_err(|error| {
            let what = format!("--cwd {}: expected a directory, found: {error}", cwd.display());
            InputError::new(what, "give a directory that exists")
        })
    }

    /// Changes to the directory of `--cwd`; without it, to the one of a hook that is named by an absolute path. So
    /// advice that has a path works from everywhere.
    pub(crate) fn enter_for(&self, hook: &str) -> Result<(), InputError> {
        let base = self.base_of(Path::new(hook))?.filter(|base| self.cwd.is_none() && base.is_dir());
        match base.map(std::env::set_current_dir) {
            Some(Ok(())) => Ok(()),
            _ => self.enter(),
        }
    }

    /// Returns the directory with the root that an absolute path leads through.
    fn base_of<'a>(&self, path: &'a Path) -> Result<Option<&'a Path>, InputError> {
        let roots = self.roots()?.unwrap_or_else(|| DEFAULT_ROOTS.map(str::to_owned).into());
        let is_root = |path: &&Path| roots.iter().any(|root| path.file_name() == Some(root.as_ref()));
        let outermost = path.ancestors().filter(is_root).last().and_then(Path::parent);
        Ok(outermost.filter(|_| path.is_absolute()))
    }

    /// Finds the hooks, with the trust and grants that the user recorded.
    pub(crate) async fn manager(&self) -> Result<Manager, InputError> {
        Ok(build(self.configure(Manager::builder())?.examine_switched_off(true)).await)
    }

    /// Like [`Self::manager`], with an engine that is shared.
    pub(crate) async fn manager_with(&self, runtime: &Runtime) -> Result<Manager, InputError> {
        let builder = self.configure(Manager::builder())?.runtime(runtime.clone());
        Ok(build(builder.examine_switched_off(true)).await)
    }

    /// Returns the options for finding hooks.
    pub(crate) fn discovery(&self) -> Result<discovery::Options, InputError> {
        let cwd = std::env::current_dir().unwrap_or_default();
        let mut options = discovery::Options::new(cwd, self.home()?);
        if let Some(roots) = self.roots()? {
            options.roots = roots;
        }
        Ok(options)
    }

    /// Returns the private data directory, which is made and checked.
    pub(crate) fn data(&self) -> Result<PathBuf, InputError> {
        let repository = discovery::repository(&self.discovery()?);
        private_dir::open(&self.data_path()?, repository.as_deref())
            .map_err(|error| InputError::new(error.to_string(), DATA))
    }

    /// Returns the path of the private data directory.
    pub(crate) fn data_path(&self) -> Result<PathBuf, InputError> {
        let home = self.home()?;
        private_dir::default_data(home.as_deref())
            .ok_or_else(|| InputError::new("expected a private data directory, found none", DATA))
    }

    /// Returns the home directory, if it is known.
    pub(crate) fn home(&self) -> Result<Option<PathBuf>, InputError> {
        match self.given_home()? {
            Some(home) => Ok(Some(home.to_owned())),
            None => Ok(std::env::home_dir().filter(|home| home.is_absolute())),
        }
    }

    /// Tells the user which home directory is used, if no variable and no option names it.
    pub(crate) fn note_home(&self) {
        let is_set = std::env::var_os("HOME").is_some_and(|it| !it.is_empty());
        if let (false, None, Ok(Some(home))) = (is_set, &self.home, self.home()) {
            note(format_args!("HOME is not set: {} is used", home.display()));
        }
    }

    fn given_home(&self) -> Result<Option<&Path>, InputError> {
        match &self.home {
            Some(home) if !home.is_absolute() => {
                let what = format!("--home {}: expected an absolute path", home.display());
                Err(InputError::new(what, "give your home directory, such as /home/ada"))
            }
            home => Ok(home.as_deref()),
        }
    }

    fn configure(&self, builder: Builder) -> Result<Builder, InputError> {
        // This process makes few calls and ends.
        let builder = builder.allocation(Allocation::OnDemand).protect(hookbox_agents::protection());
        // A command that shows hooks or asks about them reads their files.
        let builder = builder.whole_paths(self.cwd.is_some()).reread(true);
        let builder = compiler::own().into_iter().fold(builder, Builder::compiler);
        let builder = self.given_home()?.into_iter().fold(builder, Builder::home);
        Ok(self.roots()?.into_iter().fold(builder, Builder::roots))
    }

    /// Returns the roots, if the user names any.
    fn roots(&self) -> Result<Option<Vec<String>>, InputError> {
        for root in &self.root {
            let plain = !root.is_empty() && !root.contains('/') && root != "." && root != "..";
            if !plain {
                let what = format!("--root {root:?}: expected the name of a directory, found a path");
                return Err(InputError::new(what, "give a name such as .hookbox"));
            }
        }
        Ok((!self.root.is_empty()).then(|| self.root.clone()))
    }
}

impl Find {
    /// Finds the hooks, with the trust and grants that the user recorded.
    pub(crate) async fn manager(&self) -> Result<Manager, InputError> {
        Ok(build(self.configure(Manager::builder())?.examine_switched_off(true)).await)
    }

    /// Like [`Self::manager`], for a command that names a hook which is perhaps not trusted: its user waits for it.
    pub(crate) async fn manager_for_one(&self) -> Result<Manager, InputError> {
        let builder = self.configure(Manager::builder())?.examine_switched_off(true);
        Ok(build(builder.untrusted_timeout(STARTING)).await)
    }

    fn configure(&self, builder: Builder) -> Result<Builder, InputError> {
        let agents = self.from.iter().flat_map(|it| it.0.iter());
        let hooks = agents.fold(AgentHooks::new(), |hooks, agent| hooks.agent(*agent));
        Ok(self.locate.configure(builder)?.source(hooks))
    }
}

impl Discover {
    /// Returns the options for finding hooks.
    pub(crate) fn discovery(&self) -> Result<discovery::Options, InputError> {
        self.find.locate.discovery()
    }

    /// Changes to the directory of `--cwd`.
    pub(crate) fn enter(&self) -> Result<(), InputError> {
        self.find.locate.enter()
    }

    /// Finds the hooks, to list them.
    pub(crate) async fn manager(&self) -> Result<Manager, InputError> {
        Ok(build(self.configure(Manager::builder())?).await)
    }

    /// Finds the hooks for calls of the past: with this engine, and without permissions and state.
    pub(crate) async fn trying(&self, runtime: Runtime) -> Result<Manager, InputError> {
        Ok(build(self.configure(Manager::builder())?.runtime(runtime).data(None)).await)
    }

    /// Finds the hooks for one event. At the start of a session every component is read anew.
    pub(crate) async fn running(
        &self,
        timeout: Option<Duration>,
        begins_session: bool,
    ) -> Result<Manager, InputError> {
        let limits = Limits { timeout, ..Limits::default() };
        let builder =
            self.configure(Manager::builder())?.limits(limits).one_event(true).reread(begins_session);
        Ok(recording(build(telemetry::attach(builder)).await, None))
    }

    /// Finds the hooks for an agent whose events one process serves, with this engine or one of its own.
    pub(crate) async fn lasting(
        &self,
        timeout: Option<Duration>,
        engine: Option<Runtime>,
    ) -> Result<Manager, InputError> {
        let limits = Limits { timeout, ..Limits::default() };
        let builder = self.configure(Manager::builder())?.limits(limits).reread(false);
        // A client that stops waiting and starts this again joins the same compilation.
        let builder = builder.allocation(Allocation::Pooled).compile_wait(STARTING);
        let builder = engine.into_iter().fold(builder, Builder::runtime);
        Ok(recording(telemetry::attach(builder).build().await, None))
    }

    /// Finds the hooks for one event of another agent in this directory, within the time that is left. At the
    /// start of a session every component is read anew.
    pub(crate) async fn serving(
        &self,
        agent: &str,
        directory: &Path,
        left: Duration,
        begins_session: bool,
    ) -> Result<Manager, InputError> {
        self.enter()?;
        // Hooks run in this directory.
        let is_gone = self.find.locate.cwd.is_none() && std::env::set_current_dir(directory).is_err();
        let mut builder = self.configure(Manager::builder())?.within(left).unseen_blocks(true);
        if is_gone {
            // Its path still names the repository.
            builder = builder.cwd(directory);
        }
        if let Some(home) = &self.find.locate.home {
            builder = builder.home_of_process(home);
        }
        let builder = builder.one_event(true).reread(begins_session);
        Ok(recording(telemetry::attach(builder).build().await, Some(agent)))
    }

    fn configure(&self, builder: Builder) -> Result<Builder, InputError> {
        let trust = match self.trust {
            Trust::Recorded => TrustPolicy::Recorded,
            Trust::All => TrustPolicy::All,
        };
        let builder = self.find.configure(builder)?.trust(trust).no_hooks(self.no_hooks);
        Ok(self.command.iter().fold(builder, Builder::command))
    }
}

/// Finds the hooks, and shows the progress of that.
async fn build(builder: Builder) -> Manager {
    let progress = manager::Progress::default();
    looking(&progress, builder.progress(&progress).build()).await
}

/// Returns the directory of `--system-root`, which has to exist; an empty path is `/`.
pub(crate) fn system_root(given: Option<&Path>) -> Result<PathBuf, InputError> {
    let Some(given) = given else { return Ok(PathBuf::new()) };
    given.canonicalize().map_err(|error| {
        let what = format!("--system-root {}: expected a directory, found: {error}", given.display());
        InputError::new(what, "give a directory that exists")
    })
}

/// Reads a duration as [`parse_duration`] does, or in hours, such as `1h`.
pub(crate) fn long_duration(text: &str) -> Result<Duration, UnitError> {
    let hours = text.strip_suffix('h').and_then(|number| number.trim_end().parse::<u32>().ok());
    match hours {
        Some(hours @ 1..) => Ok(Duration::from_secs(u64::from(hours) * 3600)),
        _ => parse_duration(text),
    }
}

/// Reads a time: a span before now, or a date.
pub(crate) fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(date) = text.parse::<jiff::civil::Date>() {
        return date.to_zoned(TimeZone::UTC).map(|it| it.timestamp()).map_err(|error| error.to_string());
    }
    let span: Span = text.parse().map_err(|_| "expected a time such as 30d, 12h or 2026-01-31".to_owned())?;
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    now.checked_sub(span).map(|it| it.timestamp()).map_err(|error| error.to_string())
}

/// Makes the manager record its events, if `[journal] enabled` is true. `agent` is the agent that sends them, if it is
/// known.
fn recording(manager: Manager, agent: Option<&str>) -> Manager {
    if manager.journal_settings().enabled
        && let Some(file) = manager.trust_file()
    {
        let journal = Journal::new(file.directory(), agent);
        #[cfg(feature = "otel")]
        let journal = crate::sending::SentJournal::new(journal);
        manager.record_in(journal);
    }
    manager
}
