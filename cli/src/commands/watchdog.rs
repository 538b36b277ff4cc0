//! A second process for `hookbox bridge --strict`: it answers if the one at work is stopped or killed.

use std::io::{self, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hookbox_agents::bridge::Bridge;
use serde_json::Value;

use crate::error::say;
use crate::interrupt::Asked;
use crate::reply_output::{leads_nowhere, print};

/// The option that starts the second process; the process at work does not have it.
const OPTION: &str = "--strict";

/// The time after the deadline until the process at work counts as stopped. Its own watcher answers before.
const GRACE: Duration = Duration::from_secs(2);

/// The time for the process at work to answer after a signal, which the agent sends to both as a rule.
const CLEANUP: Duration = Duration::from_secs(1);

/// The time between two looks at the signals.
const NAP: Duration = Duration::from_millis(50);

/// The bytes that the process at work has written so far.
type Output = Arc<Mutex<Vec<u8>>>;

/// Runs the same command in another process, and passes its answer on. Without one in time it is killed, and
/// the event blocks.
pub(crate) fn run(bridge: &Bridge) -> ExitCode {
    let mut until = Instant::now() + bridge.left() + GRACE;
    let failed = |what: &str| ExitCode::from(print(&bridge.known().failed(what)));
    let asked = Asked::listen().ok();
    let mut worker = match start() {
        Ok(worker) => worker,
        Err(error) => return failed(&format!("hookbox cannot be started: {error}")),
    };
    let (ends, ended) = channel();
    let output = Output::default();
    if let Some(mut stdout) = worker.stdout.take() {
        let output = Arc::clone(&output);
        std::thread::spawn(move || read(&mut stdout, &output, &ends));
    }
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        if let Ok(()) | Err(RecvTimeoutError::Disconnected) = ended.recv_timeout(left.min(NAP)) {
            break;
        }
        if asked.as_ref().is_some_and(Asked::is_set) {
            until = until.min(Instant::now() + CLEANUP);
            break;
        }
    }
    let code = end(&mut worker, until);
    let answer = std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
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

/// Reads until the process at work has ended.
fn read(stdout: &mut impl io::Read, output: &Output, ends: &Sender<()>) {
    let mut chunk = [0; 16 << 10];
    loop {
        match stdout.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                let read = chunk.get(..read).unwrap_or_default();
                output.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(read);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = ends.send(());
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
