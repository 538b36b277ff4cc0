//! One process at a time changes the plugins of a root.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::{PluginError, PluginErrorKind, Plugins, beneath};

/// The name of the file that is locked.
const LOCK: &str = ".hookbox-lock";

/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// The right to change the plugins of a root, until it is dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    plugins: &'a Plugins,
    dir: Dir,
    lock: File,
}

impl Plugins {
    /// Waits until no other process changes these plugins, and keeps others from it. Fetch before, not while this is
    /// held: others wait no longer than this does. Call [`repair`](super::repair()) next. This blocks, up to 10 s.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Busy`] where another process holds it for longer, with its number where it is known; where
    /// the file `.hookbox-lock` in the plugins directory cannot be written, or is no file.
    pub fn lock_exclusively(&self) -> Result<Guard<'_>, PluginError> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<Guard<'_>, PluginError> {
        let dir = self.plugins()?;
        let wrong = |error: io::Error| PluginError::io(self.path().join(LOCK), error);
        // The file stays: removing it would let two processes lock two files.
        let mut lock = beneath::open(&dir, LOCK, OFlags::RDWR | OFlags::CREATE).map_err(wrong)?;
        if !lock.metadata().map_err(wrong)?.is_file() {
            let what =
                PluginErrorKind::Unexpected("is no file: expected the file that hookbox locks".to_owned());
            return Err(PluginError::new(self.path().join(LOCK).to_string_lossy(), what).hint("remove it"));
        }
        let begin = Instant::now();
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if begin.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => return Err(self.busy(&mut lock, patience)),
                Err(error) => return Err(wrong(error.into())),
            }
        }
        // For whoever waits in vain. On a full disk it says nothing.
        drop(lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())));
        Ok(Guard { plugins: self, dir, lock })
    }

    /// Whether a process changes these plugins now, whose directory this is.
    pub(super) fn is_locked(&self, dir: &Dir) -> Result<bool, PluginError> {
        let wrong = |error: io::Error| PluginError::io(self.path().join(LOCK), error);
        let lock = match beneath::open(dir, LOCK, OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            lock => lock.map_err(wrong)?,
        };
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(wrong(error.into())),
        }
    }

    fn busy(&self, lock: &mut File, patience: Duration) -> PluginError {
        let mut holder = String::new();
        drop(lock.rewind().and_then(|()| lock.take(16).read_to_string(&mut holder)));
        let who = match holder.trim().parse::<u32>() {
            Ok(pid) => format!("process {pid}"),
            Err(_) => "another process".to_owned(),
        };
        let what = format!("{who} has been changing them for more than {} s", patience.as_secs());
        PluginError::new(self.path().to_string_lossy(), PluginErrorKind::Busy(what))
            .hint("wait until it is done, and try again")
    }
}

impl<'a> Guard<'a> {
    /// What may be changed.
    pub fn plugins(&self) -> &'a Plugins {
        self.plugins
    }

    /// The plugins directory, open.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // The number of a process that is done would be taken for that of the next.
        drop(self.lock.set_len(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;

    #[test]
    fn whoever_waits_in_vain_learns_for_whom() {
        let temp = tempfile::tempdir().unwrap();
        let open = || Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let (first, second) = (open(), open());
        let is_locked = || second.is_locked(&second.plugins().unwrap()).unwrap();
        assert!(!is_locked());
        let guard = first.lock_exclusively().unwrap();
        assert!(is_locked());
        let error = second.lock_within(Duration::ZERO).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::Busy(_)));
        assert!(error.to_string().contains(&format!("process {} ", std::process::id())), "{error}");
        drop(guard);
        drop(second.lock_within(Duration::ZERO).unwrap());
        assert!(!is_locked());
    }

    #[test]
    fn what_is_no_file_is_neither_locked_nor_followed() {
        let temp = tempfile::tempdir().unwrap();
        let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let lock = plugins.path().join(LOCK);
        std::fs::write(temp.path().join("victim"), "whole").unwrap();
        std::os::unix::fs::symlink(temp.path().join("victim"), &lock).unwrap();
        assert!(plugins.lock_exclusively().unwrap_err().to_string().contains("is a symlink"));
        assert_eq!(std::fs::read_to_string(temp.path().join("victim")).unwrap(), "whole");
        std::fs::remove_file(&lock).unwrap();

        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        assert!(plugins.lock_exclusively().unwrap_err().to_string().contains("is no file"));
        std::fs::remove_file(&lock).unwrap();

        std::fs::create_dir(&lock).unwrap();
        plugins.lock_exclusively().unwrap_err();
    }
}
