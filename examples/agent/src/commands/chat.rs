//! `hookbox-agent chat`.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::pin::pin;

use crate::interrupt::unless_interrupted;
use anyhow::Result;
use clap::Args;
use hookbox::manager::Watcher;

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
        // A chat lives long: hooks and settings that change meanwhile hold from the next event on.
        let mut watcher =
            agent.manager().watch().map_err(|error| tell(format_args!("warning: {error}"))).ok();
        agent.begin().await;
        let lines = async {
            loop {
                let line = match line_or_changes(&mut watcher).await {
                    Ok(Some(line)) => line,
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                };
                if line.trim().is_empty() {
                    continue;
                }
                match agent.turn(&line).await {
                    Ok(answer) => {
                        if let Err(error) = print(&answer) {
                            break Err(error);
                        }
                    }
                    Err(error) => tell(format_args!("error: {error:#}")),
                }
            }
        };
        let done = unless_interrupted(lines).await;
        match done {
            Ok(done) => {
                agent.end().await;
                done
            }
            Err(interrupted) => {
                agent.interrupt().await;
                Err(interrupted.into())
            }
        }
    }
}

/// Returns the next line. Until then it reports changes of the hooks.
async fn line_or_changes(watcher: &mut Option<Watcher>) -> Result<Option<String>> {
    let mut line = pin!(next_line());
    loop {
        let changed = async {
            match watcher {
                Some(watcher) => watcher.next().await,
                None => None,
            }
        };
        tokio::select! {
            line = &mut line => return line,
            Some(reload) = changed => tell(format_args!("hooks: {reload}")),
        }
    }
}

/// The next line, without its end. Read on another thread, for it may take its time.
async fn next_line() -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        let _ = write!(std::io::stderr(), "> ");
    }
    let read = tokio::task::spawn_blocking(|| {
        let mut line = Vec::new();
        let bytes = std::io::stdin().lock().read_until(b'\n', &mut line)?;
        // A byte that is not UTF-8 is not a reason to end the chat.
        anyhow::Ok((bytes > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
    });
    Ok(read.await??.map(|line| line.trim_end_matches(['\n', '\r']).to_owned()))
}
