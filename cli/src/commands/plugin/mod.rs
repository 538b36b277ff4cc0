//! `hookbox plugin`: plugins of the repository and of the home directory.

mod add;
mod carried_trust;
mod consent;
mod describe;
mod fetch_options;
mod fetched;
mod list;
mod locations;
mod publish;
mod record_trust;
mod remove;
mod row;
mod show;
mod update;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox_plugins::{PluginError, PluginErrorKind};

/// Install, list, show, update, remove and publish plugins: directories with skills, recipes and hooks.
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

/// Names the source in the error about an empty plugin.
fn of_source(error: PluginError, shown: &str) -> PluginError {
    match error.kind {
        PluginErrorKind::Empty => PluginError { what: shown.to_owned(), ..error },
        _ => error,
    }
}
