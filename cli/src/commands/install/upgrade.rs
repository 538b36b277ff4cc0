//! `hookbox upgrade`: the agents run this version of hookbox.

use std::process::ExitCode;

use clap::Args;
use hookbox_agents::Agent;
use hookbox_agents::bridge::install::{Change, FileChange, InstallFailure, InstallOptions, Installer};
use hookbox_agents::config::Level;
use hookbox_guards::{GUARDS, Status};
use serde_json::json;

use super::program::Copies;
use super::which::{Which, failed_row, shown};
use super::{entries, keep, with_program, with_wanted_events};
use crate::commands::guard::{Chosen, Own, Plan};
use crate::error::{EXIT_FAILED, InputError, warn};
use crate::{approval, options, output};

/// Make the agents run this version of hookbox.
///
/// Copies this program into the data directory, where the entries of all agents name it, and updates the guards. Settings,
/// options and grants stay. A guard that asks for a new permission asks you. At no moment an agent is without hookbox.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Upgrade {
    /// Do not ask about new permissions of guards.
    #[arg(short, long)]
    yes: bool,
    /// Print JSON: an object with the versions, the guards, and an array of the agents.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

/// The levels that belong to the user alone.
const LEVELS: [Level; 2] = [Level::User, Level::Local];

impl Upgrade {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { yes, json, locate } = self;
        let which = Which::of_user(Vec::new(), false, json, locate);
        let (installer, surroundings) = which.open()?;
        let installed = installed(&installer);
        let agents: Vec<Agent> = installed.iter().map(|it| it.0).collect();
        if agents.is_empty() {
            let hint = "guard the agents of this machine: hookbox setup";
            return Err(InputError::refused("no agent of yours calls hookbox", hint).into());
        }
        which.permit(&agents, &installer)?;
        let copies = Copies::new(&which.locate.data_path()?);
        let before = copies.version();
        let own = Own::find(&which.locate)?;
        let mut older = Vec::new();
        for guard in own.present()? {
            if matches!(own.status(guard)?, Status::Older(_)) {
                older.push(guard);
            }
        }
        let guards = GUARDS.iter().filter(|guard| older.iter().any(|it| it.name == guard.name)).collect();
        let guards =
            Plan::new(&which.locate, &Chosen { guards, preset: None, observe: false, force: false })?;
        if guards.asks_for_more(&which.locate)? {
            guards.show();
            approval::confirm("Grant these permissions?", yes)?;
        }
        let program = keep(&which.locate, &copies)?;
        let updated = guards.carry_out(&which.locate).await?;
        let hooks = entries(&which.locate).await;
        let mut rows = Vec::new();
        for (agent, level, options) in installed {
            let options = with_program(&program, options, &surroundings);
            let options = with_wanted_events(agent, &options, Some(&hooks));
            rows.push((agent, level, installer.install(agent, level, &options)));
        }
        let gone = copies.prune(before.as_deref());
        let (version, has_failed) = (env!("CARGO_PKG_VERSION"), rows.iter().any(|it| it.2.is_err()));
        let names: Vec<&str> = updated.iter().map(|it| it.guard.name).collect();
        if json {
            let agents: Vec<_> = rows.iter().map(row).collect();
            output::json(&json!({
                "version": version, "before": before, "program": program, "removed": gone,
                "guards_updated": names, "agents": agents,
            }))?;
        } else {
            let was = match before.as_deref() {
                Some(before) if before == version => ", as before".to_owned(),
                Some(before) => format!(", before {before}"),
                None => String::new(),
            };
            output::line(&format!("hookbox: {version}{was}"))?;
            if !names.is_empty() {
                output::line(&format!("guards: updated {}", names.join(", ")))?;
            }
            rows.iter().try_for_each(tell)?;
        }
        Ok(if has_failed { ExitCode::from(EXIT_FAILED) } else { ExitCode::SUCCESS })
    }
}

/// An agent at a level, and the result of its update.
type Row = (Agent, Level, Result<FileChange, InstallFailure>);

/// Returns the agents that call hookbox, with their options. A file that cannot be read is reported when it is written.
fn installed(installer: &Installer) -> Vec<(Agent, Level, InstallOptions)> {
    let all = Agent::ALL.into_iter().flat_map(|agent| LEVELS.map(|level| (agent, level)));
    all.filter_map(|(agent, level)| Some((agent, level, installer.installed(agent, level).ok()??))).collect()
}

fn row((agent, level, done): &Row) -> serde_json::Value {
    match done {
        Ok(done) => json!({
            "agent": agent.as_str(), "level": level.as_str(), "path": done.path, "change": done.change.as_str(),
        }),
        Err(failure) => failed_row(*agent, *level, failure),
    }
}

fn tell((agent, _, done): &Row) -> anyhow::Result<()> {
    match done {
        Ok(done) => {
            let what = if done.change == Change::Unchanged { "is as it should be" } else { "changed" };
            output::line(&format!("{}: {} {what}", agent.title(), shown(&done.path))).map(drop)
        }
        Err(failure) => {
            warn(format_args!("{}: {failure}", agent.title()));
            Ok(())
        }
    }
}
