//! The lock of a plugins directory: one process at a time changes plugins.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::Duration;

use cap_std::fs::Dir;
use rustix::fs::OFlags;

use super::{PluginError, PluginErrorKind, Plugins, dir_ops};
use hookbox_system::files::{FileLock, LockError as FileLockError};

/// The name of the locked file in the plugins directory.
const LOCK: &str = ".hookbox-lock";

/// The right to change the plugins of a root, until it is dropped.
#[derive(Debug)]
pub struct PluginsLock<'a> {
    plugins: &'a Plugins,
    pub(super) dir: Dir,
    lock: FileLock,
}

impl Plugins {
    /// Locks these plugins against changes by other processes. This blocks for up to 10 s, and other
    /// processes block while the lock is held, so fetch a plugin before. Call [`repair`](super::repair())
    /// next.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Busy`], with the number of the other process if it is known; an error if the file
    /// `.hookbox-lock` in the plugins directory cannot be written or is not a file.
    pub fn lock_exclusively(&self) -> Result<PluginsLock<'_>, PluginError> {
        self.lock_within(FileLock::PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<PluginsLock<'_>, PluginError> {
        let dir = self.plugins()?;
        let path = || self.path().join(LOCK);
        let wrong = |error: io::Error| PluginError::io(path(), error);
        // The file is never removed: two processes would lock two different files.
        let mut file = dir_ops::open(&dir, LOCK, OFlags::RDWR | OFlags::CREATE).map_err(wrong)?;
        if !file.metadata().map_err(wrong)?.is_file() {
            let kind = PluginErrorKind::Unexpected("is not a file: hookbox locks a file here".to_owned());
            return Err(PluginError::new(path().to_string_lossy(), kind).hint("remove it"));
        }
        let lock = match file
            .try_clone()
            .map_err(FileLockError::from)
            .and_then(|it| FileLock::exclusive(it, patience))
        {
            Ok(lock) => lock,
            Err(FileLockError::Io(error)) => return Err(wrong(error)),
            Err(_) => return Err(self.busy(&mut file, patience)),
        };
        // For the error message of a process that waits in vain; a full disk leaves the file empty.
        drop(file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())));
        Ok(PluginsLock { plugins: self, dir, lock })
    }

    /// Returns true if a process is changing these plugins. `dir` is the plugins directory.
    pub(super) fn is_locked(&self, dir: &Dir) -> Result<bool, PluginError> {
        let wrong = |error: io::Error| PluginError::io(self.path().join(LOCK), error);
        let file = match dir_ops::open(dir, LOCK, OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file.map_err(wrong)?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(wrong(error)),
        }
    }

    fn busy(&self, file: &mut File, patience: Duration) -> PluginError {
        let mut holder = String::new();
        drop(file.rewind().and_then(|()| file.take(16).read_to_string(&mut holder)));
        let who = match holder.trim().parse::<u32>() {
            Ok(pid) => format!("process {pid}"),
            Err(_) => "another process".to_owned(),
        };
        let what = format!("{who} has been changing them for more than {} s", patience.as_secs());
        PluginError::new(self.path().to_string_lossy(), PluginErrorKind::Busy(what))
            .hint("wait until it is done, and try again")
    }
}

impl<'a> PluginsLock<'a> {
    /// Returns the plugins that may be changed.
    pub fn plugins(&self) -> &'a Plugins {
        self.plugins
    }
}

impl Drop for PluginsLock<'_> {
    fn drop(&mut self) {
        // The next process has the lock before it writes its own number.
        drop(self.lock.file().set_len(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;

    #[test]
    fn an_error_names_the_process_that_holds_the_lock() {
        let temp = tempfile::tempdir().unwrap();
        let open = || Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let (first, second) = (open(), open());
        let is_locked = || second.is_locked(&second.plugins().unwrap()).unwrap();
        assert!(!is_locked());
        let lock = first.lock_exclusively().unwrap();
        assert!(is_locked());
        let error = second.lock_within(Duration::ZERO).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::Busy(_)));
        assert!(error.to_string().contains(&format!("process {} ", std::process::id())), "{error}");
        drop(lock);
        drop(second.lock_within(Duration::ZERO).unwrap());
        assert!(!is_locked());
    }

    #[test]
    fn only_a_file_is_locked_and_no_symlink_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let lock = plugins.path().join(LOCK);
        std::fs::write(temp.path().join("victim"), "whole").unwrap();
        std::os::unix::fs::symlink(temp.path().join("victim"), &lock).unwrap();
        assert!(plugins.lock_exclusively().unwrap_err().to_string().contains("is a symlink"));
        assert_eq!(std::fs::read_to_string(temp.path().join("victim")).unwrap(), "whole");
        std::fs::remove_file(&lock).unwrap();

        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        assert!(plugins.lock_exclusively().unwrap_err().to_string().contains("is not a file"));
        std::fs::remove_file(&lock).unwrap();

        std::fs::create_dir(&lock).unwrap();
        plugins.lock_exclusively().unwrap_err();
    }
}
