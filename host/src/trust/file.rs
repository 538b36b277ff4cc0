//! The trust file: `trust.json` in the private data directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::record::{Record, Records};
use crate::text;

/// The file's name.
const FILE: &str = "trust.json";

/// The name of the file that is locked to write the other.
const LOCK: &str = "trust.lock";

/// The version of the format.
const VERSION: u64 = 1;

/// A trust file beyond this size is not read, in bytes: it would hold thousands of hooks.
const MAX_FILE: u64 = 4 << 20;

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// Why the trust file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct TrustFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub kind: TrustFileErrorKind,
}

/// What is wrong with the trust file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustFileErrorKind {
    /// It is no regular file of the user's own that only the user may write.
    #[error("is no private file of your own: {0}")]
    NotPrivate(&'static str),
    /// It has too many bytes.
    #[error("has more than {MAX_FILE} bytes")]
    TooLarge,
    /// It holds something else.
    #[error("holds no record of trust: {0}")]
    Garbage(String),
    /// It was written by a program that knows more.
    #[error("has version {0}, and this program knows version {VERSION}")]
    Version(u64),
    /// Another process writes it.
    #[error("is locked by another process for more than {} s", PATIENCE.as_secs())]
    Locked,
    /// A path or name in it is no UTF-8, so that JSON cannot hold it.
    #[error("cannot hold this: {0}")]
    Unwritable(String),
    /// The system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: u64,
    records: Vec<Record>,
}

/// The version alone, which is read first: another version may hold other fields.
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
    /// Its name in the directory.
    pub(crate) const NAME: &'static str = FILE;

    /// The one in this directory, which was opened with [`crate::files::private_dir::open`].
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The private data directory that it is in.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// Reads it. No file is no record.
    ///
    /// # Errors
    ///
    /// Anything but a whole file of this version: nothing is trusted or granted then.
    pub fn read(&self) -> Result<Records, TrustFileError> {
        self.load().map_err(|kind| self.error(kind))
    }

    /// Changes it while nobody else does: reads it, lets `change` at it, and writes it whole or not at all. What
    /// `change` returns comes back. This blocks, up to 10 s while another process writes.
    ///
    /// # Errors
    ///
    /// As for [`TrustFile::read`], in which case what stands there is left alone; and where it cannot be written.
    pub fn update<T>(&self, change: impl FnOnce(&mut Records) -> T) -> Result<T, TrustFileError> {
        let _lock = self.lock().map_err(|kind| self.error(kind))?;
        let mut records = self.read()?;
        let result = change(&mut records);
        self.store(&records).map_err(|kind| self.error(kind))?;
        Ok(result)
    }

    fn error(&self, kind: TrustFileErrorKind) -> TrustFileError {
        TrustFileError { path: self.path(), kind }
    }

    fn load(&self) -> Result<Records, TrustFileErrorKind> {
        let file = match open_private(&self.path(), OpenOptions::new().read(true)) {
            Err(TrustFileErrorKind::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Records::default());
            }
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(TrustFileErrorKind::TooLarge);
        }
        let garbage =
            |error: serde_json::Error| TrustFileErrorKind::Garbage(text::escape(&error.to_string(), 200));
        let Version { version } = serde_json::from_slice(&bytes).map_err(garbage)?;
        if version != VERSION {
            return Err(TrustFileErrorKind::Version(version));
        }
        let wire: Wire = serde_json::from_slice(&bytes).map_err(garbage)?;
        let mut records = Records::default();
        for record in wire.records {
            if records.get(&record.place, &record.path).is_some() {
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
        if text.len() as u64 > MAX_FILE {
            return Err(TrustFileErrorKind::TooLarge);
        }
        // Mode 0600 from the start.
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        file.persist(self.path()).map_err(|error| error.error)?;
        File::open(&self.dir)?.sync_all()?;
        Ok(())
    }

    /// The lock, held until it is dropped. Its file stays: removing it would let two processes lock two files.
    fn lock(&self) -> Result<File, TrustFileErrorKind> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open_private(&self.dir.join(LOCK), &mut options)?;
        let begin = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if begin.elapsed() >= PATIENCE => {
                    return Err(TrustFileErrorKind::Locked);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// Opens a regular file of the user's own that nobody else may write; no symlink is followed, no pipe waited for.
fn open_private(path: &Path, options: &mut OpenOptions) -> Result<File, TrustFileErrorKind> {
    use TrustFileErrorKind::NotPrivate;
    if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) {
        return Err(NotPrivate("a symlink stands there"));
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    match () {
        () if !about.is_file() => Err(NotPrivate("something else than a file stands there")),
        () if about.uid() != rustix::process::geteuid().as_raw() => Err(NotPrivate("somebody else owns it")),
        () if about.mode() & 0o022 != 0 => Err(NotPrivate("others may write it")),
        () => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{Digest, OnFailure};
    use crate::report::Kind;
    use crate::trust::Place;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn record(name: &str) -> Record {
        Record {
            place: Place::Repository("/repo".into()),
            name: name.to_owned(),
            path: name.into(),
            kind: Kind::Component,
            digest: Digest::of(name.as_bytes()),
            trusted: true,
            grants: vec!["read:$REPO".parse().unwrap()],
            asked: vec!["read:$REPO".parse().unwrap(), "store".parse().unwrap()],
            on_failure: OnFailure::Block,
            replaces: vec![(Place::Global, ".hookbox/hooks/x".into())],
            when: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn what_is_recorded_is_read_again_and_private() {
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
    fn what_cannot_be_read_is_refused_and_left_alone() {
        let whole = {
            let temp = tempfile::tempdir().unwrap();
            let file = TrustFile::new(temp.path());
            file.update(|records| records.insert(record("x"))).unwrap();
            fs::read_to_string(file.path()).unwrap()
        };
        for (text, want) in [
            ("", "holds no record"),
            ("garbage", "holds no record"),
            ("{}", "holds no record"),
            ("{\"version\":2,\"records\":[],\"more\":1}", "has version 2"),
            ("{\"version\":1,\"records\":[],\"more\":1}", "holds no record"),
            (&whole[..whole.len() / 2], "holds no record"),
            (&whole.replace("sha256:", "md5:"), "holds no record"),
            (&whole.replace("read:$REPO", "everything"), "holds no record"),
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
    fn what_is_no_private_file_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = TrustFile::new(temp.path());
        let refused = || file.read().unwrap_err().to_string();
        symlink("elsewhere", file.path()).unwrap();
        assert!(refused().contains("a symlink stands there"));
        fs::remove_file(file.path()).unwrap();

        assert!(std::process::Command::new("mkfifo").arg(file.path()).status().unwrap().success());
        assert!(refused().contains("something else than a file"));
        fs::remove_file(file.path()).unwrap();

        fs::write(file.path(), "{\"version\":1,\"records\":[]}").unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused().contains("others may write it"));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(file.read().is_ok());
        File::create(file.path()).unwrap().set_len(MAX_FILE + 1).unwrap();
        assert!(refused().contains("has more than"));
    }
}
