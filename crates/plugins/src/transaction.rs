//! Installing, replacing and removing a plugin: done, or not done, wherever it is stopped.
//!
//! 1. The new `plugins.lock` is written beside the old one; what needs room on the disk is done then.
//! 2. The journal says what is about to change.
//! 3. One rename puts the plugin in its place, exchanges it with the old one, or takes it away.
//! 4. One rename puts the new `plugins.lock` in its place.
//! 5. The journal goes, then the staging directory with what was replaced or removed.
//!
//! Before 3 the next command goes back, after it forward ([`repair()`](super::repair())).

use std::io;
use std::path::PathBuf;

use super::beneath::{self, Found};
use super::change::Change;
use super::installed::names;
use super::journal::{Action, Journal};
use super::lock_file::Prepared;
use super::staging::{StagingDirectory, TREE};
use super::{
    Guard, Installed, Lock, Locked, Observer, PluginError, PluginErrorKind, PluginName, Plugins, Staged,
    Step, repair,
};
use hookbox::internal::text;

/// What to do where a plugin of this name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Nothing: that is an error.
    No,
    /// Put the new one in its place.
    Yes,
}

/// A plugin that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: PluginName,
    /// Where its directory was; none if there was only what the lock file said.
    pub path: Option<PathBuf>,
    /// What the lock file said of it; nothing of a plugin that was put there by hand.
    pub locked: Option<Locked>,
}

/// Puts a staged plugin in its place, and has the lock file say what is in `locked`, whose name is the plugin's.
///
/// A change that was cut short before is seen to first, as [`repair`](super::repair()) does; call that before, to
/// tell the user.
///
/// # Errors
///
/// Nothing has changed then:
///
/// * [`PluginErrorKind::Exists`] where a plugin of this name is there and `replace` says no, or one whose name differs
///   by the case of its letters only;
/// * [`PluginErrorKind::Mismatch`] where `locked` has another digest than what was staged;
/// * [`PluginErrorKind::Unexpected`] where a file or a symlink stands in its place;
/// * where the lock file cannot be read or written, or the system says no.
pub fn install(
    guard: &Guard<'_>,
    staged: Staged,
    locked: Locked,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<Installed, PluginError> {
    put(guard, staged, locked, replace, observer, true)
}

pub(super) fn put(
    guard: &Guard<'_>,
    staged: Staged,
    locked: Locked,
    replace: Replace,
    observer: &dyn Observer,
    exchanges: bool,
) -> Result<Installed, PluginError> {
    settle(guard)?;
    let (plugins, name) = (guard.plugins(), locked.name.clone());
    let (dir, path) = (name.dir(), plugins.path().join(name.dir()));
    if locked.tree != *staged.digest() {
        let what = format!("was staged as {}, and not as {}", staged.digest(), locked.tree);
        return Err(PluginError::new(name.to_string(), PluginErrorKind::Mismatch(what)));
    }
    let before = plugins.lock()?;
    one_case(guard, &before, &name)?;
    let wrong = |error: io::Error| PluginError::io(&path, error);
    let there = beneath::look(guard.dir(), &dir).map_err(wrong)?;
    let staging = staged.into_staging();
    let new = match beneath::look(staging.dir(), TREE).map_err(wrong)? {
        Some(Found::Directory(inode)) => inode,
        _ => {
            let what = PluginErrorKind::Unexpected("was staged, and is gone".to_owned());
            return Err(PluginError::new(name.to_string(), what).hint("try again"));
        }
    };
    let said = Box::new(locked.clone());
    let action = match there {
        None => Action::Install { new, locked: said },
        Some(Found::Directory(old)) if replace == Replace::Yes => Action::Replace { new, old, locked: said },
        Some(Found::Directory(_)) => return Err(exists(plugins, &name, before.get(&name))),
        Some(found) => return Err(not_a_directory(&path, found)),
    };
    let journal = Journal { name: name.clone(), stage: staging.name().clone(), action };
    Change { guard, journal, staging, before, observer, exchanges }.make()?;
    Ok(Installed { name, dir, path, locked: Some(locked) })
}

/// Removes a plugin: its whole directory, nothing outside of it, and what the lock file says of it. One that was put
/// there by hand goes too, and so does what the lock file says of one that has no directory.
///
/// A change that was cut short before is seen to first, as [`repair`](super::repair()) does.
///
/// # Errors
///
/// Nothing has changed then: [`PluginErrorKind::NotInstalled`]; [`PluginErrorKind::Unexpected`] where a file or a
/// symlink stands in its place; where the lock file cannot be read or written, or the system says no.
pub fn remove(guard: &Guard<'_>, name: &PluginName, observer: &dyn Observer) -> Result<Removed, PluginError> {
    settle(guard)?;
    let (plugins, dir) = (guard.plugins(), name.dir());
    let path = plugins.path().join(&dir);
    let before = plugins.lock()?;
    let locked = before.get(name).cloned();
    let wrong = |error: io::Error| PluginError::io(&path, error);
    let old = match beneath::look(guard.dir(), &dir).map_err(wrong)? {
        // On some file systems it is found by another name, too.
        Some(_) if !names(guard.dir()).map_err(wrong)?.contains(&dir) => {
            return Err(not_installed(guard, name, &before));
        }
        Some(Found::Directory(inode)) => inode,
        Some(found) => return Err(not_a_directory(&path, found)),
        None if locked.is_none() => return Err(not_installed(guard, name, &before)),
        None => {
            let mut lock = before;
            lock.remove(name);
            Prepared::new(plugins, &lock)?.commit()?;
            observer.step(&Step::Locked(name));
            return Ok(Removed { name: name.clone(), path: None, locked });
        }
    };
    let staging = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
    let (stage, action) = (staging.name().clone(), Action::Remove { old });
    let journal = Journal { name: name.clone(), stage, action };
    Change { guard, journal, staging, before, observer, exchanges: true }.make()?;
    Ok(Removed { name: name.clone(), path: Some(path), locked })
}

/// Sees to what was cut short before; a journal that is written over would be lost.
fn settle(guard: &Guard<'_>) -> Result<(), PluginError> {
    for done in repair(guard)? {
        tracing::warn!("{done}");
    }
    Ok(())
}

/// No other plugin may have this name but for the case of its letters.
fn one_case(guard: &Guard<'_>, lock: &Lock, name: &PluginName) -> Result<(), PluginError> {
    let plugins = guard.plugins();
    let dirs = names(guard.dir()).map_err(|error| PluginError::io(plugins.path(), error))?;
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

fn not_a_directory(path: &std::path::Path, found: Found) -> PluginError {
    let path = path.to_string_lossy();
    let what = format!("is {}: expected the directory of a plugin", found.as_str());
    PluginError::new(&path, PluginErrorKind::Unexpected(what)).hint(format!(
        "hookbox did not put it there: remove it yourself: rm {}",
        text::escape(&text::shell_word(&path), 1024)
    ))
}

fn not_installed(guard: &Guard<'_>, name: &PluginName, lock: &Lock) -> PluginError {
    let mut there: Vec<String> = names(guard.dir())
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
    let place = guard.plugins().location().as_str();
    let hint = match all {
        0 => format!("no plugin is installed here ({place})"),
        _ if all > most => format!("installed here ({place}): {}, and {} more", there.join(", "), all - most),
        _ => format!("installed here ({place}): {}", there.join(", ")),
    };
    PluginError::new(name.to_string(), PluginErrorKind::NotInstalled).hint(hint)
}

#[cfg(test)]
pub(super) mod tests;
