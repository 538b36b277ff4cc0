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

/// Writes the log to standard error. `HOOKBOX_LOG` sets its level, in the syntax of tracing-subscriber's
/// `EnvFilter`. It begins before the hooks are searched for.
fn init_log() {
    let Ok(filter) = std::env::var("HOOKBOX_LOG") else { return };
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    init_log();
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
