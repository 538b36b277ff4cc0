//! A process group that does not outlive its owner, also if this process is killed.
//!
//! The kernel does it: the group gets a signal when the last writer of a pipe is gone, which is this process.
//! The started process inherits the reading end and need not know of it. Unlike a parent-death signal it
//! reaches the whole group, does not depend on the thread that started it, and does not change the start of a
//! process.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// A process group that is killed when it is dropped, and when this process ends, unless it was released.
pub(crate) struct Group {
    id: Option<Pid>,
    leash: Option<Leash>,
}

impl Group {
    /// Makes the group of a process that was just started as its leader.
    pub(super) fn of(child: &Child, leash: Option<Leash>) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let (Some(id), Some(leash)) = (id, &leash) {
            leash.tie(id);
        }
        Self { id, leash }
    }

    /// Notes that the leader was reaped: from now on the number belongs to the group only while it has other
    /// members.
    pub(crate) fn leader_is_gone(&mut self) {
        self.id = self.id.filter(|group| test_kill_process_group(*group).is_ok());
    }

    /// Lets the rest of the group live.
    pub(super) fn release(&mut self) {
        self.id = None;
        if let Some(leash) = self.leash.take() {
            leash.let_go();
        }
    }

    pub(super) fn kill(&mut self) {
        if let Some(group) = self.id.take() {
            // An error means that the group is empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

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
    /// Makes a leash for the process that is started next, which inherits its end; `None` if the system has
    /// none. A process that another thread starts meanwhile may inherit it too, without effect.
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

    /// Lets the rest of the group live.
    pub(super) fn let_go(self) {
        #[cfg(target_os = "linux")]
        self.set(libc::F_SETFL, 0);
    }

    /// Best effort: without it a group outlives this process only if this process is killed.
    #[cfg(target_os = "linux")]
    fn set(&self, what: libc::c_int, to: libc::c_int) {
        #[allow(unsafe_code, reason = "no safe interface has these commands; see SAFETY")]
        // SAFETY: `fcntl` with F_SETOWN, F_SETSIG and F_SETFL takes one integer by value and touches no
        // memory of this process; the descriptor is open, because `reader` owns it.
        unsafe {
            libc::fcntl(self.reader.as_raw_fd(), what, to);
        }
    }
}
