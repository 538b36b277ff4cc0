//! `hookbox plugin`: plugins of the repository and of the home directory.

mod add;
mod consent;
mod describe;
mod fetch_options;
mod fetched;
mod list;
mod locations;
mod publish;
mod remove;
mod row;
mod show;
mod update;

use std::fmt;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::error::{EXIT_FAILED, complain, say};
use crate::interrupt::Interrupted;
use crate::output;

/// Install and manage plugins.
///
/// A plugin is a directory with skills, recipes and hooks.
#[derive(Args, Debug)]
pub(crate) struct Plugin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Add),
    List(list::List),
    Show(show::Show),
    Update(update::Update),
    Remove(remove::Remove),
    Publish(publish::Publish),
}

impl Plugin {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Add(command) => command.run().await,
            Command::List(command) => command.run().await,
            Command::Show(command) => command.run().await,
            Command::Update(command) => command.run().await,
            Command::Remove(command) => command.run().await,
            Command::Publish(command) => command.run().await,
        }
    }
}

/// The results of a command for several plugins.
struct Results {
    as_json: bool,
    rows: Vec<Value>,
    failures: usize,
}

impl Results {
    fn new(as_json: bool) -> Self {
        Self { as_json, rows: Vec::new(), failures: 0 }
    }

    /// Prints an error and goes on with the next plugin, if `goes_on` and no signal ended the work. `what`
    /// tells what was not done.
    fn failed(&mut self, error: anyhow::Error, goes_on: bool, what: impl fmt::Display) -> anyhow::Result<()> {
        if !goes_on || error.is::<Interrupted>() {
            return Err(error);
        }
        complain(&error);
        say(what);
        self.failures += 1;
        Ok(())
    }

    /// Prints the rows as JSON, also those before an error that ended the command.
    fn finish(self, ended: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
        if self.as_json && (ended.is_ok() || !self.rows.is_empty()) {
            output::json(&self.rows)?;
        }
        ended?;
        Ok(if self.failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}
