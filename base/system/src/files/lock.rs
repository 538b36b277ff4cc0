//! Locks between processes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::private_dir;

/// The time between two attempts to get a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// A locked file. Dropping it unlocks the file.
///
/// The file is never removed: a process that waits for the removed file and one that creates a new file would each get
/// a lock.
#[derive(Debug)]
pub struct FileLock(File);

/// The reason why a file was not locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process kept the lock for this long.
    #[error("another process has locked it for more than {} s", .0.as_secs())]
    Busy(Duration),
    /// The file cannot be opened or locked.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileLock {
    /// The longest wait for another process: long enough for its disk, short enough to be told.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    /// Locks a file of a private directory, and creates it if it is missing. Blocks for up to [`FileLock::PATIENCE`].
    ///
    /// # Errors
    ///
    /// [`LockError::Busy`] if another process keeps the lock; [`LockError::Io`] if the file is not a private one.
    pub fn private(path: &Path) -> Result<Self, LockError> {
        Self::exclusive(private_dir::create_file(path)?, Self::PATIENCE)
    }

    /// Locks an open file, alone. Blocks for up to `patience`.
    ///
    /// # Errors
    ///
    /// As for [`FileLock::private`].
    pub fn exclusive(file: File, patience: Duration) -> Result<Self, LockError> {
        wait(patience, || file.try_lock())?;
        Ok(Self(file))
    }

    /// Locks an open file beside others that share the lock. Blocks for up to `patience`.
    ///
    /// # Errors
    ///
    /// As for [`FileLock::private`].
    pub fn shared(file: File, patience: Duration) -> Result<Self, LockError> {
        wait(patience, || file.try_lock_shared())?;
        Ok(Self(file))
    }

    /// Returns the locked file.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    /// Unlocks the file also for the copies of its descriptor. A process that this one starts has such a copy until it
    /// runs its program, and would keep the lock for so long (flock(2)).
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

fn wait(patience: Duration, attempt: impl Fn() -> Result<(), TryLockError>) -> Result<(), LockError> {
    let begin = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if begin.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(LockError::Busy(patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_shared_or_held_alone_until_it_is_dropped() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let open = || private_dir::create_file(&path).unwrap();
        let is_busy = |lock: Result<FileLock, LockError>| matches!(lock, Err(LockError::Busy(_)));
        let shared = FileLock::shared(open(), Duration::ZERO).unwrap();
        drop(FileLock::shared(open(), Duration::ZERO).unwrap());
        assert!(is_busy(FileLock::exclusive(open(), Duration::ZERO)));
        drop(shared);
        let alone = FileLock::private(&path).unwrap();
        assert!(is_busy(FileLock::exclusive(open(), Duration::ZERO)));
        assert!(is_busy(FileLock::shared(open(), 2 * PAUSE)));
        drop(alone);
        drop(FileLock::private(&path).unwrap());
    }

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let lock = FileLock::private(&path).unwrap();
        let _copy = lock.file().try_clone().unwrap();
        drop(lock);
        drop(FileLock::exclusive(private_dir::create_file(&path).unwrap(), Duration::ZERO).unwrap());
    }
}
