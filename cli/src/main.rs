//! The program `hookbox`. Data goes to standard output, everything else to standard error.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "the doc comments of options are help texts for a terminal, not Markdown"
)]

mod approval;
mod commands;
mod compiler;
mod error;
mod human;
mod input;
mod interrupt;
mod options;
mod output;
mod progress;
mod telemetry;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::report;

/// Run agent hooks, native executables and sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "hookbox", version = version(), max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(commands::list::List),
    Run(commands::run::Run),
    Exec(commands::exec::Exec),
    Inspect(commands::inspect::Inspect),
    Trust(commands::trust::Trust),
    Untrust(commands::untrust::Untrust),
    Grants(commands::grants::Grants),
    Plugin(commands::plugin::Plugin),
    Schema(commands::schema::Schema),
    Bridge(commands::bridge::ServeAgent),
    Mcp(commands::mcp::Mcp),
    Install(commands::install::Install),
    Uninstall(commands::install::Uninstall),
    Doctor(commands::doctor::Doctor),
    Completions(commands::completions::Completions),
}

/// The program's version and the WIT versions that it serves.
pub(crate) fn version() -> String {
    format!(
        "{} (hookbox:hook@{})",
        env!("CARGO_PKG_VERSION"),
        hookbox::internal::wasm::WIT_VERSIONS.join(", ")
    )
}

/// `hookbox bridge` alone: an agent that waits for its hook does not wait for a parser of all commands.
#[derive(Debug, Parser)]
#[command(name = "bridge")]
struct Bridge {
    #[command(flatten)]
    command: commands::bridge::ServeAgent,
}

impl Bridge {
    /// Parses the command line, if it is a correct one of this command.
    fn parse_quickly() -> Option<commands::bridge::ServeAgent> {
        let arguments = || std::env::args_os().skip(1);
        if arguments().next()? != "bridge" {
            return None;
        }
        Self::try_parse_from(arguments()).ok().map(|it| it.command)
    }
}

fn main() -> ExitCode {
    // If the signal cannot be handled, it ends the process as usual.
    let _ = interrupt::outlive_file_size_limit();
    if let Some(code) = compiler::run() {
        return code;
    }
    if let Some(command) = Bridge::parse_quickly() {
        init_log();
        return command.run();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return error::usage(&error),
    };
    init_log();
    let command = match cli.command {
        // The agent defines its exit codes and its output.
        Command::Bridge(command) => return command.run(),
        command => command,
    };
    // One event, one thread: a chain runs hook after hook, and starting more threads costs more than it
    // saves.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(async {
                let result = match command {
                    Command::List(command) => command.run().await,
                    Command::Run(command) => command.run().await,
                    Command::Exec(command) => command.run().await,
                    Command::Inspect(command) => command.run().await,
                    Command::Trust(command) => command.run().await,
                    Command::Untrust(command) => command.run().await,
                    Command::Grants(command) => command.run().await,
                    Command::Plugin(command) => command.run().await,
                    Command::Mcp(command) => command.run().await,
                    Command::Doctor(command) => command.run().await,
                    Command::Schema(command) => command.run(),
                    Command::Completions(command) => command.run(),
                    Command::Bridge(command) => Ok(command.run()),
                    Command::Install(command) => command.run(),
                    Command::Uninstall(command) => command.run(),
                };
                telemetry::flush().await;
                result
            });
            // A compilation that took too long may still be at work; the answer does not wait for it.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(code) => code,
        Err(error) => report(&error),
    }
}

/// `HOOKBOX_LOG` sets the level, in the syntax of tracing-subscriber's `EnvFilter`.
fn init_log() {
    let Ok(filter) = std::env::var("HOOKBOX_LOG") else { return };
    let filter = tracing_subscriber::EnvFilter::new(filter);
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let colour = is_wanted && std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_ansi(colour)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
}
