//! A process with an end: its group is killed when it is over, or when its time is.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Signal, kill_process_group};

/// The longest output of a process that is read, in bytes.
const MAX_OUTPUT: u64 = 16 << 20;

/// The end of a process.
pub(crate) struct Ended {
    /// `None` if its time was over.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command within this limit of time; keeps its output as `stdout` and `stderr` in a directory.
pub(crate) fn run(command: &mut Command, limit: Duration, keep: &Path) -> io::Result<Ended> {
    let (out, err) = (keep.join("stdout"), keep.join("stderr"));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let mut child = command.spawn()?;
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() >= end => break None,
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    // The processes that it started, too.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // If the whole group has ended there is nothing to kill.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()?;
    Ok(Ended { status, stdout: read(&out)?, stderr: read(&err)? })
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, MAX_OUTPUT), &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_what_it_started_end_when_its_time_is_over() {
        let keep = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $! > child; echo out; echo err >&2; wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(keep.path());
        let ended = run(&mut command, Duration::from_secs(1), keep.path()).unwrap();
        assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (None, "out\n", "err\n"));
        let child = fs::read_to_string(keep.path().join("child")).unwrap();
        // The signal reaches a process of the group some time after `kill` returns.
        let end = Instant::now() + Duration::from_secs(60);
        let state = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        while !matches!(state().rsplit(") ").next(), Some(rest) if rest.is_empty() || rest.starts_with('Z')) {
            assert!(Instant::now() < end, "the process lives: {}", state());
            thread::sleep(Duration::from_millis(5));
        }
        let ended = run(Command::new("false").current_dir(keep.path()), Duration::from_secs(60), keep.path());
        assert_eq!(ended.unwrap().status.and_then(|it| it.code()), Some(1));
    }
}
