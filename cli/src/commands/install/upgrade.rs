//! `hookbox upgrade`: the agents run this version of hookbox.

use std::process::ExitCode;

use clap::Args;
use hookbox::shown_path;
use hookbox_agents::Agent;
use hookbox_agents::bridge::install::{Change, FileChange, InstallFailure};
use hookbox_guards::Status;
use serde_json::json;

use super::program::Copies;
use super::which::{Row, Which, of_users, row_of, tell};
use super::{entries, keep, with_program, with_wanted_events};
use crate::commands::guard::{Chosen, Own, Plan};
use crate::error::{EXIT_FAILED, InputError};
use crate::{approval, options, output};

/// Make the agents run this version of hookbox.
///
/// Copies this program into the data directory, where the entries of all agents name it, and updates the guards. Settings,
/// options and grants stay. If a guard needs a new permission, you are asked. No agent is without hookbox at any moment.
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

impl Upgrade {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { yes, json, locate } = self;
        let which = Which::of_user(Vec::new(), false, json, locate);
        let (installer, surroundings) = which.open()?;
        let found = |(agent, level)| match installer.installed(agent, level) {
            Ok(options) => Some((agent, level, Ok(options?))),
            // The file may have entries.
            Err(failure @ InstallFailure::File(_)) => Some((agent, level, Err(failure))),
            Err(_) => None,
        };
        let installed: Vec<_> = of_users().filter_map(found).collect();
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
        let chosen = Chosen { guards: older, preset: None, observe: false, force: false };
        let guards = Plan::new(&which.locate, &chosen)?;
        if guards.asks_for_more(&which.locate)? {
            guards.show();
            approval::confirm("Grant these permissions?", yes)?;
        }
        let program = keep(&which.locate, &copies)?;
        let updated = guards.carry_out(&which.locate).await?;
        let hooks = entries(&which.locate).await;
        let mut rows: Vec<Row> = Vec::new();
        for (agent, level, options) in installed {
            let done = options.and_then(|options| {
                let options = with_program(&program, options, &surroundings);
                installer.install(agent, level, &with_wanted_events(agent, &options, Some(&hooks)))
            });
            rows.push((agent, level, done));
        }
        let gone = copies.prune(before.as_deref());
        let (version, has_failed) = (env!("CARGO_PKG_VERSION"), rows.iter().any(|it| it.2.is_err()));
        let names: Vec<&str> = updated.iter().map(|it| it.guard.name).collect();
        if json {
            let agents: Vec<_> = rows.iter().map(row_of).collect();
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
            output::text(&format!("hookbox: {version}{was}"))?;
            if !names.is_empty() {
                output::text(&format!("guards: updated {}", names.join(", ")))?;
            }
            rows.iter().try_for_each(|row| tell(row, sentence))?;
        }
        Ok(if has_failed { ExitCode::from(EXIT_FAILED) } else { ExitCode::SUCCESS })
    }
}

fn sentence(done: &FileChange) -> String {
    let what = if done.change == Change::Unchanged { "is up to date" } else { "changed" };
    format!("{} {what}", shown_path(&done.path))
}
