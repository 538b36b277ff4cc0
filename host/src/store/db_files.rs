//! The files of the database, and how a corrupt database is set aside while other processes use it.
//!
//! `state.lock` is held shared while a database is opened, because the database and its log must belong together, and
//! exclusively while a database is created or set aside. Nothing here opens and closes `state.db` itself while a
//! connection may exist: closing any descriptor of a file drops the locks that SQLite holds on it in this process.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::{Notice, StoreError};
use hookbox_system::files::{FileLock, LockError, private_dir};

/// The database.
const NAME: &str = "state.db";
/// The file that is locked to open, create and set aside a database.
const LOCK: &str = "state.lock";
/// The suffixes of SQLite's files: the database, its log, the index of the log, and the journal while it is created.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// The longest wait for another process: a hook that uses the store has a deadline of a few seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The directory of the database.
#[derive(Debug)]
pub(super) struct DbFiles {
    directory: PathBuf,
}

/// The identity of a file: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl DbFiles {
    /// Opens the directory, which must exist.
    pub(super) fn open(directory: &Path) -> Result<Self, StoreError> {
        // SQLite refuses symlinks anywhere in the path; those above the directory are the user's own.
        let directory = directory.canonicalize().map_err(|error| unavailable("its directory", &error))?;
        Ok(Self { directory })
    }

    pub(super) fn database(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// Locks beside other processes that open the database.
    pub(super) fn lock_shared(&self) -> Result<FileLock, StoreError> {
        self.lock(FileLock::shared)
    }

    /// Locks all other processes out.
    pub(super) fn lock_alone(&self) -> Result<FileLock, StoreError> {
        self.lock(FileLock::exclusive)
    }

    fn lock(&self, lock: fn(File, Duration) -> Result<FileLock, LockError>) -> Result<FileLock, StoreError> {
        let file = private_dir::create_file(&self.directory.join(LOCK));
        file.map_err(LockError::from).and_then(|file| lock(file, PATIENCE)).map_err(|error| match error {
            LockError::Io(error) => unavailable(LOCK, &error),
            _ => StoreError::Unavailable(format!("another process holds {LOCK}")),
        })
    }

    /// Returns the identity of the database if it exists, and true if it is not empty.
    pub(super) fn look(&self) -> Result<Option<(Identity, bool)>, StoreError> {
        let metadata = match fs::symlink_metadata(self.database()) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(NAME, &error)),
        };
        if !metadata.is_file() {
            let what = if metadata.is_symlink() { "a symbolic link" } else { "not a regular file" };
            return Err(StoreError::Unavailable(format!("{NAME} is {what}")));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(self.database(), fs::Permissions::from_mode(0o600))
                .map_err(|error| unavailable(NAME, &error))?;
        }
        Ok(Some((Identity(metadata.dev(), metadata.ino()), metadata.len() > 0)))
    }

    /// Creates an empty database file that only the user can use.
    pub(super) fn create(&self, _: &FileLock) -> Result<(), StoreError> {
        create_new(&self.database()).map(drop).map_err(|error| unavailable(NAME, &error))
    }

    /// Renames the files of the database that exist.
    pub(super) fn set_aside(&self, _: &FileLock, reason: &str) -> Result<Option<Notice>, StoreError> {
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
        // The database first: a log without a database is set aside later, but a database without its log would be
        // taken for a whole one.
        for suffix in SUFFIXES.iter().filter(|suffix| is_there(&from(suffix))) {
            fs::rename(from(suffix), to(count, suffix)).map_err(|error| unavailable(NAME, &error))?;
        }
        // If this fails and the machine crashes, the corrupt database is found again.
        drop(File::open(&self.directory).and_then(|directory| directory.sync_all()));
        Ok(Some(Notice { set_aside: to(count, ""), reason: reason.to_owned() }))
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).custom_flags(flags).open(path)
}

fn unavailable(what: &str, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{what}: {error}"))
}
