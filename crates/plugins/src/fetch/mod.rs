//! Fetching a plugin from its source into a [`Stage`].

mod copy;
mod git;

use std::path::Path;

use super::blocking::blocking;
use super::{GitUrl, Observer, PluginError, PluginErrorKind, Resolved, Source, Stage};

/// Copies a local directory into the stage. Symlinks are copied as symlinks. `.git` at its top is left out, and so is
/// the root that the plugin is installed into. Blocking.
///
/// # Errors
///
/// An error if the directory cannot be read, changes meanwhile, or has an entry that no plugin may have:
/// anything but files, directories and symlinks, and files with the set-user-ID, set-group-ID or sticky bit.
pub fn directory(
    path: &Path,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    observer.step(&super::Step::Resolving);
    copy::copy(path, stage)?;
    Ok(Resolved::Directory)
}

/// Fetches the files of a git repository into the stage, with the user's own `git`.
///
/// `reference` is a branch, a tag or a commit (whole, or its first digits); without one, the `HEAD` of the
/// repository is fetched. A tag goes before a branch of the same name, as in git. With a `pin` exactly that
/// commit is fetched.
///
/// Nothing is checked out, no hook or filter of git runs, and submodules are not followed. The limit is 10
/// minutes. Dropping the future ends git.
///
/// # Errors
///
/// An error if git is missing or fails, the reference or the commit does not exist, the repository is larger
/// than 1 GiB, or it has an entry that no plugin may have.
pub async fn git(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    let commit = git::fetch(url, reference, pin, &git::Bounds::default(), stage, observer).await?;
    Ok(Resolved::Commit(commit))
}

/// Fetches a plugin from any source into the stage.
///
/// With a `pin` exactly that commit or manifest is fetched. A directory has no pin: the caller compares the
/// digest of its tree. An artifact of a registry is pulled with the default options, under the name of its
/// reference, without a check of its signature; `Registry::pull` (feature `oci`) has more options.
///
/// # Errors
///
/// Those of [`git`], [`directory`] and `Registry::pull`; [`PluginErrorKind::Mismatch`] for a pin of another
/// kind of source, and [`PluginErrorKind::Fetch`] for a registry without the feature `oci`.
pub async fn fetch(
    source: &Source,
    pin: Option<&Resolved>,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<Resolved, PluginError> {
    match (source, pin) {
        (Source::Git { url, reference }, None) => git(url, reference.as_deref(), None, stage, observer).await,
        (Source::Git { url, reference }, Some(Resolved::Commit(pin))) => {
            git(url, reference.as_deref(), Some(pin), stage, observer).await
        }
        (Source::Directory { path }, None | Some(Resolved::Directory)) => {
            blocking(|| directory(path, stage, observer))
        }
        #[cfg(feature = "oci")]
        (Source::Oci(reference), None | Some(Resolved::Manifest(_))) => {
            let (registry, name) = (super::registry::Registry::default(), source.name()?);
            let pin = if let Some(Resolved::Manifest(pin)) = pin { Some(pin) } else { None };
            registry.pull(reference, &name, pin, None, stage, observer).await
        }
        #[cfg(not(feature = "oci"))]
        (Source::Oci(_), None | Some(Resolved::Manifest(_))) => {
            let what = "this hookbox was built without OCI registries".to_owned();
            Err(PluginError::new(source.shown(), PluginErrorKind::Fetch(what))
                .hint("build it with the feature `oci`"))
        }
        (_, Some(_)) => {
            let what = "is pinned as another kind of source".to_owned();
            Err(PluginError::new(source.shown(), PluginErrorKind::Mismatch(what))
                .hint("plugins.lock was changed by hand: add the plugin again with --force"))
        }
    }
}
