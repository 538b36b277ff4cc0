//! The files of a source, as it hands them over.

use std::path::PathBuf;
use std::time::Duration;

/// A file that declares hooks.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The file.
    pub path: PathBuf,
    /// Its name in the names of its hooks, such as `.agent/settings.json`.
    pub shown: String,
    /// The directory with the scripts that its hooks run: the digest of a repository's hook covers it.
    pub scripts: PathBuf,
    /// The plugin that it belongs to.
    pub plugin: Option<String>,
    /// The time limit of its hooks that have none.
    pub usual_timeout: Duration,
    /// The word for this source after `--from` on the command line of `hookbox`.
    pub from: &'static str,
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
