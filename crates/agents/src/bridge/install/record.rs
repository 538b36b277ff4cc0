//! The originals: for each changed file, a record and the bytes before the change, in the private data
//! directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::InstallError;
use crate::agent::Agent;
use crate::config::{Level, MAX_BYTES};
use crate::files::private_dir::{self, PrivateErrorKind};
use crate::files::{FileLock, write_atomic};
use crate::hook::Digest;

/// The directory below the data directory.
const DIRECTORY: &str = "install";

/// The version of a record.
const VERSION: u64 = 1;

/// One file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) version: u64,
    pub(crate) agent: String,
    pub(crate) level: String,
    pub(crate) path: PathBuf,
    /// The digest of the file before the change; `None` if there was no file.
    pub(crate) before: Option<String>,
    /// The digest of the file as it was written.
    pub(crate) after: String,
    /// The directories that were created for it, the outermost first.
    pub(crate) made: Vec<PathBuf>,
}

impl Record {
    pub(crate) fn new(agent: Agent, level: Level, path: &Path, before: Option<&[u8]>, after: &[u8]) -> Self {
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
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// The records. No other process changes them while one is open for changes.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    _lock: Option<FileLock>,
}

impl Store {
    /// Opens the records for changes. Waits for another process, up to [`FileLock::PATIENCE`].
    pub(crate) fn open(data: &Path, repository: Option<&Path>) -> Result<Self, InstallError> {
        let private = |path: &Path| {
            private_dir::open(path, repository).map_err(|error| {
                let hint = match &error.kind {
                    PrivateErrorKind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        "run the command as a user who may write there"
                    }
                    _ => "set XDG_DATA_HOME to a directory of your own, outside of the project",
                };
                InstallError::new(path, error.kind.to_string(), hint)
            })
        };
        let directory = private(&private(data)?.join(DIRECTORY))?;
        let lock = FileLock::private(&directory.join("lock")).map_err(|error| {
            let hint = "wait until the other installation has ended; nothing was changed";
            InstallError::new(&directory, error.to_string(), hint)
        })?;
        Ok(Self { directory, _lock: Some(lock) })
    }

    /// Opens the records for reading. Creates nothing.
    pub(crate) fn read_only(data: &Path) -> Self {
        Self { directory: data.join(DIRECTORY), _lock: None }
    }

    fn file(&self, path: &Path, extension: &str) -> PathBuf {
        let digest = Digest::of(path.as_os_str().as_encoded_bytes()).hex();
        self.directory.join(format!("{}.{extension}", digest.get(..24).unwrap_or(&digest)))
    }

    /// Returns the path of a file's original bytes.
    pub(crate) fn backup(&self, path: &Path) -> PathBuf {
        self.file(path, "original")
    }

    /// Returns the record of a file, if there is one that can be read.
    pub(crate) fn get(&self, path: &Path) -> Option<Record> {
        let record: Record = serde_json::from_slice(&read(&self.file(path, "json")).ok()?).ok()?;
        (record.version == VERSION && record.path == path).then_some(record)
    }

    /// Returns the original bytes, if they are still those of the record.
    pub(crate) fn original(&self, path: &Path, record: &Record) -> Option<Vec<u8>> {
        let want = record.before.as_ref()?;
        self.kept(path).filter(|bytes| digest(bytes) == *want)
    }

    /// Returns the bytes that are kept of a file, whatever the record.
    pub(crate) fn kept(&self, path: &Path) -> Option<Vec<u8>> {
        read(&self.backup(path)).ok()
    }

    /// Keeps the bytes before a change, and writes the record. Returns the new path of an earlier original.
    pub(crate) fn put(
        &self,
        path: &Path,
        record: &Record,
        before: Option<&[u8]>,
    ) -> Result<Option<PathBuf>, InstallError> {
        if path.to_str().is_none() {
            let hint = "move it to a path that is UTF-8";
            return Err(InstallError::new(path, "its path is not UTF-8", hint));
        }
        let keep = || {
            let earlier = self.set_aside(path, before)?;
            before.map_or(Ok(()), |bytes| write_atomic(&self.backup(path), bytes))?;
            io::Result::Ok(earlier)
        };
        let earlier = keep().map_err(|error| InstallError::io(&self.directory, &error))?;
        self.put_record(path, record)?;
        Ok(earlier)
    }

    /// Writes the record alone.
    pub(crate) fn put_record(&self, path: &Path, record: &Record) -> Result<(), InstallError> {
        let write = || {
            let bytes = [&serde_json::to_vec_pretty(record)?[..], b"\n"].concat();
            write_atomic(&self.file(path, "json"), &bytes)
        };
        write().map_err(|error| InstallError::io(&self.directory, &error))
    }

    /// Gives an original of an earlier time, which is not the file's contents now, another name.
    fn set_aside(&self, path: &Path, before: Option<&[u8]>) -> io::Result<Option<PathBuf>> {
        let backup = self.backup(path);
        let bytes = match read(&backup) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        if before == Some(&bytes[..]) {
            return Ok(None);
        }
        let digest = Digest::of(&bytes).hex();
        let aside = self.file(path, &format!("original.{}", digest.get(..12).unwrap_or(&digest)));
        fs::rename(&backup, &aside)?;
        Ok(Some(aside))
    }

    /// Deletes the record and the original of a file.
    pub(crate) fn forget(&self, path: &Path) -> Result<(), InstallError> {
        for file in [self.file(path, "json"), self.backup(path)] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(InstallError::io(&self.directory, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    private_dir::read_file(path, MAX_BYTES as u64)
}
