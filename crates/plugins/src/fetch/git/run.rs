//! Running git within bounds of time, memory and disk.
//!
//! Git reads from a file and writes to files, so that no pipe can block it or us, and no helper that it
//! leaves behind can hold one open.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};

use super::command::configure;
use super::{Bounds, words};
use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Step};
use hookbox::native::process::signal_name;

/// The time between two checks of a running git.
const TICK: Duration = Duration::from_millis(10);

/// The time for git to remove its temporary files and to end its helpers before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// The exit codes of a shell that does not find a program, and that cannot execute it (POSIX, `exec`).
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// The most bytes of a command's standard output that [`Git::run`] returns.
const MAX_PRINTED: u64 = 1 << 20;

/// Starts git with the file `$1` as standard input. Our end of the pipe is a leash: it closes when this
/// process ends, however that happens, and then the shell kills git. A line on the leash means that git has
/// ended, and that its process number may belong to another process. Without SIGXFSZ, git reports that a file
/// is too large.
const LEASH: &str = "trap '' XFSZ; file=$1; shift; exec 3<&0 <\"$file\"; \
    { read -r line <&3 || kill $$; } </dev/null >/dev/null 2>&1 & exec \"$@\" 3<&-";

/// A bare repository, and the bounds within which git fetches one address into it.
pub(super) struct Git<'a> {
    /// The fetched address.
    pub(super) url: &'a GitUrl,
    /// The bare repository. Its parent is the staging directory.
    pub(super) dir: PathBuf,
    pub(super) bounds: Bounds,
    /// The time at which all has to be done.
    pub(super) ends: Instant,
    pub(super) observer: &'a dyn Observer,
}

/// A failure of git.
#[derive(Debug)]
pub(super) enum Failure {
    /// Git failed; its last lines.
    Git(Vec<String>),
    /// Git was ended because its output, which begins in this file, is longer than expected.
    Output(File),
    /// Git could not be run, or took too long.
    Other(PluginError),
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        Self::Other(error)
    }
}

impl Failure {
    /// Returns true if git's last lines contain one of these.
    pub(super) fn contains(&self, any: &[&str]) -> bool {
        matches!(self, Self::Git(lines) if lines.iter().any(|line| any.iter().any(|it| line.contains(it))))
    }
}

impl Git<'_> {
    /// Runs git, and returns the first bytes of its standard output.
    pub(super) async fn run(&self, args: &[&str]) -> Result<String, Failure> {
        let output = self.output(args, Path::new("/dev/null"), self.bounds.disk).await?;
        let mut printed = Vec::new();
        output.take(MAX_PRINTED).read_to_end(&mut printed).map_err(|error| self.unusable(&error))?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    /// Runs git with a file as its standard input, and returns the file of its standard output. Ends git when
    /// it has written more than `max` bytes; the file may have more.
    pub(super) async fn output(&self, args: &[&str], input: &Path, max: u64) -> Result<File, Failure> {
        self.check_time()?;
        let (output, errors) = (self.dir.with_extension("out"), self.dir.with_extension("err"));
        let mut git = self.spawn(args, input, &output, &errors)?;
        let mut last = None;
        let mut report = || {
            if let Some(received) = words::received(&errors)
                && last.replace(received) != Some(received)
            {
                self.observer.step(&Step::Fetching { done: received.0, total: Some(received.1) });
            }
        };
        let open = || File::open(&output).map_err(|error| self.unusable(&error));
        let status = loop {
            if let Some(status) = git.0.try_wait().map_err(|error| self.unusable(&error))? {
                break status;
            }
            if output.metadata().is_ok_and(|it| it.len() > max) {
                return Err(Failure::Output(open()?));
            }
            self.check_time()?;
            report();
            tokio::time::sleep(TICK).await;
        };
        report();
        self.check(status, &errors)?;
        Ok(open()?)
    }

    /// Returns the error for a failure of git.
    pub(super) fn failed(&self, failure: Failure) -> PluginError {
        match failure {
            Failure::Git(lines) => words::error(&lines, self.url),
            Failure::Output(_) => {
                self.error(PluginErrorKind::TooLarge("git's answer is longer than any honest one".to_owned()))
            }
            Failure::Other(error) => error,
        }
    }

    /// Returns an error about the fetched address.
    pub(super) fn error(&self, kind: PluginErrorKind) -> PluginError {
        PluginError::new(self.url.shown(), kind)
    }

    /// Returns the error about a file of git's input or output.
    pub(super) fn unusable(&self, error: &io::Error) -> PluginError {
        self.error(PluginErrorKind::Fetch(format!("the files of git cannot be used: {error}")))
    }

    fn check_time(&self) -> Result<(), PluginError> {
        if Instant::now() < self.ends {
            return Ok(());
        }
        let what = format!("was not fetched within {} seconds", self.bounds.time.as_secs_f32());
        Err(self
            .error(PluginErrorKind::Fetch(what))
            .hint("try `git ls-remote` with the address: perhaps the host does not answer"))
    }

    fn spawn(
        &self,
        args: &[&str],
        input: &Path,
        output: &Path,
        errors: &Path,
    ) -> Result<RunningGit, PluginError> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(self.limits() + LEASH).arg("sh").arg(input).arg("git");
        // One allocation may not take all of the memory; it is the only bound on a system without
        // RLIMIT_DATA.
        command.env("GIT_ALLOC_LIMIT", (self.bounds.memory / 2).to_string());
        configure(&mut command, &self.dir, args);
        let create = |path| File::create(path).map_err(|error| self.unusable(&error));
        command.stdin(Stdio::piped()).stdout(create(output)?).stderr(create(errors)?);
        command.spawn().map(RunningGit).map_err(|error| self.not_started(&error))
    }

    fn not_started(&self, error: &io::Error) -> PluginError {
        if error.kind() != io::ErrorKind::NotFound {
            return self.error(PluginErrorKind::Fetch(format!("git cannot be started: {error}")));
        }
        self.error(PluginErrorKind::Fetch("git is not installed, or not on PATH".to_owned()))
            .hint("install git; hookbox fetches repositories with it")
    }

    /// Returns shell commands that set the limits, which a process cannot set for its child without unsafe
    /// code.
    fn limits(&self) -> String {
        // Addresses are not limited, because helpers in Go, Java or .NET reserve many.
        let limits = [
            ("d", Resource::Data, self.bounds.memory, 1024),
            ("f", Resource::Fsize, self.bounds.disk, 512),
            ("t", Resource::Cpu, self.bounds.time.as_secs().saturating_add(1), 1),
        ];
        let stricter = |resource, limit| getrlimit(resource).current.is_some_and(|current| current <= limit);
        let set = limits.into_iter().filter(|(_, resource, limit, _)| !stricter(*resource, *limit));
        set.map(|(letter, _, limit, unit)| format!("ulimit -{letter} {}; ", limit.div_ceil(unit))).collect()
    }

    /// Turns an exit status into a failure with the last lines of git.
    fn check(&self, status: ExitStatus, errors: &Path) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        let mut lines = words::messages(errors);
        match status.code() {
            // A library of git that is missing has the same status and other words.
            Some(NOT_FOUND) if lines.iter().any(|line| line.contains("not found")) => {
                return Err(self.not_started(&io::ErrorKind::NotFound.into()).into());
            }
            Some(NOT_EXECUTABLE) => {
                return Err(self.not_started(&io::ErrorKind::PermissionDenied.into()).into());
            }
            _ => {}
        }
        if let Some(signal) = status.signal() {
            lines.push(format!("fatal: git was ended by {}", signal_name(signal)));
        }
        Err(Failure::Git(lines))
    }
}

/// A git process. Dropping this ends it.
struct RunningGit(Child);

impl RunningGit {
    fn end(&mut self) -> io::Result<()> {
        if self.0.try_wait()?.is_some() {
            return Ok(());
        }
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM).ok();
        }
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if self.0.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(TICK);
        }
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for RunningGit {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "git cannot be ended");
        }
        if let Some(mut leash) = self.0.stdin.take() {
            // Nobody reads it if the shell could not be started.
            drop(leash.write_all(b"\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git<'a>(dir: &Path, url: &'a GitUrl) -> Git<'a> {
        let time = Duration::from_millis(2500);
        let bounds = Bounds { time, disk: 1 << 20, memory: 64 << 20, ..Bounds::default() };
        Git { url, dir: dir.join("git"), bounds, ends: Instant::now() + time, observer: &crate::Silent }
    }

    #[test]
    fn the_limits_hold_for_the_program_that_the_shell_becomes() {
        let temp = tempfile::tempdir().unwrap();
        let url = "https://h/a/b".parse().unwrap();
        // A shell that is limited more strictly already reports that, and goes on.
        for (before, limits) in [("", "65536 2048 3"), ("ulimit -d 32768; ", "32768 2048 3")] {
            let script = format!("{before}{}{LEASH}", git(temp.path(), &url).limits());
            let mut command = Command::new("/bin/sh");
            command.args([
                "-c",
                &script,
                "sh",
                "/dev/null",
                "/bin/sh",
                "-c",
                "ulimit -d; ulimit -f; ulimit -t",
            ]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
            let output = child.wait_with_output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
            assert_eq!(printed.trim(), limits);
        }
    }

    #[test]
    fn a_program_on_the_leash_ends_with_it_unless_all_is_well() {
        let script = ["-c", LEASH, "sh", "/dev/null"];
        // It would end by itself after a minute, which is a failure.
        let mut command = Command::new("/bin/sh");
        let mut child = command.args(script).args(["sleep", "60"]).stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().signal(), Some(15));

        let mut command = Command::new("/bin/sh");
        command.args(script).args(["/bin/sh", "-c", "cat; echo done"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.success(), output.stdout.as_slice()), (true, &b"done\n"[..]));
    }

    #[tokio::test]
    async fn no_git_is_started_when_the_time_is_over() {
        let temp = tempfile::tempdir().unwrap();
        let url = "https://h/a/b".parse().unwrap();
        let git = Git { ends: Instant::now(), ..git(temp.path(), &url) };
        let failure = git.run(&["init", "--bare"]).await.unwrap_err();
        assert_eq!(git.failed(failure).to_string(), "https://h/a/b: was not fetched within 2.5 seconds");
        assert!(!git.dir.exists());
    }
}
