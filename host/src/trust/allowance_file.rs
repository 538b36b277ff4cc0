//! The file of allowances: `allowances.json` in the private data directory, beside the trust file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::allowance::{Allowance, Allowances, MAX_SHOWN, Pending};
use super::{BlockedCall, Code, Term};
use crate::event::now_ms;
use hookbox_system::files::{FileLock, LockError, private_dir, write_atomic};
use hookbox_system::text;

/// The file's name.
const FILE: &str = "allowances.json";

/// The file that is locked while the file is changed.
const LOCK: &str = "allowances.lock";

/// The version of the format.
const VERSION: u64 = 1;

/// The largest file that is read, in bytes. It has room for all records with the longest inputs.
const MAX_BYTES: u64 = 16 << 20;

/// The longest reason of a block that is kept, in bytes.
const MAX_REASON: usize = 2_000;

/// The longest wait for another process during an event: the agent waits as well.
const PATIENCE: Duration = Duration::from_secs(2);

/// The reason why the file of allowances cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct AllowanceFileError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub kind: AllowanceFileErrorKind,
}

/// The kinds of [`AllowanceFileError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllowanceFileErrorKind {
    /// The file is not a regular file of the user's own that only the user may write.
    #[error("is not a private file of your own: {0}")]
    NotPrivate(#[source] io::Error),
    /// The file has too many bytes.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// The text is not a file of allowances.
    #[error("contains no allowances: {0}")]
    Garbage(String),
    /// A newer program has written it.
    #[error("has version {0}, and this program knows version {VERSION}")]
    Version(u64),
    /// Another process changes it.
    #[error("is locked by another process for more than {} s", .0.as_secs())]
    Locked(Duration),
    /// The input of a call is too long to be read whole by the user.
    #[error("takes no input of more than {MAX_SHOWN} bytes")]
    LongInput,
    /// The system refused.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for AllowanceFileErrorKind {
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
    pending: Vec<Pending>,
    granted: Vec<Allowance>,
}

/// The version alone, which is read first: another version may have other fields.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// The file of allowances of a private data directory. If it cannot be read, nothing is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowanceFile {
    dir: PathBuf,
}

impl AllowanceFile {
    /// Names the file of a directory that was opened with [`private_dir::open`].
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// Returns the advice for an error of this file. Nothing is lost by it that counts: an unreadable file allows nothing.
    pub fn advice(path: &Path) -> String {
        let path = text::shell_word(&text::escape(&path.to_string_lossy(), 4096));
        format!("move it aside: mv {path} {path}.old")
    }

    /// Reads the file. A missing file has no records.
    ///
    /// # Errors
    ///
    /// For anything but a whole private file of this version.
    pub fn read(&self) -> Result<Allowances, AllowanceFileError> {
        self.load().map_err(|kind| self.error(kind))
    }

    /// Changes the file under a lock: reads it, calls `change`, and replaces it in one step if it has changed. Returns the
    /// result of `change`. Blocks for up to 10 s while another process changes the file.
    ///
    /// # Errors
    ///
    /// As for [`AllowanceFile::read`], and if the file cannot be written. The file is unchanged then.
    pub fn update<T>(&self, change: impl FnOnce(&mut Allowances) -> T) -> Result<T, AllowanceFileError> {
        let changed = self.change(FileLock::PATIENCE, |all| Ok(change(all)));
        changed.map_err(|kind| self.error(kind))
    }

    /// Adds a call that was blocked now for this reason, and returns its code. `shown` is its input.
    pub(crate) fn note(
        &self,
        call: BlockedCall,
        shown: &str,
        reason: &str,
    ) -> Result<Code, AllowanceFileError> {
        let noted = || {
            if shown.len() > MAX_SHOWN {
                return Err(AllowanceFileErrorKind::LongInput);
            }
            let (shown, reason) = (shown.to_owned(), text::prefix(reason, MAX_REASON).to_owned());
            self.change(PATIENCE, |all| {
                let mut code = random()?;
                while all.has(&code) {
                    code = random()?;
                }
                Ok(all.note(Pending { code, call, shown, reason, when_ms: now_ms() }))
            })
        };
        noted().map_err(|kind| self.error(kind))
    }

    /// Uses the allowances for all of these calls, in one step. `None` if one of them is not allowed any more.
    pub(crate) fn take(&self, calls: &[BlockedCall]) -> Result<Option<Vec<Term>>, AllowanceFileError> {
        let taken = self.change(PATIENCE, |all| Ok(all.take(calls, now_ms())));
        taken.map_err(|kind| self.error(kind))
    }

    fn error(&self, kind: AllowanceFileErrorKind) -> AllowanceFileError {
        AllowanceFileError { path: self.path(), kind }
    }

    fn change<T>(
        &self,
        patience: Duration,
        change: impl FnOnce(&mut Allowances) -> Result<T, AllowanceFileErrorKind>,
    ) -> Result<T, AllowanceFileErrorKind> {
        let file = private_dir::create_file(&self.dir.join(LOCK))?;
        let _lock = FileLock::exclusive(file, patience).map_err(|error| match error {
            LockError::Io(error) => error.into(),
            LockError::Busy(patience) => AllowanceFileErrorKind::Locked(patience),
        })?;
        let mut all = self.load()?;
        let before = all.clone();
        let result = change(&mut all)?;
        if all != before {
            self.store(all)?;
        }
        Ok(result)
    }

    fn load(&self) -> Result<Allowances, AllowanceFileErrorKind> {
        let bytes = match private_dir::read_file(&self.path(), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Allowances::default()),
            bytes => bytes?,
        };
        let garbage =
            |error: serde_json::Error| AllowanceFileErrorKind::Garbage(text::escape(&error.to_string(), 200));
        let Version { version } = serde_json::from_slice(&bytes).map_err(garbage)?;
        if version != VERSION {
            return Err(AllowanceFileErrorKind::Version(version));
        }
        let Wire { pending, granted, .. } = serde_json::from_slice(&bytes).map_err(garbage)?;
        Ok(Allowances { pending, granted })
    }

    fn store(&self, Allowances { pending, granted }: Allowances) -> Result<(), AllowanceFileErrorKind> {
        let wire = Wire { version: VERSION, pending, granted };
        let mut text = serde_json::to_vec_pretty(&wire)
            .map_err(|error| AllowanceFileErrorKind::Garbage(error.to_string()))?;
        text.push(b'\n');
        if text.len() as u64 > MAX_BYTES {
            return Err(AllowanceFileErrorKind::TooLarge);
        }
        Ok(write_atomic(&self.path(), &text)?)
    }
}

/// Draws a code from the system's random numbers.
fn random() -> io::Result<Code> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Code::from_random(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::hook::Digest;

    fn call(tool: &str) -> BlockedCall {
        BlockedCall {
            tool: tool.to_owned(),
            input: Digest::of(b"{}"),
            directory: "/repo".to_owned(),
            session: None,
            agent: Some("claude".to_owned()),
            guard: "guard".to_owned(),
            digest: Some(Digest::of(b"guard")),
            cause: None,
        }
    }

    fn allow(file: &AllowanceFile, tool: &str, term: Term) {
        let code = file.note(call(tool), "{}", "no").unwrap();
        file.update(|all| all.grant(&code, term, now_ms())).unwrap().unwrap();
    }

    #[test]
    fn records_are_read_again_from_a_private_file() {
        let temp = tempfile::tempdir().unwrap();
        let file = AllowanceFile::new(temp.path());
        assert_eq!(file.read().unwrap(), Allowances::default());
        allow(&file, "a", Term::For(5_000));
        let code = file.note(call("b"), "{}", "no").unwrap();
        assert_eq!(file.note(call("b"), "{}", "no").unwrap(), code);
        let all = file.read().unwrap();
        assert_eq!((all.pending.len(), all.granted.len(), all.pending[0].code == code), (1, 1, true));
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        let long = file.note(call("c"), &"x".repeat(MAX_SHOWN + 1), "no").unwrap_err();
        assert!(matches!(long.kind, AllowanceFileErrorKind::LongInput));
        assert_eq!(file.read().unwrap(), all);
    }

    #[test]
    fn exactly_one_of_many_takes_what_is_allowed_once() {
        let temp = tempfile::tempdir().unwrap();
        for _ in 0..5 {
            allow(&AllowanceFile::new(temp.path()), "a", Term::Once);
            let taken = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    let (file, taken) = (AllowanceFile::new(temp.path()), &taken);
                    scope.spawn(move || {
                        loop {
                            match file.take(&[call("a")]) {
                                Ok(result) => {
                                    taken.fetch_add(result.map_or(0, |_| 1), Ordering::SeqCst);
                                    return;
                                }
                                // A machine with much to do.
                                Err(AllowanceFileError {
                                    kind: AllowanceFileErrorKind::Locked(_), ..
                                }) => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                    });
                }
            });
            assert_eq!(taken.into_inner(), 1);
            assert_eq!(AllowanceFile::new(temp.path()).read().unwrap().granted, []);
        }
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let file = AllowanceFile::new(temp.path());
        allow(&file, "a", Term::Always);
        let whole = fs::read_to_string(file.path()).unwrap();
        let write = |text: &str| fs::write(file.path(), text).unwrap();
        for (text, want) in [
            ("", "contains no allowances"),
            ("garbage", "contains no allowances"),
            ("{\"version\":2,\"more\":1}", "has version 2"),
            ("{\"version\":1,\"pending\":[],\"granted\":[],\"more\":1}", "contains no allowances"),
            (&whole[..whole.len() / 2], "contains no allowances"),
            (&whole.replace("sha256:", "md5:"), "contains no allowances"),
            (&whole.replace("\"always\"", "\"ever\""), "contains no allowances"),
            (&whole.replace("\"directory\"", "\"dir\""), "contains no allowances"),
        ] {
            write(text);
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
            assert!(file.take(&[call("a")]).is_err() && file.note(call("b"), "{}", "no").is_err());
            assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
        }
        write(&whole);
        assert_eq!(file.take(&[call("a")]).unwrap(), Some(vec![Term::Always]));
    }

    #[test]
    fn a_file_that_is_not_private_allows_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = AllowanceFile::new(temp.path());
        allow(&file, "a", Term::Always);
        let elsewhere = temp.path().join("elsewhere");
        fs::rename(file.path(), &elsewhere).unwrap();
        let refused = || {
            assert!(file.take(&[call("a")]).is_err());
            file.read().unwrap_err().to_string()
        };
        symlink(&elsewhere, file.path()).unwrap();
        refused();
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(refused().contains("is not a private file"), "{}", refused());
        fs::remove_dir(file.path()).unwrap();
        fs::rename(&elsewhere, file.path()).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused().contains("is not a private file"), "{}", refused());
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(file.take(&[call("a")]).unwrap().is_some());
    }
}
