//! `hookbox-agent run`.

use crate::interrupt::unless_interrupted;
use anyhow::Result;
use clap::Args;
use hookbox::Callback;

use super::{Hooks, Which, agent, print};

/// Work on one task, in a new conversation or in one that was saved.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Run this recipe; `compact` and `rotate` are built in.
    #[arg(short, long, value_name = "NAME")]
    recipe: Option<String>,
    /// An argument of the recipe; may be given several times.
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument, requires = "recipe")]
    args: Vec<(String, String)>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    hooks: Hooks,
    /// The task.
    #[arg(required_unless_present = "recipe")]
    query: Option<String>,
}

impl Run {
    pub(crate) async fn run(self) -> Result<()> {
        let mut agent = agent("run", &self.which, &self.hooks).await?;
        let query = self.query.unwrap_or_default();
        let work = async {
            match self.recipe {
                Some(name) => agent.run_recipe(&Callback { name, args: self.args }, &query).await,
                None => agent.run(&query).await,
            }
        };
        match unless_interrupted(work).await {
            Ok(answer) => print(&answer?),
            Err(interrupted) => {
                agent.interrupt().await;
                Err(interrupted.into())
            }
        }
    }
}

fn argument(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
