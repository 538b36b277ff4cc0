//! The state that worked at the last discovery: it stays in force for a file that is broken now.
//!
//! Only wanted hooks are kept: a removed file is gone, and a hook that is disabled, or not trusted in its
//! present form, is not replaced by its last version.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::settings::File;
use crate::event::EventName;
use crate::hook::Digest;
use crate::mcp;
use crate::trust;
use crate::wasm::Component;

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
    pub(super) fn new(path: &Path, hook: Option<&str>, since: &str, why: String) -> Self {
        Self { path: path.to_owned(), hook: hook.map(str::to_owned), since: since.to_owned(), why }
    }
}

/// The working state that a discovery found, for the next one.
#[derive(Default)]
pub(crate) struct LastGood {
    /// Settings, by file.
    pub(super) settings: HashMap<PathBuf, Since<File>>,
    /// The text of each file that declares hooks.
    pub(super) declarations: HashMap<PathBuf, Since<String>>,
    /// Servers that may be running, by the directory of their root, the root and their name.
    pub(super) servers: HashMap<(PathBuf, usize, String), Arc<mcp::Server>>,
    /// Components, by file.
    pub(super) components: HashMap<PathBuf, Since<Component>>,
    /// Answers of native hooks, by file.
    pub(super) answers: HashMap<PathBuf, Answer>,
}

/// A value, and the time since which it holds.
#[derive(Clone)]
pub(super) struct Since<T> {
    pub(super) since: String,
    pub(super) value: T,
}

impl<T: PartialEq> Since<T> {
    /// Keeps the time of an equal earlier value.
    pub(super) fn new(value: T, last: Option<&Self>) -> Self {
        let since =
            last.filter(|last| last.value == value).map_or_else(trust::now, |last| last.since.clone());
        Self { since, value }
    }
}

/// The answer of a native hook to `hook`.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) digest: Digest,
    /// The variables that it had; `None` means all of them.
    pub(super) environment: Option<Vec<String>>,
    pub(super) event: EventName,
}

impl LastGood {
    /// Adds the state of another repository.
    pub(super) fn take(&mut self, other: Self) {
        self.settings.extend(other.settings);
        self.declarations.extend(other.declarations);
        self.servers.extend(other.servers);
        self.components.extend(other.components);
        self.answers.extend(other.answers);
    }

    /// Returns the answer of the program with these bytes at this path, with these variables.
    pub(super) fn answer(
        &self,
        path: &Path,
        digest: &Digest,
        environment: Option<&[String]>,
    ) -> Option<EventName> {
        let answer = self.answers.get(path)?;
        let same = answer.digest == *digest && answer.environment.as_deref() == environment;
        same.then(|| answer.event.clone())
    }
}
