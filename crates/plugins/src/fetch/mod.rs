//! Brings a plugin from where it comes from into a [`Stage`].

mod copy;
mod git;

use std::path::Path;

use super::{GitUrl, Observer, OciReference, PluginError, PluginErrorKind, Resolved, Source, Stage};
use hookbox::hook::Digest;

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
/// most; it gives up when somebody removes the staging directory.
///
/// # Errors
///
/// Where git is missing or fails, the reference or the commit is not there, the repository is larger than 1 GiB, or it
/// holds what no plugin may have.
pub fn git(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    git::fetch(url, reference, pin, &git::Bounds::default(), stage, observer).map(Resolved::Commit)
}

/// Brings a plugin from any source into the stage. With a `pin` it is exactly what that says: a commit or a manifest; a
/// directory has nothing that could be pinned but its tree, which the caller compares. An artifact of a registry is
/// pulled with the defaults, under the name that its reference gives, and its signature is not checked; for anything
/// else there is `Registry::pull` (feature `oci`).
///
/// # Errors
///
/// Those of [`git`], [`directory`] and `Registry::pull`; [`PluginErrorKind::Mismatch`] for a pin of another kind of
/// source, and [`PluginErrorKind::Fetch`] for a registry without the feature `oci`.
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
        (Source::Oci(reference), None) => artifact(source, reference, None, stage, observer).await,
        (Source::Oci(reference), Some(Resolved::Manifest(pin))) => {
            artifact(source, reference, Some(pin), stage, observer).await
        }
        (_, Some(_)) => {
            let what = "is pinned as another kind of source".to_owned();
            Err(PluginError::new(source.shown(), PluginErrorKind::Mismatch(what))
                .hint("plugins.lock was changed by hand: add the plugin again with --force"))
        }
    }
}

#[cfg(feature = "oci")]
async fn artifact(
    source: &Source,
    reference: &OciReference,
    pin: Option<&Digest>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    super::registry::Registry::default().pull(reference, &source.name()?, pin, None, stage, observer).await
}

#[cfg(not(feature = "oci"))]
async fn artifact(
    source: &Source,
    _: &OciReference,
    _: Option<&Digest>,
    _: &mut Stage<'_>,
    _: &dyn Observer,
) -> Result<Resolved, PluginError> {
    let what = "this hookbox was built without OCI registries".to_owned();
    Err(PluginError::new(source.shown(), PluginErrorKind::Fetch(what))
        .hint("build it with the feature `oci`"))
}

/// Runs what blocks without holding up the other tasks of a runtime that has more threads.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
