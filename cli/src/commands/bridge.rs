//! `hookbox bridge`.

use std::io::{self, BufRead as _};
use std::os::fd::AsFd as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use hookbox_agents::Agent;
use hookbox_agents::agent::Reply;
use hookbox_agents::bridge::Bridge;
use hookbox_system::units::parse_duration;

use crate::input::{MAX_EVENT, has_input};
use crate::interrupt::{Asked, NAP};
use crate::reply_output::print;
use crate::{error, named, options};

/// The note of an event whose end did not come.
const UNFINISHED: &str =
    "the agent did not close standard input: hookbox took the bytes so far for the whole event";

/// The time after the deadline until the watcher answers in place of the worker.
const GRACE: Duration = Duration::from_millis(250);

/// The time for the worker to end its processes, after the watcher has answered or a signal has arrived.
const CLEANUP: Duration = Duration::from_millis(500);

/// The bytes of the watcher's stack.
const WATCHER_STACK: usize = 256 << 10;

/// Serve as another agent's hook command.
///
/// Reads the agent's event on standard input, and answers in the agent's own form. Exit codes and output are the agent's. `hookbox install` writes the configuration that calls this.
#[derive(Args, Debug)]
pub(crate) struct ServeAgent {
    #[arg(
        help = format!("The agent: {}", options::names(Agent::ALL)),
        value_parser = named::agent(),
        hide_possible_values = true
    )]
    agent: Agent,
    /// The agent's own name of the event, if its payload does not have it.
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Maximum time to answer, such as 10s: less than the agent waits [default: 15s].
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    deadline: Option<Duration>,
    /// Block also if this process is stopped or killed: another process does the work.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl ServeAgent {
    /// Answers in any case, at the latest at the deadline.
    pub(crate) fn run(self) -> ExitCode {
        let project = self.agent.project_variable().and_then(std::env::var_os).map(PathBuf::from);
        let mut bridge = Bridge::new(self.agent, self.event).project(project);
        if let Some(deadline) = self.deadline {
            bridge = bridge.deadline(deadline);
        }
        if self.strict {
            return super::watchdog::run(&bridge);
        }
        let serving = Arc::new(Serving {
            bridge,
            discover: self.discover,
            asked: Asked::listen().ok(),
            is_done: AtomicBool::new(false),
            answered: OnceLock::new(),
        });
        serving.run()
    }
}

/// One event, and the state that its worker and its watcher share.
struct Serving {
    bridge: Bridge,
    discover: options::Discover,
    /// The signals, if they can be handled. Otherwise they end the process.
    asked: Option<Asked>,
    /// True after the worker has ended.
    is_done: AtomicBool,
    /// The exit code of the only answer.
    answered: OnceLock<u8>,
}

impl Serving {
    /// Reads and answers on this thread, while another one watches the time. Another thread for the work
    /// would cost more memory and a wake-up.
    fn run(self: &Arc<Self>) -> ExitCode {
        share_one_heap();
        let serving = Arc::clone(self);
        let watcher = std::thread::Builder::new().name("watcher".to_owned()).stack_size(WATCHER_STACK);
        if let Err(error) = watcher.spawn(move || serving.watch()) {
            return ExitCode::from(self.say(&self.failed(&format!("no thread to watch the time: {error}"))));
        }
        // The state that is used after a panic is behind locks and flags.
        let code = std::panic::catch_unwind(AssertUnwindSafe(|| self.read_and_answer()))
            .unwrap_or_else(|_| self.say(&self.failed("hookbox failed while it ran the hooks")));
        self.is_done.store(true, Ordering::SeqCst);
        ExitCode::from(code)
    }

    fn failed(&self, what: &str) -> Reply {
        self.bridge.known().failed(what)
    }

    fn interrupted(&self) -> Reply {
        self.failed("hookbox was asked to end before the hooks had answered")
    }

    /// Writes the reply, unless there was an answer before. Returns the exit code of the only answer.
    fn say(&self, reply: &Reply) -> u8 {
        *self.answered.get_or_init(|| print(reply))
    }

    /// Answers if the worker does not answer in time, and ends the process.
    fn watch(&self) {
        let (mut asked_at, mut overdue) = (None, None);
        loop {
            std::thread::sleep(NAP);
            if self.is_asked() && asked_at.get_or_insert_with(Instant::now).elapsed() >= CLEANUP {
                return self.end(&self.interrupted());
            }
            let is_over = self.bridge.known().left().is_zero();
            // It counts from here: on a busy machine, and after a stop, the worker gets its moment as well.
            if is_over && overdue.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                return self.end(&self.failed("the hooks were not ready in time"));
            }
        }
    }

    /// Answers, and ends the process. The worker gets a moment to end the processes that it started.
    fn end(&self, reply: &Reply) {
        let code = self.say(reply);
        let answered = Instant::now();
        while !self.is_done.load(Ordering::SeqCst) && answered.elapsed() < CLEANUP {
            std::thread::sleep(NAP / 10);
        }
        std::process::exit(code.into());
    }

    fn read_and_answer(&self) -> u8 {
        let mut payload = Vec::new();
        match self.read(&mut payload) {
            // Before the hooks run there are no processes to end.
            _ if self.is_asked() => self.say(&self.interrupted()),
            Ok(note) => self.answer(&payload, note),
            // The failure policy of the hooks decides.
            Err(what) => self.answer(&[], Some(&what)),
        }
    }

    /// Reads the event to its end, until a signal. The end of a whole object is enough, because some agents keep standard
    /// input open; and after a third of the time, what is there is taken for the whole, with a note.
    fn read(&self, payload: &mut Vec<u8>) -> Result<Option<&'static str>, String> {
        let mut stdin = io::stdin().lock();
        let mut end = ObjectEnd::default();
        let (began, time) = (Instant::now(), (self.bridge.known().left() / 3).max(NAP));
        while !self.is_asked() {
            if began.elapsed() >= time {
                return Ok(Some(UNFINISHED));
            }
            if !has_input(stdin.as_fd(), NAP) {
                continue;
            }
            let chunk = match stdin.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("the event cannot be read: {error}")),
            };
            payload.extend_from_slice(chunk);
            let (is_whole, read) = (end.is_after(chunk), chunk.len());
            stdin.consume(read);
            if payload.len() as u64 > MAX_EVENT {
                return Err(format!("the event has more than {MAX_EVENT} bytes"));
            }
            if is_whole {
                break;
            }
        }
        Ok(None)
    }

    /// Runs the hooks and answers, with this note. Then runs the hooks that can no longer change the answer.
    fn answer(&self, payload: &[u8], note: Option<&str>) -> u8 {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.say(&self.failed(&format!("the hooks cannot be run: {error}"))),
        };
        let manager = async |directory: &Path| {
            let known = self.bridge.known();
            let (agent, left, begins) = (known.agent().as_str(), known.left(), known.begins_session());
            self.discover.serving(agent, directory, left, begins).await
        };
        // Dropped, the hooks end the processes that they started.
        let code = runtime.block_on(async {
            let mut answer = tokio::select! {
                biased;
                answer = self.bridge.answer(payload, manager) => answer,
                () = self.signalled() => return self.say(&self.interrupted()),
            };
            note.into_iter().for_each(|note| answer.reply.note(note));
            let code = self.say(&answer.reply);
            tokio::select! {
                warnings = answer.follow_up() => warnings.iter().for_each(error::warn),
                () = self.signalled() => {}
            }
            code
        });
        runtime.shutdown_background();
        code
    }

    /// Returns true after a signal to end.
    fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(Asked::is_set)
    }

    /// Waits for a signal to end.
    async fn signalled(&self) {
        while !self.is_asked() {
            tokio::time::sleep(NAP).await;
        }
    }
}

/// The end of a JSON object that arrives in pieces. Each byte is looked at once; whether it is JSON is for its reader.
#[derive(Default)]
struct ObjectEnd {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    is_whole: bool,
}

impl ObjectEnd {
    /// Returns true if there is nothing but white space after the object.
    fn is_after(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            if self.is_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_string = true,
                b'{' => self.depth += 1,
                b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.is_whole =
                self.depth == 0 && (*byte == b'}' || (self.is_whole && byte.is_ascii_whitespace()));
        }
        self.is_whole
    }
}

/// Lets all threads use one heap. The C library would map another one for the watcher, at each start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "a call of the C library; see SAFETY")]
fn share_one_heap() {
    // SAFETY: `mallopt` takes two numbers and changes a setting of the allocator. No other thread runs yet.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn share_one_heap() {}

#[cfg(test)]
mod tests {
    use super::ObjectEnd;

    #[test]
    fn an_object_ends_with_its_last_brace_wherever_it_is_cut() {
        for (text, is_whole) in [
            (r#"{"a": {"b": "}\"}"}}"#, true),
            ("{} \r\n\t", true),
            (" {\"a\":[{}]}", true),
            ("", false),
            (r#"{"a": 1"#, false),
            (r#"{"a": "}"#, false),
            (r#"{"a": "\\"}"#, true),
            ("{} x", false),
            ("{}\0", false),
            (r#"{"a": {}"#, false),
        ] {
            for at in 0..=text.len() {
                let mut end = ObjectEnd::default();
                let (first, rest) = text.as_bytes().split_at(at);
                end.is_after(first);
                assert_eq!(end.is_after(rest), is_whole, "{text} {at}");
            }
        }
    }
}
