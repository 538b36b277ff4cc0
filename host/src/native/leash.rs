//! The end of a process group together with this process, also where it is killed and can end nothing itself.
//!
//! The kernel does it: the group gets a signal when the last writer of a pipe is gone, which is this process. Only who
//! started the process knows of the pipe; the process itself just keeps the reading end open. Unlike a parent-death signal
//! it reaches the whole group, does not mind which thread started it, and leaves the way in which a process is started.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;

/// The command that sets the signal; `libc` does not name it everywhere.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Kills a process group when this process ends, until it is let go of.
pub(super) struct Leash {
    reader: PipeReader,
    /// Nobody else has this end: it is closed on exec.
    _writer: PipeWriter,
}

impl Leash {
    /// A leash whose end the process inherits that is started next; `None` where the system has none. A process that
    /// another thread starts meanwhile inherits it, too, which does not matter: nothing follows from it there.
    pub(super) fn new() -> Option<Self> {
        let (reader, writer) = std::io::pipe().ok().filter(|_| cfg!(target_os = "linux"))?;
        fcntl_setfd(&reader, FdFlags::empty()).ok()?;
        Some(Self { reader, _writer: writer })
    }

    /// Ties a group to it.
    pub(super) fn tie(&self, group: Pid) {
        let _ = fcntl_setfd(&self.reader, FdFlags::CLOEXEC);
        #[cfg(target_os = "linux")]
        {
            self.set(libc::F_SETOWN, -group.as_raw_nonzero().get());
            self.set(F_SETSIG, libc::SIGKILL);
            self.set(libc::F_SETFL, libc::O_ASYNC);
        }
    }

    /// Lets what is left of the group live.
    pub(super) fn let_go(self) {
        #[cfg(target_os = "linux")]
        self.set(libc::F_SETFL, 0);
    }

    /// Best effort: without it a group outlives this process where that is killed, and only there.
    #[cfg(target_os = "linux")]
    fn set(&self, what: libc::c_int, to: libc::c_int) {
        #[allow(unsafe_code, reason = "no safe interface has these commands; see SAFETY")]
        // SAFETY: `fcntl` with F_SETOWN, F_SETSIG and F_SETFL takes one integer by value and touches no memory of this
        // process; the descriptor is open, because `reader` owns it.
        unsafe {
            libc::fcntl(self.reader.as_raw_fd(), what, to);
        }
    }
}
