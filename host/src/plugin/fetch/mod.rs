//! Brings a plugin from where it comes from into a [`Stage`].

mod copy;
mod git;

use std::path::Path;

use super::{Observer, PluginError, PluginErrorKind, Resolved, Source, Stage};

/// Copies `skills`, `recipes` and `hooks` of a local directory into the stage. Symlinks are copied as symlinks and
/// never followed. Blocking.
///
/// # Errors
///
/// Where it cannot be read, changes meanwhile, or holds what no plugin may have: anything but files, directories and
/// symlinks, and files with the set-user-ID, set-group-ID or sticky bit.
pub fn directory(
    path: &Path,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    observer.step(&super::Step::Resolving);
    copy::copy(path, stage)?;
    Ok(Resolved::Directory)
}

/// Brings `skills`, `recipes` and `hooks` of a git repository into the stage, with the user's own `git`: at a branch, a
/// tag or a commit (whole, or its first digits), or else at the repository's `HEAD`. Where a tag and a branch have one
/// name, the tag is meant, as for git. With a `pin` exactly that commit comes, wherever the branch stands by now.
/// Nothing is checked out, no hook or filter of git runs, and submodules are not followed. Blocking, for 10 minutes at
/// most.
///
/// # Errors
///
/// Where git is missing or fails, the reference or the commit is not there, the repository is larger than 1 GiB, or it
/// holds what no plugin may have.
pub fn git(
    url: &str,
    reference: Option<&str>,
    pin: Option<&str>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    git::bring(url, reference, pin, &git::Bounds::default(), stage, observer).map(Resolved::Commit)
}

/// Brings a plugin from any source into the stage. With a `pin` it is exactly what that says: a commit or a manifest; a
/// directory has nothing that could be pinned but its tree, which the caller compares.
///
/// # Errors
///
/// Those of [`git`] and [`directory`]; [`PluginErrorKind::Mismatch`] for a pin of another kind of source.
pub async fn fetch(
    source: &Source,
    pin: Option<&Resolved>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    match (source, pin) {
        (Source::Git { url, reference }, None) => {
            blocking(|| git(url, reference.as_deref(), None, stage, observer))
        }
        (Source::Git { url, reference }, Some(Resolved::Commit(pin))) => {
            blocking(|| git(url, reference.as_deref(), Some(pin), stage, observer))
        }
        (Source::Directory { path }, None | Some(Resolved::Directory)) => {
            blocking(|| directory(path, stage, observer))
        }
        (Source::Oci(_), None | Some(Resolved::Manifest(_))) => Err(PluginError::new(
            source.to_string(),
            PluginErrorKind::Source("this hookbox was built without OCI registries".to_owned()),
        )
        .hint("build it with the feature `oci`")),
        (_, Some(_)) => {
            let what = "is pinned as another kind of source".to_owned();
            Err(PluginError::new(source.to_string(), PluginErrorKind::Mismatch(what))
                .hint("plugins.lock was changed by hand: add the plugin again with --force"))
        }
    }
}

/// Runs what blocks without holding up the other tasks of a runtime that has more threads.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
