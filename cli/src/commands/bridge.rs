//! `hookbox bridge`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use hookbox::bridge::Bridge;
use hookbox::dialect::agent::{Agent, Reply};
use hookbox_agent::interrupt::{Asked, unless_interrupted};

use crate::options;

/// How much an agent may write, in bytes.
const MAX_PAYLOAD: usize = 256 << 20;

/// How much longer than its deadline an event may take before it is answered without those who are at work on it.
const GRACE: Duration = Duration::from_millis(250);

/// How long those have to end what they started, once somebody else has answered or the process was asked to end.
const CLEANUP: Duration = Duration::from_millis(500);

/// How long who waits for the answer sleeps at most: a signal does not wake it.
const NAP: Duration = Duration::from_millis(50);

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
        let project = self.agent.project_variable().and_then(std::env::var_os).map(PathBuf::from);
        let mut bridge = Bridge::new(self.agent, self.event).project(project);
        if let Some(deadline) = self.deadline {
            bridge = bridge.deadline(deadline);
        }
        let serving = Arc::new(Serving {
            bridge,
            discover: self.discover,
            payload: Mutex::default(),
            is_claimed: AtomicBool::new(false),
        });
        serving.run()
    }
}

/// One event, and who works on it.
struct Serving {
    bridge: Bridge,
    discover: options::Discover,
    /// What the agent has written so far.
    payload: Mutex<Vec<u8>>,
    /// Whether somebody works on what was read.
    is_claimed: AtomicBool,
}

type Replies = Result<Receiver<Reply>, Reply>;

impl Serving {
    fn run(self: &Arc<Self>) -> ExitCode {
        // Where signals cannot be handled they end the process, as they always do.
        let asked = Asked::listen().ok();
        let replies = self.start(Self::read_and_answer);
        let (reply, late) = match replies {
            Ok(replies) => self.wait(replies, asked.as_ref()),
            Err(reply) => (reply, None),
        };
        let code = print(&reply);
        if let Some(late) = late {
            // Dropped in time, they end the processes that they started.
            let _ = late.recv_timeout(CLEANUP);
        }
        code
    }

    /// Starts a thread that does this.
    fn start(self: &Arc<Self>, work: fn(&Self) -> Option<Reply>) -> Replies {
        let (done, replies) = mpsc::sync_channel(1);
        let serving = Arc::clone(self);
        let worker = std::thread::Builder::new().name("bridge".to_owned()).spawn(move || {
            if let Some(reply) = work(&serving) {
                // Whoever waits may have answered already.
                let _ = done.send(reply);
            } else {
                // Somebody else answers; to hang up would say that nobody does.
                std::mem::forget(done);
            }
        });
        match worker {
            Ok(_) => Ok(replies),
            Err(error) => Err(self.failed(&format!("no thread to run the hooks in: {error}"))),
        }
    }

    fn failed(&self, what: &str) -> Reply {
        self.bridge.known().failed(what)
    }

    /// Whether it is this caller's to work on what was read.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::SeqCst)
    }

    /// The reply, and where somebody is still at work, how to learn of their end.
    fn wait(
        self: &Arc<Self>,
        mut replies: Receiver<Reply>,
        asked: Option<&Asked>,
    ) -> (Reply, Option<Receiver<Reply>>) {
        let began = Instant::now();
        let reading = self.bridge.left() / 3;
        let (mut asked_at, mut overdue) = (None, None);
        loop {
            match replies.recv_timeout(NAP) {
                Ok(reply) => return (reply, None),
                Err(RecvTimeoutError::Disconnected) => {
                    return (self.failed("hookbox failed while it ran the hooks"), None);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if asked_at.is_none() && asked.is_some_and(Asked::is_set) {
                asked_at = Some(Instant::now());
            }
            if let Some(at) = asked_at {
                let asked = "hookbox was asked to end before the hooks had answered";
                // Whoever reads has started nothing that would have to be ended.
                if self.claim() {
                    return (self.failed(asked), None);
                }
                if at.elapsed() >= CLEANUP {
                    return (self.failed(asked), Some(replies));
                }
            }
            if began.elapsed() >= reading && self.claim() {
                match self.start(Self::answer_what_is_there) {
                    Ok(second) => replies = second,
                    Err(reply) => return (reply, None),
                }
            }
            if self.bridge.left().is_zero() && overdue.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                return (self.failed("the hooks were not ready in time"), Some(replies));
            }
        }
    }

    /// Answers the event, unless somebody else does before it is read to its end.
    fn read_and_answer(&self) -> Option<Reply> {
        let mut stdin = io::stdin().lock();
        let mut chunk = vec![0; 64 << 10];
        let read = loop {
            match stdin.read(&mut chunk) {
                Ok(0) => break Ok(()),
                Ok(read) => {
                    let mut payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
                    payload.extend_from_slice(chunk.get(..read).unwrap_or_default());
                    if payload.len() > MAX_PAYLOAD {
                        break Err(format!("the event has more than {MAX_PAYLOAD} bytes"));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(format!("the event cannot be read: {error}")),
            }
        };
        if !self.claim() {
            return None;
        }
        Some(match read {
            Ok(()) => self.answer(),
            Err(what) => self.unread(&what),
        })
    }

    /// Answers what was read, where the agent does not end what it writes.
    fn answer_what_is_there(&self) -> Option<Reply> {
        let mut reply = self.answer();
        reply.note("the agent did not close standard input: what stood there was taken for the whole event");
        Some(reply)
    }

    /// Answers an event that was not read, by the failure policy of the hooks.
    fn unread(&self, what: &str) -> Reply {
        *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
        let mut reply = self.answer();
        reply.note(what);
        reply
    }

    fn answer(&self) -> Reply {
        let payload = std::mem::take(&mut *self.payload.lock().unwrap_or_else(PoisonError::into_inner));
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.failed(&format!("the hooks cannot be run: {error}")),
        };
        let manager = async |directory: &Path| {
            let (left, begins) = (self.bridge.left(), self.bridge.begins_session());
            self.discover.serving(directory, left, begins).await
        };
        let reply = runtime.block_on(unless_interrupted(self.bridge.answer(&payload, manager)));
        runtime.shutdown_background();
        reply.unwrap_or_else(|interrupted| {
            self.failed(&format!("hookbox {interrupted} before the hooks had answered"))
        })
    }
}

/// Writes the reply. Where it holds something back and cannot be written, exit code 2 does so in every agent, with the
/// reason on standard error.
fn print(reply: &Reply) -> ExitCode {
    let mut out = io::stdout().lock();
    let written = out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush());
    let unheard = reply.held.as_ref().filter(|_| written.is_err() || leads_nowhere());
    let code = if unheard.is_some() { 2 } else { reply.exit_code };
    let reason = unheard.filter(|_| reply.exit_code != 2).map(|reason| format!("{reason}\n"));
    let _ = io::stderr().write_all((reason.unwrap_or_default() + &reply.stderr).as_bytes());
    ExitCode::from(code)
}

/// Whether nobody reads standard output: where it is closed, `/dev/null` stands in its place.
fn leads_nowhere() -> bool {
    let about = io::stdout().as_fd().try_clone_to_owned().and_then(|out| File::from(out).metadata());
    let nowhere = std::fs::metadata("/dev/null");
    matches!((about, nowhere), (Ok(about), Ok(nowhere)) if about.rdev() == nowhere.rdev() && about.rdev() != 0)
}
