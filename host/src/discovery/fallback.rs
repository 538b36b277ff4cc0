//! What worked when hooks were last looked for: it stays in force where a file is broken now.
//!
//! Only what the user still wants is kept: a file that is gone is gone, and a hook that is disabled, or not trusted
//! as it stands now, is not replaced by what it was.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::settings::File;
use crate::event::EventName;
use crate::hook::Digest;
use crate::mcp;
use crate::trust;
use crate::wasm::Component;

/// Something broken in whose place an older state stays in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The hook, where the file is one.
    pub hook: Option<String>,
    /// Since when the older state has been in force, in RFC 3339.
    pub since: String,
    /// What is wrong with the file; text from outside in it is escaped.
    pub why: String,
}

impl Kept {
    pub(super) fn new(path: &Path, hook: Option<&str>, since: &str, why: String) -> Self {
        Self { path: path.to_owned(), hook: hook.map(str::to_owned), since: since.to_owned(), why }
    }
}

/// What a look found to work, for the next look.
#[derive(Default)]
pub(crate) struct LastGood {
    /// By settings file.
    pub(super) settings: HashMap<PathBuf, Since<File>>,
    /// The text of each file that declares hooks.
    pub(super) declarations: HashMap<PathBuf, Since<String>>,
    /// Servers that may be running, by the directory that holds their root, the root and their name.
    pub(super) servers: HashMap<(PathBuf, usize, String), Arc<mcp::Server>>,
    /// By file.
    pub(super) components: HashMap<PathBuf, Since<Component>>,
    /// By file: what native hooks subscribe to.
    pub(super) answers: HashMap<PathBuf, Answer>,
}

/// Something, and since when it has been so.
#[derive(Clone)]
pub(super) struct Since<T> {
    pub(super) since: String,
    pub(super) value: T,
}

impl<T: PartialEq> Since<T> {
    /// What holds now; where it held before, since then.
    pub(super) fn new(value: T, last: Option<&Self>) -> Self {
        let since =
            last.filter(|last| last.value == value).map_or_else(trust::now, |last| last.since.clone());
        Self { since, value }
    }
}

/// What a native hook answered to `hook`.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) digest: Digest,
    /// The variables that it had; all of them when absent.
    pub(super) environment: Option<Vec<String>>,
    pub(super) event: EventName,
}

impl LastGood {
    /// Takes what a look at another repository found.
    pub(super) fn take(&mut self, other: Self) {
        self.settings.extend(other.settings);
        self.declarations.extend(other.declarations);
        self.servers.extend(other.servers);
        self.components.extend(other.components);
        self.answers.extend(other.answers);
    }

    /// What the program with these bytes answered at this path, with these variables.
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
