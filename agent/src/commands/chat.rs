//! `hookbox-agent chat`.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;
use clap::Args;

use super::{Hooks, Which, agent, print, tell};

/// Talk with the agent: each line of standard input is a message.
#[derive(Args, Debug)]
pub(crate) struct Chat {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    hooks: Hooks,
}

impl Chat {
    pub(crate) async fn run(self) -> Result<()> {
        let mut agent = agent("chat", &self.which, &self.hooks).await?;
        agent.begin().await;
        let done = loop {
            let line = match next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            if line.trim().is_empty() {
                continue;
            }
            match agent.turn(&line).await {
                Ok(said) => {
                    if let Err(error) = print(&said) {
                        break Err(error);
                    }
                }
                Err(error) => tell(format_args!("error: {error:#}")),
            }
        };
        agent.end().await;
        done
    }
}

/// The next line, without its end. Read on another thread, for it may take its time.
async fn next_line() -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        let _ = write!(std::io::stderr(), "> ");
    }
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let bytes = std::io::stdin().read_line(&mut line)?;
        anyhow::Ok((bytes > 0).then_some(line))
    });
    Ok(read.await??.map(|line| line.trim_end_matches(['\n', '\r']).to_owned()))
}
