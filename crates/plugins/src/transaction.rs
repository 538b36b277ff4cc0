//! Installing, replacing and removing a plugin: done or not done, wherever it is interrupted.
//!
//! 1. The new `plugins.lock` is written beside the old one, so that a full disk stops the change here.
//! 2. One rename puts the plugin in its place, exchanges it with the old one, or moves it into a staging directory.
//! 3. One rename puts the new `plugins.lock` in its place.
//! 4. The staging directory goes, with the plugin that was replaced or removed.
//!
//! Between 1 and 3 there is a prepared `plugins.lock`. The next command compares it with the plugin that it finds, and
//! keeps or discards it ([`repair()`](super::repair())).

use std::io;
use std::path::PathBuf;

use super::dir_ops::{self, At, EntryKind};
use super::installed::names;
use super::staging::{self, StagingDirectory, TREE};
use super::{
    Installed, Lock, Locked, Observer, PluginError, PluginErrorKind, PluginName, Plugins, PluginsLock,
    Staged, Step, lock_file, repair,
};
use hookbox::internal::text;

/// The start of the name of a plugin that is moved aside, on a file system that cannot exchange two directories.
pub(super) const ASIDE: &str = ".hookbox-old-";

/// What [`install`] does with a plugin of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// It stays, and that is an error.
    No,
    /// The new one takes its place.
    Yes,
}

/// A plugin that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: PluginName,
    /// The directory that it had; `None` if only the lock file named it.
    pub path: Option<PathBuf>,
    /// Its entry of the lock file; `None` if it was put there by hand.
    pub locked: Option<Locked>,
}

/// Moves a staged plugin into its place and writes its entry `locked` into the lock file.
///
/// An interrupted change is repaired first, which only the log mentions: call [`repair`](super::repair()) before, and
/// show its result to the user.
///
/// # Errors
///
/// Nothing has changed after an error:
///
/// * [`PluginErrorKind::Exists`] if there is a plugin of this name and `replace` is `No`, or one whose name differs only
///   by the case of its letters;
/// * [`PluginErrorKind::Mismatch`] if `locked` has another digest than the staged plugin;
/// * [`PluginErrorKind::Unexpected`] if there is a file or a symlink in its place;
/// * an error of the lock file or of the file system.
pub fn install(
    lock: &PluginsLock<'_>,
    staged: Staged,
    locked: Locked,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<Installed, PluginError> {
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
) -> Result<Installed, PluginError> {
    observer.step(&Step::Begun(&locked.name));
    repair_quietly(lock)?;
    let (plugins, name) = (lock.plugins(), locked.name.clone());
    let (dir, path) = (name.dir(), plugins.path().join(name.dir()));
    if locked.tree != *staged.digest() {
        let what = format!("was staged as {}, and not as {}", staged.digest(), locked.tree);
        return Err(PluginError::new(name.to_string(), PluginErrorKind::Mismatch(what)));
    }
    let before = plugins.lock()?;
    check_case(lock, &before, &name)?;
    let action = match dir_ops::entry_kind(lock.dir(), &dir).map_err(|error| PluginError::io(&path, error))? {
        None => Action::Install,
        Some(EntryKind::Directory) if replace == Replace::Yes => Action::Replace { exchanges },
        Some(EntryKind::Directory) => return Err(exists(plugins, &name, before.get(&name))),
        Some(kind) => return Err(not_a_directory(&path, kind)),
    };
    let mut after = before.clone();
    after.insert(locked.clone());
    let after = (after != before).then_some(after);
    Change::new(lock, &name, staged.into_staging(), observer).make(&action, after.as_ref())?;
    Ok(Installed { name, dir, path, locked: Some(locked) })
}

/// Removes a plugin: its whole directory, nothing outside of it, and its entry of the lock file. This also removes a
/// plugin that was put there by hand, and the entry of a plugin that has no directory.
///
/// An interrupted change is repaired first, as in [`install`].
///
/// # Errors
///
/// Nothing has changed after an error: [`PluginErrorKind::NotInstalled`]; [`PluginErrorKind::Unexpected`] if there is a
/// file or a symlink in its place; an error of the lock file or of the file system.
pub fn remove(
    lock: &PluginsLock<'_>,
    name: &PluginName,
    observer: &dyn Observer,
) -> Result<Removed, PluginError> {
    observer.step(&Step::Begun(name));
    repair_quietly(lock)?;
    let (plugins, dir) = (lock.plugins(), name.dir());
    let path = plugins.path().join(&dir);
    let before = plugins.lock()?;
    let mut after = before.clone();
    let locked = after.remove(name);
    let wrong = |error: io::Error| PluginError::io(&path, error);
    match dir_ops::entry_kind(lock.dir(), &dir).map_err(wrong)? {
        // A file system that ignores case finds a plugin of another name.
        Some(_) if !names(lock.dir()).map_err(wrong)?.contains(&dir) => {
            return Err(not_installed(lock, name, &before));
        }
        Some(EntryKind::Directory) => {}
        Some(kind) => return Err(not_a_directory(&path, kind)),
        None if locked.is_none() => return Err(not_installed(lock, name, &before)),
        None => {
            lock_file::prepare(plugins, &after)?;
            lock_file::commit(plugins)?;
            observer.step(&Step::Locked(name));
            return Ok(Removed { name: name.clone(), path: None, locked });
        }
    }
    let staging = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
    let after = locked.is_some().then_some(&after);
    Change::new(lock, name, staging, observer).make(&Action::Remove, after)?;
    Ok(Removed { name: name.clone(), path: Some(path), locked })
}

/// A kind of change.
enum Action {
    Install,
    Replace { exchanges: bool },
    Remove,
}

/// A place for a directory.
#[derive(Clone, Copy)]
enum Spot {
    /// The name of the plugin.
    Plugin,
    /// The tree in the staging directory.
    Staged,
    /// The name of a plugin that is moved aside.
    Aside,
}

/// A move that was made.
enum Move {
    Renamed(Spot, Spot),
    Exchanged,
}

/// A change under way.
struct Change<'a> {
    lock: &'a PluginsLock<'a>,
    name: &'a PluginName,
    dir: String,
    aside: String,
    staging: StagingDirectory,
    moves: Vec<Move>,
    observer: &'a dyn Observer,
}

impl<'a> Change<'a> {
    fn new(
        lock: &'a PluginsLock<'a>,
        name: &'a PluginName,
        staging: StagingDirectory,
        observer: &'a dyn Observer,
    ) -> Self {
        let (dir, aside) = (name.dir(), format!("{ASIDE}{}", name.dir()));
        Self { lock, name, dir, aside, staging, moves: Vec::new(), observer }
    }

    /// Makes the change; `after` is the new lock file, if that changes too. After an error all is as before, unless a hint
    /// says otherwise.
    fn make(mut self, action: &Action, after: Option<&Lock>) -> Result<(), PluginError> {
        let plugins = self.lock.plugins();
        if let Some(after) = after {
            lock_file::prepare(plugins, after)?;
        }
        self.observer.step(&Step::Prepared(self.name));
        let moved =
            self.move_plugin(action).map_err(|error| PluginError::io(plugins.path().join(&self.dir), error));
        let done = moved.and_then(|()| {
            self.observer.step(&Step::Exchanged(self.name));
            after.map_or(Ok(()), |_| lock_file::commit(plugins))
        });
        if let Err(error) = done {
            return Err(self.undo(error));
        }
        self.observer.step(&Step::Locked(self.name));
        if let Err(error) = staging::remove(self.lock.dir(), &self.aside) {
            tracing::warn!(plugin = %self.name, %error, "the replaced plugin cannot be removed");
        }
        drop(self.staging);
        self.observer.step(&Step::Cleaned(self.name));
        Ok(())
    }

    fn at(&self, spot: Spot) -> At<'_> {
        match spot {
            Spot::Plugin => (self.lock.dir(), &self.dir),
            Spot::Staged => (self.staging.dir(), TREE),
            Spot::Aside => (self.lock.dir(), &self.aside),
        }
    }

    fn rename(&mut self, from: Spot, to: Spot) -> io::Result<()> {
        dir_ops::move_to(self.at(from), self.at(to))?;
        self.moves.push(Move::Renamed(from, to));
        Ok(())
    }

    fn move_plugin(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::Install => self.rename(Spot::Staged, Spot::Plugin)?,
            Action::Remove => self.rename(Spot::Plugin, Spot::Staged)?,
            Action::Replace { exchanges: true }
                if dir_ops::exchange(self.at(Spot::Plugin), self.at(Spot::Staged))? =>
            {
                self.moves.push(Move::Exchanged);
            }
            Action::Replace { .. } => {
                self.rename(Spot::Plugin, Spot::Aside)?;
                // Or a crash of the machine could lose both names.
                self.sync()?;
                self.observer.step(&Step::Withdrawn(self.name));
                self.rename(Spot::Staged, Spot::Plugin)?;
            }
        }
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        dir_ops::sync(self.staging.dir())?;
        dir_ops::sync(self.lock.dir())
    }

    /// Undoes all moves, and returns the error with a hint if that fails.
    fn undo(&mut self, error: PluginError) -> PluginError {
        let moved = self.moves.iter().rev().try_for_each(|it| match *it {
            Move::Renamed(from, to) => dir_ops::move_to(self.at(to), self.at(from)),
            Move::Exchanged => dir_ops::exchange(self.at(Spot::Plugin), self.at(Spot::Staged)).map(drop),
        });
        let undone = moved.and_then(|()| self.sync()).map_err(|error| PluginError::io(&self.dir, error));
        match undone.and_then(|()| lock_file::discard(self.lock.plugins())) {
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

/// Repairs an interrupted change, whose record the next one would write over.
fn repair_quietly(lock: &PluginsLock<'_>) -> Result<(), PluginError> {
    for done in repair(lock)? {
        tracing::warn!("{done}");
    }
    Ok(())
}

/// Checks that no other plugin has this name in other letter case.
fn check_case(plugins_lock: &PluginsLock<'_>, lock: &Lock, name: &PluginName) -> Result<(), PluginError> {
    let path = plugins_lock.plugins().path();
    let dirs = names(plugins_lock.dir()).map_err(|error| PluginError::io(path, error))?;
    let locked = lock.iter().map(|it| it.name.dir());
    let (folded, dir) = (name.folded(), name.dir());
    match dirs.into_iter().chain(locked).find(|it| *it != dir && it.to_ascii_lowercase() == folded) {
        None => Ok(()),
        Some(other) => {
            let other = PluginName::from_dir(&other).map_or(other, |it| it.to_string());
            let what = format!(
                "differs from {other}, which is there, by the case of its letters only: on some systems these are one directory"
            );
            Err(PluginError::new(name.to_string(), PluginErrorKind::Exists(what))
                .hint(format!("write {other}, or remove that first: hookbox plugin remove {other}")))
        }
    }
}

fn exists(plugins: &Plugins, name: &PluginName, locked: Option<&Locked>) -> PluginError {
    let from = match locked {
        Some(locked) => format!("came from {} at {}", text::escape(&locked.source, 300), locked.installed),
        None => "was put there by hand".to_owned(),
    };
    let what = format!("is there already, in {}: it {from}", plugins.location().as_str());
    let update =
        locked.map_or(String::new(), |_| format!(", or bring it up to date: hookbox plugin update {name}"));
    PluginError::new(name.to_string(), PluginErrorKind::Exists(what))
        .hint(format!("replace it with --force{update}"))
}

fn not_a_directory(path: &std::path::Path, kind: EntryKind) -> PluginError {
    let path = path.to_string_lossy();
    let what = format!("is {}: expected the directory of a plugin", kind.as_str());
    PluginError::new(&path, PluginErrorKind::Unexpected(what)).hint(format!(
        "hookbox did not put it there: remove it yourself: rm {}",
        text::escape(&text::shell_word(&path), 1024)
    ))
}

fn not_installed(plugins_lock: &PluginsLock<'_>, name: &PluginName, lock: &Lock) -> PluginError {
    let mut there: Vec<String> = names(plugins_lock.dir())
        .unwrap_or_default()
        .iter()
        .filter_map(|dir| PluginName::from_dir(dir).ok())
        .chain(lock.iter().map(|it| it.name.clone()))
        .map(|it| it.to_string())
        .collect();
    there.sort();
    there.dedup();
    let (most, all) = (20, there.len());
    there.truncate(most);
    let place = plugins_lock.plugins().location().as_str();
    let hint = match all {
        0 => format!("no plugin is installed here ({place})"),
        _ if all > most => format!("installed here ({place}): {}, and {} more", there.join(", "), all - most),
        _ => format!("installed here ({place}): {}", there.join(", ")),
    };
    PluginError::new(name.to_string(), PluginErrorKind::NotInstalled).hint(hint)
}

#[cfg(test)]
pub(super) mod tests;
