//! One run of git, within bounds of time, of memory and of what it may write.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::command::command;
use super::explain::{Failed, Stopped};
use super::limits::{ENDED, Input, Limits};
use super::said::Said;
use hookbox::internal::signal_name;

/// How often is looked at a git that runs.
const LOOK: Duration = Duration::from_millis(20);

/// How long git may take to end when it is told to, before it is killed. It removes its temporary files and tells its
/// own helpers.
const GRACE: Duration = Duration::from_millis(500);

/// How long what git left behind may hold its standard error open after it has ended.
const LINGER: Duration = Duration::from_millis(100);

/// How deep a bare repository is looked into for what git wrote, in directories.
const MAX_DEPTH: usize = 6;

/// How many bytes one file may have beyond all that may stand there, so that it is seen what it was.
const BEYOND: u64 = 1 << 20;

/// The statuses of a shell that does not find what it is to become, and that cannot become it (POSIX, `exec`).
const NO_PROGRAM: i32 = 127;
const NO_EXECUTABLE: i32 = 126;

/// How git is run.
pub(super) struct Program {
    /// The bare repository.
    pub(super) dir: PathBuf,
    /// When all has to be done.
    pub(super) ends: Instant,
    /// How much time that was.
    pub(super) time: Duration,
    /// How many bytes may stand in the repository.
    pub(super) disk: u64,
    /// How many bytes of memory each process of git may have.
    pub(super) memory: u64,
}

/// A git that runs. Dropping it ends it.
pub(super) struct Running {
    child: Arc<Mutex<Child>>,
    leash: Option<ChildStdin>,
    stopped: Arc<Mutex<Option<Stopped>>>,
    done: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
    said: Said,
}

impl Program {
    /// Runs git on the repository and waits for its end; `look` is called now and then meanwhile.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        mut look: impl FnMut(&Said),
    ) -> Result<(), Failed> {
        let mut running = self.start(args, Input::Leash, Stdio::null())?;
        let status = running.end(&mut look)?;
        let finished = running.finish(status);
        // It may have been faster than the eye, or was ended for a file that is too large, which it does not always say.
        if size(&self.dir, 0) > self.disk { Err(Stopped::Disk(self.disk).into()) } else { finished }
    }

    /// Runs git and gives what it prints, of which there may be so many bytes.
    pub(super) fn print<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        max: u64,
    ) -> Result<Vec<u8>, Failed> {
        let (mut running, stdout) = self.read(args)?;
        let mut printed = Vec::new();
        let read = stdout.take(max).read_to_end(&mut printed);
        // Where it prints more, it is told so by the closed pipe.
        let status = running.end(&mut |_| ())?;
        read.map_err(|error| running.broken(error))?;
        running.finish(status)?;
        Ok(printed)
    }

    /// Runs git, and gives the end of the pipe that it prints to.
    pub(super) fn read<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<(Running, ChildStdout), Failed> {
        let running = self.start(args, Input::Leash, Stdio::piped())?;
        let stdout = running.lock().stdout.take();
        let stdout = stdout.ok_or_else(|| Failed::from(io::Error::other("git has no standard output")))?;
        Ok((running, stdout))
    }

    /// Runs git, and gives both ends of a talk with it.
    pub(super) fn talk<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<(Running, ChildStdin, ChildStdout), Failed> {
        let running = self.start(args, Input::Talk, Stdio::piped())?;
        let (stdin, stdout) = {
            let mut child = running.lock();
            (child.stdin.take(), child.stdout.take())
        };
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => Ok((running, stdin, stdout)),
            _ => Err(io::Error::other("git has no pipes").into()),
        }
    }

    fn start<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: Input,
        stdout: Stdio,
    ) -> Result<Running, Failed> {
        if Instant::now() >= self.ends {
            return Err(Stopped::Time(self.time).into());
        }
        let file = self.disk.saturating_add(BEYOND);
        let limits = Limits { memory: self.memory, file, time: self.time };
        let mut command = command(limits.git(input), &self.dir, args);
        let spawned = command.stdin(Stdio::piped()).stdout(stdout).spawn();
        // It is the shell that was not there, or the directory to work in.
        let not_started =
            |error| Failed::NotStarted(io::Error::other(format!("its shell was not started: {error}")));
        let mut child = spawned.map_err(not_started)?;
        let leash = if input == Input::Leash { child.stdin.take() } else { None };
        let said = child.stderr.take().map(Said::listen).unwrap_or_default();
        let child = Arc::new(Mutex::new(child));
        let stopped = Arc::new(Mutex::new(None));
        let (done, asked) = channel::<()>();
        let watch = {
            let (child, stopped) = (child.clone(), stopped.clone());
            let (dir, ends, time, disk) = (self.dir.clone(), self.ends, self.time, self.disk);
            std::thread::spawn(move || {
                while asked.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    let why = if dir.parent().is_some_and(|stage| !stage.exists()) {
                        Stopped::Gone
                    } else if Instant::now() >= ends {
                        Stopped::Time(time)
                    } else if size(&dir, 0) > disk {
                        Stopped::Disk(disk)
                    } else {
                        continue;
                    };
                    *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    stop(&child);
                    return;
                }
            })
        };
        Ok(Running { child, leash, stopped, done: Some(done), watch: Some(watch), said })
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of its process.
    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.lock().id()
    }

    /// Waits for its end.
    pub(super) fn end(&mut self, look: &mut dyn FnMut(&Said)) -> Result<ExitStatus, Failed> {
        loop {
            let ended = self.lock().try_wait();
            if let Some(status) = ended? {
                self.said.wait(LINGER);
                look(&self.said);
                return Ok(status);
            }
            look(&self.said);
            self.said.wait(LOOK);
            // It has said all, and is about to end.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What its status means.
    pub(super) fn finish(&self, status: ExitStatus) -> Result<(), Failed> {
        if let Some(stopped) = self.stopped() {
            return Err(stopped.into());
        }
        if status.success() {
            return Ok(());
        }
        let mut lines = self.said.lines();
        match status.code() {
            // A library of git that is missing has the same status, and other words.
            Some(NO_PROGRAM) if lines.iter().any(|line| line.contains("not found")) => {
                return Err(Failed::NotStarted(io::ErrorKind::NotFound.into()));
            }
            Some(NO_EXECUTABLE) => return Err(Failed::NotStarted(io::ErrorKind::PermissionDenied.into())),
            _ => {}
        }
        if let Some(signal) = status.signal() {
            lines.push(format!("fatal: git was ended by {}", signal_name(signal)));
        }
        Err(Failed::Said(lines))
    }

    /// Why a pipe to it broke.
    pub(super) fn broken(&self, error: io::Error) -> Failed {
        match self.stopped() {
            Some(stopped) => stopped.into(),
            None => error.into(),
        }
    }

    /// Why it was ended, if it was.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(watch) = self.watch.take() {
            // It holds nothing that a panic could have left half done.
            drop(watch.join());
        }
        stop(&self.child);
        if let Some(mut leash) = self.leash.take() {
            // Where nobody holds it any more nobody needs to be told.
            drop(leash.write_all(ENDED));
        }
    }
}

/// Ends a git that still runs.
fn stop(child: &Mutex<Child>) {
    let has_ended = || {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        // While it is not collected its number is its own.
        let ended = !matches!(child.try_wait(), Ok(None));
        (ended, i32::try_from(child.id()).ok().and_then(Pid::from_raw))
    };
    let (ended, pid) = has_ended();
    if ended {
        return;
    }
    if let Some(pid) = pid {
        kill_process(pid, Signal::TERM).ok();
    }
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if has_ended().0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    drop(child.kill());
    drop(child.wait());
}

/// How many bytes stand below a directory.
fn size(dir: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(it) if it.is_dir() && depth < MAX_DEPTH => size(&entry.path(), depth + 1),
        Ok(it) => it.len(),
        // A temporary file that git has renamed meanwhile.
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}
