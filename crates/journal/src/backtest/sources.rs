//! The places of session files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::session_files::Format;

/// The deepest directory below a source.
const MAX_DEPTH: usize = 8;

/// Names the session files of a backtest.
#[derive(Clone, Debug)]
pub enum Source {
    /// The files of an agent or the journal, below its directory in the home directory.
    Format(&'static Format),
    /// A file, or a directory with files `*.jsonl`.
    Path(PathBuf),
}

/// A file that may have calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A source that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be read: {error}", hookbox::escape(&path.to_string_lossy(), 4096))]
pub struct SourceError {
    /// The path.
    pub path: PathBuf,
    /// The error.
    #[source]
    pub error: std::io::Error,
}

impl Source {
    /// Returns the files of the source, sorted by path. An agent that has none is no error.
    ///
    /// # Errors
    ///
    /// A path that the user named cannot be read.
    pub fn files(
        &self,
        home: &Path,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Vec<SessionFile>, SourceError> {
        let mut files = Vec::new();
        match self {
            Self::Format(format) => {
                for directory in (format.directories)(home, &variable) {
                    // A file that disappears meanwhile is no loss.
                    let _ = collect(&directory, 0, &mut files);
                }
            }
            Self::Path(path) => {
                collect(path, 0, &mut files).map_err(|error| SourceError { path: path.clone(), error })?;
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Collects files. Links are not followed below the first path, so that no file counts twice.
fn collect(path: &Path, depth: usize, files: &mut Vec<SessionFile>) -> std::io::Result<()> {
    let about = if depth == 0 { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
    if about.is_file() && (depth == 0 || path.extension().is_some_and(|it| it == "jsonl")) {
        files.push(SessionFile { path: path.to_owned(), bytes: about.len() });
    } else if about.is_dir() && depth <= MAX_DEPTH {
        for entry in fs::read_dir(path)? {
            let _ = collect(&entry?.path(), depth + 1, files);
        }
    }
    Ok(())
}
