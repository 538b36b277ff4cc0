//! The files in the room: listed, pruned and cleared.
//!
//! A process may have the code mapped that another one removes: the system keeps its bytes until the last one has
//! ended.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Cache;
use crate::hook::Digest;
use hookbox_system::limits;

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

impl Cache {
    /// Lists the compiled code, the most recently used first.
    pub(in crate::wasm) fn list(&self, settings: u64) -> io::Result<Vec<CachedCode>> {
        let mut code = Vec::new();
        for dir in self.dirs() {
            for file in files(&dir.path)? {
                code.extend(file?.code(settings));
            }
        }
        code.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.digest.cmp(&b.digest)));
        Ok(code)
    }

    /// Removes what was not used for long, and the least recently used code beyond [`MAX_BYTES`].
    pub(in crate::wasm) fn prune(&self, settings: u64) -> io::Result<RemovedCode> {
        let mut removed = RemovedCode::default();
        self.dirs().try_for_each(|dir| prune(&dir.path, settings, &mut removed))?;
        Ok(removed)
    }

    /// Removes all code and all descriptions.
    pub(in crate::wasm) fn clear(&self) -> io::Result<RemovedCode> {
        let (mut removed, now) = (RemovedCode::default(), SystemTime::now());
        for dir in self.dirs() {
            for file in files(&dir.path)? {
                let file = file?;
                // A process may be writing or waiting.
                let is_old = now.duration_since(file.used).is_ok_and(|age| age > limits::DAY);
                if !matches!(file.of, Of::Work) || is_old {
                    file.remove(&mut removed)?;
                }
            }
        }
        Ok(removed)
    }
}

/// Returns the name of the file with the code of a component, for an engine with these settings.
pub(super) fn code_name(digest: &Digest, settings: u64) -> String {
    format!("{}-{settings:016x}.cwasm", digest.hex())
}

/// Returns the name of the file that a process locks to compile a component.
pub(super) fn lock_name(digest: &Digest) -> String {
    format!("{}.lock", digest.hex())
}

fn prune(dir: &Path, settings: u64, removed: &mut RemovedCode) -> io::Result<()> {
    let now = SystemTime::now();
    let mut files: Vec<KeptFile> = files(dir)?.collect::<io::Result<_>>()?;
    // A time in the future is now: a wrong clock makes nothing immortal.
    let age = |file: &KeptFile| now.duration_since(file.used).unwrap_or_default();
    files.sort_by_key(age);
    let mut total = 0_u64;
    for file in files {
        let is_code = matches!(file.of, Of::Code(..));
        if is_code {
            total = total.saturating_add(file.bytes);
        }
        let most = match &file.of {
            Of::Code(_, of) if *of != settings => 7 * limits::DAY,
            Of::Code(..) | Of::Description => 30 * limits::DAY,
            Of::Work => limits::DAY,
        };
        if age(&file) > most || (is_code && total > MAX_BYTES) {
            file.remove(removed)?;
        }
    }
    Ok(())
}

/// A file that hookbox made in the directory.
struct KeptFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    of: Of,
}

/// The content of a file.
enum Of {
    /// The code of a component, for an engine with these settings.
    Code(Digest, u64),
    /// The description of a component.
    Description,
    /// A lock, or the beginning of a file. A process that was killed leaves them.
    Work,
}

impl KeptFile {
    fn new(entry: &DirEntry) -> io::Result<Option<Self>> {
        let name = entry.file_name();
        let Some(of) = name.to_str().and_then(Of::parse) else { return Ok(None) };
        let about = match entry.metadata() {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            about => about?,
        };
        if !about.is_file() {
            return Ok(None);
        }
        Ok(Some(Self { path: entry.path(), bytes: about.len(), used: about.modified()?, of }))
    }

    /// Returns the compiled code in it. It is current if the engine has these settings.
    fn code(self, settings: u64) -> Option<CachedCode> {
        let Of::Code(digest, of) = self.of else { return None };
        Some(CachedCode { digest, bytes: self.bytes, used: self.used, is_current: of == settings })
    }

    fn remove(&self, removed: &mut RemovedCode) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => done?,
        }
        if let Of::Code(..) = self.of {
            removed.components += 1;
            removed.bytes += self.bytes;
        }
        Ok(())
    }
}

impl Of {
    /// Reads the name of a file.
    fn parse(name: &str) -> Option<Self> {
        if name.contains(".cwasm.hookbox-") || name.contains(".json.hookbox-") {
            return Some(Self::Work);
        }
        let (stem, extension) = name.rsplit_once('.')?;
        Some(match (extension, stem.split_once('-')) {
            ("cwasm", Some((hex, settings))) if settings.len() == 16 => {
                Self::Code(of_hex(hex)?, u64::from_str_radix(settings, 16).ok()?)
            }
            ("json", None) => of_hex(stem).map(|_| Self::Description)?,
            ("lock", None) => of_hex(stem).map(|_| Self::Work)?,
            _ => return None,
        })
    }
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
        let age = limits::DAY * u32::try_from(days.unsigned_abs()).unwrap();
        file.set_modified(if days < 0 { now + age } else { now - age }).unwrap();
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        fs::create_dir(&cache.first.path).unwrap();
        (temp, cache)
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
            let (_temp, cache) = cache();
            let now = SystemTime::now();
            for (number, (settings, bytes, days)) in (0..).zip(files) {
                file(&cache.first.path, &code_name(&digest(number), *settings), *bytes, now, *days);
            }
            let removed = cache.prune(SETTINGS).unwrap();
            let left = cache.list(SETTINGS).unwrap();
            let numbers = (0..).take(files.len());
            let is_left = |number: &u8| left.iter().any(|it| it.digest == digest(*number));
            assert_eq!(numbers.filter(is_left).collect::<Vec<u8>>(), stay, "{what}");
            assert_eq!(removed.components, files.len() - stay.len(), "{what}");
        }
    }

    #[test]
    fn only_files_of_the_cache_are_removed() {
        let (_temp, cache) = cache();
        let (dir, now) = (&*cache.first.path, SystemTime::now());
        let (code, lock) = (code_name(&digest(1), SETTINGS), lock_name(&digest(1)));
        let unfinished = format!(".{code}.hookbox-1-0");
        let others = ["notes.txt", "Cargo.lock", "x.cwasm", "x-0000000000000007.cwasm"];
        for other in others {
            file(dir, other, 1, now, 90);
        }
        fs::create_dir(dir.join(code_name(&digest(2), SETTINGS))).unwrap();
        std::os::unix::fs::symlink("notes.txt", dir.join(code_name(&digest(3), SETTINGS))).unwrap();
        let before = names(dir);
        for (days, stay) in [(0, true), (2, false)] {
            file(dir, &lock, 0, now, days);
            file(dir, &unfinished, 9, now, days);
            assert_eq!(cache.prune(SETTINGS).unwrap(), RemovedCode::default());
            let is_left = |name: &String| names(dir).contains(name);
            assert_eq!((is_left(&lock), is_left(&unfinished)), (stay, stay), "{days}");
        }
        file(dir, &code, 5, now, 0);
        assert_eq!(cache.clear().unwrap(), RemovedCode { components: 1, bytes: 5 });
        assert_eq!(cache.clear().unwrap(), RemovedCode::default());
        assert_eq!(names(dir), before);
    }

    #[test]
    fn a_cache_that_was_never_used_is_empty() {
        let cache = Cache::new(Path::new("/nonexistent"), None);
        assert_eq!(cache.list(SETTINGS).unwrap(), []);
        assert_eq!(cache.prune(SETTINGS).unwrap(), RemovedCode::default());
        assert_eq!(cache.clear().unwrap(), RemovedCode::default());
    }
}
