//! A git repository as a source, by the user's own `git`: its credentials, its ssh, its proxies and its settings.
//!
//! Nothing is checked out. The commit is fetched into a bare repository in the staging directory; git lists its tree,
//! and the files that are installed are read from it one by one, after their names, modes and sizes were looked at.

mod command;
mod explain;
mod limits;
mod listing;
mod objects;
mod process;
mod repository;
mod said;
mod wanted;

use std::time::Duration;

use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Stage, Step};
use repository::Repository;
use wanted::Wanted;

/// How much one fetch may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Wall-clock time for all of it. A large repository over a slow line is there in minutes; what takes longer hangs.
    time: Duration,
    /// Bytes that git may write. A repository may hold far more than is installed of it.
    disk: u64,
    /// Bytes of memory for each process of git. Those that resolve what a large repository packs need some hundred MiB.
    memory: u64,
    /// Files and directories in the whole tree of the commit. The largest repositories that there are have fewer.
    listed: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(600), disk: 1 << 30, memory: 1 << 30, listed: 1_000_000 }
    }
}

/// Brings what is installed of a repository into the stage, and says from what commit.
pub(super) fn bring(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    bounds: &Bounds,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<String, PluginError> {
    let wanted = Wanted::new(reference, pin)?;
    observer.step(&Step::Resolving);
    let mut repository = Repository::new(url, stage.scratch(), bounds, observer)?;
    let commit = repository.fetch(&wanted)?;
    let entries = listing::list(&repository, &commit, stage)?;
    if entries.is_empty() {
        return Err(PluginError::new(repository.shown(), PluginErrorKind::Empty)
            .hint("expected files in skills/, recipes/ or hooks/ at the top of the repository"));
    }
    objects::write(&repository, &entries, stage)?;
    repository.remove();
    Ok(commit)
}

#[cfg(test)]
mod tests;
