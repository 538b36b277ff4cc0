//! `hookbox bridge`.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::interrupt::Asked;
use clap::Args;
use hookbox::internal::text;
use hookbox_agents::Agent;
use hookbox_agents::agent::Reply;
use hookbox_agents::bridge::Bridge;

use crate::{error, options};

/// How much an agent may write, in bytes.
const MAX_PAYLOAD: usize = 256 << 20;

/// How much longer than its deadline an event may take before it is answered without those who are at work on it.
const GRACE: Duration = Duration::from_millis(250);

/// How long those have to end what they started, once somebody else has answered or the process was asked to end.
const CLEANUP: Duration = Duration::from_millis(500);

/// How long who watches sleeps: a signal does not wake it.
const NAP: Duration = Duration::from_millis(50);

/// The stack of who watches, in bytes.
const WATCHER_STACK: usize = 256 << 10;

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
            asked: Asked::listen().ok(),
            payload: Mutex::default(),
            is_claimed: AtomicBool::new(false),
            is_done: AtomicBool::new(false),
            answered: OnceLock::new(),
        });
        serving.run()
    }
}

/// One event, and who works on it.
struct Serving {
    bridge: Bridge,
    discover: options::Discover,
    /// Signals, where they can be handled; else they end the process, as they always do.
    asked: Option<Asked>,
    /// What the agent has written so far.
    payload: Mutex<Vec<u8>>,
    /// Whether somebody works on what was read.
    is_claimed: AtomicBool,
    /// Whether who works on it has ended.
    is_done: AtomicBool,
    /// The exit code of the answer, once somebody has answered: there is one answer.
    answered: OnceLock<u8>,
}

impl Serving {
    /// Reads and answers here, while another thread watches the time. A thread of its own for the work would cost more:
    /// its memory has to be made, and the end of its work to wake somebody.
    fn run(self: &Arc<Self>) -> ExitCode {
        let serving = Arc::clone(self);
        let watcher = std::thread::Builder::new().name("watcher".to_owned()).stack_size(WATCHER_STACK);
        let code = match watcher.spawn(move || serving.watch()) {
            Ok(_) => self.guarded(Self::read_and_answer),
            Err(error) => Some(self.say(&self.failed(&format!("no thread to watch the time: {error}")))),
        };
        match code {
            Some(code) => ExitCode::from(code),
            None => wait_for_the_end(),
        }
    }

    /// The exit code that this work comes to, also where it panics.
    fn guarded(&self, work: fn(&Self) -> Option<u8>) -> Option<u8> {
        // What is looked at after a panic is behind locks and flags.
        let code = std::panic::catch_unwind(AssertUnwindSafe(|| work(self)))
            .unwrap_or_else(|_| Some(self.say(&self.failed("hookbox failed while it ran the hooks"))));
        self.is_done.store(code.is_some(), Ordering::SeqCst);
        code
    }

    fn failed(&self, what: &str) -> Reply {
        self.bridge.known().failed(what)
    }

    fn interrupted(&self) -> Reply {
        self.failed("hookbox was asked to end before the hooks had answered")
    }

    /// Whether it is this caller's to work on what was read.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::SeqCst)
    }

    /// Writes the reply, where nobody has answered yet: the exit code of the one answer.
    fn say(&self, reply: &Reply) -> u8 {
        *self.answered.get_or_init(|| print(reply))
    }

    /// Answers, where those who are at work do not in time, and ends the process.
    fn watch(self: &Arc<Self>) {
        let began = Instant::now();
        let reading = self.bridge.left() / 3;
        let (mut asked_at, mut overdue) = (None, None);
        loop {
            std::thread::sleep(NAP);
            if asked_at.is_none() && self.is_asked() {
                asked_at = Some(Instant::now());
            }
            if let Some(at) = asked_at {
                // Whoever reads has started nothing that would have to be ended.
                let is_unread = self.claim();
                if is_unread || at.elapsed() >= CLEANUP {
                    return self.end(&self.interrupted(), is_unread);
                }
            }
            if began.elapsed() >= reading && self.claim() {
                // It is watched as well, and ends the process.
                let serving = Arc::clone(self);
                let second = std::thread::Builder::new().name("second".to_owned());
                let started = second.spawn(move || {
                    let code = serving.guarded(Self::answer_what_is_there);
                    code.map(|code| std::process::exit(code.into()))
                });
                if let Err(error) = started {
                    return self.end(&self.failed(&format!("no thread to run the hooks in: {error}")), true);
                }
            }
            if self.bridge.left().is_zero() && overdue.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                return self.end(&self.failed("the hooks were not ready in time"), false);
            }
        }
    }

    /// Answers, and ends the process. Where others are at work yet they have a moment: dropped in time, they end the
    /// processes that they started.
    fn end(&self, reply: &Reply, is_alone: bool) {
        let code = self.say(reply);
        let answered = Instant::now();
        while !is_alone && !self.is_done.load(Ordering::SeqCst) && answered.elapsed() < CLEANUP {
            std::thread::sleep(NAP / 10);
        }
        std::process::exit(code.into());
    }

    /// Answers the event, unless somebody else does before it is read to its end.
    fn read_and_answer(&self) -> Option<u8> {
        let mut stdin = io::stdin().lock();
        let mut chunk = [0; 16 << 10];
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
            Ok(()) => self.answer(None),
            // By the failure policy of the hooks.
            Err(what) => {
                *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
                self.answer(Some(&what))
            }
        })
    }

    /// Answers what was read, where the agent does not end what it writes.
    fn answer_what_is_there(&self) -> Option<u8> {
        let note = "the agent did not close standard input: what stood there was taken for the whole event";
        Some(self.answer(Some(note)))
    }

    /// Answers, with this note; then does what follows the answer, and can change nothing of it.
    fn answer(&self, note: Option<&str>) -> u8 {
        let payload = std::mem::take(&mut *self.payload.lock().unwrap_or_else(PoisonError::into_inner));
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.say(&self.failed(&format!("the hooks cannot be run: {error}"))),
        };
        let manager = async |directory: &Path| {
            let (left, begins) = (self.bridge.left(), self.bridge.begins_session());
            self.discover.serving(directory, left, begins).await
        };
        // Dropped, the hooks end the processes that they started.
        let code = runtime.block_on(async {
            let mut answer = tokio::select! {
                biased;
                answer = self.bridge.answer(&payload, manager) => answer,
                () = self.signalled() => return self.say(&self.interrupted()),
            };
            note.into_iter().for_each(|note| answer.reply.note(note));
            let code = self.say(&answer.reply);
            tokio::select! {
                told = answer.follow_up() => told.iter().for_each(error::warn),
                () = self.signalled() => {}
            }
            code
        });
        runtime.shutdown_background();
        code
    }

    /// Whether the process is asked to end.
    fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(Asked::is_set)
    }

    /// Waits until the process is asked to end.
    async fn signalled(&self) {
        while !self.is_asked() {
            tokio::time::sleep(NAP).await;
        }
    }
}

/// Waits until somebody else, who answers, ends the process.
fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// Writes the reply. Where it holds something back and cannot be written, exit code 2 does so in every agent, with the
/// reason on standard error.
fn print(reply: &Reply) -> u8 {
    let mut out = io::stdout().lock();
    let escaped = out.is_terminal().then(|| text::escape_json(&reply.stdout));
    let stdout = escaped.as_ref().unwrap_or(&reply.stdout);
    let written = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
    let unheard = (written.is_err() || leads_nowhere()).then(|| reply.clone().unheard());
    let reply = unheard.as_ref().unwrap_or(reply);
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    reply.exit_code
}

/// Whether nobody reads standard output: where it is closed, `/dev/null` stands in its place.
fn leads_nowhere() -> bool {
    let about = io::stdout().as_fd().try_clone_to_owned().and_then(|out| File::from(out).metadata());
    let nowhere = std::fs::metadata("/dev/null");
    matches!((about, nowhere), (Ok(about), Ok(nowhere)) if about.rdev() == nowhere.rdev() && about.rdev() != 0)
}
