//! The settings and declarations that worked at the last discovery.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::settings::File;
use crate::trust;

/// The files that a discovery could read, for the next one.
#[derive(Default)]
pub(crate) struct LastRead {
    /// Settings, by file.
    pub(crate) settings: HashMap<PathBuf, Since<File>>,
    /// The text of each file that declares hooks.
    pub(crate) declarations: HashMap<PathBuf, Since<String>>,
}

impl LastRead {
    /// Adds the files of another repository.
    pub(crate) fn take(&mut self, other: Self) {
        self.settings.extend(other.settings);
        self.declarations.extend(other.declarations);
    }
}

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
