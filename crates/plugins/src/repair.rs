//! What a command that was killed left: finished, undone, or kept for the user to look at.

use std::fmt;
use std::io;

use super::beneath::{self, Found};
use super::decide::{Decision, From, decide};
use super::journal::{self, Action, Journal, JournalError};
use super::lock_file::{self, Prepared};
use super::staging::{self, REPLACED, StageName, TREE};
use super::{Guard, PluginError, PluginErrorKind, PluginName, Plugins, change};
use hookbox::internal::text;

/// Something that was repaired, or could not be. Its text is for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A change that was cut short was finished.
    Finished {
        /// The plugin.
        name: PluginName,
        /// What was to be done: `installation`, `replacement` or `removal`.
        what: &'static str,
    },
    /// A change that was cut short was undone: the plugin is what it was before.
    Undone {
        /// The plugin.
        name: PluginName,
        /// What was to be done.
        what: &'static str,
    },
    /// What a change left fits nothing that hookbox does. Nothing was deleted.
    SetAside {
        /// The plugin, where it is known.
        name: Option<PluginName>,
        /// What does not fit, escaped.
        why: String,
        /// The names in the plugins directory under which everything is kept.
        kept: Vec<String>,
    },
    /// What a command that was killed had fetched was removed.
    Swept {
        /// How many staging directories there were.
        directories: usize,
    },
    /// A staging directory cannot be removed.
    Left {
        /// Its name in the plugins directory.
        directory: String,
        /// Why, escaped.
        why: String,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished { name, what } => {
                write!(f, "{name}: its {what} was cut short before: it is finished now")
            }
            Self::Undone { name, what } => {
                write!(f, "{name}: its {what} was cut short before: nothing of it was done")
            }
            Self::SetAside { name, why, kept } => {
                if let Some(name) = name {
                    write!(f, "{name}: ")?;
                }
                write!(
                    f,
                    "a change was cut short before, and cannot be seen to: {why}; nothing was deleted: "
                )?;
                write!(
                    f,
                    "look into {} in the plugins directory, and remove what you do not need",
                    kept.join(", ")
                )
            }
            Self::Swept { directories: 1 } => {
                write!(f, "removed what a command that was cut short had fetched")
            }
            Self::Swept { directories } => {
                write!(f, "removed what {directories} commands that were cut short had fetched")
            }
            Self::Left { directory, why } => {
                write!(
                    f,
                    "{directory}, which a command that was cut short left in the plugins directory, cannot be removed: {why}"
                )
            }
        }
    }
}

impl Action {
    /// The word for it.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Install { .. } => "installation",
            Self::Replace { .. } => "replacement",
            Self::Remove { .. } => "removal",
        }
    }
}

/// Whether a command was cut short here, so that [`repair`] has something to do: for commands that change nothing, and
/// need not wait for those that do. What another process is doing right now is not taken for that.
///
/// # Errors
///
/// Where the plugins directory cannot be read.
pub fn needs_repair(plugins: &Plugins) -> Result<bool, PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let Some(dir) = plugins.plugins_there()? else { return Ok(false) };
    if plugins.is_locked(&dir)? {
        return Ok(false);
    }
    if journal::is_there(&dir).map_err(wrong)? {
        return Ok(true);
    }
    for stage in staging::all(&dir).map_err(wrong)? {
        if staging::lock_left(&dir, &stage).map_err(wrong)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sees to what commands left that were killed: a change that was begun is finished or undone, so that directory and
/// lock file agree, and what was fetched is removed. What was done comes back, for the user.
///
/// # Errors
///
/// Nothing has changed then, or it is done by the next call: where the lock file cannot be read or written; where the
/// journal was written by a newer program; where the system says no.
pub fn repair(guard: &Guard<'_>) -> Result<Vec<Repair>, PluginError> {
    let plugins = guard.plugins();
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let mut done = Vec::new();
    match journal::load(guard.dir()).map_err(wrong)? {
        None => {}
        Some(Ok(journal)) => done.push(settle(guard, &journal)?),
        Some(Err(JournalError::Garbage(why))) => {
            // Any of these may hold the only copy of a plugin.
            let stages = staging::all(guard.dir()).map_err(wrong)?;
            let why = format!("its journal is none ({why})");
            done.push(set_aside(guard, None, why, &stages).map_err(wrong)?);
        }
        Some(Err(JournalError::Version(version))) => {
            let what = format!(
                "a newer hookbox has begun a change here, and was cut short (journal of version {version})"
            );
            return Err(PluginError::new(
                plugins.path().to_string_lossy(),
                PluginErrorKind::Unexpected(what),
            )
            .hint("run any `plugin` command of that hookbox"));
        }
    }
    journal::sweep(guard.dir()).map_err(|error| PluginError::io(plugins.path().join(journal::NEW), error))?;
    lock_file::sweep(plugins)?;
    sweep(guard, &mut done).map_err(wrong)?;
    Ok(done)
}

/// Sees to one change that was cut short.
fn settle(guard: &Guard<'_>, journal: &Journal) -> Result<Repair, PluginError> {
    let (plugins, dir, name) = (guard.plugins(), guard.dir(), journal.name.dir());
    let wrong = |error: io::Error| PluginError::io(plugins.path().join(&name), error);
    let before = plugins.lock()?;
    let staging = match beneath::look(dir, journal.stage.as_str()).map_err(wrong)? {
        Some(Found::Directory(_)) => Some(dir.open_dir(journal.stage.as_str()).map_err(wrong)?),
        _ => None,
    };
    let decision = decide(&journal.action, change::look(dir, staging.as_ref(), journal).map_err(wrong)?);
    let from = match decision {
        Decision::Finish | Decision::Restore(From::Tree) => Some(TREE),
        Decision::Restore(From::Replaced) => Some(REPLACED),
        Decision::Forward | Decision::Back | Decision::SetAside => None,
    };
    if let (Some(from), Some(staging)) = (from, &staging) {
        beneath::move_to((staging, from), (dir, &name)).map_err(wrong)?;
        beneath::sync(staging).map_err(wrong)?;
        beneath::sync(dir).map_err(wrong)?;
    }
    let (name, what) = (journal.name.clone(), journal.action.as_str());
    let repair = match decision {
        Decision::SetAside => {
            let why = format!("another directory than before its {what} stands under its name");
            let stages = staging.map(|_| journal.stage.clone());
            return set_aside(guard, Some(name), why, stages.as_slice()).map_err(wrong);
        }
        Decision::Forward | Decision::Finish => {
            let lock = journal.apply(&before);
            if lock != before {
                Prepared::new(plugins, &lock)?.commit()?;
            }
            Repair::Finished { name, what }
        }
        Decision::Back | Decision::Restore(_) => Repair::Undone { name, what },
    };
    journal::remove(dir).map_err(wrong)?;
    // What stands in the staging directory now is of no more use, and is swept with the others, without another word.
    if let Err(error) = staging::remove(dir, &journal.stage) {
        tracing::debug!(stage = journal.stage.as_str(), %error, "a staging directory stays behind");
    }
    Ok(repair)
}

/// Keeps these staging directories and the journal, under names that hookbox does not use.
fn set_aside(
    guard: &Guard<'_>,
    name: Option<PluginName>,
    why: String,
    stages: &[StageName],
) -> io::Result<Repair> {
    let mut kept = Vec::new();
    for stage in stages {
        // One that a process still writes is none of this change's.
        if staging::lock_left(guard.dir(), stage)?.is_some() {
            kept.push(staging::keep(guard.dir(), stage)?);
        }
    }
    // The journal last: as long as it is there, this is done again.
    kept.push(journal::set_aside(guard.dir())?);
    Ok(Repair::SetAside { name, why, kept })
}

/// Removes the staging directories of processes that are no more.
fn sweep(guard: &Guard<'_>, done: &mut Vec<Repair>) -> io::Result<()> {
    let mut directories = 0;
    for stage in staging::all(guard.dir())? {
        let removed = match staging::lock_left(guard.dir(), &stage) {
            Ok(None) => continue,
            Ok(Some(_lock)) => staging::remove(guard.dir(), &stage),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => directories += 1,
            Err(error) => {
                let why = text::escape(&error.to_string(), 300);
                done.push(Repair::Left { directory: stage.as_str().to_owned(), why });
            }
        }
    }
    if directories > 0 {
        done.push(Repair::Swept { directories });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
