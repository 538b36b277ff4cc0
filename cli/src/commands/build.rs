//! `hookbox build`.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::{Runtime, escape, shown_path};
use hookbox_authoring::project::{BuildError, Built, Hook, Project, Sources};
use serde_json::{Value, json};

use super::inspect;
use crate::error::{InputError, complain, note, say, warn};
use crate::interrupt::unless_interrupted;
use crate::options::Locate;
use crate::progress::working;
use crate::{compiler, output};

/// Build a hook, and check the result.
///
/// It runs the tool of the project's language: cargo, componentize-py, or esbuild and componentize-qjs. The
/// component is NAME.wasm in the project. Rules are checked with their own examples, and a script is only asked for its
/// event.
#[derive(Args, Debug)]
pub(crate) struct Build {
    /// The directory of the project.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Print JSON, with --watch one line for each build.
    #[arg(long)]
    json: bool,
    /// Build again whenever a source changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
}

impl Build {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let project = Project::open(&self.dir).map_err(explain)?;
        let runtime = compiler::cached_runtime(&Locate::default().discovery()?);
        if self.watch {
            return unless_interrupted(self.follow(&runtime)).await?;
        }
        let built = unless_interrupted(build(&project, &runtime)).await?.map_err(explain)?;
        if self.json { output::json(&describe(&built)) } else { output::line(&account(&built)) }
    }

    /// Builds now, and after each change. A failure is shown, and ends nothing.
    async fn follow(&self, runtime: &Runtime) -> anyhow::Result<ExitCode> {
        let mut sources = Sources::follow(&self.dir)?;
        let mut warned = BTreeSet::new();
        loop {
            for (dir, why) in sources.begin() {
                if warned.insert(dir.clone()) {
                    warn(format_args!("{} is not watched: {}", shown(&dir), escape(&why, 300)));
                }
            }
            // The files that name the project may have changed as well.
            let built = match Project::open(&self.dir) {
                Ok(project) => build(&project, runtime).await,
                Err(error) => Err(error),
            };
            match built {
                Ok(built) if self.json => output::json(&describe(&built))?,
                Ok(built) => output::line(&account(&built))?,
                Err(error) if self.json => output::json(&describe_failure(&error))?,
                Err(error) => {
                    complain(&explain(error));
                    ExitCode::SUCCESS
                }
            };
            note("waiting for a change; Ctrl-C ends this");
            if let Some(path) = sources.changed().await {
                note(format_args!("{} has changed", escape(&path.to_string_lossy(), 300)));
            }
        }
    }
}

/// Builds a project, and shows on the terminal that it takes its time.
async fn build(project: &Project, runtime: &Runtime) -> Result<Built, BuildError> {
    let what = format!("building {}", escape(project.name(), 80));
    working(&what, project.build(runtime)).await
}

/// Returns the message of an error, with its causes.
fn message(error: &BuildError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Returns a failure as JSON.
fn describe_failure(error: &BuildError) -> Value {
    let output = match error {
        BuildError::Failed { output, .. } => Some(output),
        _ => None,
    };
    json!({"error": message(error), "output": output, "hint": error.hint().map(|it| it.to_string())})
}

/// Shows the output of a failed tool, and makes the error of a person who is to install one.
fn explain(error: BuildError) -> anyhow::Error {
    if let BuildError::Failed { output, .. } = &error {
        // The tool's own words, in its own lines.
        output.lines().for_each(|line| say(escape(line, 4096)));
    }
    match (&error, error.hint()) {
        (BuildError::Unknown { .. } | BuildError::Rules { .. }, Some(hint)) => {
            InputError::new(message(&error), hint).into()
        }
        (_, Some(hint)) => InputError::refused(message(&error), hint).into(),
        (_, None) => error.into(),
    }
}

fn describe(built: &Built) -> Value {
    let about = match &built.hook {
        Hook::Component(component) => inspect::describe(component),
        Hook::Rules(rules) => inspect::describe_rules(rules),
        Hook::Script(event) => json!({"subscriptions": [{"event": event}]}),
    };
    output::joined(json!({ "path": built.path }), about)
}

/// Describes the result for a person: a few lines, of which `inspect` has more.
fn account(built: &Built) -> String {
    let path = shown(&built.path);
    match &built.hook {
        Hook::Rules(rules) => inspect::account_of_rules(&built.path, rules),
        Hook::Script(event) => format!("{path}\nruns at  {event}"),
        Hook::Component(component) => {
            let manifest = component.manifest();
            let list = |items: Vec<String>| {
                if items.is_empty() { "nothing".to_owned() } else { escape(&items.join(", "), 1000) }
            };
            let events = manifest.subscriptions.iter().map(|it| match it.tools.as_slice() {
                [] => it.event.to_string(),
                tools => format!("{} ({})", it.event, tools.join(" ")),
            });
            let lines = [
                path,
                format!("size     {} bytes", component.size()),
                format!("digest   {}", component.digest()),
                format!("runs at  {}", list(events.collect())),
                format!("asks for {}", list(manifest.capabilities.iter().map(ToString::to_string).collect())),
                format!("fails    {}", manifest.on_failure.unwrap_or_default().as_str()),
            ];
            lines.join("\n")
        }
    }
}

/// Returns a path as the user writes it from the working directory.
fn shown(path: &Path) -> String {
    let cwd = std::env::current_dir().and_then(|it| it.canonicalize()).unwrap_or_default();
    shown_path(path.strip_prefix(cwd).unwrap_or(path))
}
