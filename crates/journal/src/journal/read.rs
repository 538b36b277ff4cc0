//! Reading the records, the oldest first.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use hookbox::Digest;
use hookbox_system::files::private_dir;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::MAX_RECORD;
use super::files::{self, DayFile};

/// The key before the hash of a line.
pub(super) const HASH: &str = ",\"hash\":\"";

/// The longest line that is read: a record, and its hashes.
const MAX_LINE: u64 = MAX_RECORD as u64 + 1024;

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
        self.parsed().filter(|_| self.has_own_hash())
    }

    /// Returns the text of a record that was changed: it does not have its hash, and nothing in it need be true.
    pub fn changed(&self) -> Option<Value> {
        self.parsed().filter(|_| !self.has_own_hash())
    }

    /// Returns the record of a line with hashes.
    pub(super) fn parsed(&self) -> Option<Value> {
        let is_record = |it: &Value| it.get("prev").is_some_and(Value::is_string);
        hash_of(&self.bytes)?;
        serde_json::from_slice(&self.bytes).ok().filter(is_record)
    }

    pub(super) fn has_own_hash(&self) -> bool {
        has_own_hash(&self.bytes)
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
    let path = hookbox::escape(&path.to_string_lossy(), 4096);
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
        let mut files = files::all(directory)?;
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
        self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MAX_LINE {
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
        let at = files::all(directory)?.pop().map(|file| (file.clone(), file.size()));
        Ok(Self { directory: directory.to_owned(), at })
    }

    /// Returns the lines that are new since the last call.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn poll(&mut self) -> io::Result<Vec<Entry>> {
        let mut new = Vec::new();
        for file in files::all(&self.directory)? {
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
            while let Some(entry) = open.next()?.filter(|it| it.bytes.last() == Some(&b'\n')) {
                end += entry.bytes.len() as u64;
                new.push(entry);
            }
            self.at = Some((file, end));
        }
        Ok(new)
    }
}
