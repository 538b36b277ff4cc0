//! Being asked to end by a signal (Ctrl-C, a terminal that closes, `kill`), in an orderly way.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// The process was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    signal: i32,
}

impl Interrupted {
    /// The exit code that tells a shell of it: 128 and the signal's number.
    pub fn exit_code(self) -> u8 {
        u8::try_from(128 + self.signal).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "was asked to end (signal {})", self.signal)
    }
}

impl std::error::Error for Interrupted {}

/// Waits for `work`. Where the process is asked to end first, `work` is dropped, and with it the processes that it
/// started: hooks, MCP servers, tools. Before and after, signals do what they always do.
///
/// # Errors
///
/// [`Interrupted`] where it was asked to end.
pub async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Result<T, Interrupted> {
    let Ok(mut signals) = Signals::listen() else { return Ok(work.await) };
    tokio::select! {
        done = work => Ok(done),
        signal = signals.next() => Err(Interrupted { signal }),
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail, which by default ends the process: that something
/// cannot be kept is no reason not to answer. What is started from here has the default again.
///
/// # Errors
///
/// Where the system refuses to have the signal handled.
pub fn outlive_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whether the process was asked to end, for who answers then and does not wait for anything else.
#[derive(Clone, Debug)]
pub struct Asked {
    flag: Arc<AtomicBool>,
}

impl Asked {
    /// Takes note of signals that ask the process to end, from now on. Until the end of the first
    /// [`unless_interrupted`] they do nothing else.
    ///
    /// # Errors
    ///
    /// Where the system refuses to have signals handled.
    pub fn listen() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let by_default = by_default()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&asked))?;
        }
        by_default.store(false, Ordering::SeqCst);
        Ok(Self { flag: asked })
    }

    /// Whether it was.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}

/// Signals that ask a process to end, as long as this lives.
struct Signals {
    streams: [(i32, UnixStream); 3],
    ids: Vec<SigId>,
}

/// Whether these signals end the process, as they do by default. What handles a signal can never be taken out again,
/// so that there is one handler for the life of the process that does what the system would do.
fn by_default() -> io::Result<&'static AtomicBool> {
    static BY_DEFAULT: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = BY_DEFAULT.get() {
        return Ok(flag);
    }
    let flag = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_default(signal, Arc::clone(&flag))?;
    }
    Ok(BY_DEFAULT.get_or_init(|| flag))
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let by_default = by_default()?;
        let mut ids = Vec::new();
        let mut listen = |signal| {
            let (read, write) = std::os::unix::net::UnixStream::pair()?;
            read.set_nonblocking(true)?;
            ids.push(pipe::register(signal, write)?);
            io::Result::Ok((signal, UnixStream::from_std(read)?))
        };
        let streams = [listen(SIGINT)?, listen(SIGTERM)?, listen(SIGHUP)?];
        by_default.store(false, Ordering::SeqCst);
        Ok(Self { streams, ids })
    }

    async fn next(&mut self) -> i32 {
        let [first, second, third] = &mut self.streams;
        tokio::select! {
            signal = arrives(first) => signal,
            signal = arrives(second) => signal,
            signal = arrives(third) => signal,
        }
    }
}

async fn arrives((signal, stream): &mut (i32, UnixStream)) -> i32 {
    match stream.read(&mut [0]).await {
        Ok(read) if read > 0 => *signal,
        // Nobody else writes to it.
        _ => std::future::pending().await,
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
