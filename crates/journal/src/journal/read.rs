//! Reading the records, the oldest first, from the files `2026-11-26.jsonl`, and `2026-11-26.1.jsonl` once the first one
//! is large. If the journal is too large, only the blocked events of its oldest files are kept, in
//! `2026-11-26.blocked.jsonl`.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use hookbox::Digest;
use hookbox_system::files::private_dir;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::MAX_RECORD;

/// The key before the hash of a line.
pub(super) const HASH: &str = ",\"hash\":\"";

/// A line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The file.
    pub path: PathBuf,
    /// The number of the line, from 1 on.
    pub line: usize,
    /// The bytes of the line, with its end.
    pub bytes: Vec<u8>,
    /// True if only the blocked events of its file are left.
    pub is_thinned: bool,
}

impl Entry {
    /// Returns the record; `None` for a line that is not whole, that has no hashes, or that was changed.
    pub fn record(&self) -> Option<Value> {
        self.parsed().filter(|_| has_own_hash(&self.bytes))
    }

    /// Returns the text of a record that was changed: it does not have its hash, and nothing in it need be true.
    pub fn changed(&self) -> Option<Value> {
        self.parsed().filter(|_| !has_own_hash(&self.bytes))
    }

    /// Returns the record of a line with hashes.
    pub(super) fn parsed(&self) -> Option<Value> {
        let is_record = |it: &Value| it.get("prev").is_some_and(Value::is_string);
        hash_of(&self.bytes)?;
        serde_json::from_slice(&self.bytes).ok().filter(is_record)
    }
}

/// Returns the hash at the end of a line.
pub(super) fn hash_of(line: &[u8]) -> Option<&str> {
    let end = line.strip_suffix(b"\"}\n")?;
    let (rest, hash) = end.split_at_checked(end.len().checked_sub(64)?)?;
    let is_hash = hash.iter().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(it));
    (rest.ends_with(HASH.as_bytes()) && is_hash).then(|| str::from_utf8(hash).ok()).flatten()
}

/// Returns true if the hash at the end of a line is that of the text before.
pub(crate) fn has_own_hash(line: &[u8]) -> bool {
    let Some(hash) = hash_of(line) else { return false };
    let text = line.len().checked_sub(HASH.len() + hash.len() + 3);
    text.and_then(|end| line.get(..end)).is_some_and(|text| Digest::of(text).hex() == hash)
}

/// Returns an error with the path of its file.
fn named(path: &Path, error: &io::Error) -> io::Error {
    let path = hookbox::shown_path(path);
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// The lines of a journal, the oldest first. A file that is removed meanwhile is left out.
#[derive(Debug)]
pub struct Reader {
    files: std::vec::IntoIter<DayFile>,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    input: BufReader<File>,
    line: usize,
    is_thinned: bool,
}

impl Reader {
    /// Opens a journal. Days before `since` are left out.
    ///
    /// # Errors
    ///
    /// The directory cannot be read. A missing one has no lines.
    pub fn open(directory: &Path, since: Option<Timestamp>) -> io::Result<Self> {
        let mut files = all_files(directory)?;
        if let Some(since) = since {
            let first = since.to_zoned(TimeZone::UTC).date();
            files.retain(|file| file.day >= first);
        }
        Ok(Self { files: files.into_iter(), open: None })
    }

    /// Opens one file of a journal.
    pub(super) fn of_day(file: DayFile) -> Self {
        Self { files: vec![file].into_iter(), open: None }
    }

    /// Opens a file with records, such as a copy of a file of a journal.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let input = BufReader::new(File::open(path)?);
        let open = OpenFile { path: path.to_owned(), input, line: 0, is_thinned: false };
        Ok(Self { files: Vec::new().into_iter(), open: Some(open) })
    }
}

impl Iterator for Reader {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(open) = &mut self.open else {
                let file = self.files.next()?;
                match private_dir::open_file(&file.path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Some(Err(named(&file.path, &error))),
                    Ok(input) => self.open = Some(OpenFile::new(file, input)),
                }
                continue;
            };
            match open.next() {
                Ok(Some(entry)) => return Some(Ok(entry)),
                Ok(None) => self.open = None,
                Err(error) => {
                    let error = named(&open.path, &error);
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl OpenFile {
    fn new(file: DayFile, input: File) -> Self {
        let DayFile { path, is_thinned, .. } = file;
        Self { path, input: BufReader::new(input), line: 0, is_thinned }
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        let mut bytes = Vec::new();
        // A record, and its hashes.
        let longest = MAX_RECORD as u64 + 1024;
        self.input.by_ref().take(longest).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == longest {
            // Nothing that long is a record.
            self.input.skip_until(b'\n')?;
        }
        let Self { path, line, is_thinned, .. } = &*self;
        Ok(Some(Entry { path: path.clone(), line: *line, bytes, is_thinned: *is_thinned }))
    }
}

/// Reads the records that are added to a journal, from a moment on.
#[derive(Debug)]
pub struct Follower {
    directory: PathBuf,
    /// The last file, and the length of it that was read.
    at: Option<(DayFile, u64)>,
}

impl Follower {
    /// Begins after the records that are there now.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let at = all_files(directory)?.pop().map(|file| (file.clone(), file.size()));
        Ok(Self { directory: directory.to_owned(), at })
    }

    /// Begins at a [`Follower::position`]: behind this many bytes of the file of this name. Without such a file it begins
    /// with the oldest record.
    pub fn at(directory: &Path, name: &str, offset: u64) -> Self {
        let at = DayFile::named(directory, name).map(|file| (file, offset));
        Self { directory: directory.to_owned(), at }
    }

    /// Returns the position behind the last line that was read, as `NAME OFFSET`.
    pub fn position(&self) -> Option<String> {
        let (file, offset) = self.at.as_ref()?;
        Some(format!("{} {offset}", file.path.file_name()?.to_str()?))
    }

    /// Returns the lines that are new since the last call.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn poll(&mut self) -> io::Result<Vec<Entry>> {
        self.poll_some(usize::MAX)
    }

    /// Returns the next new lines: at most so many bytes, and the rest of the line that has the last of them.
    ///
    /// # Errors
    ///
    /// As for [`Follower::poll`].
    pub fn poll_some(&mut self, most: usize) -> io::Result<Vec<Entry>> {
        let (mut new, mut size) = (Vec::new(), 0);
        for file in all_files(&self.directory)? {
            let from = match &self.at {
                Some((last, _)) if file < *last => continue,
                // A shorter file is another one.
                Some((last, from)) if file == *last && file.size() >= *from => *from,
                _ => 0,
            };
            let mut input = match private_dir::open_file(&file.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                input => input?,
            };
            input.seek(SeekFrom::Start(from))?;
            let mut open = OpenFile::new(file.clone(), input);
            let mut end = from;
            // A line without an end is still being written.
            while size < most
                && let Some(entry) = open.next()?.filter(|it| it.bytes.last() == Some(&b'\n'))
            {
                (end, size) = (end + entry.bytes.len() as u64, size.saturating_add(entry.bytes.len()));
                new.push(entry);
            }
            self.at = Some((file, end));
            if size >= most {
                break;
            }
        }
        Ok(new)
    }
}

/// The end of the name of a file of which only the blocked events are left.
const BLOCKED: &str = ".blocked";

/// A file of the journal. Files are in the order of their records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DayFile {
    pub(super) day: Date,
    pub(super) part: u32,
    /// True if only its blocked events are left.
    pub(super) is_thinned: bool,
    pub(super) path: PathBuf,
}

impl DayFile {
    pub(super) fn new(directory: &Path, day: Date, part: u32) -> Self {
        Self::with(directory, day, part, false)
    }

    fn with(directory: &Path, day: Date, part: u32, is_thinned: bool) -> Self {
        let part_name = if part == 0 { String::new() } else { format!(".{part}") };
        let kind = if is_thinned { BLOCKED } else { "" };
        let path = directory.join(format!("{day}{part_name}{kind}.jsonl"));
        Self { day, part, is_thinned, path }
    }

    fn named(directory: &Path, name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let (stem, is_thinned) = stem.strip_suffix(BLOCKED).map_or((stem, false), |stem| (stem, true));
        let (day, part) =
            stem.split_once('.').map_or((stem, Some(0)), |(day, part)| (day, part.parse().ok()));
        let file = Self::with(directory, day.parse().ok()?, part?, is_thinned);
        file.path.ends_with(name).then_some(file)
    }

    /// Returns the file in which the blocked events of this one are kept.
    pub(super) fn thinned(&self) -> Self {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        Self::with(directory, self.day, self.part, true)
    }

    /// Returns its size in bytes, or 0 if it is gone.
    pub(super) fn size(&self) -> u64 {
        fs::symlink_metadata(&self.path).map_or(0, |about| about.len())
    }
}

/// Returns the files of a journal, the oldest first. A directory that is missing has none.
///
/// # Errors
///
/// The system's own, and `InvalidInput` for a directory that somebody else may write, and for a link to one: its records
/// may be somebody else's.
pub(super) fn all_files(directory: &Path) -> io::Result<Vec<DayFile>> {
    let about = match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        about => about?,
    };
    if about.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a symlink"));
    }
    private_dir::check(directory).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let entries = fs::read_dir(directory)?;
    let mut files = Vec::new();
    for entry in entries {
        files.extend(entry?.file_name().to_str().and_then(|name| DayFile::named(directory, name)));
    }
    files.sort();
    // A process that was killed leaves both; the whole one comes first.
    files.dedup_by_key(|file| (file.day, file.part));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_records_and_others_are_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let names =
            ["2026-11-26.10.jsonl", "2026-11-26.2.jsonl", "2026-11-26.jsonl", "2025-12-31.blocked.jsonl"];
        let others = [
            "lock",
            // Its day is there whole.
            "2026-11-26.2.blocked.jsonl",
            "2026-13-01.jsonl",
            "2026-11-26.0.jsonl",
            "2026-11-26.02.jsonl",
            "x.jsonl",
            "2026-11-26.json",
        ];
        for name in names.iter().chain(&others) {
            fs::write(temp.path().join(name), "").unwrap();
        }
        let found: Vec<_> = all_files(temp.path()).unwrap().into_iter().map(|it| it.path).collect();
        let expected: Vec<_> = names.iter().rev().map(|name| temp.path().join(name)).collect();
        assert_eq!(found, expected);
        assert_eq!(all_files(&temp.path().join("missing")).unwrap(), []);
    }
}
