//! A git repository as a source, fetched by the user's own `git` with its credentials, ssh, proxies and
//! settings.
//!
//! Nothing is checked out. The commit is fetched into a bare repository in the staging directory. Git lists
//! its tree, and the files are read from it one by one, after their names, modes and sizes are checked.

mod command;
mod revision;
mod run;
mod tree;
mod words;

use std::time::{Duration, Instant};

use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Stage, Step};
use run::Git;

/// The bounds of one fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Wall-clock time for all of it. A large repository takes minutes over a slow line; a longer fetch
    /// hangs.
    time: Duration,
    /// Bytes that git may write to one file, which is one pack here. A repository may hold far more than its
    /// plugin.
    disk: u64,
    /// Bytes of memory for each process of git. To unpack a large repository it needs some hundred MiB.
    memory: u64,
    /// Files and directories in the whole tree of the commit. The largest known repositories have fewer.
    listed: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(600), disk: 1 << 30, memory: 1 << 30, listed: 1_000_000 }
    }
}

/// Writes the files of a repository into the stage, and returns their commit.
pub(super) async fn fetch(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    bounds: &Bounds,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<String, PluginError> {
    revision::check(reference, pin)?;
    observer.step(&Step::Resolving);
    let dir = std::path::absolute(stage.scratch().join("git"))
        .map_err(|error| PluginError::io(stage.scratch(), error))?;
    let git = Git { url, dir, bounds: *bounds, ends: Instant::now() + bounds.time, observer };
    git.make("sha1").await.map_err(|failure| git.failed(failure))?;
    let commit = git.fetch(reference, pin).await?;
    let entries = git.list(&commit, stage).await?;
    if !entries.iter().any(tree::Entry::is_content) {
        return Err(git
            .error(PluginErrorKind::Empty)
            .hint("expected files in skills/, recipes/ or hooks/ at the top of the repository"));
    }
    git.write(&entries, stage).await?;
    // This frees its disk space. If it fails, the repository is removed with the staging directory.
    if let Err(error) = std::fs::remove_dir_all(&git.dir) {
        tracing::debug!(%error, "a fetched repository cannot be removed yet");
    }
    Ok(commit)
}

#[cfg(test)]
mod tests;
