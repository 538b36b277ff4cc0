//! One process with limits: of time, of output, and of the processes that it leaves behind.

use std::ffi::OsStr;
use std::fs::File;
use std::future::{pending, ready};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::hook::{Cause, HookError};
use crate::native::CHECKOUT_VARIABLES;
use crate::native::group::Group;
use crate::native::output::{Log, Pipe};
use crate::native::start::{DEPTH_VARIABLE, depth, start};
use crate::outcome::Spent;

/// The time for which a process that the hook left behind may hold the hook's output open. A pipe of a shell
/// pipeline closes within microseconds; a slower process runs in the background.
const GRACE: Duration = Duration::from_millis(100);

/// The longest wait for the end of a killed process. It takes microseconds, unless the process hangs in the
/// kernel; then the runtime collects it later.
const REAP: Duration = Duration::from_millis(50);

/// A process to run, with its bounds.
pub struct Process<'a> {
    /// The file. A name without a slash is a file in the directory, never a program on `PATH`.
    pub program: &'a Path,
    /// The arguments.
    pub args: &'a [&'a str],
    /// The variables of this process that it gets; all of them when absent.
    pub environment: Option<&'a [String]>,
    /// Variables of its environment beside those.
    pub variables: &'a [(&'a str, &'a OsStr)],
    /// The working directory; that of this process if absent.
    pub directory: Option<&'a Path>,
    /// The standard input; `/dev/null` if absent.
    pub stdin: Option<Vec<u8>>,
    /// Wall-clock time for everything, tries to start it included.
    pub wall: Duration,
    /// The longest standard output, in bytes.
    pub output: usize,
    /// The longest part of standard error that is kept, in bytes.
    pub log: usize,
}

/// The output of a process that ended with status 0.
#[derive(Debug)]
pub struct Printed {
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error, not escaped.
    pub log: String,
}

/// The status and the output of a process that ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// The status.
    pub status: i32,
    /// The output.
    pub printed: Printed,
    /// The failure that a status other than 0 is: the status, and the last lines of standard error, escaped.
    failure: String,
}

impl Ended {
    /// Returns the output, if the status is 0.
    ///
    /// # Errors
    ///
    /// `exit` with any other status.
    pub fn succeeded(self) -> Result<Printed, HookError> {
        match self.status {
            0 => Ok(self.printed),
            _ => Err(self.failed(Cause::Exit)),
        }
    }

    /// The failure with this cause.
    pub fn failed(self, cause: Cause) -> HookError {
        HookError::new(cause, self.failure).spent(Spent { log: self.printed.log, ..Spent::default() })
    }
}

impl Process<'_> {
    /// Runs the process to its end, which has to be status 0.
    ///
    /// # Errors
    ///
    /// Those of [`Process::end`], and `exit` (a status other than 0).
    pub async fn run(self) -> Result<Printed, HookError> {
        self.end().await?.succeeded()
    }

    /// Runs the process until it ends or its time is over. The process group never outlives a failure, also
    /// if this future is dropped. After the process has ended by itself, only processes stay that have closed
    /// its standard output and error.
    ///
    /// # Errors
    ///
    /// `not_found`, `spawn`, `timeout`, `output_limit`, `signal`.
    pub async fn end(self) -> Result<Ended, HookError> {
        let mut command = self.command();
        self.end_as(&mut command, |_| false).await
    }

    /// Runs the process as [`Process::end`] does, until its first line says that it goes on in the background. It then
    /// stays alive, without a reader of its further output; the printed line is the result, with status 0.
    ///
    /// # Errors
    ///
    /// Those of [`Process::end`].
    pub async fn end_or_detach(self, detaches: fn(&[u8]) -> bool) -> Result<Ended, HookError> {
        let mut command = self.command();
        // The group kills what does not detach.
        command.kill_on_drop(false);
        self.end_as(&mut command, detaches).await
    }

    async fn end_as(self, command: &mut Command, detaches: fn(&[u8]) -> bool) -> Result<Ended, HookError> {
        let deadline = Instant::now() + self.wall;
        let started = match timeout_at(deadline, start(command, self.program, self.directory)).await {
            Ok(started) => started?,
            Err(_) => return Err(HookError::timeout(self.wall)),
        };
        let mut running = Running::new(started, self.stdin, self.log);
        let lingers = match timeout_at(deadline, running.pump(self.output, detaches)).await {
            Ok(Ok(_)) if running.is_detached => {
                running.group.release();
                let printed = Printed { stdout: running.printed, log: running.log.spent().log };
                return Ok(Ended { status: 0, printed, failure: String::new() });
            }
            Ok(Ok(lingers)) => lingers,
            Ok(Err(TooMuch)) => return Err(running.too_much(self.output).await),
            // The hook itself has ended in time; only a process that it left behind still holds its output.
            Err(_) if running.status.is_some() => true,
            Err(_) => {
                running.kill().await;
                let mut error = HookError::timeout(self.wall).spent(running.log.spent());
                let last = running.log.last_lines();
                if !last.is_empty() {
                    error.message.push_str(&format!(" (on standard error: {last})"));
                }
                return Err(error);
            }
        };
        if lingers {
            running.kill().await;
            if running.drain(self.output).await.is_err() {
                return Err(running.too_much(self.output).await);
            }
        }
        let status = running.status;
        // After a failure nothing of the group is left alive.
        if status.is_some_and(|status| status.success()) {
            running.group.release();
        }
        let mut spent = running.log.spent();
        if lingers {
            spent.log.push_str("hookbox: what it left behind held its output open, and was cut off\n");
        }
        match status.map(|status| (status.code(), status.signal())) {
            Some((Some(status), _)) => Ok(Ended {
                status,
                failure: running.log.explain(format!("ended with status {status}")),
                printed: Printed { stdout: std::mem::take(&mut running.printed), log: spent.log },
            }),
            Some((None, signal)) => {
                let name = signal_name(signal.unwrap_or_default());
                let what = running.log.explain(format!("was ended by {name}"));
                Err(HookError { signal, ..HookError::new(Cause::Signal, what) }.spent(spent))
            }
            None => Err(HookError::new(Cause::Internal, "its exit status could not be read").spent(spent)),
        }
    }

    /// Starts the process, and does not wait for its end. It may outlive this process: its input is a file, and
    /// its output is dropped. Its limits of time and output do not apply.
    ///
    /// # Errors
    ///
    /// `not_found`, `spawn`, `timeout` (of the start).
    pub async fn launch(self) -> Result<(), HookError> {
        let mut command = self.command();
        if let Some(input) = &self.stdin {
            let file = file_of(input)
                .map_err(|error| HookError::new(Cause::Spawn, format!("could not get its input: {error}")))?;
            command.stdin(file);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(false);
        match timeout(self.wall, start(&mut command, self.program, self.directory)).await {
            Ok(started) => {
                let (_, mut group) = started?;
                group.release();
                Ok(())
            }
            Err(_) => Err(HookError::timeout(self.wall)),
        }
    }

    fn command(&self) -> Command {
        // `Command` searches for a bare name on `PATH`; a hook is a file.
        let program = match self.program.components().count() {
            1 if self.program.is_relative() => Path::new(".").join(self.program),
            _ => PathBuf::from(self.program),
        };
        let mut command = Command::new(program);
        if let Some(names) = self.environment {
            let given = names.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.env_clear().envs(given);
        }
        // The hook that started this process was perhaps in another repository.
        CHECKOUT_VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .args(self.args)
            .env(DEPTH_VARIABLE, depth().saturating_add(1).to_string())
            .envs(self.variables.iter().copied())
            .stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Not `pre_exec`: with it the C library would hand a file without a shebang to a shell.
            .kill_on_drop(true);
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        command
    }
}

/// Returns a file without a name that has these bytes.
fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// The process wrote more than it may.
struct TooMuch;

/// A process that runs, and its output so far.
struct Running {
    // Dropped first: the group is killed before its leader is reaped, so that its number cannot belong to
    // others.
    group: Group,
    child: Child,
    status: Option<ExitStatus>,
    stdin: Option<ChildStdin>,
    input: Vec<u8>,
    written: usize,
    stdout: Pipe<ChildStdout>,
    printed: Vec<u8>,
    stderr: Pipe<ChildStderr>,
    log: Log,
    /// True if it goes on in the background.
    is_detached: bool,
}

impl Running {
    fn new((mut child, group): (Child, Group), input: Option<Vec<u8>>, log: usize) -> Self {
        Self {
            group,
            status: None,
            stdin: child.stdin.take(),
            input: input.unwrap_or_default(),
            written: 0,
            stdout: Pipe::new(child.stdout.take()),
            printed: Vec::new(),
            stderr: Pipe::new(child.stderr.take()),
            log: Log::new(log),
            is_detached: false,
            child,
        }
    }

    /// Moves bytes until the process has ended and its pipes are closed. `true`: it has ended, but something
    /// that it left behind still holds a pipe after the grace.
    async fn pump(&mut self, limit: usize, detaches: fn(&[u8]) -> bool) -> Result<bool, TooMuch> {
        let mut grace = None;
        while self.status.is_none() || self.stdout.is_open() || self.stderr.is_open() {
            let line = self.printed.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            if self.status.is_none() && self.stdin.is_none() && line.ends_with(b"\n") && detaches(line) {
                self.is_detached = true;
                return Ok(false);
            }
            tokio::select! {
                read = self.stdout.read() => self.printed(read, limit)?,
                read = self.stderr.read() => self.log.add(self.stderr.take(read)),
                wrote = write(self.stdin.as_mut(), self.input.get(self.written..)) => match wrote {
                    Ok(n) if n > 0 => self.written += n,
                    // Either everything is written, or the hook ignores its input, which is not a failure.
                    _ => self.stdin = None,
                },
                ended = self.child.wait(), if self.status.is_none() => {
                    let Ok(status) = ended else { return Ok(true) };
                    self.status = Some(status);
                    self.stdin = None;
                    self.group.leader_is_gone();
                    grace = Some(Instant::now() + GRACE);
                }
                () = until(grace) => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Reads the present content of standard output, without waiting for more.
    async fn drain(&mut self, limit: usize) -> Result<(), TooMuch> {
        while self.stdout.is_open() {
            tokio::select! {
                biased;
                read = self.stdout.read() => self.printed(read, limit)?,
                () = ready(()) => return Ok(()),
            }
        }
        Ok(())
    }

    fn printed(&mut self, read: io::Result<usize>, limit: usize) -> Result<(), TooMuch> {
        self.printed.extend_from_slice(self.stdout.take(read));
        if self.printed.len() > limit { Err(TooMuch) } else { Ok(()) }
    }

    async fn too_much(&mut self, limit: usize) -> HookError {
        self.kill().await;
        HookError::output_limit(limit, self.printed.len()).spent(self.log.spent())
    }

    /// Kills everything in the group, and collects its leader if that is gone soon.
    async fn kill(&mut self) {
        self.group.kill();
        if self.status.is_none() {
            self.status = timeout(REAP, self.child.wait()).await.ok().and_then(Result::ok);
        }
    }
}

/// Writes once; never ready when the pipe is closed.
async fn write(pipe: Option<&mut ChildStdin>, rest: Option<&[u8]>) -> io::Result<usize> {
    match (pipe, rest) {
        (Some(_), None | Some([])) => Ok(0),
        (Some(pipe), Some(rest)) => pipe.write(rest).await,
        (None, _) => pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// The signals that end processes; their numbers are the same on Linux and macOS, but for `SIGBUS`.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}
