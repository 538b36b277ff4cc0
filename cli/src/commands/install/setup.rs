//! `hookbox setup`: every agent of this machine, with one screen and one question.

use std::process::ExitCode;

use clap::Args;
use hookbox::shown_path;
use hookbox_agents::Agent;
use hookbox_agents::bridge::doctor::Examination;
use hookbox_agents::bridge::install::{Change, FileChange, InstallFailure, InstallOptions, Installer};
use hookbox_agents::config::Level;
use hookbox_guards::{GUARDS, Preset};
use serde_json::{Value, json};

use super::offers::{Recording, note_left_out};
use super::program::{self, Copies};
use super::which::{Which, complain, row_of};
use super::{entries, home_of, keep, with_program, with_wanted_events};
use crate::commands::doctor;
use crate::commands::guard::{Added, Chosen, Own, Plan, fix_git};
use crate::error::{EXIT_FAILED, InputError, hint, say, warn, warn_of_problems};
use crate::interrupt::unless_interrupted;
use crate::{approval, named, options, output};

/// Guard the agents of this machine.
///
/// Finds the agents, shows what is going to be written, asks once, writes it, and checks that each agent blocks a
/// dangerous command. Run it again after an update or for a new agent. The exit code is 1 if an agent is not guarded, such as
/// Codex until you approve the hooks there.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Setup {
    /// Set up this agent only; may be repeated [default: every agent that is found].
    #[arg(long = "agent", value_name = "AGENT", value_parser = named::agent(), hide_possible_values = true)]
    agents: Vec<Agent>,
    /// The preset of the guards: relaxed, standard or strict [default: that of your settings, else standard].
    #[arg(long, value_name = "PRESET", value_parser = named::preset(), hide_possible_values = true)]
    preset: Option<Preset>,
    /// Record no events [default: they are recorded on this machine, without secrets, if your settings have no table
    /// [journal]].
    #[arg(long)]
    no_journal: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Show what would be written; change nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON: an object with the program, the guards, the journal, and an array of the agents; with --dry-run the array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

/// An agent that is set up: the plan for its file, and later what became of it.
struct Guarded {
    agent: Agent,
    options: InstallOptions,
    change: Result<FileChange, InstallFailure>,
    examined: Option<Examination>,
}

impl Setup {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { agents, preset, no_journal, yes, dry_run, json, locate } = self;
        let which = Which::of_user(agents, dry_run, json, locate);
        let (installer, surroundings) = which.open()?;
        let copies = Copies::new(&which.locate.data_path()?);
        let options = |agent: Agent| {
            // Earlier choices stay.
            let before = installer.installed(agent, Level::User).ok().flatten();
            let before = before.unwrap_or_else(|| InstallOptions::new(""));
            let options = InstallOptions { home: home_of(&surroundings), ..before };
            with_program(&copies.path().to_string_lossy(), options, &surroundings)
        };
        let agents = found(&which, &installer)?;
        which.permit(&agents, &installer)?;
        let own = Own::find(&which.locate)?;
        let present = own.present()?;
        let guards = if present.is_empty() { GUARDS.iter().collect() } else { present };
        note_left_out(&guards);
        let guards = Plan::new(&which.locate, &Chosen { guards, preset, observe: false, force: false })?;
        let is_recorded = !no_journal && !own.settings()?.has_journal();
        let planner = installer.clone().dry(true);
        let mut all: Vec<Guarded> = agents
            .iter()
            .map(|agent| {
                let options = options(*agent);
                let change = planner.install(*agent, Level::User, &options);
                Guarded { agent: *agent, options, change, examined: None }
            })
            .collect();
        // Guards alone guard nothing.
        if all.iter().all(|it| it.change.is_err()) {
            if json {
                output::json(&as_json(None, &[], false, &all))?;
            }
            all.into_iter().filter_map(|it| it.change.err()).map(complain).for_each(drop);
            return Ok(ExitCode::from(EXIT_FAILED));
        }
        if !json || !yes {
            show(&all, &agents, &guards, is_recorded, &copies);
        }
        if dry_run {
            let rows = all.into_iter().map(|it| row_of(&(it.agent, Level::User, it.change)));
            return if json { output::json(&rows.collect::<Vec<_>>()) } else { Ok(ExitCode::SUCCESS) };
        }
        if yes || !approval::has_terminal() {
            // Without a terminal there is nobody to ask.
            approval::confirm("Set this up?", yes)?;
        } else if !approval::ask_with("Set this up?", true) {
            return Err(InputError::declined().into());
        }
        let program = keep(&which.locate, &copies)?;
        let added = guards.carry_out(&which.locate).await?;
        fix_git(&which.locate)?;
        let is_recorded = is_recorded && Recording::on().accept(&which, false)?;
        let hooks = entries(&which.locate).await;
        for it in &mut all {
            // The copy may not be possible.
            let options = with_program(&program, it.options.clone(), &surroundings);
            let options = with_wanted_events(it.agent, &options, Some(&hooks));
            it.change = installer.install(it.agent, Level::User, &options);
        }
        let manager = unless_interrupted(which.locate.manager()).await??;
        // Without a cache, for example, an event may take too long for the doctor.
        warn_of_problems(&manager);
        let doctor = doctor::of(&which.locate, None, doctor::LINE)?;
        for it in all.iter_mut().filter(|it| it.change.is_ok()) {
            it.examined = Some(unless_interrupted(doctor.examine(it.agent, &manager)).await?);
        }
        if json {
            let guards: Vec<&str> =
                added.iter().filter(|it| it.is_written()).map(|it| it.guard.name).collect();
            output::json(&as_json(Some(&program), &guards, is_recorded, &all))?;
        } else {
            tell(&all, &added)?;
        }
        let is_well = all.iter().all(Guarded::is_guarded);
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}

fn as_json(program: Option<&str>, guards: &[&str], is_recorded: bool, all: &[Guarded]) -> Value {
    let agents: Vec<Value> = all.iter().map(Guarded::row).collect();
    json!({ "program": program, "guards_added": guards, "journal_enabled": is_recorded, "agents": agents })
}

/// Returns the agents that were named, or those that are on this machine.
fn found(which: &Which, installer: &Installer) -> anyhow::Result<Vec<Agent>> {
    if !which.agents.is_empty() {
        return Ok(which.agents(installer)?);
    }
    let path = program::directories();
    let found: Vec<Agent> = Agent::ALL.into_iter().filter(|it| installer.is_here(*it, &path)).collect();
    if found.is_empty() {
        let names = options::names(Agent::ALL);
        let what =
            "found no agent on this machine: no configuration directory in your home, and no program on PATH";
        let hint =
            format!("name the agent that you are going to use, such as --agent claude; there are {names}");
        return Err(InputError::refused(what, hint).into());
    }
    Ok(found)
}

/// Shows what is going to be done.
fn show(all: &[Guarded], agents: &[Agent], guards: &Plan, is_recorded: bool, copies: &Copies) {
    say("agents:");
    for Guarded { agent, change, .. } in all {
        let change = match change {
            Ok(it) if it.change == Change::Created => format!("create {}", shown_path(&it.path)),
            Ok(it) if it.change == Change::Unchanged => format!("{} stays", shown_path(&it.path)),
            Ok(it) => format!("add hookbox to {}", shown_path(&it.path)),
            Err(failure) => format!("cannot be set up: {failure}"),
        };
        say(format_args!("  {:<12}  {change}", agent.title()));
    }
    let others: Vec<&str> =
        Agent::ALL.into_iter().filter(|it| !agents.contains(it)).map(Agent::title).collect();
    if !others.is_empty() {
        say(format_args!("  not here: {}", others.join(", ")));
    }
    if !guards.is_empty() {
        guards.show();
    }
    if is_recorded {
        say(
            "journal: record each event with its verdict on this machine, without secrets, for `hookbox log`",
        );
    }
    say(format_args!("program: copy hookbox to {}", shown_path(&copies.path())));
}

/// Prints one line for each agent, and the next steps.
fn tell(all: &[Guarded], added: &[Added]) -> anyhow::Result<()> {
    let names: Vec<&str> = added.iter().filter(|it| it.is_written()).map(|it| it.guard.name).collect();
    if !names.is_empty() {
        output::text(&format!("guards: added {}", names.join(", ")))?;
    }
    for it in all {
        let state = if it.is_guarded() { "guarded" } else { "NOT guarded" };
        output::text(&format!("{}: {state}", it.agent.title()))?;
        match &it.change {
            Ok(change) if change.change != Change::Unchanged || !it.is_guarded() => {
                change.next.iter().for_each(hint)
            }
            Ok(_) => {}
            Err(failure) => {
                warn(failure);
                if let InstallFailure::File(error) = failure {
                    hint(&error.hint);
                }
            }
        }
    }
    let failed: Vec<&str> = all.iter().filter(|it| !it.is_guarded()).map(|it| it.agent.as_str()).collect();
    if !failed.is_empty() {
        hint(format_args!("to see why: hookbox doctor {}", failed.join(" ")));
    }
    Ok(())
}

impl Guarded {
    fn is_guarded(&self) -> bool {
        self.examined.as_ref().is_some_and(|it| it.guarded)
    }

    fn row(&self) -> Value {
        let (change, error) = match &self.change {
            Ok(change) => (Some(change), None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        json!({
            "agent": self.agent.as_str(),
            "path": change.map(|it| &it.path),
            "change": change.map(|it| it.change.as_str()),
            "events": change.map(|it| &it.events),
            "guarded": self.is_guarded(),
            "next": change.map(|it| &it.next),
            "error": error,
        })
    }
}
