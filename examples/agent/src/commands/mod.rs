//! The commands, one file each, and their shared options.

pub(crate) mod change;
pub(crate) mod chat;
pub(crate) mod list;
pub(crate) mod run;

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use clap::Args;
use hookbox::manager::DEFAULT_ROOTS;
use hookbox::manager::{Builder, Manager};
use hookbox::{escape, escape_lines};
use hookbox_agent::{
    Agent, Checkout, Conversation, Conversations, OpenAi, Recipes, Step, Tools, default_directory,
};

/// The choice of a conversation.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct Which {
    /// Go on with the conversation that was saved last.
    #[arg(long)]
    follow: bool,
    /// Go on with this conversation.
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
}

impl Which {
    fn find(&self, conversations: &Conversations) -> Result<Option<Conversation>> {
        Ok(match &self.resume {
            Some(id) => Some(conversations.load(id)?),
            None if self.follow => Some(conversations.latest()?),
            None => None,
        })
    }
}

/// The switch for hooks.
#[derive(Args, Debug)]
pub(crate) struct Hooks {
    /// Run no hook at all, built-in ones included.
    #[arg(long)]
    no_hooks: bool,
}

impl Hooks {
    /// The hooks for this command of the agent.
    async fn manager(&self, command: &str) -> Manager {
        let builder = Manager::builder().command(command).no_hooks(self.no_hooks);
        let manager = reporting(builder).build().await;
        for problem in manager.problems().iter() {
            tell(format_args!("warning: {problem}"));
        }
        manager
    }
}

/// Sends telemetry to `OTEL_EXPORTER_OTLP_ENDPOINT`; the end of the session sends the rest.
#[cfg(feature = "otel")]
fn reporting(builder: Builder) -> Builder {
    match hookbox::telemetry::Telemetry::from_env("reference-agent") {
        Ok(Some(telemetry)) => builder.telemetry(telemetry),
        Ok(None) => builder,
        Err(error) => {
            tell(format_args!("warning: {error}"));
            builder
        }
    }
}

#[cfg(not(feature = "otel"))]
fn reporting(builder: Builder) -> Builder {
    builder
}

/// An agent that saves its conversations, in the current directory.
async fn agent(command: &str, which: &Which, hooks: &Hooks) -> Result<Agent<OpenAi>> {
    let work = std::env::current_dir()?;
    let manager = hooks.manager(command).await;
    let home = std::env::home_dir();
    let repository = manager.repository();
    let conversations = conversations(repository.as_deref())?;
    let recipes = Recipes::find(&work, repository.as_deref(), home.as_deref(), &DEFAULT_ROOTS);
    for problem in recipes.problems() {
        tell(format_args!("warning: {problem}"));
    }
    let conversation = which.find(&conversations)?;
    let agent = Agent::new(model()?, Tools::new(&work)?, manager, watch)
        .checkout(Checkout::of(&work))
        .recipes(recipes)
        .save_in(conversations);
    Ok(match conversation {
        Some(conversation) => agent.resume(conversation),
        None => agent,
    })
}

fn model() -> Result<OpenAi> {
    OpenAi::from_env().context("expected the URL of a chat endpoint in OPENAI_BASE_URL, found none")
}

fn conversations(repository: Option<&std::path::Path>) -> Result<Conversations> {
    let directory = default_directory(std::env::home_dir().as_deref());
    let directory =
        directory.context("expected HOME or XDG_DATA_HOME to say where conversations are kept")?;
    Ok(Conversations::open(&directory, repository)?)
}

/// Prints a step on standard error.
fn watch(step: Step<'_>) {
    match step {
        Step::Wants(name, input) => {
            tell(format_args!("tool: {} {}", escape(name, 100), escape(input.text(), 200)));
        }
        Step::Warning(text) => tell(format_args!("warning: {}", escape(text, 500))),
        Step::Because(text) => tell(format_args!("hooks: {}", escape(&text, 500))),
        Step::Code(code) => {
            tell(format_args!(
                "to let this call through once, run in a terminal of your own: hookbox allow {code}"
            ));
        }
        Step::Said(_) | Step::Ran(..) | Step::Event(_) => {}
    }
}

/// Writes a line to standard error. A closed standard error is ignored.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes the result to standard output, with control characters escaped.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout();
    let done = if out.is_terminal() {
        writeln!(out, "{}", escape_lines(text, text.len()))
    } else {
        writeln!(out, "{text}")
    };
    match done {
        // The reader has ended because it had enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}
