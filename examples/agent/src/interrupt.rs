//! An orderly end after Ctrl-C or `kill`: the session ends, and hooks and tools are ended with it.

use std::fmt;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// An error: the process was asked to end.
#[derive(Clone, Copy, Debug)]
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
/// it started.
///
/// # Errors
///
/// [`Interrupted`] if the process was asked to end.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Result<T, Interrupted> {
    tokio::select! {
        done = work => Ok(done),
        signal = arrives(SIGINT) => Err(Interrupted { signal }),
        signal = arrives(SIGTERM) => Err(Interrupted { signal }),
        signal = arrives(SIGHUP) => Err(Interrupted { signal }),
    }
}

/// Waits for the signal; forever if the system refuses a handler.
async fn arrives(signal: i32) -> i32 {
    let listen = || {
        let (read, write) = std::os::unix::net::UnixStream::pair()?;
        read.set_nonblocking(true)?;
        pipe::register(signal, write)?;
        UnixStream::from_std(read)
    };
    if let Ok(mut stream) = listen()
        && stream.read(&mut [0]).await.is_ok()
    {
        return signal;
    }
    std::future::pending().await
}
