//! Running git within bounds of time, memory and disk.
//!
//! Git reads from a file and writes to files, so that no pipe can block it or us, and no helper that it
//! leaves behind can hold one open.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};

use super::command::configure;
use super::failure::{Failure, Limit};
use super::progress;
use hookbox::internal::native::signal_name;

/// The time between two checks of a running git.
const TICK: Duration = Duration::from_millis(10);

/// The time for git to remove its temporary files and to end its helpers before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// The exit codes of a shell that does not find a program, and that cannot execute it (POSIX, `exec`).
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// Starts git with the file `$1` as standard input. Our end of the pipe is a leash: it closes when this
/// process ends, however that happens, and then the shell kills git. A line on the leash means that git has
/// ended, and that its process number may belong to another process. Without SIGXFSZ, git reports that a file
/// is too large.
const LEASH: &str = "trap '' XFSZ; file=$1; shift; exec 3<&0 <\"$file\"; \
    { read -r line <&3 || kill $$; } </dev/null >/dev/null 2>&1 & exec \"$@\" 3<&-";

/// A bare repository, and the bounds within which git works on it.
pub(super) struct Git {
    /// The bare repository. Its parent is the staging directory.
    pub(super) dir: PathBuf,
    /// The time at which all has to be done.
    pub(super) ends: Instant,
    /// The time that there was for all.
    pub(super) time: Duration,
    /// The most bytes that git may write to one file. It writes what it fetches to one pack.
    pub(super) file: u64,
    /// The most bytes of memory that each process of git may write to.
    pub(super) memory: u64,
}

impl Git {
    /// Runs git; `on_progress` is called with the objects that it has received, and their total.
    pub(super) async fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        on_progress: impl FnMut(u64, u64),
    ) -> Result<(), Failure> {
        self.start(args, Path::new("/dev/null"), None, on_progress).await
    }

    /// Runs git with a file as its standard input, and returns the file of its standard output. Ends git when
    /// it has written more than `max` bytes; the file may have more.
    pub(super) async fn output<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &Path,
        max: u64,
    ) -> Result<File, Failure> {
        let path = self.dir.with_extension("out");
        self.start(args, input, Some((&path, max)), |_, _| ()).await?;
        Ok(File::open(path)?)
    }

    /// Runs git and returns the first bytes of its standard output.
    pub(super) async fn print<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        max: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut printed = Vec::new();
        self.output(args, Path::new("/dev/null"), self.file).await?.take(max).read_to_end(&mut printed)?;
        Ok(printed)
    }

    async fn start<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &Path,
        output: Option<(&Path, u64)>,
        mut on_progress: impl FnMut(u64, u64),
    ) -> Result<(), Failure> {
        if Instant::now() >= self.ends {
            return Err(Limit::Time(self.time).into());
        }
        let errors = self.dir.with_extension("err");
        let mut git = self.spawn(args, input, output.map(|(path, _)| path), &errors)?;
        let mut report = || {
            if let Some((done, total)) = progress::received(&errors) {
                on_progress(done, total);
            }
        };
        let status = loop {
            if let Some(status) = git.0.try_wait()? {
                break status;
            }
            if let Some((path, max)) = output
                && path.metadata().is_ok_and(|it| it.len() > max)
                && let Ok(begun) = File::open(path)
            {
                return Err(Limit::Output(begun).into());
            }
            if Instant::now() >= self.ends {
                return Err(Limit::Time(self.time).into());
            }
            report();
            tokio::time::sleep(TICK).await;
        };
        report();
        check(status, &errors)
    }

    fn spawn<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &Path,
        output: Option<&Path>,
        errors: &Path,
    ) -> Result<RunningGit, Failure> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(self.limits() + LEASH).arg("sh").arg(input).arg("git");
        // One allocation may not take all of the memory; it is the only bound on a system without
        // RLIMIT_DATA.
        command.env("GIT_ALLOC_LIMIT", (self.memory / 2).to_string());
        configure(&mut command, &self.dir, args);
        let stdout = output.map(File::create).transpose()?.map_or_else(Stdio::null, Stdio::from);
        command.stdin(Stdio::piped()).stdout(stdout).stderr(File::create(errors)?);
        command.spawn().map(RunningGit).map_err(Failure::NotStarted)
    }

    /// Returns shell commands that set the limits, which a process cannot set for its child without unsafe
    /// code.
    fn limits(&self) -> String {
        // Addresses are not limited, because helpers in Go, Java or .NET reserve many.
        let limits = [
            ("d", Resource::Data, self.memory, 1024),
            ("f", Resource::Fsize, self.file, 512),
            ("t", Resource::Cpu, self.time.as_secs().saturating_add(1), 1),
        ];
        let stricter = |resource, limit| getrlimit(resource).current.is_some_and(|current| current <= limit);
        let set = limits.into_iter().filter(|(_, resource, limit, _)| !stricter(*resource, *limit));
        set.map(|(letter, _, limit, unit)| format!("ulimit -{letter} {}; ", limit.div_ceil(unit))).collect()
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

/// Turns an exit status into an error with the last lines of git.
fn check(status: ExitStatus, errors: &Path) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let mut lines = progress::messages(errors);
    match status.code() {
        // A library of git that is missing has the same status and other words.
        Some(NOT_FOUND) if lines.iter().any(|line| line.contains("not found")) => {
            return Err(Failure::NotStarted(io::ErrorKind::NotFound.into()));
        }
        Some(NOT_EXECUTABLE) => return Err(Failure::NotStarted(io::ErrorKind::PermissionDenied.into())),
        _ => {}
    }
    if let Some(signal) = status.signal() {
        lines.push(format!("fatal: git was ended by {}", signal_name(signal)));
    }
    Err(Failure::Git(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path) -> Git {
        let time = Duration::from_millis(2500);
        Git { dir: dir.join("git"), ends: Instant::now() + time, time, file: 1 << 20, memory: 64 << 20 }
    }

    #[test]
    fn the_limits_hold_for_the_program_that_the_shell_becomes() {
        let temp = tempfile::tempdir().unwrap();
        // A shell that is limited more strictly already reports that, and goes on.
        for (before, limits) in [("", "65536 2048 3"), ("ulimit -d 32768; ", "32768 2048 3")] {
            let script = format!("{before}{}{LEASH}", git(temp.path()).limits());
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
        let git = Git { ends: Instant::now(), ..git(temp.path()) };
        let failure = git.run(["init", "--bare"], |_, _| ()).await.unwrap_err();
        let error = failure.about(&"https://h/a/b".parse().unwrap()).to_string();
        assert_eq!(error, "https://h/a/b: was not fetched within 2.5 seconds");
        assert!(!git.dir.exists());
    }
}
