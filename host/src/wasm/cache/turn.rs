//! Turns to compile, over all processes: each component is compiled once, and only some at the same time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{Cache, CacheDir, kept};
use crate::hook::Digest;
use hookbox_system::files::{FileLock, LockError, private_dir};

/// The bytes for which there has to be room for each byte of a component. The code of a guard has three.
const CODE_PER_BYTE: usize = 4;

/// The most bytes that are written to see whether there is room.
const MOST_TRIED: usize = 16 << 20;

/// The time between two looks at what another process does.
pub(in crate::wasm) const PAUSE: Duration = Duration::from_millis(5);

/// The turn to compile a component. Other processes wait until it is dropped.
#[derive(Debug)]
pub(in crate::wasm) struct Turn {
    path: PathBuf,
    _lock: FileLock,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A process that waits for the removed file looks into the cache first. If there is nothing, two of them
        // may compile: that costs time and nothing else.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl CacheDir {
    /// Returns true if as many bytes can be kept there as the code of a component of this size may have. The file of this
    /// test has the name of a lock, so that it is removed with those if this process is killed now.
    fn has_room(&self, digest: &Digest, size: usize) -> bool {
        let name = kept::lock_name(&Digest::of(digest.hex().as_bytes()));
        let written = self.write(&name, &vec![0; size.saturating_mul(CODE_PER_BYTE).min(MOST_TRIED)]);
        let _ = std::fs::remove_file(self.path.join(name));
        if let Err(error) = &written {
            tracing::warn!(directory = %self.path.display(), %error, "cannot keep compiled code");
        }
        written.is_ok()
    }
}

impl Cache {
    /// Returns the private directory of the first cache with room for the code of a component of this size.
    pub(in crate::wasm) fn root_with_room(&self, digest: &Digest, size: usize) -> Option<&Path> {
        self.dirs().find(|dir| dir.has_room(digest, size))?.path.parent()
    }

    /// Waits until no other process compiles this component. `None` if that takes too long, or if there is no lock:
    /// then both compile.
    pub(in crate::wasm) async fn turn(&self, digest: &Digest, patience: Duration) -> Option<Turn> {
        let begin = Instant::now();
        let name = kept::lock_name(digest);
        loop {
            // Opened each time: the last one has removed its file.
            let (path, file) = self.dirs().find_map(|dir| {
                let path = private_dir::open(&dir.path, None).ok()?.join(&name);
                let file = private_dir::create_file(&path).ok()?;
                Some((path, file))
            })?;
            match FileLock::exclusive(file, Duration::ZERO) {
                Ok(lock) => {
                    // A process that was killed may have left the file.
                    let _ = lock.file().set_modified(SystemTime::now());
                    return Some(Turn { path, _lock: lock });
                }
                Err(LockError::Busy(_)) if begin.elapsed() < patience => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    tracing::debug!(%digest, %error, "a component is compiled beside another process");
                    return None;
                }
            }
        }
    }

    /// Returns the time since another process began to compile this component; `None` if no process does.
    pub(in crate::wasm) fn compiling_since(&self, digest: &Digest) -> Option<Duration> {
        self.dirs().find_map(|dir| {
            let file = private_dir::open_file(&dir.path.join(kept::lock_name(digest))).ok()?;
            let began = file.metadata().and_then(|about| about.modified()).ok()?;
            match FileLock::shared(file, Duration::ZERO) {
                Err(LockError::Busy(_)) => Some(began.elapsed().unwrap_or_default()),
                _ => None,
            }
        })
    }

    /// Waits for one of so many places to compile in, over all processes: each of them may take a gigabyte. `None` if
    /// that takes too long, or if there is no lock.
    pub(in crate::wasm) async fn place(&self, places: usize, patience: Duration) -> Option<FileLock> {
        let begin = Instant::now();
        let dir = self.dirs().find_map(|dir| private_dir::open(dir.path.parent()?, None).ok())?;
        loop {
            for place in 0..places {
                let file = private_dir::create_file(&dir.join(format!("compiling-{place}.lock"))).ok()?;
                match FileLock::exclusive(file, Duration::ZERO) {
                    Ok(lock) => return Some(lock),
                    Err(LockError::Busy(_)) => {}
                    Err(_) => return None,
                }
            }
            if begin.elapsed() >= patience {
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn one_process_after_the_other_has_the_turn_and_a_killed_one_blocks_nobody() {
        let temp = tempfile::tempdir().unwrap();
        let (one, other) = (Cache::new(temp.path(), None), Cache::new(temp.path(), None));
        let (digest, second) = (Digest::of(b"one"), Digest::of(b"another one"));
        let turn = one.turn(&digest, Duration::ZERO).await.unwrap();
        assert!(other.turn(&digest, Duration::ZERO).await.is_none(), "it compiles as well");
        assert!(other.turn(&second, Duration::ZERO).await.is_some());
        // Waits for as long as it takes.
        let waiting = tokio::spawn(async move { other.turn(&digest, Duration::MAX).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        drop(waiting.await.unwrap().unwrap());
        // The system unlocks the file of a killed process, and the file stays.
        private_dir::create_file(&one.first.path.join(kept::lock_name(&second))).unwrap();
        drop(one.turn(&second, Duration::ZERO).await.unwrap());
        assert_eq!(fs::read_dir(&one.first.path).unwrap().count(), 0, "nothing is left");
        fs::set_permissions(&one.first.path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(one.turn(&second, Duration::ZERO).await.is_none(), "no lock where others may write");
    }
}
