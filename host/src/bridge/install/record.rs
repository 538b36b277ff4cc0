//! What was there before, so that it can come back: in the private data directory, a record and the original bytes of each
//! file that was changed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::InstallError;
use crate::bridge::config::{Level, MAX_BYTES};
use crate::dialect::agent::Agent;
use crate::files::private_dir;
use crate::hook::Digest;

/// The directory below the data directory.
const DIRECTORY: &str = "install";

/// The version of a record.
const VERSION: u64 = 1;

/// How many originals of earlier times are kept of a file; then the last one is replaced.
const MAX_EARLIER: u32 = 16;

/// How long to wait for another process that installs.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// One file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    version: u64,
    agent: String,
    level: String,
    path: PathBuf,
    /// The digest of what was there; nothing where there was no file.
    pub(super) before: Option<String>,
    /// The digest of what was written.
    pub(super) after: String,
    /// The directories that were made for it, the outermost first.
    pub(super) made: Vec<PathBuf>,
}

impl Record {
    pub(super) fn new(agent: Agent, level: Level, path: &Path, before: Option<&[u8]>, after: &[u8]) -> Self {
        Self {
            version: VERSION,
            agent: agent.to_string(),
            level: level.to_string(),
            path: path.to_owned(),
            before: before.map(digest),
            after: digest(after),
            made: Vec::new(),
        }
    }

    /// The same where other bytes were written since.
    pub(super) fn with_after(self, after: &[u8]) -> Self {
        Self { after: digest(after), ..self }
    }
}

pub(super) fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// The records. Nobody else changes them while one is open for changes.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    _lock: Option<File>,
}

impl Store {
    /// Opens the records for changes: waits for another process, up to 10 s.
    pub(super) fn open(data: &Path, project: &Path) -> Result<Self, InstallError> {
        let private = |path: &Path| {
            private_dir::open(path, Some(project)).map_err(|error| {
                let hint = "set XDG_DATA_HOME to a directory of your own, outside of the project";
                InstallError::new(path, error.kind.to_string(), hint)
            })
        };
        let directory = private(&private(data)?.join(DIRECTORY))?;
        let lock = lock(&directory.join("lock")).map_err(|error| InstallError::io(&directory, &error))?;
        Ok(Self { directory, _lock: Some(lock) })
    }

    /// Opens them to be looked at. Nothing is made.
    pub(super) fn look(data: &Path) -> Self {
        Self { directory: data.join(DIRECTORY), _lock: None }
    }

    fn place(&self, path: &Path, extension: &str) -> PathBuf {
        let digest = Digest::of(path.as_os_str().as_encoded_bytes()).hex();
        self.directory.join(format!("{}.{extension}", digest.get(..24).unwrap_or(&digest)))
    }

    /// Where the original bytes of a file are kept.
    pub(super) fn backup(&self, path: &Path) -> PathBuf {
        self.place(path, "original")
    }

    /// The record of a file. One that cannot be read is none.
    pub(super) fn get(&self, path: &Path) -> Option<Record> {
        let bytes = read(&self.place(path, "json")).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.version == VERSION && record.path == path).then_some(record)
    }

    /// The original bytes, where there are some and they are still those.
    pub(super) fn original(&self, path: &Path, record: &Record) -> Option<Vec<u8>> {
        let want = record.before.as_ref()?;
        read(&self.backup(path)).ok().filter(|bytes| digest(bytes) == *want)
    }

    /// The bytes that are kept of a file, whatever the record says of them.
    pub(super) fn kept(&self, path: &Path) -> Option<Vec<u8>> {
        read(&self.backup(path)).ok()
    }

    /// Keeps what is there now, and how it will be. Says where an original of an earlier time is now.
    pub(super) fn put(
        &self,
        path: &Path,
        record: &Record,
        before: Option<&[u8]>,
    ) -> Result<Option<PathBuf>, InstallError> {
        if path.to_str().is_none() {
            return Err(InstallError::new(
                path,
                "its path is no UTF-8",
                "move it to a place with another name",
            ));
        }
        let write = || -> io::Result<Option<PathBuf>> {
            let earlier = self.set_aside(path, before)?;
            if let Some(bytes) = before {
                self.write(&self.backup(path), bytes)?;
            }
            self.write(
                &self.place(path, "json"),
                &[&serde_json::to_vec_pretty(record)?[..], b"\n"].concat(),
            )?;
            Ok(earlier)
        };
        write().map_err(|error| InstallError::io(&self.directory, &error))
    }

    /// Gives the original of an earlier time, which is not what stands there now, another name.
    fn set_aside(&self, path: &Path, before: Option<&[u8]>) -> io::Result<Option<PathBuf>> {
        let backup = self.backup(path);
        let bytes = match read(&backup) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        if before == Some(&bytes[..]) {
            return Ok(None);
        }
        let mut aside = backup.clone();
        for number in 1..=MAX_EARLIER {
            aside = self.place(path, &format!("original.{number}"));
            match read(&aside) {
                Ok(same) if same == bytes => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                _ => {}
            }
        }
        fs::rename(&backup, &aside)?;
        Ok(Some(aside))
    }

    /// Writes the record alone: what was there before stays what it was.
    pub(super) fn put_after(&self, path: &Path, record: &Record) -> Result<(), InstallError> {
        let bytes =
            serde_json::to_vec_pretty(record).map_err(|error| InstallError::io(path, &error.into()))?;
        self.write(&self.place(path, "json"), &[&bytes[..], b"\n"].concat())
            .map_err(|error| InstallError::io(&self.directory, &error))
    }

    /// Forgets a file.
    pub(super) fn forget(&self, path: &Path) -> Result<(), InstallError> {
        gone(&self.place(path, "json"))
            .and_then(|()| gone(&self.backup(path)))
            .map_err(|error| InstallError::io(&self.directory, &error))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // Mode 0600 from the start: settings may hold secrets.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.directory)?.sync_all()
    }
}

fn gone(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The file stays: removing it would let two processes lock two files.
fn lock(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let what = format!("another process installs for more than {} s", PATIENCE.as_secs());
                return Err(io::Error::other(what));
            }
        }
    }
}
