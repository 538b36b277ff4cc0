//! The process of a server over stdio. It never outlives its host.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::hook::{Cause, HookError};
use crate::mcp::Transport;
use crate::native::group::Group;
use crate::native::output::Log;
use crate::native::process::signal_name;
use crate::native::start::{DEPTH_VARIABLE, depth, start};
use hookbox_system::mutex::lock;
use hookbox_system::{limits, text};

/// The longest log between two calls, in bytes: the default of one call.
const LOG: usize = 64 << 10;

/// The most that is read from standard error at the end of a call, in bytes.
const MAX_DRAIN: usize = 1 << 20;

/// The time between two checks whether a process that closed its output has ended.
const POLL: Duration = Duration::from_millis(5);

/// The process of one server; empty for a server over HTTP.
#[derive(Default)]
pub(super) struct ServerProcess {
    running: Mutex<Option<Running>>,
    stderr: Mutex<Option<Stderr>>,
    stray: Mutex<StrayLines>,
}

/// A process that was started and not killed.
struct Running {
    // Dropped first: the group is killed before its leader is reaped, so that its number cannot belong to
    // others.
    group: Group,
    child: Child,
    status: Option<ExitStatus>,
    stderr_reader: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stderr_reader.abort();
    }
}

struct Stderr {
    pipe: Arc<Receiver>,
    log: Log,
}

/// The lines on standard output that were not messages.
#[derive(Default)]
struct StrayLines {
    count: usize,
    first: String,
}

impl ServerProcess {
    /// Starts the process in a group of its own.
    ///
    /// # Errors
    ///
    /// `not_found`, `spawn`.
    pub(super) async fn start(
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
        let guard = KillOnDrop(Arc::clone(self));
        let stderr_reader = tokio::spawn(async move {
            while pipe.readable().await.is_ok() && guard.0.read_stderr(&pipe) {}
            // The guard is dropped with the runtime, also after the server closed its standard error.
            std::future::pending::<()>().await;
            drop(guard);
        });
        let stderr_reader = stderr_reader.abort_handle();
        *lock(&self.running) = Some(Running { group, child, status: None, stderr_reader });
        Ok((stdin, stdout))
    }

    /// Kills the process group, if there is one.
    pub(super) fn kill(&self) {
        // Dropped after the lock is released: the aborted task holds a guard that kills as well.
        let running = lock(&self.running).take();
        drop(running);
    }

    /// Returns whether there is, or was, a process.
    pub(super) fn was_started(&self) -> bool {
        lock(&self.stderr).is_some()
    }

    /// Returns whether the process has ended by itself.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.running).as_mut().is_some_and(|running| running.status().is_some())
    }

    /// Waits for the end of a process that has closed its output, and returns the failure with its status.
    pub(super) async fn exit_failure(&self, within: Duration) -> HookError {
        let deadline = Instant::now() + within;
        let status = loop {
            let status = match lock(&self.running).as_mut() {
                Some(running) => running.status(),
                None => return HookError::new(Cause::Exit, "was ended"),
            };
            if status.is_some() || Instant::now() >= deadline {
                break status;
            }
            sleep(POLL).await;
        };
        self.drain_stderr();
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

    /// Reads standard error once. `false` if it is closed.
    fn read_stderr(&self, pipe: &Receiver) -> bool {
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { log, .. }) = stderr.as_mut() else { return false };
        let mut chunk = vec![0; limits::CHUNK];
        match pipe.try_read(&mut chunk) {
            Ok(0) => false,
            Ok(n) => {
                log.add(chunk.get(..n).unwrap_or_default());
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Reads standard error to its present end, without the runtime, which may not have noticed it yet: a
    /// line that was written before the answer belongs to the call.
    fn drain_stderr(&self) {
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { pipe, log }) = stderr.as_mut() else { return };
        let mut chunk = vec![0; limits::CHUNK];
        let mut seen = 0;
        while seen < MAX_DRAIN {
            match rustix::io::read(pipe.as_fd(), &mut chunk) {
                Ok(n) if n > 0 => {
                    log.add(chunk.get(..n).unwrap_or_default());
                    seen += n;
                }
                _ => break,
            }
        }
    }

    /// Takes the text of standard error since the last call, at most `keep` bytes.
    pub(super) fn take_log(&self, keep: usize) -> String {
        self.drain_stderr();
        let mut stderr = lock(&self.stderr);
        let Some(Stderr { log, .. }) = stderr.as_mut() else { return String::new() };
        let taken = std::mem::replace(log, Log::new(LOG.max(keep))).spent().log;
        text::prefix(&taken, keep).to_owned()
    }

    /// Notes a line that is not a message.
    pub(super) fn note_stray_line(&self, line: &[u8]) {
        let mut stray = lock(&self.stray);
        if stray.count == 0 {
            let line = String::from_utf8_lossy(line.get(..1024).unwrap_or(line)).into_owned();
            stray.first = text::escape(line.trim(), limits::WORD);
        }
        stray.count = stray.count.saturating_add(1);
    }

    /// Adds the last lines of standard error and the stray lines of standard output to a message.
    pub(super) fn explain(&self, what: String) -> String {
        let what = match &*lock(&self.stderr) {
            Some(Stderr { log, .. }) => log.explain(what),
            None => what,
        };
        match &*lock(&self.stray) {
            StrayLines { count: 0, .. } => what,
            StrayLines { count: 1, first } => {
                format!("{what}; it printed a line that is not a JSON-RPC message: {first}")
            }
            StrayLines { count, first } => {
                format!("{what}; it printed {count} lines that are not JSON-RPC messages, the first: {first}")
            }
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills the process when the runtime drops the task that holds this.
struct KillOnDrop(Arc<ServerProcess>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

impl Running {
    /// Returns the exit status, if the process has ended.
    fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.group.leader_is_gone();
            self.status = Some(status);
        }
        self.status
    }
}

/// Returns the program of a command: a bare name is left to `PATH`, any other relative path is below the
/// directory.
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
