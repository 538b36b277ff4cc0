//! Repairing what an interrupted command left.

use std::io;

use super::dir_ops::{self, EntryKind};
use super::staging::{self, ASIDE};
use super::{Lock, PluginError, PluginName, Plugins, PluginsLock, digest, lock_file};
use hookbox::lockfile::PENDING;
use hookbox_system::files::sync_directory;
use hookbox_system::text;

/// Returns true if [`repair`] has something to do here. A change that another process makes right now does
/// not count, so a command that changes nothing need not wait for it.
///
/// # Errors
///
/// If the plugins directory cannot be read.
pub fn needs_repair(plugins: &Plugins) -> Result<bool, PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let Some(dir) = plugins.existing_plugins()? else { return Ok(false) };
    if plugins.is_locked(&dir)? {
        return Ok(false);
    }
    let is_pending = dir_ops::entry_kind(&plugins.dir, PENDING).map_err(wrong)?.is_some();
    if is_pending || !aside(&dir).map_err(wrong)?.is_empty() {
        return Ok(true);
    }
    for stage in staging::all(&dir).map_err(wrong)? {
        if staging::lock_abandoned(&dir, &stage).map_err(wrong)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Repairs what interrupted commands left. A change that was begun is finished or undone, so that the plugin
/// and the lock file agree; fetched files are removed. Returns a sentence for the user about each repair, also about one that
/// failed.
///
/// # Errors
///
/// An error of the lock file or of the file system. The next call repairs the rest.
pub fn repair(lock: &PluginsLock<'_>) -> Result<Vec<String>, PluginError> {
    let wrong = |error: io::Error| PluginError::io(lock.plugins().path(), error);
    put_back(lock).map_err(wrong)?;
    let mut repairs: Vec<String> = settle(lock)?.into_iter().collect();
    sweep(lock, &mut repairs).map_err(wrong)?;
    Ok(repairs)
}

/// Gives each plugin that was moved aside its name back, unless its replacement has that name already.
fn put_back(lock: &PluginsLock<'_>) -> io::Result<()> {
    for old in aside(&lock.dir)? {
        let Some(name) = old.strip_prefix(ASIDE) else { continue };
        if dir_ops::entry_kind(&lock.dir, name)?.is_none() {
            dir_ops::move_to((&lock.dir, &old), (&lock.dir, name))?;
            sync_directory(&lock.dir)?;
        }
    }
    Ok(())
}

/// Decides about the lock file that an interrupted change prepared: it counts if the plugin has changed
/// already.
fn settle(lock: &PluginsLock<'_>) -> Result<Option<String>, PluginError> {
    let plugins = lock.plugins();
    let Some(after) = lock_file::prepared(plugins)? else {
        return lock_file::discard(plugins).map(|()| None);
    };
    let Some((name, what)) = difference(&plugins.lock()?, &after) else {
        return lock_file::discard(plugins).map(|()| None);
    };
    let (dir, path) = (name.dir(), plugins.path().join(name.dir()));
    let found = dir_ops::entry_kind(&lock.dir, &dir).map_err(|error| PluginError::io(&path, error))?;
    let is_done = match after.get(&name) {
        Some(locked) => {
            found == Some(EntryKind::Directory) && digest(&path, None).is_ok_and(|tree| tree == locked.tree)
        }
        None => found.is_none(),
    };
    if is_done {
        lock_file::commit(plugins)?;
        return Ok(Some(format!("{name}: its {what} was cut short before: it is finished now")));
    }
    lock_file::discard(plugins)?;
    Ok(Some(format!("{name}: its {what} was cut short before: nothing of it was done")))
}

/// Returns the one plugin in which two lock files differ, and the kind of change. hookbox prepares no other
/// differences.
fn difference(before: &Lock, after: &Lock) -> Option<(PluginName, &'static str)> {
    let names = before.iter().chain(after.iter()).map(|it| &it.name);
    let mut changed: Vec<&PluginName> = names.filter(|name| before.get(name) != after.get(name)).collect();
    changed.dedup();
    let [name] = changed.as_slice() else { return None };
    let what = match (before.get(name), after.get(name)) {
        (Some(_), Some(_)) => "replacement",
        (None, _) => "installation",
        (_, None) => "removal",
    };
    Some((PluginName::clone(name), what))
}

/// Returns the names of the plugins that were moved aside.
fn aside(dir: &cap_std::fs::Dir) -> io::Result<Vec<String>> {
    let mut names = dir_ops::names(dir)?;
    names.retain(|name| {
        name.strip_prefix(ASIDE).is_some_and(|name| PluginName::from_dir(name).is_ok())
            && dir_ops::is_directory(dir, name).unwrap_or_default()
    });
    Ok(names)
}

/// Removes replaced plugins and the staging directories of dead processes.
fn sweep(lock: &PluginsLock<'_>, repairs: &mut Vec<String>) -> io::Result<()> {
    let dir = &lock.dir;
    let mut directories = 0;
    for name in staging::all(dir)?.into_iter().chain(aside(dir)?) {
        let removed = match staging::lock_abandoned(dir, &name) {
            Ok(None) => continue,
            Ok(Some(_lock)) => staging::remove(dir, &name),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => directories += 1,
            Err(error) => repairs.push(format!(
                "{name}, which a command that was cut short left in the plugins directory, cannot be removed: {}",
                text::escape(&error.to_string(), 300)
            )),
        }
    }
    match directories {
        0 => {}
        1 => repairs.push("removed what a command that was cut short had fetched".to_owned()),
        _ => repairs.push(format!("removed what {directories} commands that were cut short had fetched")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
