//! `hookbox install` and `hookbox uninstall`: hookbox in the configuration of other agents.

mod offers;
mod program;
mod remove;
mod setup;
mod upgrade;
mod which;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hookbox::manager::{Entry, EntryStatus};
use hookbox::{EventName, Kind, shown_path};
use hookbox_agents::Agent;
use hookbox_agents::bridge::Bridge;
use hookbox_agents::bridge::install::{FileChange, InstallOptions, wanted_events};
use hookbox_agents::config::{Level, Surroundings};
use hookbox_system::units::{parse_duration, show_duration};
use serde_json::json;

use self::offers::{Offer, Recording};
use self::program::{Copies, on_path};
pub(crate) use self::remove::Remove;
pub(crate) use self::setup::Setup;
pub(crate) use self::upgrade::Upgrade;
use self::which::Which;
use crate::commands::guard::{Own, fix_git};
use crate::error::{InputError, hint, warn};
use crate::interrupt::unless_interrupted;
use crate::{options, output};

/// The name by which a shell finds the program, where others use the configuration as well.
const NAME: &str = "hookbox";

/// Make another agent run hookbox.
///
/// Adds entries to the agent's hook configuration; other entries stay. `hookbox uninstall`
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
    #[arg(long, value_name = "D", value_parser = parse_duration)]
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
    /// The program that the agent runs [default: a copy of this one in the data directory; for a project, hookbox; for the
    /// system, the path of this one].
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// Also block tool calls if the program is missing or killed.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    offer: Offer,
    #[command(flatten)]
    recording: Recording,
}

/// Remove hookbox from another agent.
///
/// Restores the original file if it is unchanged since install; otherwise removes only hookbox's entries.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    yes: options::Yes,
}

impl Install {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let (installer, surroundings) = self.which.open()?;
        let level = self.which.level();
        let agents = self.which.agents(&installer)?;
        let copies = self
            .which
            .is_users()
            .then(|| self.which.locate.data_path())
            .transpose()?
            .map(|it| Copies::new(&it));
        let copies = copies.filter(|_| self.program.is_none());
        let program = match (self.program, &copies) {
            (Some(program), _) => program,
            (None, Some(copies)) => program::text(copies.path())?,
            (None, None) if level == Level::Project => NAME.to_owned(),
            (None, None) => program::own()?,
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
        if copies.is_none() && !is_executable(&program, &surroundings.project) {
            warn(format_args!("--program {program:?}: there is no program that can be executed there now"));
        }
        if level == Level::System {
            warn_of_owner(&program);
        }
        let deadline = self.deadline.unwrap_or(Bridge::DEADLINE);
        // The others who use a project or the machine have other home directories.
        let home = if self.which.is_users() { home_of(&surroundings) } else { None };
        let mut from: Vec<Agent> = self.from.into_iter().flat_map(|it| it.0).collect();
        from.sort();
        from.dedup();
        let mut options = InstallOptions {
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
        if let Some(copies) = copies.filter(|_| !which.dry_run) {
            options.program = keep(&which.locate, &copies)?;
        }
        let asks = self.offer.asks();
        let added = self.offer.accept(&which).await?;
        if which.is_users() && !which.dry_run {
            fix_git(&which.locate)?;
        }
        let is_recorded = self.recording.accept(&which, asks)?;
        // A search creates the private directories, and a dry run creates nothing.
        let entries = if which.dry_run { None } else { Some(entries(&which.locate).await) };
        let guards = entries.as_deref().map(guards);
        let options_of = |agent: Agent| with_wanted_events(agent, &options, entries.as_deref());
        let keys = |done: &FileChange| {
            json!({
                "guards": guards,
                "guards_added": added,
                "journal_enabled": is_recorded,
                "program": options.program,
                "deadline": show_duration(options.deadline),
                "backup": done.original,
                "earlier": done.earlier,
                "switched_off": done.switches.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "next": done.next,
            })
        };
        let code = which.each(&agents, |agent| installer.install(agent, level, &options_of(agent)), keys)?;
        if !which.json && !added.is_empty() {
            output::text(&format!("guards: added {}", added.join(", ")))?;
        }
        if !which.json && is_recorded {
            output::text("journal: events are recorded from now on; `hookbox log` shows them")?;
        }
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
        let code = self.which.each(&agents, |agent| installer.uninstall(agent, level), keys)?;
        if !self.which.json && !self.which.dry_run {
            offers::say_they_stay(&self.which)?;
        }
        Ok(code)
    }
}

/// Returns the home directory, as an entry names it.
fn home_of(surroundings: &Surroundings) -> Option<String> {
    let home = surroundings.home.as_ref()?.to_str()?;
    (!home.contains(['\n', '\r'])).then(|| home.to_owned())
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

/// Returns the options with the events that hooks want, unless they name events.
fn with_wanted_events(agent: Agent, options: &InstallOptions, entries: Option<&[Entry]>) -> InstallOptions {
    let entries = entries.filter(|_| options.events.is_empty());
    let events = entries.map(|entries| wanted_events(agent, |it| wants(entries, it)));
    InstallOptions { events: events.unwrap_or_else(|| options.events.clone()), ..options.clone() }
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
        warn("no hook of yours blocks a tool call yet: the agent runs everything");
        hint("add the guards that hookbox comes with: hookbox guard add --all");
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
            shown_path(Path::new(program))
        ));
        hint("install hookbox for the system, such as in /usr/local/bin");
    }
}

/// Returns the options of an entry with this program, unless it names another one that is there.
fn with_program(program: &str, options: InstallOptions, surroundings: &Surroundings) -> InstallOptions {
    let is_own = || {
        let own = std::env::current_exe().and_then(|it| it.canonicalize());
        own.is_ok_and(|own| Path::new(&options.program).canonicalize().is_ok_and(|it| it == own))
    };
    let is_chosen =
        !options.program.is_empty() && is_executable(&options.program, &surroundings.project) && !is_own();
    let program = if is_chosen { options.program.clone() } else { program.to_owned() };
    InstallOptions { program, ..options }
}

/// Makes this program the one that agents run, and returns its path. If it cannot be copied, agents run it in its place.
fn keep(locate: &options::Locate, copies: &Copies) -> anyhow::Result<String> {
    // Nothing can be set up without it.
    Own::find(locate)?.open(locate)?;
    if let Err(error) = copies.keep() {
        let own = program::own()?;
        let path = shown_path(&copies.path());
        warn(format_args!("{path}: the program cannot be copied there: {error}; agents run {own}"));
        hint(
            "if this program is moved or removed, the agents are no longer guarded: run `hookbox setup` again",
        );
        return Ok(own);
    }
    program::text(copies.path())
}
