//! `hookbox-agent demo`.

mod directories;
mod hooks;
mod narration;
mod rotation;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::directories::Directories;
use crate::interrupt::unless_interrupted;

const TASK: &str = "Look around, check the configuration, and deploy.";

/// Watch an agent session with hooks at work, in a temporary directory.
///
/// The model is scripted; in the flow `hooks`, OPENAI_BASE_URL (with OPENAI_API_KEY and OPENAI_MODEL) may
/// name an OpenAI-compatible endpoint instead. The tools are real.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The flow to show: native and component hooks in one session, or a session that uses up its budget and
    /// hands over to a fresh one.
    #[arg(long, value_enum, default_value = "hooks")]
    flow: Flow,
    /// The directory of the sample components [default: beside the program's own build].
    #[arg(long, value_name = "DIR")]
    hooks: Option<PathBuf>,
    /// The task for the model in the flow `hooks`.
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
        let directories = Directories::new(&self.components(names)?, names)?;
        let flow = async {
            match self.flow {
                Flow::Hooks => hooks::run(&directories, &self.task).await.map(|()| ExitCode::SUCCESS),
                Flow::Rotation => rotation::run(&directories).await,
            }
        };
        unless_interrupted(flow).await?
    }

    /// Finds the sample components: in the named directory, beside the build (`target/debug/hookbox-agent`,
    /// `target/hooks`), or below the working directory. The path is absolute, because the demo changes its
    /// directory.
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
        bail!(
            "the sample components {} are not all in {}\nhint: build them with `cargo hooks`, or name their directory with --hooks",
            names.join(", "),
            looked.join(" or in ")
        );
    }
}
