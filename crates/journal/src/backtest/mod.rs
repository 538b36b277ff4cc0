//! A policy, tried on the past: the verdicts that hooks would have given on the tool calls of session files.

mod tally;
mod worker;

use std::hash::RandomState;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, thread};

use hookbox::Hook;
use jiff::Timestamp;

pub use self::tally::{
    Backtest, FileProblem, Group, HookTally, MAX_GROUPS, PastHookTally, SourceTally, Verdicts, by_frequency,
};
use self::worker::{Work, Worker};
use crate::session_files::Format;

/// The options of a backtest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The formats of the files; by default none, so that no file has calls. A line that several of them have is one of
    /// the first.
    pub formats: &'a [&'static Format],
    /// Calls before this time are left out. Calls without a time are not.
    pub since: Option<Timestamp>,
    /// The number of threads; by default one for each processor.
    pub threads: Option<NonZero<usize>>,
}

/// The bytes of session files that are read so far.
#[derive(Debug, Default)]
pub struct Progress(AtomicU64);

impl Progress {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Asks hooks about every tool call of these files, and acts on no answer. The hooks run, with all that they do beside
/// their answer: give it hooks that have no permissions.
///
/// The threads share the files, and read each from its beginning to its end, so memory is bounded by the lines and the
/// groups of commands ([`MAX_GROUPS`]).
///
/// # Errors
///
/// No thread can be started.
pub fn run(
    hooks: &[Arc<dyn Hook>],
    files: &[SessionFile],
    options: Options<'_>,
    progress: &Progress,
) -> std::io::Result<Backtest> {
    let threads = options.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let next = AtomicU64::new(0);
    let work = Work {
        hooks,
        options,
        bytes: &progress.0,
        tally: Mutex::default(),
        seen: Mutex::default(),
        hasher: RandomState::new(),
    };
    let judge = || -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut worker = Worker { work: &work, runtime, waiting: Vec::new() };
        let take = || usize::try_from(next.fetch_add(1, Ordering::Relaxed)).ok().and_then(|at| files.get(at));
        while let Some(file) = take() {
            worker.file(file);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let started: std::io::Result<Vec<_>> = (0..threads.min(files.len().max(1)))
            .map(|_| thread::Builder::new().name("backtest".to_owned()).spawn_scoped(scope, judge))
            .collect();
        for thread in started? {
            thread
                .join()
                .unwrap_or_else(|_| Err(std::io::Error::other("a thread of the backtest panicked")))?;
        }
        Ok::<_, std::io::Error>(())
    })?;
    Ok(work.tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

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
    /// True if the user named this file, and not a directory or an agent: without a call it is a problem.
    pub is_named: bool,
}

/// A source that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be read: {error}", hookbox::shown_path(path))]
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
        files.push(SessionFile { path: path.to_owned(), bytes: about.len(), is_named: depth == 0 });
    } else if about.is_dir() && depth <= MAX_DEPTH {
        for entry in fs::read_dir(path)? {
            let _ = collect(&entry?.path(), depth + 1, files);
        }
    }
    Ok(())
}
