//! What a commit holds, by name, mode and size, before anything of it is read.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read as _};

use super::repository::Repository;
use super::wanted::is_id;
use crate::count::Count;
use crate::{EntryPath, EntryPathError, INSTALLED, PluginError, PluginErrorKind, Stage};

/// How long one record of the list may be, in bytes. Paths are at most 4096 bytes long where they can be opened.
const MAX_RECORD: u64 = 64 << 10;

/// A file or a symlink to install.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it stands.
    pub(super) path: EntryPath,
    /// What it is.
    pub(super) kind: Kind,
    /// The object that holds its bytes.
    pub(super) id: String,
    /// How many bytes these are.
    pub(super) len: u64,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File {
        /// Whether it has the execute bit.
        executable: bool,
    },
    /// A symlink.
    Symlink,
}

/// Lists the whole tree of a commit; gives what is installed.
pub(super) fn list(
    repository: &Repository<'_>,
    commit: &str,
    stage: &Stage<'_>,
) -> Result<Vec<Entry>, PluginError> {
    let args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit];
    let failed = |failed| repository.failed(failed);
    let (mut running, stdout) = repository.program.read(args).map_err(failed)?;
    let mut list =
        List { stage, seen: HashSet::new(), entries: Vec::new(), count: Count::new(stage.limits()) };
    let mut from = BufReader::new(stdout);
    let mut record = Vec::new();
    for listed in 0.. {
        record.clear();
        let read = (&mut from).take(MAX_RECORD).read_until(0, &mut record);
        if read.map_err(|error| failed(running.broken(error)))? == 0 {
            break;
        }
        if listed >= repository.listed || record.pop() != Some(0) {
            let what = format!(
                "has too many files to look at, or too long names: expected at most {} files",
                repository.listed
            );
            return Err(PluginError::new(repository.shown(), PluginErrorKind::TooLarge(what)));
        }
        list.add(&record)?;
    }
    let status = running.end(&mut |_| ()).map_err(failed)?;
    running.finish(status).map_err(failed)?;
    Ok(list.entries)
}

/// A list that grows.
struct List<'a> {
    stage: &'a Stage<'a>,
    /// What stands at the paths so far: no tree of git holds a name twice, unless somebody made it by hand.
    seen: HashSet<EntryPath>,
    entries: Vec<Entry>,
    count: Count,
}

impl List<'_> {
    fn add(&mut self, record: &[u8]) -> Result<(), PluginError> {
        let Some(Record { mode, id, len, path }) = Record::parse(record) else {
            return Err(self.stage.refuse(record, "is nothing that git lists"));
        };
        let path = match EntryPath::new(path) {
            Ok(path) if path.is_installed() => path,
            Ok(_) => return Ok(()),
            // What is not installed may have names that other systems cannot read; it may not lead anywhere.
            Err(EntryPathError::NotUtf8 | EntryPathError::TooLong | EntryPathError::TooDeep)
                if !is_below(path) =>
            {
                return Ok(());
            }
            Err(error) => return Err(PluginError::new(String::from_utf8_lossy(path), error)),
        };
        if !self.seen.insert(path.clone()) {
            return Err(self.stage.refuse(path.as_str(), "stands there twice"));
        }
        self.count.entry(&path)?;
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
        self.count.file(&path, len)?;
        self.entries.push(Entry { path, kind, id: id.to_owned(), len });
        Ok(())
    }
}

/// Whether a path begins with a directory that is installed.
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
