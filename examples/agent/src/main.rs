//! The program `hookbox-agent`: a session of the reference agent with real tools and hooks, in a temporary directory.

mod narration;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use clap::{Parser, ValueEnum};
use hookbox::manager::{Builder, Manager};
use hookbox::trust::{self, Record};
use hookbox::{EventName, Outcome};
use hookbox_agent::{Agent, Checkout, Scripted, Step, Tools};
use serde_json::Value;

use self::narration::Narration;

/// Watch an agent session with hooks at work, in a temporary directory.
///
/// The tools and the hooks are real, and the model is scripted.
#[derive(Debug, Parser)]
#[command(name = "hookbox-agent", version, max_term_width = 100)]
struct Demo {
    /// The flow to show: native and component hooks in one session, or a session that uses up its budget and hands over to
    /// a fresh one.
    #[arg(long, value_enum, default_value = "hooks")]
    flow: Flow,
    /// The directory of the components [default: beside the program's own build].
    #[arg(long, value_name = "DIR")]
    hooks: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Flow {
    Hooks,
    Rotation,
}

/// The user's settings and native hooks (unchanged executables) in the flow `hooks`, and a project with something left over,
/// a secret, and a hook of its own, which must not run.
const FILES_OF_HOOKS: [(&str, &str); 9] = [
    ("home/.hookbox/hookbox.toml", include_str!("demo/hooks.toml")),
    ("home/.hookbox/hooks/foo-txt-remover", include_str!("../../../sample-hooks/native/foo-txt-remover")),
    ("home/.hookbox/hooks/turn-logger.sh", include_str!("../../../sample-hooks/native/turn-logger.sh")),
    ("home/.hookbox/hooks/no-deploys", include_str!("demo/no-deploys.sh")),
    ("project/.hookbox/hooks/from-the-repository", include_str!("demo/from-the-repository.sh")),
    ("project/.git/HEAD", "ref: refs/heads/main\n"),
    ("project/foo.txt", "left over\n"),
    ("project/README.md", "# A project\n"),
    ("project/config.env", "REGION=eu-west-1\nAWS_KEY=AKIAIOSFODNN7EXAMPLE\n"),
];

/// The user's settings in the flow `rotation`, and a project on a branch, whose packaging fails as long as an old archive
/// lies there.
const FILES_OF_ROTATION: [(&str, &str); 5] = [
    ("home/.hookbox/hookbox.toml", include_str!("demo/rotation.toml")),
    ("project/.git/HEAD", "ref: refs/heads/feat/145-hooks-framework\n"),
    ("project/.git/config", "[remote \"origin\"]\n\turl = https://example.com/basecoat/hooks.git\n"),
    ("project/package.sh", include_str!("demo/package.sh")),
    OLD_ARCHIVE,
];

const OLD_ARCHIVE: (&str, &str) = ("project/dist/old.tgz", "old");

/// The model's context window, in tokens. The scripts speak of shares of it.
const WINDOW: u64 = 100_000;

impl Demo {
    async fn run(self) -> Result<()> {
        let dir = tempfile::Builder::new().prefix("hookbox-demo-").tempdir()?;
        let dir = dir.path();
        let (components, files, script) = match self.flow {
            Flow::Hooks => (
                &["guardrail", "redactor", "turn-logger", "compact-threshold", "follow-up"][..],
                &FILES_OF_HOOKS[..],
                include_str!("demo/hooks.json"),
            ),
            Flow::Rotation => (
                &["guardrail", "error-kb", "loop-detector", "session-memory", "budget-rotate", "telemetry"][..],
                &FILES_OF_ROTATION[..],
                include_str!("demo/rotation.json"),
            ),
        };
        files.iter().try_for_each(|file| put(dir, *file))?;
        put(dir, ("project/build.log", &"step ok: compiled one more file of the project\n".repeat(2_000)))?;
        self.install(components, &dir.join("home/.hookbox/hooks"))?;
        // Native hooks run in the directory of the process.
        std::env::set_current_dir(dir.join("project"))?;

        let script: Value = serde_json::from_str(script)?;
        let part = |name: &str| script.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let model = |name: &str| Scripted::new(part(name), WINDOW).summaries(part("summaries"));
        let builder = || {
            let dirs = Manager::builder().cwd(dir.join("project")).home(dir.join("home"));
            dirs.cache(Some(dir.join("cache"))).data(Some(dir.join("data")))
        };
        match self.flow {
            Flow::Hooks => {
                let builder = builder().on("conventions", EventName::SessionStart, |_| async {
                    Ok(Outcome::inject("Convention: keep notes in notes.md."))
                });
                let task = "Look around, check the configuration, and deploy.";
                session(builder, model("session"), task).await
            }
            Flow::Rotation => {
                trust_all(&builder().build().await)?;
                session(builder(), model("first"), "Package the project.").await?;
                put(dir, OLD_ARCHIVE)?;
                session(builder(), model("second"), "Go on with the release.").await
            }
        }
    }

    /// Installs components as the user's hooks. They come from the named directory, or lie beside the program
    /// (`target/debug/hookbox-agent`, `target/hooks`).
    fn install(&self, components: &[&str], to: &Path) -> Result<()> {
        let beside = std::env::current_exe()?.ancestors().nth(2).map(|target| target.join("hooks"));
        let from = self.hooks.clone().or(beside).context("expected --hooks")?;
        fs::create_dir_all(to)?;
        for name in components {
            let file = from.join(format!("{name}.wasm"));
            fs::copy(&file, to.join(format!("{name}.wasm"))).map_err(|error| {
                let file = file.display();
                anyhow!("cannot copy {file}: {error}\nhint: build it with `cargo hooks`, or name its directory with --hooks")
            })?;
        }
        Ok(())
    }
}

/// Writes a file below a directory. A script is executable.
fn put(dir: &Path, (file, text): (&str, &str)) -> Result<()> {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().unwrap_or(dir))?;
    fs::write(&path, text)?;
    let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// Works on one task, and narrates it.
async fn session(builder: Builder, model: Scripted, task: &str) -> Result<()> {
    let manager = builder.build().await;
    let work = std::env::current_dir()?;
    let mut narration = Narration::begin(&manager, &work);
    let watch = move |step: Step<'_>| narration.step(&step);
    let agent = Agent::new(model, Tools::new(&work)?, manager, watch);
    agent.checkout(Checkout::of(&work)).run(task).await.map(drop)
}

/// Trusts the hooks and grants each the rights that it asks for. The records are like those of `hookbox
/// trust`, in the demo's own directories.
fn trust_all(manager: &Manager) -> Result<()> {
    let file = manager.trust_file().context("expected a private data directory")?;
    for hook in manager.entries().iter().filter(|it| it.found.is_in_file()) {
        let (scope, path) = hook.found.key.clone().context("expected a hook in a directory")?;
        let record = Record {
            scope,
            path,
            name: hook.name.clone(),
            kind: hook.kind,
            digest: hook.trust_digest()?.context("expected a component that can be used")?,
            trusted: true,
            grants: hook.asked(),
            asked: hook.asked(),
            on_failure: hook.on_failure,
            replaces: Vec::new(),
            when: trust::now(),
        };
        file.update(|records| records.insert(record))?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Demo::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
