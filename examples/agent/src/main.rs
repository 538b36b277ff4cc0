//! The program `hookbox-agent`: the reference agent in the current directory, with the hooks found there. The
//! agent's answer goes to standard output, everything else to standard error.

mod commands;
mod demo;
mod interrupt;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::interrupt::Interrupted;

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
    Demo(demo::Demo),
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let done = runtime.block_on(async {
            match command {
                Command::Demo(command) => command.run().await,
                Command::Run(command) => command.run().await.map(success),
                Command::Chat(command) => command.run().await.map(success),
                Command::Commit(command) => command.run().await.map(success),
                Command::Pr(command) => command.run().await.map(success),
                Command::List(command) => command.run().map(success),
            }
        });
        // Does not wait for a silent model or an idle terminal.
        runtime.shutdown_background();
        done
    });
    let error = match done {
        Ok(code) => return code,
        Err(error) => error,
    };
    match error.downcast_ref::<Interrupted>() {
        Some(interrupted) => ExitCode::from(interrupted.exit_code()),
        None => {
            commands::tell(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
