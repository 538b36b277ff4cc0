//! A second process for `hookbox bridge --strict`: it answers if the one at work is stopped or killed.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use hookbox_agents::bridge::Bridge;
use serde_json::Value;

use crate::error::say;
use crate::input::has_input;
use crate::interrupt::{Asked, NAP};
use crate::reply_output::{leads_nowhere, print};

/// The option that starts the second process; the process at work does not have it.
const OPTION: &str = "--strict";

/// The time after the deadline until the process at work counts as stopped. Its own watcher answers before.
const GRACE: Duration = Duration::from_secs(2);

/// The time for the process at work to answer after a signal, which the agent sends to both as a rule.
const CLEANUP: Duration = Duration::from_secs(1);

/// Runs the same command in another process, and passes its answer on. Without one in time it is killed, and
/// the event blocks.
pub(crate) fn run(bridge: &Bridge) -> ExitCode {
    let known = bridge.known();
    let mut until = Instant::now() + known.left() + GRACE;
    let failed = |what: &str| ExitCode::from(print(&known.failed(what)));
    let asked = Asked::listen().ok();
    let mut worker = match start() {
        Ok(worker) => worker,
        Err(error) => return failed(&format!("hookbox cannot be started: {error}")),
    };
    let (mut stdout, mut answer) = (worker.stdout.take(), Vec::new());
    let mut is_asked = false;
    // Processes of hooks may keep the output open.
    while Instant::now() < until && read(&mut stdout, &mut answer, NAP) {
        if !is_asked && asked.as_ref().is_some_and(Asked::is_set) {
            is_asked = true;
            until = until.min(Instant::now() + CLEANUP);
        }
    }
    let code = end(&mut worker, until);
    while read(&mut stdout, &mut answer, Duration::ZERO) {}
    match code {
        Some(code @ (0 | 2)) => pass_on(&answer, code),
        // It had answered, and was stopped or killed afterwards.
        _ if serde_json::from_slice::<Value>(&answer).is_ok() => pass_on(&answer, 0),
        Some(_) => failed("hookbox failed while it ran the hooks"),
        None => failed("hookbox was stopped or killed while it ran the hooks"),
    }
}

/// Starts this command without the option.
fn start() -> io::Result<Child> {
    let words = std::env::args_os().skip(1).filter(|word| word != OPTION);
    Command::new(std::env::current_exe()?).args(words).stdout(Stdio::piped()).spawn()
}

/// Reads a part of the output, if there is some within this time. Returns false at its end, and without any time also if
/// there is none.
fn read(stdout: &mut Option<ChildStdout>, output: &mut Vec<u8>, wait: Duration) -> bool {
    let Some(from) = stdout else { return false };
    if !has_input(from.as_fd(), wait) {
        return !wait.is_zero();
    }
    let mut chunk = [0; 16 << 10];
    match from.read(&mut chunk) {
        Ok(read) => {
            output.extend_from_slice(chunk.get(..read).unwrap_or_default());
            read > 0
        }
        Err(error) => error.kind() == io::ErrorKind::Interrupted,
    }
}

/// Returns the exit code of the process at work, which is killed if it does not end. `None` if a signal ended
/// it.
fn end(worker: &mut Child, until: Instant) -> Option<u8> {
    loop {
        match worker.try_wait() {
            Ok(Some(status)) => return status.code().and_then(|code| u8::try_from(code).ok()),
            Ok(None) if Instant::now() < until => std::thread::sleep(NAP / 10),
            _ => {
                let _ = worker.kill();
                let _ = worker.wait();
                return None;
            }
        }
    }
}

/// Writes the answer. If it cannot be written, exit code 2 blocks.
fn pass_on(answer: &[u8], code: u8) -> ExitCode {
    let mut out = io::stdout().lock();
    let is_written = out.write_all(answer).and_then(|()| out.flush()).is_ok() && !leads_nowhere();
    if is_written || answer.is_empty() {
        return ExitCode::from(code);
    }
    say("the answer of hookbox cannot be written");
    ExitCode::from(2)
}
