//! The flow `hooks`: native and component hooks at work, in a session that goes well.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use hookbox::manager::Manager;
use hookbox::{EventName, Outcome};
use hookbox_agent::{Agent, Model, OpenAi, Scripted, Tools};
use serde_json::{Value, json};

use super::directories::{Directories, executable};
use super::narration::Narration;

/// The sample components that it installs.
pub(super) const COMPONENTS: [&str; 5] =
    ["guardrail", "redactor", "turn-logger", "compact-threshold", "follow-up"];

/// The native hooks that it installs in the user's home: unchanged executables.
const NATIVE: [(&str, &str); 3] = [
    ("foo-txt-remover", include_str!("../../../../sample-hooks/native/foo-txt-remover")),
    ("turn-logger.sh", include_str!("../../../../sample-hooks/native/turn-logger.sh")),
    ("no-deploys", include_str!("no-deploys.sh")),
];

/// The native hook of the repository: it must not run.
const UNTRUSTED: &str = include_str!("from-the-repository.sh");

/// Runs it.
pub(super) async fn run(directories: &Directories, task: &str) -> Result<()> {
    install(&directories.home, &directories.work)?;
    let manager = Manager::builder()
        .cwd(&directories.work)
        .home(&directories.home)
        .cache(Some(directories.cache.clone()))
        .on("conventions", EventName::SessionStart, |_| async {
            Ok(Outcome::inject("Convention: keep notes in notes.md."))
        })
        .build()
        .await;
    let narration = Narration::shared();
    narration.borrow().begin(&manager, &directories.work);
    let tools = Tools::new(&directories.work)?;
    match OpenAi::from_env() {
        Some(model) => work(Agent::new(model, tools, manager, Narration::watch(&narration)), task).await?,
        None => work(Agent::new(script(), tools, manager, Narration::watch(&narration)), task).await?,
    }
    narration.borrow().end();
    Ok(())
}

async fn work<M: Model>(mut agent: Agent<M>, task: &str) -> Result<()> {
    agent.run(task).await.map(drop)
}

/// Installs the rest of the user's hooks, and a repository with a hook of its own.
fn install(home: &Path, work: &Path) -> Result<()> {
    let hooks = home.join(".hookbox/hooks");
    fs::write(home.join(".hookbox/hookbox.toml"), include_str!("hookbox.toml"))?;
    for (name, script) in NATIVE {
        executable(&hooks.join(name), script)?;
    }
    let brought = work.join(".hookbox/hooks");
    fs::create_dir_all(&brought)?;
    executable(&brought.join("from-the-repository"), UNTRUSTED)?;
    fs::write(work.join("foo.txt"), "left over\n")?;
    fs::write(work.join("README.md"), "# A project\n")?;
    fs::write(work.join("config.env"), "REGION=eu-west-1\nAWS_KEY=AKIAIOSFODNN7EXAMPLE\n")?;
    fs::write(work.join("build.log"), "step ok: compiled one more file of the project\n".repeat(300))?;
    // So that the work directory is a repository of its own wherever the temporary directory lies.
    if !Command::new("git")
        .args(["init", "-q"])
        .current_dir(work)
        .status()
        .is_ok_and(|status| status.success())
    {
        fs::create_dir(work.join(".git"))?;
    }
    Ok(())
}

/// Returns a model that does what models do, including what they should not.
fn script() -> Scripted {
    let turn = |text: &str, name: &str, input: Value| json!({"text": text, "calls": [[name, input]]});
    Scripted::new(
        vec![
            turn("I look around first.", "bash", json!({"command": "ls"})),
            turn("Something is in the way. I clean up.", "bash", json!({"command": "sudo rm -rf /"})),
            turn("Then I read the configuration.", "read_file", json!({"path": "config.env"})),
            turn("And another one.", "read_file", json!({"path": "../elsewhere/config.env"})),
            turn("Now I deploy.", "bash", json!({"command": "make deploy"})),
            turn("I read the log.", "read_file", json!({"path": "build.log"})),
            json!({"text": "The project is deployed."}),
            json!({"text": "I write that down and tidy up.", "calls": [
                ["write_file", {"path": "notes.md", "content": "Deployed.\n"}],
                ["bash", {"command": "rm foo.txt"}],
            ]}),
            json!({"text": "All done."}),
        ],
        5_000,
    )
}
