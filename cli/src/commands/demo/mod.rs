//! `hookbox demo`.

mod account;
mod hooks;
mod place;
mod rotation;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::place::Place;
use hookbox_agent::interrupt::unless_interrupted;

use crate::error::InputError;

const TASK: &str = "Look around, check the configuration, and deploy.";

/// Watch an agent session with hooks at work, in a temporary directory.
///
/// The model is scripted; in the flow `hooks`, OPENAI_BASE_URL (with OPENAI_API_KEY and OPENAI_MODEL) may name an
/// OpenAI-compatible endpoint instead. The tools are real.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// What happens: native and component hooks in one session, or a session that uses up its budget and hands over
    /// to a fresh one.
    #[arg(long, value_enum, default_value = "hooks")]
    flow: Flow,
    /// Where the sample components are [default: beside the program's own build].
    #[arg(long, value_name = "DIR")]
    hooks: Option<PathBuf>,
    /// What to ask of the model in the flow `hooks`.
    #[arg(long, default_value = TASK)]
    task: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Flow {
    Hooks,
    Rotation,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let names = match self.flow {
            Flow::Hooks => &hooks::COMPONENTS[..],
            Flow::Rotation => &rotation::COMPONENTS[..],
        };
        let place = Place::new(&self.components(names)?, names)?;
        let flow = async {
            match self.flow {
                Flow::Hooks => hooks::run(&place, &self.task).await.map(|()| ExitCode::SUCCESS),
                Flow::Rotation => rotation::run(&place).await,
            }
        };
        unless_interrupted(flow).await?
    }

    /// Where these sample components are: as told, beside the build (`target/debug/hookbox`, `target/hooks`), or below
    /// the working directory. Absolute, for the demo goes somewhere else.
    fn components(&self, names: &[&str]) -> Result<PathBuf> {
        let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.join("hooks")));
        let candidates = match &self.hooks {
            Some(directory) => vec![directory.clone()],
            None => beside.into_iter().chain([PathBuf::from("target/hooks")]).collect(),
        };
        let complete =
            |directory: &&PathBuf| names.iter().all(|name| directory.join(format!("{name}.wasm")).is_file());
        if let Some(directory) = candidates.iter().find(complete) {
            return Ok(std::path::absolute(directory)?);
        }
        let looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        let what = format!(
            "expected the sample components {}, found not all of them in {}",
            names.join(", "),
            looked.join(" or in ")
        );
        Err(InputError::new(what, "build them with `cargo hooks`, or name their directory with --hooks")
            .into())
    }
}
