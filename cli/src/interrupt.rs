//! An orderly end after a signal (Ctrl-C, a terminal that closes, `kill`).

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// The signals that ask a process to end.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// An error: the process was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    signal: i32,
}

impl Interrupted {
    /// Returns the exit code that tells a shell: 128 and the signal's number.
    pub(crate) fn exit_code(self) -> u8 {
        u8::try_from(128 + self.signal).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "was asked to end (signal {})", self.signal)
    }
}

impl std::error::Error for Interrupted {}

/// Waits for `work`. If the process is asked to end first, `work` is dropped, and with it the processes that
/// it started: hooks and MCP servers. Before and after, signals have their usual effect.
///
/// # Errors
///
/// [`Interrupted`] if the process was asked to end.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Result<T, Interrupted> {
    let Ok(mut signals) = Signals::listen() else { return Ok(work.await) };
    tokio::select! {
        done = work => Ok(done),
        signal = signals.next() => Err(Interrupted { signal }),
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail instead of ending the process: an answer
/// does not depend on a file. A process that is started from here has the default again.
///
/// # Errors
///
/// An error if the system refuses the handler.
pub(crate) fn outlive_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// The time between two looks at [`Asked`]: a signal wakes nobody.
pub(crate) const NAP: Duration = Duration::from_millis(50);

/// A flag for callers who answer at once when the process is asked to end.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    flag: Arc<AtomicBool>,
}

impl Asked {
    /// Notes signals that ask the process to end, from now on. Until the end of the first
    /// [`unless_interrupted`] they do nothing else.
    ///
    /// # Errors
    ///
    /// An error if the system refuses the handlers.
    pub(crate) fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in ENDING {
            flag::register(signal, Arc::clone(&asked))?;
        }
        by_default()?.store(false, Ordering::SeqCst);
        Ok(Self { flag: asked })
    }

    /// Returns whether the process was asked to end.
    pub(crate) fn is_set(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}

/// The ending signals, while this value lives.
struct Signals {
    /// A stream that becomes readable when a signal arrives.
    wake: UnixStream,
    /// The signal that has arrived.
    arrived: Arc<AtomicUsize>,
    ids: Vec<SigId>,
}

/// Returns the flag that lets these signals end the process, as they do by default. A handler can never be
/// removed, so one handler lives as long as the process and repeats the system's default.
///
/// It is set up after the handlers that note a signal. A signal in between is noted, and does not end the process.
fn by_default() -> io::Result<&'static AtomicBool> {
    static BY_DEFAULT: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = BY_DEFAULT.get() {
        return Ok(flag);
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        flag::register_conditional_default(signal, Arc::clone(&flag))?;
    }
    Ok(BY_DEFAULT.get_or_init(|| flag))
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let (read, write) = std::os::unix::net::UnixStream::pair()?;
        read.set_nonblocking(true)?;
        let (arrived, mut ids) = (Arc::default(), Vec::new());
        for signal in ENDING {
            let number = usize::try_from(signal).unwrap_or_default();
            ids.push(flag::register_usize(signal, Arc::clone(&arrived), number)?);
            ids.push(pipe::register(signal, write.try_clone()?)?);
        }
        by_default()?.store(false, Ordering::SeqCst);
        Ok(Self { wake: UnixStream::from_std(read)?, arrived, ids })
    }

    async fn next(&mut self) -> i32 {
        match self.wake.read(&mut [0]).await {
            Ok(read) if read > 0 => i32::try_from(self.arrived.load(Ordering::SeqCst)).unwrap_or_default(),
            // Only the signal handlers write to the stream.
            _ => std::future::pending().await,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Ok(by_default) = by_default() {
            by_default.store(true, Ordering::SeqCst);
        }
        for id in &self.ids {
            unregister(*id);
        }
    }
}
