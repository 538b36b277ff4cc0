//! A small private file of JSON, which is changed under a lock.

use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hookbox_system::files::{FileLock, LockError, private_dir, write_atomic};
use hookbox_system::text;

/// The version of the format.
const VERSION: u64 = 1;

/// The size limit of a file, in bytes: all allowances with the longest inputs fit.
const MAX_BYTES: u64 = 16 << 20;

/// The contents of a [`PrivateFile`]. The default is that of a missing file.
pub trait Contents: Clone + Default + DeserializeOwned + PartialEq + Serialize {
    /// The name of the file. The file that is locked while it is changed has the extension `lock`.
    const FILE: &'static str;
    /// The words for the contents in a message, such as `allowances`.
    const TITLE: &'static str;
}

/// The version as a field of [`Contents`]: always 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Version;

impl From<Version> for u64 {
    fn from(_: Version) -> Self {
        VERSION
    }
}

impl TryFrom<u64> for Version {
    type Error = PrivateFileErrorKind;

    fn try_from(version: u64) -> Result<Self, Self::Error> {
        if version == VERSION { Ok(Self) } else { Err(PrivateFileErrorKind::Version(version)) }
    }
}

/// The version alone, which is read first: another version may have other fields.
#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

/// The reason why a private file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct PrivateFileError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub kind: PrivateFileErrorKind,
}

impl PrivateFileError {
    /// Returns the advice for a broken file. An unreadable file trusts and allows nothing, so that nothing is lost.
    pub fn advice(&self) -> String {
        let path = text::shell_word(&text::shown_path(&self.path));
        format!("move it aside: mv {path} {path}.old")
    }
}

/// The kinds of [`PrivateFileError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateFileErrorKind {
    /// The file is not a regular file of the user's own that only the user may write.
    #[error("is not a private file of your own: {0}")]
    NotPrivate(#[source] io::Error),
    /// The file has, or would have, too many bytes.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// The text does not have these contents.
    #[error("contains no {title}: {}", text::escape(&source.to_string(), 200))]
    Garbage {
        /// The words for the contents.
        title: &'static str,
        /// The fault.
        source: serde_json::Error,
    },
    /// A newer program has written it.
    #[error("has version {0}, and this program knows version {VERSION}")]
    Version(u64),
    /// Another process changes it.
    #[error("is locked by another process for more than {} s", .0.as_secs())]
    Locked(Duration),
    /// A path or name is not UTF-8, so that JSON cannot contain it.
    #[error("cannot store this: {0}")]
    Unwritable(#[source] serde_json::Error),
    /// The system refused.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for PrivateFileErrorKind {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidInput => Self::NotPrivate(error),
            _ => Self::Io(error),
        }
    }
}

/// A file of a private data directory with these contents. If the file cannot be read, nothing is trusted or allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateFile<T> {
    dir: PathBuf,
    contents: PhantomData<T>,
}

impl<T: Contents> PrivateFile<T> {
    /// The file's name in the directory.
    pub(crate) const NAME: &'static str = T::FILE;

    /// Names the file of a directory that was opened with [`private_dir::open`].
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), contents: PhantomData }
    }

    /// Returns the private data directory that holds the file.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(T::FILE)
    }

    /// Reads the file. A missing file has the default contents.
    ///
    /// # Errors
    ///
    /// For anything but a whole private file of this version.
    pub fn read(&self) -> Result<T, PrivateFileError> {
        self.load().map_err(|kind| self.error(kind))
    }

    /// Changes the file under a lock: reads it, calls `change`, and replaces it in one step if it has changed. Returns the
    /// result of `change`. Blocks for up to 10 s while another process changes the file.
    ///
    /// # Errors
    ///
    /// As for [`PrivateFile::read`], and if the file cannot be written. The file is unchanged then.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, PrivateFileError> {
        self.try_update(FileLock::PATIENCE, |contents| Ok(change(contents)))
    }

    /// Like [`PrivateFile::update`], with another patience and a change that can fail. The file is unchanged then.
    ///
    /// # Errors
    ///
    /// As for [`PrivateFile::update`], and those of `change`.
    pub fn try_update<R, E: From<PrivateFileError>>(
        &self,
        patience: Duration,
        change: impl FnOnce(&mut T) -> Result<R, E>,
    ) -> Result<R, E> {
        let _lock = self.lock(patience).map_err(|kind| self.error(kind))?;
        let mut contents = self.read()?;
        let before = contents.clone();
        let result = change(&mut contents)?;
        if contents != before {
            self.store(&contents).map_err(|kind| self.error(kind))?;
        }
        Ok(result)
    }

    /// Adds the path to an error.
    pub(super) fn error(&self, kind: impl Into<PrivateFileErrorKind>) -> PrivateFileError {
        PrivateFileError { path: self.path(), kind: kind.into() }
    }

    fn lock(&self, patience: Duration) -> Result<FileLock, PrivateFileErrorKind> {
        let file = private_dir::create_file(&self.path().with_extension("lock"))?;
        FileLock::exclusive(file, patience).map_err(|error| match error {
            LockError::Io(error) => error.into(),
            LockError::Busy(patience) => PrivateFileErrorKind::Locked(patience),
        })
    }

    fn load(&self) -> Result<T, PrivateFileErrorKind> {
        let bytes = match private_dir::read_file(&self.path(), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(PrivateFileErrorKind::TooLarge);
            }
            bytes => bytes?,
        };
        let garbage = |source| PrivateFileErrorKind::Garbage { title: T::TITLE, source };
        let AnyVersion { version } = serde_json::from_slice(&bytes).map_err(garbage)?;
        Version::try_from(version)?;
        serde_json::from_slice(&bytes).map_err(garbage)
    }

    fn store(&self, contents: &T) -> Result<(), PrivateFileErrorKind> {
        let mut text = serde_json::to_vec_pretty(contents).map_err(PrivateFileErrorKind::Unwritable)?;
        text.push(b'\n');
        if text.len() as u64 > MAX_BYTES {
            return Err(PrivateFileErrorKind::TooLarge);
        }
        Ok(write_atomic(&self.path(), &text)?)
    }
}
