//! The files in the cache of compiled code: listed, pruned and cleared.
//!
//! A process may have the code mapped that another one removes: the system keeps its bytes until the last one has
//! ended.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Runtime;
use super::known::{KnownComponents, UNUSED};
use crate::hook::Digest;

/// The time after which unused code of other versions of hookbox is removed: the user may switch between two of them.
const UNUSED_BY_OTHERS: Duration = Duration::from_secs(7 * DAY);
/// The time after which the files of a killed process are removed.
const LEFT_BEHIND: Duration = Duration::from_secs(DAY);
/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;
/// The most compiled code that is kept, in bytes: thirty components with an interpreter, or some thousand small ones.
const MAX_BYTES: u64 = 2 << 30;

/// Compiled code in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedCode {
    /// The digest of the component.
    pub digest: Digest,
    /// The size of the code, in bytes.
    pub bytes: u64,
    /// The time of the last use, correct to a day.
    pub used: SystemTime,
    /// True if it is for this version of hookbox and this processor.
    pub is_current: bool,
}

/// The code that was removed from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedCode {
    /// The number of components.
    pub components: usize,
    /// Their compiled code, in bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for RemovedCode {
    fn add_assign(&mut self, more: Self) {
        self.components += more.components;
        self.bytes += more.bytes;
    }
}

impl Runtime {
    /// Lists the compiled code in the cache, the most recently used first.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read. A directory that does not exist has no code.
    pub fn cached_code(&self) -> io::Result<Vec<CachedCode>> {
        self.in_cache(list)
    }

    /// Removes code from the cache that was not used for 30 days (that of other versions: 7 days), and the least
    /// recently used code beyond 2 GiB. A process that compiles does this by itself.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn prune_cache(&self) -> io::Result<RemovedCode> {
        self.inner.known.as_ref().map_or(Ok(()), KnownComponents::prune)?;
        let mut removed = RemovedCode::default();
        let settings = self.inner.settings().map_err(io::Error::other)?;
        for dir in self.inner.cache.iter().flat_map(|cache| cache.dirs()) {
            removed += prune(dir, settings, SystemTime::now())?;
        }
        Ok(removed)
    }

    /// Removes all code from the cache, also that of other versions, and the descriptions of components. Hooks that are
    /// loaded go on running.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn clear_cache(&self) -> io::Result<RemovedCode> {
        self.inner.known.as_ref().map_or(Ok(()), KnownComponents::clear)?;
        let mut removed = RemovedCode::default();
        for dir in self.inner.cache.iter().flat_map(|cache| cache.dirs()) {
            removed += clear(dir)?;
        }
        Ok(removed)
    }

    /// Works in the directory of the cache, for the settings of the engine; does nothing without a cache.
    fn in_cache<T: Default>(&self, work: impl FnOnce(&Path, u64) -> io::Result<T>) -> io::Result<T> {
        let Some(cache) = &self.inner.cache else { return Ok(T::default()) };
        work(cache.dir(), self.inner.settings().map_err(io::Error::other)?)
    }
}

/// Returns the name of the file with the code of a component, for an engine with these settings.
pub(super) fn name(digest: &Digest, settings: u64) -> String {
    format!("{}-{settings:016x}.cwasm", digest.hex())
}

/// Returns the name of the file that a process locks to compile a component.
pub(super) fn lock_name(digest: &Digest) -> String {
    format!("{}.lock", digest.hex())
}

/// Lists the compiled code in a directory, the most recently used first; none if there is no directory.
pub(super) fn list(dir: &Path, settings: u64) -> io::Result<Vec<CachedCode>> {
    let mut code = Vec::new();
    for file in files(dir)? {
        code.extend(file?.code(settings));
    }
    code.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.digest.cmp(&b.digest)));
    Ok(code)
}

/// Removes code that was not used for long, and the least recently used code beyond [`MAX_BYTES`].
pub(super) fn prune(dir: &Path, settings: u64, now: SystemTime) -> io::Result<RemovedCode> {
    let mut files: Vec<KeptFile> = files(dir)?.collect::<io::Result<_>>()?;
    // A time in the future is now: a wrong clock makes nothing immortal.
    let age = |file: &KeptFile| now.duration_since(file.used).unwrap_or_default();
    files.sort_by_key(age);
    let (mut removed, mut total) = (RemovedCode::default(), 0_u64);
    for file in files {
        let code = file.code(settings);
        total = total.saturating_add(code.as_ref().map_or(0, |code| code.bytes));
        let most = match &code {
            Some(code) if code.is_current => UNUSED,
            Some(_) => UNUSED_BY_OTHERS,
            None => LEFT_BEHIND,
        };
        if age(&file) > most || (code.is_some() && total > MAX_BYTES) {
            file.remove(code.as_ref(), &mut removed)?;
        }
    }
    Ok(removed)
}

/// Removes all code.
pub(super) fn clear(dir: &Path) -> io::Result<RemovedCode> {
    let (mut removed, now) = (RemovedCode::default(), SystemTime::now());
    for file in files(dir)? {
        let file = file?;
        let code = file.code(0);
        // A process may be writing or waiting.
        let is_old = now.duration_since(file.used).is_ok_and(|age| age > LEFT_BEHIND);
        if code.is_some() || is_old {
            file.remove(code.as_ref(), &mut removed)?;
        }
    }
    Ok(removed)
}

/// A file that hookbox made in the directory: compiled code, a lock, or the beginning of code that a killed process
/// was writing.
struct KeptFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    /// The digest and the settings of an engine, if it is compiled code.
    of: Option<(Digest, u64)>,
}

impl KeptFile {
    fn new(entry: &DirEntry) -> io::Result<Option<Self>> {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { return Ok(None) };
        let of = parse(name);
        let is_lock = name.strip_suffix(".lock").and_then(of_hex).is_some();
        let is_ours = of.is_some() || is_lock || name.contains(".cwasm.hookbox-");
        let about = match entry.metadata() {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            about => about?,
        };
        if !is_ours || !about.is_file() {
            return Ok(None);
        }
        Ok(Some(Self { path: entry.path(), bytes: about.len(), used: about.modified()?, of }))
    }

    /// Returns the compiled code in it. It is current if the engine has these settings.
    fn code(&self, settings: u64) -> Option<CachedCode> {
        let (digest, of) = self.of.clone()?;
        Some(CachedCode { digest, bytes: self.bytes, used: self.used, is_current: of == settings })
    }

    fn remove(&self, code: Option<&CachedCode>, removed: &mut RemovedCode) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => done?,
        }
        if let Some(code) = code {
            removed.components += 1;
            removed.bytes += code.bytes;
        }
        Ok(())
    }
}

/// Reads the name of a file with compiled code.
fn parse(name: &str) -> Option<(Digest, u64)> {
    let (hex, settings) = name.strip_suffix(".cwasm")?.split_once('-')?;
    let settings = u64::from_str_radix(settings, 16).ok().filter(|_| settings.len() == 16)?;
    Some((of_hex(hex)?, settings))
}

fn of_hex(hex: &str) -> Option<Digest> {
    format!("sha256:{hex}").parse().ok()
}

fn files(dir: &Path) -> io::Result<impl Iterator<Item = io::Result<KeptFile>>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        entries => Some(entries?),
    };
    Ok(entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.and_then(|entry| KeptFile::new(&entry)).transpose()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const SETTINGS: u64 = 7;

    /// Makes a file of this size, used some days before `now` (after it, if negative).
    fn file(dir: &Path, name: &str, bytes: u64, now: SystemTime, days: i64) {
        let file = File::create(dir.join(name)).unwrap();
        file.set_len(bytes).unwrap();
        let age = Duration::from_secs(days.unsigned_abs() * DAY);
        file.set_modified(if days < 0 { now + age } else { now - age }).unwrap();
    }

    fn digest(number: u8) -> Digest {
        Digest::of(&[number])
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn old_code_is_removed_and_the_least_recently_used_beyond_the_limit() {
        const GIB: u64 = 1 << 30;
        for (what, files, stay) in [
            ("unused for a month", &[(SETTINGS, 1, 29), (SETTINGS, 1, 31)][..], &[0][..]),
            ("of another version", &[(8, 1, 6), (8, 1, 8), (SETTINGS, 1, 8)], &[0, 2]),
            ("too much", &[(SETTINGS, GIB, 3), (SETTINGS, GIB, 1), (8, GIB, 2)], &[1, 2]),
            ("too large", &[(SETTINGS, 3 * GIB, 0)], &[]),
            ("a clock that was wrong", &[(SETTINGS, GIB, -900), (SETTINGS, GIB, 1), (8, GIB, 2)], &[0, 1]),
            ("a clock that is wrong", &[(SETTINGS, 1, -9000), (8, 1, -9000)], &[0, 1]),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let now = SystemTime::now();
            for (number, (settings, bytes, days)) in (0..).zip(files) {
                file(temp.path(), &name(&digest(number), *settings), *bytes, now, *days);
            }
            let removed = prune(temp.path(), SETTINGS, now).unwrap();
            let left = list(temp.path(), SETTINGS).unwrap();
            let numbers = (0..).take(files.len());
            let is_left = |number: &u8| left.iter().any(|it| it.digest == digest(*number));
            assert_eq!(numbers.filter(is_left).collect::<Vec<u8>>(), stay, "{what}");
            assert_eq!(removed.components, files.len() - stay.len(), "{what}");
        }
    }

    #[test]
    fn only_files_of_the_cache_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let (dir, now) = (temp.path(), SystemTime::now());
        let (code, lock) = (name(&digest(1), SETTINGS), lock_name(&digest(1)));
        let unfinished = format!(".{code}.hookbox-1-0");
        let others = ["notes.txt", "Cargo.lock", "x.cwasm", "x-0000000000000007.cwasm"];
        for other in others {
            file(dir, other, 1, now, 90);
        }
        fs::create_dir(dir.join(name(&digest(2), SETTINGS))).unwrap();
        std::os::unix::fs::symlink("notes.txt", dir.join(name(&digest(3), SETTINGS))).unwrap();
        let before = names(dir);
        for (days, stay) in [(0, true), (2, false)] {
            file(dir, &lock, 0, now, days);
            file(dir, &unfinished, 9, now, days);
            assert_eq!(prune(dir, SETTINGS, now).unwrap(), RemovedCode::default());
            let is_left = |name: &String| names(dir).contains(name);
            assert_eq!((is_left(&lock), is_left(&unfinished)), (stay, stay), "{days}");
        }
        file(dir, &code, 5, now, 0);
        assert_eq!(clear(dir).unwrap(), RemovedCode { components: 1, bytes: 5 });
        assert_eq!(clear(dir).unwrap(), RemovedCode::default());
        assert_eq!(names(dir), before);
    }

    #[test]
    fn a_cache_that_was_never_used_is_empty() {
        let missing = Path::new("/nonexistent/code");
        assert_eq!(list(missing, SETTINGS).unwrap(), []);
        assert_eq!(prune(missing, SETTINGS, SystemTime::now()).unwrap(), RemovedCode::default());
        assert_eq!(clear(missing).unwrap(), RemovedCode::default());
    }
}
