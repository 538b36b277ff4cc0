//! `hookbox mcp`.

mod messages;
mod server;
mod socket;
mod verdict;

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hookbox_system::units::parse_duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

use crate::compiler::pooled_runtime;
use crate::error::{note, warn_of_problems};
use crate::input::MAX_EVENT;
use crate::interrupt::unless_interrupted;
use crate::options;
use server::{Client, Server};

/// Serve the hooks as an MCP server on standard input and output.
///
/// One process for an agent in any language, with any number of sessions. Each event is a tool (before_tool_call, …)
/// whose arguments are the event's data. `structuredContent` of the result is the verdict; its text is that of
/// `hookbox run`.
#[derive(Args, Debug)]
pub(crate) struct Mcp {
    /// The timeout of each hook, such as 500ms or 2s.
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Serve on a new Unix socket instead, for several agents of yours. Other users cannot connect.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    discover: options::Discover,
}

impl Mcp {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.discover.enter()?;
        if let Some(path) = &self.socket {
            let (bound, engine) = (socket::bind(path)?, pooled_runtime(&self.discover.discovery()?));
            let me = Arc::new(self);
            let find = || {
                let (me, engine) = (Arc::clone(&me), engine.clone());
                async move {
                    let manager = me.discover.lasting(me.timeout, Some(engine)).await?;
                    warn_of_problems(&manager);
                    Ok(manager)
                }
            };
            unless_interrupted(bound.serve(find)).await??;
            return Ok(ExitCode::SUCCESS);
        }
        if io::stdin().is_terminal() {
            note("waiting for an MCP client on standard input; an agent starts this command itself");
        }
        // The system cannot wait for a terminal and a signal at once: a thread reads this.
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (send, lines) = mpsc::channel(1);
        tokio::spawn(forward(tokio::fs::File::from_std(input), send));
        let manager = unless_interrupted(self.discover.lasting(self.timeout, None)).await??;
        warn_of_problems(&manager);
        unless_interrupted(Server::new(Client::Stdout, manager).serve(lines)).await??;
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads lines, until their end or an error.
async fn forward(input: impl AsyncRead + Unpin, send: mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(MAX_EVENT).read_until(b'\n', &mut line).await;
        let is_cut = line.len() as u64 == MAX_EVENT && line.last() != Some(&b'\n');
        let (line, is_end) = match read {
            Ok(0) => return,
            Ok(_) if is_cut => (Err(io::Error::other("the message is too long")), true),
            Ok(_) => (Ok(line), false),
            Err(error) => (Err(error), true),
        };
        if send.send(line).await.is_err() || is_end {
            return;
        }
    }
}
