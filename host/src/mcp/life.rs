//! The process of a server: it never outlives whoever started it.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::hook::HookError;
use crate::mcp::Transport;
use crate::native::process::{Group, Log, signal_name};
use crate::native::start::{DEPTH_VARIABLE, depth, start};
use crate::report::Cause;
use crate::text;

/// How much of standard error is kept between two calls, in bytes: what a call keeps, as long as nobody asks for more.
const LOG: usize = 64 << 10;

/// How much of standard error is read at once, and how much at most for one look.
const CHUNK: usize = 16 << 10;
const LOOK: usize = 1 << 20;

/// How much of a line that is no message is repeated, in bytes.
const EXCERPT: usize = 80;

/// How often to look whether a process that has closed its output is gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The life of one server: nothing for one that is reached over HTTP.
#[derive(Default)]
pub(super) struct Life {
    alive: Mutex<Option<Alive>>,
    stderr: Mutex<Option<Stderr>>,
    nonsense: Mutex<Nonsense>,
}

/// A process that runs, as far as is known.
struct Alive {
    // Dropped first: the group is killed while its leader is not yet reaped, so that its number is still its own.
    group: Group,
    child: Child,
    ended: Option<ExitStatus>,
    keeper: AbortHandle,
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

struct Stderr {
    pipe: Arc<Receiver>,
    log: Log,
}

/// Lines that were no messages.
#[derive(Default)]
struct Nonsense {
    lines: usize,
    first: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Life {
    /// Starts the process in a group of its own.
    ///
    /// # Errors
    ///
    /// `not_found`, `spawn`.
    pub(super) async fn begin(
        self: &Arc<Self>,
        transport: &Transport,
    ) -> Result<(ChildStdin, ChildStdout), HookError> {
        let Transport::Stdio { command: name, args, env, directory } = transport else {
            return Err(HookError::new(Cause::Internal, "has no process"));
        };
        let program = program(name, directory);
        let mut command = Command::new(&program);
        command
            .args(args)
            .envs(env)
            .env(DEPTH_VARIABLE, depth().saturating_add(1).to_string())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let started = start(&mut command, &program, Some(directory)).await;
        let (mut child, group) = started.map_err(|error| not_started(error, name, &program))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(HookError::new(Cause::Internal, "was started without pipes"));
        };
        let pipe = stderr.into_owned_fd().and_then(Receiver::from_owned_fd).map(Arc::new);
        let pipe = pipe.map_err(|error| {
            HookError::new(Cause::Internal, format!("its standard error cannot be read: {error}"))
        })?;
        *lock(&self.stderr) = Some(Stderr { pipe: Arc::clone(&pipe), log: Log::new(LOG) });
        let guard = EndWithRuntime(Arc::clone(self));
        let keeper = tokio::spawn(async move {
            while pipe.readable().await.is_ok() && guard.0.listen(&pipe) {}
            // As long as this waits, the guard is held.
            std::future::pending::<()>().await;
            drop(guard);
        });
        *lock(&self.alive) = Some(Alive { group, child, ended: None, keeper: keeper.abort_handle() });
        Ok((stdin, stdout))
    }

    /// Kills the process group, if there is one.
    pub(super) fn end(&self) {
        // Dropped when the lock is released: the task that this aborts holds a guard that ends the process as well.
        let alive = lock(&self.alive).take();
        drop(alive);
    }

    /// Whether there is, or was, a process.
    pub(super) fn is_process(&self) -> bool {
        lock(&self.stderr).is_some()
    }

    /// Whether there was a process and it has ended.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.alive).as_mut().is_some_and(|alive| alive.look().is_some())
    }

    /// Waits so long for the end of a process that has closed its output, and says how it ended.
    pub(super) async fn how_it_ended(&self, within: Duration) -> HookError {
        let deadline = Instant::now() + within;
        let status = loop {
            let status = match lock(&self.alive).as_mut() {
                Some(alive) => alive.look(),
                None => return HookError::new(Cause::Exit, "was ended"),
            };
            if status.is_some() || Instant::now() >= deadline {
                break status;
            }
            sleep(LOOK_AGAIN).await;
        };
        self.look_at_stderr();
        let (cause, what) = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => (Cause::Exit, format!("ended with status {code} before it answered")),
            Some((None, signal)) => {
                let signal = signal_name(signal.unwrap_or_default());
                (Cause::Signal, format!("was ended by {signal} before it answered"))
            }
            None => (Cause::Exit, "closed its standard output before it answered".to_owned()),
        };
        HookError::new(cause, self.explain(what))
    }

    /// Reads what stands in the pipe of standard error. `false`: it is closed.
    fn listen(&self, pipe: &Receiver) -> bool {
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { log, .. }) = stderr.as_mut() else { return false };
        let mut chunk = vec![0; CHUNK];
        match pipe.try_read(&mut chunk) {
            Ok(0) => false,
            Ok(n) => {
                log.add(chunk.get(..n).unwrap_or_default());
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Reads what stands in the pipe now, whether or not the runtime has noticed: what a server wrote before its answer
    /// belongs to the call.
    fn look_at_stderr(&self) {
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { pipe, log }) = stderr.as_mut() else { return };
        let mut chunk = vec![0; CHUNK];
        let mut seen = 0;
        while seen < LOOK {
            match rustix::io::read(pipe.as_fd(), &mut chunk) {
                Ok(n) if n > 0 => {
                    log.add(chunk.get(..n).unwrap_or_default());
                    seen += n;
                }
                _ => break,
            }
        }
    }

    /// What was written to standard error since the last look, at most so many bytes.
    pub(super) fn take_log(&self, keep: usize) -> String {
        self.look_at_stderr();
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { log, .. }) = stderr.as_mut() else { return String::new() };
        let taken = std::mem::replace(log, Log::new(LOG.max(keep))).spent().log;
        text::prefix(&taken, keep).to_owned()
    }

    /// Notes a line that is no message.
    pub(super) fn said_nonsense(&self, line: &[u8]) {
        let mut nonsense = lock(&self.nonsense);
        if nonsense.lines == 0 {
            let line = String::from_utf8_lossy(line.get(..1024).unwrap_or(line)).into_owned();
            nonsense.first = text::escape(line.trim(), EXCERPT);
        }
        nonsense.lines = nonsense.lines.saturating_add(1);
    }

    /// What happened, with the last lines of standard error, and with what it said on standard output instead of
    /// messages.
    pub(super) fn explain(&self, what: String) -> String {
        let what = match &*lock(&self.stderr) {
            Some(Stderr { log, .. }) => log.explain(what),
            None => what,
        };
        match &*lock(&self.nonsense) {
            Nonsense { lines: 0, .. } => what,
            Nonsense { lines: 1, first } => {
                format!("{what}; it printed a line that is no JSON-RPC message: {first}")
            }
            Nonsense { lines, first } => {
                format!("{what}; it printed {lines} lines that are no JSON-RPC messages, the first: {first}")
            }
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends the process when the runtime drops the task that holds this.
struct EndWithRuntime(Arc<Life>);

impl Drop for EndWithRuntime {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Alive {
    /// How it has ended, if it has.
    fn look(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.group.leader_is_gone();
            self.ended = Some(status);
        }
        self.ended
    }
}

/// The program of a command: a bare name is left to `PATH`, any other relative path is taken from the directory.
fn program(command: &str, directory: &Path) -> PathBuf {
    if command.contains('/') { directory.join(command) } else { PathBuf::from(command) }
}

fn not_started(error: HookError, name: &str, program: &Path) -> HookError {
    if error.cause == Cause::NotFound && !name.contains('/') {
        let message =
            format!("its server cannot be started: no program {:?} on PATH", text::escape(name, 120));
        return HookError::new(Cause::NotFound, message);
    }
    let program = text::escape(&program.to_string_lossy(), 256);
    HookError { message: format!("its server {program} {}", error.message), ..error }
}
