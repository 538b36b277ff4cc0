//! The files of the database: who may open them, and how a corrupt one is set aside while other processes use it.
//!
//! `state.lock` is held, shared, while a database is opened (its name and that of its log have to stand for the same
//! database), and alone, while one is made or set aside. Nothing here opens and closes `state.db` itself once a
//! connection may exist: closing any descriptor of a file drops the locks that SQLite holds on it in this process.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::{Notice, StoreError};

/// The database.
const NAME: &str = "state.db";
/// What is locked to open, make and set aside.
const LOCK: &str = "state.lock";
/// What SQLite appends to the database's name: nothing, the log, the index of the log, the journal of a database that is
/// being made.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// How long to wait for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look whether the lock is free.
const LOOK: Duration = Duration::from_millis(2);

/// The directory that holds the database.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
}

/// Which file a name stands for: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// A lock on the place, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Place {
    /// The place in this directory, which has to exist.
    pub(super) fn open(directory: &Path) -> Result<Self, StoreError> {
        // SQLite refuses symlinks anywhere in the path; those above the directory are the user's own.
        let directory = directory.canonicalize().map_err(|error| unavailable("its directory", &error))?;
        Ok(Self { directory })
    }

    pub(super) fn database(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// A lock beside others that open the database.
    pub(super) fn lock_shared(&self) -> Result<Lock, StoreError> {
        self.lock(FlockOperation::NonBlockingLockShared)
    }

    /// A lock beside nobody.
    pub(super) fn lock_alone(&self) -> Result<Lock, StoreError> {
        self.lock(FlockOperation::NonBlockingLockExclusive)
    }

    fn lock(&self, operation: FlockOperation) -> Result<Lock, StoreError> {
        let file = create(&self.directory.join(LOCK), false).map_err(|error| unavailable(LOCK, &error))?;
        let started = Instant::now();
        loop {
            match flock(&file, operation) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) if started.elapsed() < PATIENCE => {
                    std::thread::sleep(LOOK);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(StoreError::Unavailable(format!("another process holds {LOCK}")));
                }
                Err(error) => return Err(unavailable(LOCK, &error.into())),
            }
        }
    }

    /// Which file the database is, if it is there, and whether it has anything in it.
    pub(super) fn look(&self) -> Result<Option<(Identity, bool)>, StoreError> {
        let metadata = match fs::symlink_metadata(self.database()) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(NAME, &error)),
        };
        if !metadata.is_file() {
            let what = if metadata.is_symlink() { "a symbolic link" } else { "no regular file" };
            return Err(StoreError::Unavailable(format!("{NAME} is {what}")));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(self.database(), fs::Permissions::from_mode(0o600))
                .map_err(|error| unavailable(NAME, &error))?;
        }
        Ok(Some((Identity(metadata.dev(), metadata.ino()), metadata.len() > 0)))
    }

    /// Makes an empty file for the database, for the user alone.
    pub(super) fn make(&self, _: &Lock) -> Result<(), StoreError> {
        create(&self.database(), true).map(drop).map_err(|error| unavailable(NAME, &error))
    }

    /// Renames the database and what belongs to it, as far as it is there.
    pub(super) fn set_aside(&self, _: &Lock, reason: &str) -> Result<Option<Notice>, StoreError> {
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let from = |suffix: &str| self.directory.join(format!("{NAME}{suffix}"));
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let to = |count: u32, suffix: &str| {
            let count = if count == 0 { String::new() } else { format!(".{count}") };
            self.directory.join(format!("{NAME}.corrupt-{now}{count}{suffix}"))
        };
        if !SUFFIXES.iter().any(|suffix| is_there(&from(suffix))) {
            return Ok(None);
        }
        let is_free = |count: &u32| !SUFFIXES.iter().any(|suffix| is_there(&to(*count, suffix)));
        let count = (0..1_000).find(is_free).unwrap_or(1_000);
        // The database first: a log without one is set aside before the next is made, but a database without its
        // log would be taken for a whole one.
        for suffix in SUFFIXES.iter().filter(|suffix| is_there(&from(suffix))) {
            fs::rename(from(suffix), to(count, suffix)).map_err(|error| unavailable(NAME, &error))?;
        }
        // Best effort: after a crash of the machine the corrupt one would be found again.
        drop(File::open(&self.directory).and_then(|directory| directory.sync_all()));
        Ok(Some(Notice { set_aside: to(count, ""), reason: reason.to_owned() }))
    }
}

/// Opens a file for the user alone, never through a symlink.
fn create(path: &Path, new: bool) -> io::Result<File> {
    let nofollow = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .create_new(new)
        .mode(0o600)
        .custom_flags(nofollow)
        .open(path)
}

fn unavailable(what: &str, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{what}: {error}"))
}
