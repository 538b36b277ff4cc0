//! Installing, replacing and removing a plugin. An interrupted change is made wholly or not at all.
//!
//! 1. The new `plugins.lock` is written beside the old one, so that a full disk stops the change here.
//! 2. One rename installs the plugin, exchanges it with the old one, or moves it into a staging directory.
//! 3. One rename replaces `plugins.lock`.
//! 4. The staging directory is removed, with the plugin that was replaced or removed.
//!
//! Between 1 and 3 there is a prepared `plugins.lock`. The next command compares it with the plugin, and
//! keeps or discards it ([`repair()`](super::repair())).

use std::io;

use cap_std::fs::Dir;

use super::dir_ops::{self, At, EntryKind};
use super::installed::names;
use super::staging::{ASIDE, StagingDirectory, TREE};
use super::{
    KnownPlugin, Lock, Locked, Observer, PluginError, PluginErrorKind, PluginName, Plugins, PluginsLock,
    Staged, Step, lock_file, repair,
};
use hookbox_system::files::sync_directory;
use hookbox_system::text;

/// The treatment of an installed plugin of the same name by [`install`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// An error.
    No,
    /// The new plugin replaces it.
    Yes,
}

/// Checks that a plugin of this name can be installed. [`install`] checks the same again.
///
/// # Errors
///
/// * [`PluginErrorKind::Exists`] if there is a plugin of this name and `replace` is `No`, or one whose name
///   differs only by the case of its letters;
/// * [`PluginErrorKind::Unexpected`] if there is a file or a symlink in its place;
/// * an error of the lock file or of the file system.
pub fn check_name(plugins: &Plugins, name: &PluginName, replace: Replace) -> Result<(), PluginError> {
    is_installed(plugins, &plugins.plugins()?, &plugins.lock()?, name, replace).map(drop)
}

/// Installs a staged plugin, and writes its entry `locked` into the lock file.
///
/// This repairs an interrupted change first, and reports that in the log only: call
/// [`repair`](super::repair()) before, and show its result to the user.
///
/// # Errors
///
/// Those of [`check_name`], and [`PluginErrorKind::Mismatch`] if `locked` has another digest than the staged
/// plugin. Nothing has changed after an error.
pub fn install(
    lock: &PluginsLock<'_>,
    staged: Staged,
    locked: Locked,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<KnownPlugin, PluginError> {
    put(lock, staged, locked, replace, observer, true)
}

/// Like [`install`]; with `exchanges` false as on a file system that cannot exchange two directories.
pub(super) fn put(
    lock: &PluginsLock<'_>,
    staged: Staged,
    locked: Locked,
    replace: Replace,
    observer: &dyn Observer,
    exchanges: bool,
) -> Result<KnownPlugin, PluginError> {
    observer.step(&Step::Begun(&locked.name));
    repair_quietly(lock)?;
    let (plugins, name) = (lock.plugins(), locked.name.clone());
    let (dir, path) = (name.dir(), plugins.path().join(name.dir()));
    if locked.tree != *staged.digest() {
        let what = format!("was staged as {}, and not as {}", staged.digest(), locked.tree);
        return Err(PluginError::new(name.to_string(), PluginErrorKind::Mismatch(what)));
    }
    let before = plugins.lock()?;
    let is_there = is_installed(plugins, &lock.dir, &before, &name, replace)?;
    let mut after = before.clone();
    after.insert(locked.clone());
    let after = (after != before).then_some(after);
    let kind = if is_there { Kind::Replace(exchanges) } else { Kind::Install };
    let (staging, dir_name) = (staged.home, dir.clone());
    Change { kind, lock, name: &name, dir: dir_name, staging, observer }.make(after.as_ref())?;
    Ok(KnownPlugin { name: name.to_string(), id: Some(name), dir, path, locked: Some(locked), is_here: true })
}

/// Removes the directory of a plugin, nothing outside of it, and its entry of the lock file. This also
/// removes a plugin that hookbox did not install, and the entry of a plugin without a directory.
///
/// This repairs an interrupted change first, as [`install`] does.
///
/// # Errors
///
/// Nothing has changed after an error: [`PluginErrorKind::NotInstalled`]; [`PluginErrorKind::Unexpected`] if
/// there is a file or a symlink in its place; an error of the lock file or of the file system.
pub fn remove(lock: &PluginsLock<'_>, name: &PluginName, observer: &dyn Observer) -> Result<(), PluginError> {
    observer.step(&Step::Begun(name));
    repair_quietly(lock)?;
    let (plugins, dir) = (lock.plugins(), name.dir());
    let mut after = plugins.lock()?;
    let was_locked = after.remove(name).is_some();
    if !is_removable(lock, &dir)? {
        if !was_locked {
            return Err(PluginError::new(name.to_string(), PluginErrorKind::NotInstalled));
        }
        lock_file::prepare(plugins, &after)?;
        lock_file::commit(plugins)?;
        observer.step(&Step::Locked(name));
        return Ok(());
    }
    let staging = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
    let after = was_locked.then_some(&after);
    Change { kind: Kind::Remove, lock, name, dir, staging, observer }.make(after)
}

/// Removes the directory of a plugin that was put there by hand under a name other than `org@repo`, and nothing
/// outside of it.
///
/// # Errors
///
/// Nothing has changed after an error: [`PluginErrorKind::NotInstalled`]; [`PluginErrorKind::Unexpected`] if
/// there is a file or a symlink in its place; an error of the file system.
pub fn remove_by_hand(lock: &PluginsLock<'_>, dir: &str) -> Result<(), PluginError> {
    let plugins = lock.plugins();
    let path = plugins.path().join(dir);
    if PluginName::from_dir(dir).is_ok() || !is_removable(lock, dir)? {
        return Err(PluginError::new(dir, PluginErrorKind::NotInstalled));
    }
    let staging = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
    dir_ops::move_to((&lock.dir, dir), (&staging.dir, TREE)).map_err(|error| PluginError::io(&path, error))
}

/// Returns true if the plugins directory lists a directory of this name.
fn is_removable(lock: &PluginsLock<'_>, dir: &str) -> Result<bool, PluginError> {
    let path = lock.plugins().path().join(dir);
    let wrong = |error: io::Error| PluginError::io(&path, error);
    // Only a listed name leads nowhere else, and a file system that ignores case finds a plugin of another name.
    if !names(&lock.dir).map_err(wrong)?.iter().any(|name| name == dir) {
        return Ok(false);
    }
    match dir_ops::entry_kind(&lock.dir, dir).map_err(wrong)? {
        Some(EntryKind::Directory) => Ok(true),
        Some(kind) => Err(not_a_directory(&path, kind)),
        None => Ok(false),
    }
}

/// The kind of a change, which says how the directories move.
#[derive(Clone, Copy)]
enum Kind {
    Install,
    Remove,
    /// With true, in one step if the file system can exchange two directories.
    Replace(bool),
}

/// A change under way.
struct Change<'a> {
    kind: Kind,
    lock: &'a PluginsLock<'a>,
    name: &'a PluginName,
    dir: String,
    staging: StagingDirectory,
    observer: &'a dyn Observer,
}

impl Change<'_> {
    /// Makes the change; `after` is the new lock file, if that changes too. An error undoes the change; if that
    /// fails too, the hint of the error tells so.
    fn make(mut self, after: Option<&Lock>) -> Result<(), PluginError> {
        let plugins = self.lock.plugins();
        if let Some(after) = after {
            lock_file::prepare(plugins, after)?;
        }
        self.observer.step(&Step::Prepared(self.name));
        if let Err(error) = self.move_it(true) {
            return Err(self.undone(Ok(()), self.wrong(error)));
        }
        let done = self.sync().map_err(|error| self.wrong(error)).and_then(|()| {
            self.observer.step(&Step::Exchanged(self.name));
            after.map_or(Ok(()), |_| lock_file::commit(plugins))
        });
        if let Err(error) = done {
            let back = self.move_it(false).and_then(|()| self.sync());
            return Err(self.undone(back, error));
        }
        self.observer.step(&Step::Locked(self.name));
        drop(self.staging);
        self.observer.step(&Step::Cleaned(self.name));
        Ok(())
    }

    fn wrong(&self, error: io::Error) -> PluginError {
        PluginError::io(self.lock.plugins().path().join(&self.dir), error)
    }

    /// Moves the directories, or moves them back. An error leaves them as they were.
    fn move_it(&self, forward: bool) -> io::Result<()> {
        let (plugin, staged): (At<'_>, At<'_>) = ((&self.lock.dir, &self.dir), (&self.staging.dir, TREE));
        match (self.kind, forward) {
            (Kind::Install, true) | (Kind::Remove, false) => dir_ops::move_to(staged, plugin),
            (Kind::Install, false) | (Kind::Remove, true) => dir_ops::move_to(plugin, staged),
            (Kind::Replace(true), _) if dir_ops::exchange(plugin, staged)? => Ok(()),
            (Kind::Replace(_), _) => {
                let aside = format!("{ASIDE}{}", self.dir);
                let aside = (&self.lock.dir, aside.as_str());
                dir_ops::move_to(plugin, aside)?;
                // Without the sync, a crash of the machine could lose both names.
                let moved = self.sync().and_then(|()| {
                    self.observer.step(&Step::Withdrawn(self.name));
                    dir_ops::move_to(staged, plugin)?;
                    dir_ops::move_to(aside, staged).inspect_err(|_| drop(dir_ops::move_to(plugin, staged)))
                });
                if moved.is_err() {
                    dir_ops::move_to(aside, plugin)?;
                }
                moved
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        sync_directory(&self.staging.dir)?;
        sync_directory(&self.lock.dir)
    }

    /// Discards the prepared lock file after the directories were moved back, and returns the error, with a hint
    /// if that failed.
    fn undone(&mut self, back: io::Result<()>, error: PluginError) -> PluginError {
        let back = back.map_err(|error| PluginError::io(&self.dir, error));
        match back.and_then(|()| lock_file::discard(self.lock.plugins())) {
            Ok(()) => error,
            Err(second) => {
                self.staging.keep();
                error.hint(format!(
                    "the change is half made ({second}): any `hookbox plugin` command that changes plugins repairs it"
                ))
            }
        }
    }
}

/// Repairs an interrupted change. The next change would overwrite its prepared lock file.
fn repair_quietly(lock: &PluginsLock<'_>) -> Result<(), PluginError> {
    for done in repair(lock)? {
        tracing::warn!("{done}");
    }
    Ok(())
}

/// Returns true if a plugin of this name is installed and may be replaced.
fn is_installed(
    plugins: &Plugins,
    dir: &Dir,
    lock: &Lock,
    name: &PluginName,
    replace: Replace,
) -> Result<bool, PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let error = |what: String| PluginError::new(name.to_string(), PluginErrorKind::Exists(what));
    let known = names(dir).map_err(wrong)?.into_iter().chain(lock.iter().map(|it| it.name.dir()));
    let (own, folded) = (name.dir(), name.folded());
    if let Some(other) = known.into_iter().find(|it| *it != own && it.to_ascii_lowercase() == folded) {
        let other = PluginName::from_dir(&other).map_or(other, |it| it.to_string());
        let what = format!(
            "differs from {other}, which is installed, by the case of its letters only: on some systems these are one directory"
        );
        let hint = format!(
            "replace that one with --name {other} --force, or remove it first: hookbox plugin remove {other}"
        );
        return Err(error(what).hint(hint));
    }
    match dir_ops::entry_kind(dir, &own).map_err(wrong)? {
        None => Ok(false),
        Some(EntryKind::Directory) if replace == Replace::Yes => Ok(true),
        Some(EntryKind::Directory) => {
            let (from, update) = match lock.get(name) {
                Some(it) => (
                    format!("from {} at {}", text::escape(&it.source, 300), it.installed),
                    format!(", or update it: hookbox plugin update {name}"),
                ),
                None => ("by hand".to_owned(), String::new()),
            };
            let what = format!("is installed already ({}), {from}", plugins.location().as_str());
            Err(error(what).hint(format!("give --force to replace it{update}")))
        }
        Some(kind) => Err(not_a_directory(&plugins.path().join(own), kind)),
    }
}

fn not_a_directory(path: &std::path::Path, kind: EntryKind) -> PluginError {
    let path = path.to_string_lossy();
    let what = format!("is {}: expected the directory of a plugin", kind.as_str());
    PluginError::new(&path, PluginErrorKind::Unexpected(what)).hint(format!(
        "hookbox did not put it there: remove it yourself: rm {}",
        text::escape(&text::shell_word(&path), 1024)
    ))
}

#[cfg(test)]
pub(super) mod tests;
