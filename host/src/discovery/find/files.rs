//! Reads the files of a search: within the limits of a repository, and with the last contents of a file that broke.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::MAX_OF_REPOSITORY;
use super::declared::Contents;
use super::settings::{self, Fault, File, Parsed};
use crate::discovery::Problem;
use crate::hook::Origin;
use crate::trust;
use hookbox_system::files::{self, EntryKind, FileAccess};
use hookbox_system::limits;

/// The number of names of a repository that are read. Otherwise many plugins that link to the same full directory
/// would cost the repository nothing.
const MAX_NAMES: usize = 65_536;

/// The contents of a file, and the consequence if it cannot be read.
const HOOKS: [&str; 2] = ["hooks", "none of its hooks run"];
const SETTINGS: [&str; 2] = ["settings", "no settings apply here"];

/// The texts of settings and declarations that a discovery could read, for the next one.
pub(crate) type LastRead = HashMap<PathBuf, Since<String>>;

/// A broken file whose last state stays in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The hook, if the file is one.
    pub hook: Option<String>,
    /// The time since which that state has been in force, in RFC 3339.
    pub since: String,
    /// The problem with the file; text from outside in it is escaped.
    pub why: String,
}

impl Kept {
    pub(crate) fn new(path: &Path, hook: Option<&str>, since: &str, why: String) -> Self {
        Self { path: path.to_owned(), hook: hook.map(str::to_owned), since: since.to_owned(), why }
    }
}

/// A value, and the time since which it is in force.
#[derive(Clone)]
pub(crate) struct Since<T> {
    pub(crate) since: String,
    pub(crate) value: T,
}

impl<T: PartialEq> Since<T> {
    /// Keeps the time of an equal earlier value.
    pub(crate) fn new(value: T, last: Option<&Self>) -> Self {
        let since =
            last.filter(|last| last.value == value).map_or_else(trust::now, |last| last.since.clone());
        Self { since, value }
    }
}

/// The result of reading a file.
#[derive(Debug)]
pub enum ReadFile<T> {
    /// The contents, or the last ones before the file broke.
    Read(T),
    /// The file does not exist.
    Missing,
    /// The file cannot be used, and a problem gives the reason.
    Unusable,
}

/// Reads the files of one repository, or of the nearest one and the user.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) problems: Vec<Problem>,
    pub(crate) kept: Vec<Kept>,
    /// The files that worked the last time, and those for the next time.
    last: Arc<LastRead>,
    pub(super) next: LastRead,
    /// The names of the repository that were read.
    names: usize,
    /// The candidates of the repository that were taken, and those beyond the limit.
    taken: usize,
    left_out: usize,
    /// The bytes of the repository's declarations that were read, and the files that were not read.
    declared: u64,
    unread: usize,
}

impl Files {
    pub(super) fn new(last: Arc<LastRead>) -> Self {
        Self { last, ..Self::default() }
    }

    /// Returns true if no further hook of the repository is taken.
    pub(super) fn is_full(&self) -> bool {
        self.taken == MAX_OF_REPOSITORY
    }

    /// Adds a problem for each limit that this repository reached.
    pub(super) fn report_limits(&mut self, repo: &Path) {
        let Self { names, left_out, unread, .. } = *self;
        let declared = (unread > 0).then(|| {
            let max = limits::FILE >> 20;
            format!("declares hooks in more than {max} MiB: {unread} files that declare hooks were not read")
        });
        let candidates = (left_out > 0).then(|| {
            let max = MAX_OF_REPOSITORY;
            format!("has more than {max} hooks: only the first {max} are used, and {left_out} are left out")
        });
        let names = (names > MAX_NAMES).then(|| {
            format!("has more than {MAX_NAMES} files in directories of hooks: the others were not read")
        });
        let messages = [declared, candidates, names].into_iter().flatten();
        self.problems.extend(messages.map(|message| Problem::new(repo, message)));
    }

    /// Reads the settings of a root. Of a broken file, the last settings that could be read stay in force, else the part
    /// that can be read. A root without a file has no settings.
    pub(super) fn settings(&mut self, access: &FileAccess, path: &Path) -> File {
        let (is_known, kept) = (self.last.contains_key(path), self.kept.len());
        let parse = |text: &str| match settings::parse(text) {
            Parsed { broken: Some(why), .. } if is_known => Err(why),
            parsed => Ok(parsed),
        };
        let Parsed { mut file, faults, broken } =
            match self.last_good(access, (false, &SETTINGS), path, limits::FILE, parse) {
                ReadFile::Read(parsed) => parsed,
                ReadFile::Unusable => return File::default(),
                ReadFile::Missing => {
                    let none = Since::new(String::new(), self.last.get(path));
                    self.next.insert(path.to_owned(), none);
                    return File::default();
                }
            };
        if broken.is_some() {
            self.next.remove(path);
        }
        // Those of an earlier text have been reported.
        for Fault { line, hook, message } in faults.into_iter().filter(|_| self.kept.len() == kept) {
            let problem = Problem { hook, ..Problem::new(path, format!("line {line}: {message}")) };
            self.problems.push(if broken.is_some() { problem.hiding(access) } else { problem });
        }
        file.tables.values_mut().for_each(|table| path.clone_into(&mut table.file));
        file
    }

    /// Reads the declarations of a file. Of a broken file, the last declarations stay in force.
    pub(super) fn declarations(
        &mut self,
        access: &FileAccess,
        path: &Path,
        parse: impl Fn(&str) -> Result<Contents, String>,
    ) -> Option<Contents> {
        let is_counted = matches!(access, FileAccess::Repository(_));
        match self.file(access, is_counted, path, limits::FILE, parse) {
            ReadFile::Read(contents) => Some(contents),
            ReadFile::Missing | ReadFile::Unusable => None,
        }
    }

    /// Reads a file that declares hooks. Of a broken file, the last text that could be read stays in force.
    /// `is_counted` is true for a file of a repository: only so many of its bytes are read.
    pub(super) fn file<T>(
        &mut self,
        access: &FileAccess,
        is_counted: bool,
        path: &Path,
        max: u64,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> ReadFile<T> {
        self.last_good(access, (is_counted, &HOOKS), path, max, parse)
    }

    /// Reads a file, or its last text that could be read.
    fn last_good<T>(
        &mut self,
        access: &FileAccess,
        (is_counted, [what, without]): (bool, &[&str; 2]),
        path: &Path,
        max: u64,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> ReadFile<T> {
        let last = Arc::clone(&self.last);
        let last = last.get(path);
        if is_counted && self.declared >= limits::FILE {
            self.unread += usize::from(matches!(access.entry_kind(path), Ok(EntryKind::File { .. })));
            return ReadFile::Unusable;
        }
        let Some(read) = access.read_if_exists(path, max) else { return ReadFile::Missing };
        let read = read.map_err(|error| files::explain(&error));
        let read = read.and_then(|it| String::from_utf8(it).map_err(|_| "is not UTF-8 text".to_owned()));
        if let (Ok(text), true) = (&read, is_counted) {
            self.declared += text.len() as u64;
        }
        let (text, parsed) = match read.and_then(|text| Ok((parse(&text)?, text))) {
            Ok((parsed, text)) => (Since::new(text, last), parsed),
            Err(why) => {
                let before = last.and_then(|last| Some((last, parse(&last.value).ok()?)));
                let Some((last, parsed)) = before else {
                    self.problems.push(Problem::new(path, format!("{why}: {without}")).hiding(access));
                    return ReadFile::Unusable;
                };
                let message = format!("{why}: the {what} of {} stay in force", last.since);
                self.problems.push(Problem::new(path, message));
                self.kept.push(Kept::new(path, None, &last.since, why));
                (last.clone(), parsed)
            }
        };
        self.next.insert(path.to_owned(), text);
        ReadFile::Read(parsed)
    }

    /// Returns true if one more hook of this origin is taken. A repository has a limit.
    pub(super) fn has_room(&mut self, origin: Origin) -> bool {
        let is_counted = origin == Origin::Repo;
        let has_room = !is_counted || !self.is_full();
        *(if has_room { &mut self.taken } else { &mut self.left_out }) += usize::from(is_counted);
        has_room
    }

    /// Returns the names in a directory; none if there is no such directory.
    pub(super) fn names(&mut self, access: &FileAccess, path: &Path) -> Vec<OsString> {
        let is_spent = matches!(access, FileAccess::Repository(_)) && self.names > MAX_NAMES;
        if is_spent || !self.is_directory(access, path) {
            return Vec::new();
        }
        match access.names(path) {
            Ok((mut names, more)) => {
                if matches!(access, FileAccess::Repository(_)) {
                    let all = names.len();
                    names.truncate(MAX_NAMES.saturating_sub(self.names));
                    self.names += all;
                }
                if more {
                    let problem = Problem::new(path, "has too many files: not all were read");
                    self.problems.push(problem.hiding(access));
                }
                names
            }
            Err(error) => {
                self.problems.push(Problem::new(path, files::explain(&error)).hiding(access));
                Vec::new()
            }
        }
    }

    /// Returns true for a directory that can be used. A path that exists and cannot be used is a problem.
    pub(super) fn is_directory(&mut self, access: &FileAccess, path: &Path) -> bool {
        let found = access.entry(path).and_then(|(found, owner)| owner.map(|()| found));
        let message = match found {
            Ok(EntryKind::Directory) => return true,
            Ok(_) => "is a file: expected a directory".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !access.is_symlink(path) => {
                return false;
            }
            Err(error) => files::explain(&error),
        };
        self.problems.push(Problem::new(path, message).hiding(access));
        false
    }
}
