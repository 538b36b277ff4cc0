//! A git repository as a source, fetched by the user's own `git` with its credentials, ssh, proxies and
//! settings.
//!
//! Nothing is checked out. The commit is fetched into a bare repository in the staging directory. Git lists
//! its tree, and the installed files are read from it one by one, after their names, modes and sizes are
//! checked.

mod command;
mod failure;
mod listing;
mod objects;
mod progress;
mod repository;
mod revision;
mod run;

use std::time::Duration;

use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Stage, Step};
use repository::Repository;
use revision::Revision;

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

/// Writes the installed files of a repository into the stage, and returns their commit.
pub(super) async fn fetch(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    bounds: &Bounds,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<String, PluginError> {
    let revision = Revision::new(reference, pin)?;
    observer.step(&Step::Resolving);
    let repository = Repository::new(url, stage.scratch(), bounds, observer).await?;
    let commit = repository.fetch(&revision).await?;
    let entries = listing::list(&repository, &commit, stage).await?;
    if entries.is_empty() {
        return Err(PluginError::new(repository.shown(), PluginErrorKind::Empty)
            .hint("expected files in skills/, recipes/ or hooks/ at the top of the repository"));
    }
    objects::write(&repository, &entries, stage).await?;
    repository.remove();
    Ok(commit)
}

#[cfg(test)]
mod tests;
