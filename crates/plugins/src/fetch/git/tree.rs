//! The tree of a commit: names, modes and sizes are checked before any file is read. Then the files are read
//! one by one into the stage.

use hookbox::discovery::MARKETPLACE;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::{Git, is_id};
use crate::blocking::blocking;
use crate::limits::{MAX_PATH, Usage};
use crate::{EntryPath, PluginError, PluginErrorKind, Stage};
use hookbox_system::text;

/// The mean length of a record in the largest list: a few trees can multiply into a list without end.
const MEAN_RECORD: u64 = 128;

/// The start of a git-lfs pointer file, and the most bytes that it has (docs/spec.md of git-lfs).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const MAX_POINTER: u64 = 1024;

/// A file or a symlink to install.
pub(super) struct Entry {
    path: EntryPath,
    kind: Kind,
    /// The id of the object with its bytes.
    id: String,
    /// The number of its bytes.
    len: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy)]
enum Kind {
    File { executable: bool },
    Symlink,
}

impl Git<'_> {
    /// Lists the whole tree of a commit, and returns the entries to install.
    pub(super) async fn list(&self, commit: &str, stage: &Stage<'_>) -> Result<Vec<Entry>, PluginError> {
        let args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit];
        let most = self.bounds.listed;
        let max = MEAN_RECORD.saturating_mul(most as u64);
        let listed = self.output(&args, Path::new("/dev/null"), max).await;
        // An error in the first part of a list without end is more helpful.
        let (listed, ended) = match listed {
            Err(error) if matches!(error.kind, PluginErrorKind::TooLarge(_)) => {
                let part = File::open(self.dir.with_extension("out"));
                (part.map_err(|error| self.unusable(&error))?, Err(error))
            }
            listed => (listed?.map_err(|words| self.failed(&words))?, Ok(())),
        };
        let (mut entries, mut usage) = (Vec::new(), Usage::new(stage.limits()));
        let mut from = BufReader::new(listed);
        let mut record = Vec::new();
        for number in 0.. {
            record.clear();
            let read = from.read_until(0, &mut record);
            if read.map_err(|error| self.unusable(&error))? == 0 {
                break;
            }
            if number >= most || record.pop() != Some(0) {
                return Err(self.too_long());
            }
            entries.extend(Entry::checked(&record, &mut usage, stage)?);
        }
        ended.map(|()| entries)
    }

    /// Writes these entries into the stage.
    pub(super) async fn write(&self, entries: &[Entry], stage: &mut Stage<'_>) -> Result<(), PluginError> {
        let ids: String = entries.iter().map(|entry| format!("{}\n", entry.id)).collect();
        let input = self.dir.with_extension("ids");
        std::fs::write(&input, ids).map_err(|error| self.unusable(&error))?;
        let output = self.output(&["cat-file", "--batch"], &input, self.bounds.disk).await;
        let output = output?.map_err(|words| self.failed(&words))?;
        let mut objects = Objects(BufReader::with_capacity(64 << 10, output));
        blocking(|| entries.iter().try_for_each(|entry| objects.next(entry, stage)))
    }
}

impl Entry {
    /// Returns true for a file or a symlink of a plugin, and for one that says what the repository is instead.
    pub(super) fn is_content(&self) -> bool {
        self.path.is_of_a_plugin() || self.path.as_str() == MARKETPLACE
    }

    /// Reads a record of `git ls-tree`; `None` for a directory.
    fn checked(record: &[u8], usage: &mut Usage, stage: &Stage<'_>) -> Result<Option<Self>, PluginError> {
        let Some(Record { mode, id, len, path }) = Record::parse(record) else {
            return Err(stage.refuse(record, "is not a record of git ls-tree"));
        };
        let path = stage.path(path)?;
        usage.add_entry(&path)?;
        let kind = match mode {
            b"040000" => return Ok(None),
            b"100644" => Kind::File { executable: false },
            b"100755" => Kind::File { executable: true },
            b"120000" => Kind::Symlink,
            b"160000" => {
                return Err(stage
                    .refuse(path.as_str(), "is a submodule of git, which is not followed")
                    .hint("put its files into the repository itself, or install it as a plugin of its own"));
            }
            _ => {
                return Err(stage.refuse(path.as_str(), "is neither a file nor a directory nor a symlink"));
            }
        };
        let Some(len) = len else {
            return Err(stage.refuse(path.as_str(), "has no size: git does not have it"));
        };
        usage.add_bytes(&path, len)?;
        Ok(Some(Self { path, kind, id: id.to_owned(), len }))
    }
}

/// `MODE TYPE ID SIZE<tab>PATH` of `git ls-tree -l -z`.
#[derive(Debug, PartialEq, Eq)]
struct Record<'a> {
    mode: &'a [u8],
    id: &'a str,
    len: Option<u64>,
    path: &'a [u8],
}

impl<'a> Record<'a> {
    fn parse(record: &'a [u8]) -> Option<Self> {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = record.split_at(tab);
        let path = path.get(1..)?;
        let mut words = str::from_utf8(head).ok()?.split_ascii_whitespace();
        let (mode, _, id, len) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let len = if len == "-" { None } else { Some(len.parse().ok()?) };
        (words.next().is_none() && is_id(id)).then_some(Self { mode: mode.as_bytes(), id, len, path })
    }
}

/// The output of `git cat-file --batch`.
struct Objects(BufReader<File>);

impl Objects {
    fn next(&mut self, entry: &Entry, stage: &mut Stage<'_>) -> Result<(), PluginError> {
        let wrong = |error: io::Error| PluginError::io(entry.path.as_path(), error);
        self.header(entry).map_err(wrong)?;
        let mut bytes = (&mut self.0).take(entry.len);
        match entry.kind {
            Kind::Symlink => {
                let mut target = Vec::new();
                if entry.len <= MAX_PATH as u64 {
                    bytes.read_to_end(&mut target).map_err(wrong)?;
                }
                if target.is_empty() {
                    return Err(
                        stage.refuse(entry.path.as_str(), "is a symlink whose target is empty or too long")
                    );
                }
                stage.symlink(&entry.path, Path::new(OsStr::from_bytes(&target)))?;
            }
            Kind::File { executable } => {
                let mut head = Vec::new();
                if entry.len <= MAX_POINTER {
                    bytes.read_to_end(&mut head).map_err(wrong)?;
                }
                if head.starts_with(POINTER) {
                    let error = stage
                        .refuse(entry.path.as_str(), "is kept by git-lfs, and only a pointer to it is there");
                    return Err(error.hint("keep it in git itself, or publish the plugin to a registry"));
                }
                stage.file(&entry.path, executable, Some(entry.len), head.as_slice().chain(bytes))?;
            }
        }
        let mut end = [0];
        self.0.read_exact(&mut end).map_err(wrong)
    }

    /// Reads the line before the bytes of an object.
    fn header(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = Vec::new();
        (&mut self.0).take(256).read_until(b'\n', &mut line)?;
        if line == format!("{} blob {}\n", entry.id, entry.len).as_bytes() {
            return Ok(());
        }
        let line = text::escape(String::from_utf8_lossy(&line).trim_end(), 256);
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("git does not have it: {line}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_four_words_and_a_path() {
        let id = "1".repeat(40);
        let of = |text: &str| {
            Record::parse(text.as_bytes()).map(|it| (it.len, String::from_utf8_lossy(it.path).into_owned()))
        };
        for (record, parsed) in [
            (format!("100644 blob {id}       4\ta\tb\n"), Some((Some(4), "a\tb\n"))),
            (format!("040000 tree {id}       -\thooks"), Some((None, "hooks"))),
            (format!("100644 blob {id}       4\t"), Some((Some(4), ""))),
            (format!("100644 blob {id} BAD\ta"), None),
            (format!("100644 blob {id} 4 5\ta"), None),
            (format!("100644 blob {id}\ta"), None),
            ("100644 blob -x 4\ta".to_owned(), None),
            (format!("100644 blob {id} 4 a"), None),
            (String::new(), None),
        ] {
            let parsed = parsed.map(|(len, path): (Option<u64>, &str)| (len, path.to_owned()));
            assert_eq!(of(&record), parsed, "{record}");
        }
    }
}
