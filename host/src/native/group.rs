//! A process group that does not outlive its owner.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

use crate::native::leash::Leash;

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
