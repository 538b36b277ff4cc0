//! `hookbox-agent commit` and `pr`: questions about a change. By default no hooks run for them; the user's
//! settings can change that.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use hookbox::{escape, prefix};
use hookbox_agent::{Agent, Checkout, Tools};

use super::{Hooks, model, print, watch};

/// The longest part of a change that the model gets, in bytes.
const MAX_DIFF: usize = 256 << 10;

/// Write a commit message for the staged changes.
#[derive(Args, Debug)]
pub(crate) struct Commit {
    #[command(flatten)]
    hooks: Hooks,
}

/// Write the description of a pull request for this branch.
#[derive(Args, Debug)]
pub(crate) struct Pr {
    /// The branch that the change is for.
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    base: String,
    #[command(flatten)]
    hooks: Hooks,
}

impl Commit {
    pub(crate) async fn run(self) -> Result<()> {
        let question = "Write a commit message for this change: a subject of at most 72 characters, an empty line, \
                        and why. Answer with the message only.";
        answer("commit", question, &["--staged"], &self.hooks).await
    }
}

impl Pr {
    pub(crate) async fn run(self) -> Result<()> {
        let question = "Write the description of a pull request for this change: a title, an empty line, what it \
                        does and why. Answer with the description only.";
        let range = format!("{}...HEAD", self.base);
        answer("pr", question, &["--end-of-options", &range], &self.hooks).await
    }
}

async fn answer(command: &str, question: &str, of: &[&str], hooks: &Hooks) -> Result<()> {
    let change = diff(of)?;
    let work = std::env::current_dir()?;
    let manager = hooks.manager(command).await;
    let tools = Tools::new(&work)?.none();
    let mut agent = Agent::new(model()?, tools, manager, watch).checkout(Checkout::of(&work));
    print(&agent.run(&format!("{question}\n\n{change}")).await?)
}

fn diff(of: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    // A diff program that the repository configures is code of the repository.
    git.args(["diff", "--no-ext-diff", "--no-textconv"]).args(of);
    let output = git.output().context("failed to start git")?;
    if !output.status.success() {
        bail!("git diff failed: {}", escape(String::from_utf8_lossy(&output.stderr).trim(), 1_000));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim().is_empty() {
        bail!("expected a change, found none; hint: `git add` stages one");
    }
    Ok(prefix(&text, MAX_DIFF).to_owned())
}
