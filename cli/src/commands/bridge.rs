//! `hookbox bridge`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use hookbox::bridge::Bridge;
use hookbox::dialect::agent::{Agent, Reply};
use hookbox_agent::interrupt::unless_interrupted;

use crate::options;

/// How much an agent may write, in bytes.
const MAX_PAYLOAD: u64 = 256 << 20;

/// How much longer than its deadline an event may take before it is answered without those who are at work on it.
const GRACE: Duration = Duration::from_millis(250);

/// Serve as the hook command of another agent: read its event on standard input, answer in its own form.
///
/// Exit codes and output are the agent's. `hookbox install` writes the configuration that calls this.
#[derive(Args, Debug)]
pub(crate) struct ServeAgent {
    /// The agent: claude, codex, gemini, qwen, copilot, cursor or opencode.
    agent: Agent,
    /// The agent's own name of the event, where its payload does not say it.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// How long it may take to the answer, such as 10s: less than the agent waits [default: 15s].
    #[arg(long, value_name = "D", value_parser = options::duration)]
    deadline: Option<Duration>,
    #[command(flatten)]
    discover: options::Discover,
}

impl ServeAgent {
    /// Answers in any case: what is at work on the event is waited for, and no longer than the deadline.
    pub(crate) fn run(self) -> ExitCode {
        let project = std::env::var_os(project_variable(self.agent)).map(PathBuf::from);
        let mut bridge = Bridge::new(self.agent, self.event).project(project);
        if let Some(deadline) = self.deadline {
            bridge = bridge.deadline(deadline);
        }
        let known = bridge.known();
        let wait = bridge.left() + GRACE;
        let (done, reply) = mpsc::sync_channel(1);
        let discover = self.discover;
        let worker = std::thread::Builder::new().name("bridge".to_owned()).spawn(move || {
            // Whoever waits may have answered already.
            let _ = done.send(answer(&bridge, &discover));
        });
        let reply = match worker {
            Err(error) => known.failed(&format!("no thread to run the hooks in: {error}")),
            Ok(_) => match reply.recv_timeout(wait) {
                Ok(reply) => reply,
                Err(mpsc::RecvTimeoutError::Timeout) => known.failed("the hooks were not ready in time"),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    known.failed("hookbox failed while it ran the hooks")
                }
            },
        };
        print(&reply)
    }
}

fn answer(bridge: &Bridge, discover: &options::Discover) -> Reply {
    let mut payload = Vec::new();
    match std::io::stdin().lock().take(MAX_PAYLOAD + 1).read_to_end(&mut payload) {
        Ok(_) if payload.len() as u64 > MAX_PAYLOAD => {
            return bridge.known().failed(&format!("the event has more than {MAX_PAYLOAD} bytes"));
        }
        Ok(_) => {}
        Err(error) => return bridge.known().failed(&format!("the event cannot be read: {error}")),
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return bridge.known().failed(&format!("the hooks cannot be run: {error}")),
    };
    let manager = async |directory: &Path| discover.serving(directory, bridge.left()).await;
    let reply = runtime.block_on(unless_interrupted(bridge.answer(&payload, manager)));
    runtime.shutdown_background();
    reply.unwrap_or_else(|_| bridge.known().failed("interrupted"))
}

/// Where the agent says the directory of its project.
fn project_variable(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "CLAUDE_PROJECT_DIR",
        Agent::Codex => "CODEX_PROJECT_DIR",
        Agent::Gemini => "GEMINI_PROJECT_DIR",
        Agent::Qwen => "QWEN_PROJECT_DIR",
        Agent::Copilot => "COPILOT_PROJECT_DIR",
        Agent::Cursor => "CURSOR_PROJECT_DIR",
        Agent::OpenCode => "OPENCODE_PROJECT_DIR",
    }
}

/// Writes the reply. One that cannot be written is a failure that the agent has to notice.
fn print(reply: &Reply) -> ExitCode {
    let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
    let mut out = std::io::stdout().lock();
    match out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(reply.exit_code),
        Err(_) => ExitCode::from(2),
    }
}
