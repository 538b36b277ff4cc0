//! The originals: for each changed file, a record and the bytes before the change, in the private data
//! directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::outcome::InstallError;
use crate::files::private_dir::{self, PrivateErrorKind};
use crate::files::{FileLock, write_atomic};
use crate::hook::Digest;
use hookbox_system::limits;

/// The directory below the data directory.
const DIRECTORY: &str = "install";

/// One file that was changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The path, for people who look for an original.
    pub(crate) path: String,
    /// The digest of the file before the change, in hex; `None` if there was no file.
    pub(crate) before: Option<String>,
    /// The digest of the file as it was written.
    pub(crate) after: String,
    /// The number of directories that were created for it.
    pub(crate) made: usize,
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).hex()
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
                InstallError::new(path, error.kind, hint)
            })
        };
        let directory = private(&private(data)?.join(DIRECTORY))?;
        let lock = FileLock::private(&directory.join("lock")).map_err(|error| {
            let hint = "wait until the other installation has ended; nothing was changed";
            InstallError::new(&directory, error, hint)
        })?;
        Ok(Self { directory, _lock: Some(lock) })
    }

    /// Opens the records for reading. Creates nothing.
    pub(crate) fn read_only(data: &Path) -> Self {
        Self { directory: data.join(DIRECTORY), _lock: None }
    }

    fn file(&self, path: &Path, end: &str) -> PathBuf {
        let digest = digest(path.as_os_str().as_encoded_bytes());
        self.directory.join(format!("{}.{end}", digest.get(..24).unwrap_or(&digest)))
    }

    /// Returns the path of the original of a record. Another original of the file has another path.
    pub(crate) fn original(&self, path: &Path, record: &Record) -> Option<PathBuf> {
        let digest = record.before.as_deref()?;
        Some(self.file(path, &format!("{}.original", digest.get(..12).unwrap_or(digest))))
    }

    /// Returns the record of a file, if there is one that can be read.
    pub(crate) fn get(&self, path: &Path) -> Option<Record> {
        serde_json::from_slice(&read(&self.file(path, "json"))?).ok()
    }

    /// Returns the paths of all records.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().filter_map(Result::ok);
        let records = entries.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == "json"));
        records
            .filter_map(|it| Some(serde_json::from_slice::<Record>(&read(&it)?).ok()?.path.into()))
            .collect()
    }

    /// Returns the original bytes, if they are still those of the record.
    pub(crate) fn kept(&self, path: &Path, record: &Record) -> Option<Vec<u8>> {
        read(&self.original(path, record)?).filter(|bytes| record.before.as_ref() == Some(&digest(bytes)))
    }

    /// Keeps the bytes before a change, and writes the record.
    pub(crate) fn put(
        &self,
        path: &Path,
        record: &Record,
        before: Option<&[u8]>,
    ) -> Result<(), InstallError> {
        let write = || {
            if let (Some(original), Some(bytes)) = (self.original(path, record), before) {
                write_atomic(&original, bytes)?;
            }
            write_atomic(&self.file(path, "json"), &serde_json::to_vec_pretty(record)?)
        };
        write().map_err(|error| InstallError::io(&self.directory, &error))
    }

    /// Deletes the record and the original of a file.
    pub(crate) fn forget(&self, path: &Path, record: &Record) -> Result<(), InstallError> {
        for file in self.original(path, record).into_iter().chain([self.file(path, "json")]) {
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

fn read(path: &Path) -> Option<Vec<u8>> {
    private_dir::read_file(path, limits::FILE).ok()
}
