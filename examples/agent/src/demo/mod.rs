//! `hookbox-agent demo`.

mod directories;
mod guards;
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
    /// The flow to show: native and component hooks in one session; a session that uses up its budget and hands over to a
    /// fresh one; or a guard that blocks a command, which the user allows once.
    #[arg(long, value_enum, default_value = "hooks")]
    flow: Flow,
    /// The directory of the components [default: beside the program's own build].
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
    Guards,
}

impl Flow {
    /// Returns the components, the directory in which they are built, and the command that builds them.
    fn components(self) -> (&'static [&'static str], &'static str, &'static str) {
        match self {
            Self::Hooks => (&hooks::COMPONENTS, "hooks", "cargo hooks"),
            Self::Rotation => (&rotation::COMPONENTS, "hooks", "cargo hooks"),
            Self::Guards => (&guards::COMPONENTS, "guards", "cargo xtask guards"),
        }
    }
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let directories = Directories::new(&self.components()?, self.flow.components().0)?;
        let flow = async {
            match self.flow {
                Flow::Hooks => hooks::run(&directories, &self.task).await.map(|()| ExitCode::SUCCESS),
                Flow::Rotation => rotation::run(&directories).await,
                Flow::Guards => guards::run(&directories).await,
            }
        };
        unless_interrupted(flow).await?
    }

    /// Finds the components: in the named directory, beside the build (`target/debug/hookbox-agent`,
    /// `target/hooks`), or below the working directory. The path is absolute, because the demo changes its
    /// directory.
    fn components(&self) -> Result<PathBuf> {
        let (names, built, command) = self.flow.components();
        let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.join(built)));
        let candidates = match &self.hooks {
            Some(directory) => vec![directory.clone()],
            None => beside.into_iter().chain([PathBuf::from("target").join(built)]).collect(),
        };
        let complete =
            |directory: &&PathBuf| names.iter().all(|name| directory.join(format!("{name}.wasm")).is_file());
        if let Some(directory) = candidates.iter().find(complete) {
            return Ok(std::path::absolute(directory)?);
        }
        let looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        bail!(
            "the components {} are not all in {}\nhint: build them with `{command}`, or name their directory with --hooks",
            names.join(", "),
            looked.join(" or in ")
        );
    }
}
