//! The program `hookbox-agent`: the reference agent at work in the current directory, with the hooks that are found
//! there. What the agent said goes to standard output, everything else to standard error.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The reference agent of hookbox: a coding agent with hooks.
#[derive(Debug, Parser)]
#[command(name = "hookbox-agent", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(commands::run::Run),
    Chat(commands::chat::Chat),
    Commit(commands::change::Commit),
    Pr(commands::change::Pr),
    List(commands::list::List),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(command) => command.run().await,
        Command::Chat(command) => command.run().await,
        Command::Commit(command) => command.run().await,
        Command::Pr(command) => command.run().await,
        Command::List(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            commands::tell(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
