//! The trust file: `trust.json` in the private data directory.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::{Record, Records};
use hookbox_system::files::{FileLock, LockError, private_dir, write_atomic};
use hookbox_system::text;

/// The file's name.
const FILE: &str = "trust.json";

/// The file that is locked while the trust file is changed.
const LOCK: &str = "trust.lock";

/// The version of the format.
const VERSION: u64 = 1;

/// The largest trust file that is read, in bytes: it would contain thousands of hooks.
const MAX_BYTES: u64 = 4 << 20;

/// The reason why the trust file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct TrustFileError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub kind: TrustFileErrorKind,
}

/// The kinds of [`TrustFileError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustFileErrorKind {
    /// The file is not a regular file of the user's own that only the user may write.
    #[error("is not a private file of your own: {0}")]
    NotPrivate(#[source] io::Error),
    /// The file has too many bytes.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// The text is not a trust file.
    #[error("contains no record of trust: {0}")]
    Garbage(String),
    /// A newer program has written it.
    #[error("has version {0}, and this program knows version {VERSION}")]
    Version(u64),
    /// Another process changes it.
    #[error("is locked by another process for more than {} s", FileLock::PATIENCE.as_secs())]
    Locked,
    /// A path or name in it is not UTF-8, so that JSON cannot contain it.
    #[error("cannot store this: {0}")]
    Unwritable(String),
    /// The system refused.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for TrustFileErrorKind {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidInput => Self::NotPrivate(error),
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ => Self::Io(error),
        }
    }
}

/// The on-disk form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: u64,
    records: Vec<Record>,
}

/// The version alone, which is read first: another version may have other fields.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// The trust file of a private data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustFile {
    dir: PathBuf,
}

impl TrustFile {
    /// The file's name in the directory.
    pub(crate) const NAME: &'static str = FILE;

    /// Names the trust file of a directory that was opened with [`private_dir::open`].
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the private data directory that holds the file.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// Reads the file. A missing file has no records.
    ///
    /// # Errors
    ///
    /// For anything but a whole file of this version: nothing is trusted or granted then.
    pub fn read(&self) -> Result<Records, TrustFileError> {
        self.load().map_err(|kind| self.error(kind))
    }

    /// Changes the file under a lock: reads it, calls `change`, and replaces it in one step. Returns the result of
    /// `change`. Blocks for up to 10 s while another process changes the file.
    ///
    /// # Errors
    ///
    /// As for [`TrustFile::read`], and if the file cannot be written. The file is unchanged then.
    pub fn update<T>(&self, change: impl FnOnce(&mut Records) -> T) -> Result<T, TrustFileError> {
        let lock = FileLock::private(&self.dir.join(LOCK)).map_err(|error| match error {
            LockError::Io(error) => error.into(),
            _ => TrustFileErrorKind::Locked,
        });
        let _lock = lock.map_err(|kind| self.error(kind))?;
        let mut records = self.read()?;
        let result = change(&mut records);
        self.store(&records).map_err(|kind| self.error(kind))?;
        Ok(result)
    }

    fn error(&self, kind: TrustFileErrorKind) -> TrustFileError {
        TrustFileError { path: self.path(), kind }
    }

    fn load(&self) -> Result<Records, TrustFileErrorKind> {
        let bytes = match private_dir::read_file(&self.path(), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Records::default()),
            bytes => bytes?,
        };
        let garbage =
            |error: serde_json::Error| TrustFileErrorKind::Garbage(text::escape(&error.to_string(), 200));
        let Version { version } = serde_json::from_slice(&bytes).map_err(garbage)?;
        if version != VERSION {
            return Err(TrustFileErrorKind::Version(version));
        }
        let wire: Wire = serde_json::from_slice(&bytes).map_err(garbage)?;
        let mut records = Records::default();
        for record in wire.records {
            if records.get(&record.scope, &record.path).is_some() {
                return Err(TrustFileErrorKind::Garbage("two records of the same file".to_owned()));
            }
            records.insert(record);
        }
        Ok(records)
    }

    fn store(&self, records: &Records) -> Result<(), TrustFileErrorKind> {
        let wire = Wire { version: VERSION, records: records.iter().cloned().collect() };
        let mut text = serde_json::to_vec_pretty(&wire)
            .map_err(|error| TrustFileErrorKind::Unwritable(error.to_string()))?;
        text.push(b'\n');
        if text.len() as u64 > MAX_BYTES {
            return Err(TrustFileErrorKind::TooLarge);
        }
        Ok(write_atomic(&self.path(), &text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Kind;
    use crate::hook::{Digest, OnFailure};
    use crate::trust::Scope;
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn record(name: &str) -> Record {
        Record {
            scope: Scope::Repository("/repo".into()),
            name: name.to_owned(),
            path: name.into(),
            kind: Kind::Component,
            digest: Digest::of(name.as_bytes()),
            trusted: true,
            grants: vec!["read:$REPO".parse().unwrap()],
            asked: vec!["read:$REPO".parse().unwrap(), "store".parse().unwrap()],
            on_failure: OnFailure::Block,
            replaces: vec![(Scope::Global, ".hookbox/hooks/x".into())],
            when: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn records_are_read_again_from_a_private_file() {
        let temp = tempfile::tempdir().unwrap();
        let file = TrustFile::new(temp.path());
        assert_eq!(file.read().unwrap(), Records::default());
        file.update(|records| records.insert(record("x"))).unwrap();
        assert_eq!(file.read().unwrap().iter().collect::<Vec<_>>(), [&record("x")]);
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\"version\": 1") && text.contains("\"repository\": \"/repo\""), "{text}");
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let temp = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let file = TrustFile::new(temp.path());
                scope.spawn(move || {
                    for n in 0..5 {
                        file.update(|records| records.insert(record(&format!("{writer}-{n}")))).unwrap();
                    }
                });
            }
        });
        assert_eq!(TrustFile::new(temp.path()).read().unwrap().iter().count(), 40);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn a_broken_file_is_refused_and_left_alone() {
        let whole = {
            let temp = tempfile::tempdir().unwrap();
            let file = TrustFile::new(temp.path());
            file.update(|records| records.insert(record("x"))).unwrap();
            fs::read_to_string(file.path()).unwrap()
        };
        for (text, want) in [
            ("", "contains no record"),
            ("garbage", "contains no record"),
            ("{}", "contains no record"),
            ("{\"version\":2,\"records\":[],\"more\":1}", "has version 2"),
            ("{\"version\":1,\"records\":[],\"more\":1}", "contains no record"),
            (&whole[..whole.len() / 2], "contains no record"),
            (&whole.replace("sha256:", "md5:"), "contains no record"),
            (&whole.replace("read:$REPO", "everything"), "contains no record"),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let file = TrustFile::new(temp.path());
            fs::write(file.path(), text).unwrap();
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
            assert!(file.update(|records| records.insert(record("y"))).is_err());
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_file_that_is_not_private_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = TrustFile::new(temp.path());
        let refused = || file.read().unwrap_err().to_string();
        symlink("elsewhere", file.path()).unwrap();
        assert!(refused().contains("it is a symlink"));
        fs::remove_file(file.path()).unwrap();

        assert!(std::process::Command::new("mkfifo").arg(file.path()).status().unwrap().success());
        assert!(refused().contains("not a regular file"));
        fs::remove_file(file.path()).unwrap();

        fs::write(file.path(), "{\"version\":1,\"records\":[]}").unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused().contains("others may write it"));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(file.read().is_ok());
        File::create(file.path()).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(refused().contains("has more than"));
    }
}
