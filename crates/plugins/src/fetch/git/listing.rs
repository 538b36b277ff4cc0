//! The tree of a commit: names, modes and sizes, checked before any file is read.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use super::failure::{Failure, Limit};
use super::repository::Repository;
use super::revision::is_id;
use crate::usage::Usage;
use crate::{EntryPath, EntryPathError, INSTALLED, PluginError, PluginErrorKind, Stage};

/// The most bytes of one record of the list. A path that can be opened has at most 4096.
const MAX_RECORD: u64 = 64 << 10;

/// The mean length of a record in the largest list: a few trees can multiply into a list without end.
const MEAN_RECORD: u64 = 128;

/// A file or a symlink to install.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path.
    pub(super) path: EntryPath,
    /// Its kind.
    pub(super) kind: Kind,
    /// The id of the object with its bytes.
    pub(super) id: String,
    /// The number of its bytes.
    pub(super) len: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File {
        /// True if it has the execute bit.
        executable: bool,
    },
    /// A symlink.
    Symlink,
}

/// Lists the whole tree of a commit, and returns the entries to install.
pub(super) async fn list(
    repository: &Repository<'_>,
    commit: &str,
    stage: &Stage<'_>,
) -> Result<Vec<Entry>, PluginError> {
    let args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit];
    let failed = |failure| repository.failed(failure);
    let too_large = || {
        let what = format!(
            "has too many files to look at, or too long names: expected at most {} files",
            repository.listed
        );
        PluginError::new(repository.shown(), PluginErrorKind::TooLarge(what))
    };
    let max = MEAN_RECORD.saturating_mul(repository.listed as u64);
    let (listed, is_whole) = match repository.git.output(args, Path::new("/dev/null"), max).await {
        // An error in the first part of the list is more helpful.
        Err(Failure::Limit(Limit::Output(list))) => (list, false),
        list => (list.map_err(failed)?, true),
    };
    let mut list =
        List { stage, seen: HashSet::new(), entries: Vec::new(), usage: Usage::new(stage.limits()) };
    let mut from = BufReader::new(listed);
    let mut record = Vec::new();
    for listed in 0.. {
        record.clear();
        let read = (&mut from).take(MAX_RECORD).read_until(0, &mut record);
        if read.map_err(|error| failed(error.into()))? == 0 {
            break;
        }
        if listed >= repository.listed || record.pop() != Some(0) {
            return Err(too_large());
        }
        list.add(&record)?;
    }
    if is_whole { Ok(list.entries) } else { Err(too_large()) }
}

/// The entries so far.
struct List<'a> {
    stage: &'a Stage<'a>,
    /// The paths so far. Git writes no tree with a repeated name, but a hostile author may.
    seen: HashSet<EntryPath>,
    entries: Vec<Entry>,
    usage: Usage,
}

impl List<'_> {
    fn add(&mut self, record: &[u8]) -> Result<(), PluginError> {
        let Some(Record { mode, id, len, path }) = Record::parse(record) else {
            return Err(self.stage.refuse(record, "is not a record of git ls-tree"));
        };
        let path = match EntryPath::new(path) {
            Ok(path) if path.is_installed() => path,
            Ok(_) => return Ok(()),
            // A file that is not installed may have an odd name, but not one that leads out of the
            // repository.
            Err(EntryPathError::NotUtf8 | EntryPathError::TooLong | EntryPathError::TooDeep)
                if !is_below(path) =>
            {
                return Ok(());
            }
            Err(error) => return Err(PluginError::new(String::from_utf8_lossy(path), error)),
        };
        if !self.seen.insert(path.clone()) {
            return Err(self.stage.refuse(path.as_str(), "appears twice"));
        }
        self.usage.add_entry(&path)?;
        let kind = match mode {
            b"040000" => return Ok(()),
            b"100644" => Kind::File { executable: false },
            b"100755" => Kind::File { executable: true },
            b"120000" => Kind::Symlink,
            b"160000" => {
                let error = self.stage.refuse(path.as_str(), "is a submodule of git, which is not followed");
                return Err(error
                    .hint("put its files into the repository itself, or install it as a plugin of its own"));
            }
            _ => {
                return Err(self
                    .stage
                    .refuse(path.as_str(), "is neither a file nor a directory nor a symlink"));
            }
        };
        let Some(len) = len else {
            return Err(self.stage.refuse(path.as_str(), "has no size: git does not have it"));
        };
        self.usage.add_bytes(&path, len)?;
        self.entries.push(Entry { path, kind, id: id.to_owned(), len });
        Ok(())
    }
}

/// Returns true for a path that begins with an installed directory.
fn is_below(path: &[u8]) -> bool {
    let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
    INSTALLED.iter().any(|it| it.as_bytes() == first)
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
