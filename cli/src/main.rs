//! The program `hookbox`. Data goes to standard output, everything else to standard error.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "the doc comments of options are help texts for a terminal, not Markdown"
)]

mod account;
mod approval;
mod commands;
mod compiler;
mod error;
mod given;
mod help;
mod human;
mod input;
mod interrupt;
mod named;
mod options;
mod output;
mod progress;
mod reply_output;
mod screen;
#[cfg(feature = "otel")]
mod sending;
mod telemetry;

use std::process::ExitCode;

use clap::{ArgAction, Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::error::report;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Guardrails for coding agents: run hooks, sandboxed components and plain scripts.
#[derive(Debug, Parser)]
#[command(name = "hookbox", version = version(), max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    display: Display,
    #[command(subcommand)]
    command: Command,
}

/// The options of every command for its output.
#[derive(Args, Debug)]
struct Display {
    /// Use colors.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    color: When,
    /// Print no warnings, notes and hints; errors stay.
    #[arg(short, long, global = true, help_heading = "Output")]
    quiet: bool,
    /// Show long lists whole, or log to standard error; twice for more. HOOKBOX_LOG has more choices.
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Output")]
    verbose: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Display {
    /// `has_lists` is true for a command that has long lists: its first `--verbose` shows these.
    fn apply(&self, has_lists: bool) {
        match self.color {
            When::Auto => {}
            When::Always => anstream::ColorChoice::Always.write_global(),
            When::Never => anstream::ColorChoice::Never.write_global(),
        }
        if self.quiet {
            error::be_quiet();
        }
        if self.verbose > 0 {
            output::be_verbose();
        }
        init_log(self.verbose.saturating_sub(has_lists.into()));
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(alias = "ls")]
    List(commands::list::List),
    Run(commands::run::Run),
    Exec(commands::exec::Exec),
    Explain(commands::explain::Explain),
    Log(commands::log::Log),
    Backtest(commands::backtest::Backtest),
    Replay(commands::replay::Replay),
    Report(commands::report::Report),
    New(commands::new::New),
    Build(commands::build::Build),
    Compose(commands::compose::Compose),
    Inspect(commands::inspect::Inspect),
    Test(commands::test::Test),
    Allow(commands::allow::Allow),
    Approve(commands::approve::Approve),
    Trust(commands::trust::Trust),
    Untrust(commands::trust::Untrust),
    Grants(commands::trust::Grants),
    Guard(commands::guard::GuardCommand),
    Plugin(commands::plugin::Plugin),
    Schema(commands::schema::Schema),
    Cache(commands::cache::Cache),
    Bridge(commands::bridge::ServeAgent),
    Mcp(commands::mcp::Mcp),
    Setup(commands::install::Setup),
    Upgrade(commands::install::Upgrade),
    Remove(commands::install::Remove),
    Install(commands::install::Install),
    Uninstall(commands::install::Uninstall),
    Doctor(commands::doctor::Doctor),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

/// Returns the program's version, the WIT versions that it serves, and the commit that it was built from with
/// its date, if that is known.
pub(crate) fn version() -> String {
    let wit = hookbox::WIT_VERSIONS.join(", ");
    let commit = option_env!("HOOKBOX_COMMIT").map(|it| format!("; {it}")).unwrap_or_default();
    format!("{} (hookbox:hook@{wit}{commit})", env!("CARGO_PKG_VERSION"))
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
    if let Some(code) = compiler::run().or_else(commands::test::play) {
        return code;
    }
    if let Some(command) = Bridge::parse_quickly() {
        init_log(0);
        return command.run();
    }
    run_any()
}

/// Runs a command line of any kind. Its frame of 32 KiB has the futures of all commands: `hookbox bridge` does not touch
/// these pages.
#[inline(never)]
fn run_any() -> ExitCode {
    let mut known = help::command();
    let parsed = known.try_get_matches_from_mut(std::env::args_os());
    let cli = match parsed.and_then(|it| Cli::from_arg_matches(&it).map_err(|error| error.format(&mut known)))
    {
        Ok(cli) => cli,
        Err(error) => return error::usage(error),
    };
    cli.display.apply(matches!(cli.command, Command::Explain(_) | Command::Inspect(_) | Command::Log(_)));
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
                    Command::Explain(command) => command.run().await,
                    Command::Log(command) => command.run().await,
                    Command::Backtest(command) => command.run().await,
                    Command::Replay(command) => command.run().await,
                    Command::Report(command) => command.run().await,
                    Command::New(command) => command.run(),
                    Command::Build(command) => command.run().await,
                    Command::Compose(command) => command.run().await,
                    Command::Inspect(command) => command.run().await,
                    Command::Test(command) => command.run().await,
                    Command::Allow(command) => command.run(),
                    Command::Approve(command) => command.run().await,
                    Command::Trust(command) => command.run().await,
                    Command::Untrust(command) => command.run().await,
                    Command::Grants(command) => command.run().await,
                    Command::Guard(command) => command.run().await,
                    Command::Plugin(command) => command.run().await,
                    Command::Mcp(command) => command.run().await,
                    Command::Doctor(command) => command.run().await,
                    Command::Cache(command) => command.run().await,
                    Command::Schema(command) => command.run(),
                    Command::Completions(command) => command.run(),
                    Command::Man(command) => command.run(),
                    Command::Bridge(command) => Ok(command.run()),
                    Command::Setup(command) => command.run().await,
                    Command::Upgrade(command) => command.run().await,
                    Command::Remove(command) => command.run(),
                    Command::Install(command) => command.run().await,
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

/// Starts the log, if it is wanted. `HOOKBOX_LOG` sets the level, in the syntax of tracing-subscriber's
/// `EnvFilter`, and counts before `--verbose`.
fn init_log(verbose: u8) {
    let usual = match verbose {
        0 => None,
        1 => Some("hookbox=debug"),
        _ => Some("hookbox=trace"),
    };
    let Some(filter) = std::env::var("HOOKBOX_LOG").ok().or(usual.map(str::to_owned)) else { return };
    let filter = tracing_subscriber::EnvFilter::new(filter);
    let colour = error::is_coloured(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_ansi(colour)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
}
