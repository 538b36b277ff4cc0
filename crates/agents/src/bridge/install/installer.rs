//! Installing and uninstalling: the pure rules applied to the files.

use std::path::{Path, PathBuf};

use super::config_file::ConfigFile;
use super::desired::{InstallOptions, desired_entries};
use super::edit::{calls, handmade};
use super::edit_file::FileFormat;
use super::error::InstallError;
use super::outcome::{Change, FileChange, InstallFailure};
use super::record::{Record, Store, digest};
use crate::agent::{Agent, is_ours};
use crate::bridge::Bridge;
use crate::bridge::plugin_file::{self, Origin};
use crate::conditions::real;
use crate::config::{Level, Surroundings, file, parser_error};
use crate::spec::PluginFile;
use crate::spec::places::{Holds, HookPlace};
use crate::text;

/// Installs hookbox into the agents of one user and project.
#[derive(Clone, Debug)]
pub struct Installer {
    surroundings: Surroundings,
    repository: Option<PathBuf>,
    data: PathBuf,
    dry: bool,
}

impl Installer {
    /// Creates an installer for these directories. `data` is hookbox's private data directory, which keeps
    /// the originals.
    pub fn new(surroundings: Surroundings, data: impl Into<PathBuf>) -> Self {
        let repository = Some(surroundings.project.clone());
        Self { surroundings, repository, data: data.into(), dry: false }
    }

    /// Sets the repository, in which the originals must not be kept (default: the project). `None` if the
    /// working directory is in none, such as the home directory and `/`.
    #[must_use]
    pub fn repository(self, repository: Option<PathBuf>) -> Self {
        Self { repository, ..self }
    }

    /// Only reports what would change (default: false).
    #[must_use]
    pub fn dry(self, dry: bool) -> Self {
        Self { dry, ..self }
    }

    /// Returns the file of an agent at a level.
    ///
    /// # Errors
    ///
    /// [`InstallFailure::Level`] and [`InstallFailure::Home`] if it has none.
    pub fn file(&self, agent: Agent, level: Level) -> Result<PathBuf, InstallFailure> {
        let plugin = || plugin_file::file(agent.spec(), level, &self.surroundings);
        let file = file(agent, level, &self.surroundings).or_else(plugin);
        file.ok_or(match (level, &self.surroundings.home) {
            (Level::User, None) => InstallFailure::Home { agent },
            _ => InstallFailure::Level { agent, level },
        })
    }

    /// Returns true if the agent has a configuration directory at the user level.
    pub fn has_directory(&self, agent: Agent) -> bool {
        let up = if has_directory_of_files(agent) { 2 } else { 1 };
        let file = self.file(agent, Level::User).ok();
        file.and_then(|it| it.ancestors().nth(up).map(Path::is_dir)).unwrap_or(false)
    }

    /// Returns the file of an agent at a level, which is the same wherever the agent starts.
    fn settled(&self, agent: Agent, level: Level) -> Result<PathBuf, InstallFailure> {
        let path = self.file(agent, level)?;
        if level.is_in_project() && self.repository.is_none() && self.is_around_home() {
            return Err(InstallFailure::Project { level, directory: self.surroundings.project.clone() });
        }
        match self.surroundings.unsettled(agent.spec().moved_by.as_ref()) {
            Some((variable, value)) if level == Level::User => {
                let value = text::escape(&value.to_string_lossy(), 200);
                Err(InstallFailure::Variable { variable, value })
            }
            _ => Ok(path),
        }
    }

    /// Returns true if the project's directory contains the home directory, or is `/`. Its configuration
    /// would be the user's own, or that of many projects.
    fn is_around_home(&self) -> bool {
        let project = real(&self.surroundings.project);
        let home = self.surroundings.home.as_deref().map(real);
        project.parent().is_none() || home.is_some_and(|home| home.starts_with(project))
    }

    /// Checks these options for an agent at a level, without reading its file.
    ///
    /// # Errors
    ///
    /// [`InstallFailure`], but not [`InstallFailure::File`].
    pub fn check(&self, agent: Agent, level: Level, options: &InstallOptions) -> Result<(), InstallFailure> {
        self.settled(agent, level)?;
        if !options.has_deadline() {
            return Err(InstallFailure::Deadline { found: options.deadline });
        }
        let is_usual =
            options.events.is_empty() && options.from.is_empty() && options.deadline == Bridge::DEADLINE;
        match agent.spec().plugin {
            None => Ok(desired_entries(agent, options).map(drop)?),
            Some(_) if is_usual => Ok(()),
            Some(_) => Err(InstallFailure::Fixed { agent }),
        }
    }

    fn store(&self) -> Result<Store, InstallError> {
        if self.dry {
            Ok(Store::read_only(&self.data))
        } else {
            Store::open(&self.data, self.repository.as_deref())
        }
    }

    /// Makes an agent run hookbox at the events of the options, and at no others. Blocks for up to 10 s while
    /// another process installs.
    ///
    /// # Errors
    ///
    /// [`InstallFailure`]; nothing is changed then.
    pub fn install(
        &self,
        agent: Agent,
        level: Level,
        options: &InstallOptions,
    ) -> Result<FileChange, InstallFailure> {
        self.check(agent, level, options)?;
        let path = self.settled(agent, level)?;
        let file = ConfigFile::new(level, &path, &self.surroundings.project)?;
        let store = self.store()?;
        let found = file.read()?;
        let now = found.as_ref().map(|it| it.bytes.as_slice());
        let known = store.get(&path);
        let (plugin, format) = (agent.spec().plugin.as_ref(), FileFormat::new(agent, level));
        let after = if let Some(plugin) = plugin {
            now.map_or(Ok(()), |now| check_untouched(plugin, &path, now, known.as_ref()))?;
            plugin_file::text(plugin, &options.program, options.home.as_deref()).into_bytes()
        } else {
            let original = known.and_then(|it| store.original(&path, &it));
            let (desired, now) = (desired_entries(agent, options)?, now.unwrap_or_default());
            let after = format.merge(now, &desired, original.as_deref());
            let after = after.map_err(|error| InstallError::document(&path, error))?;
            if format.is_usual() {
                check_parsed(agent, &path, now, &after)?;
            }
            after
        };
        let change = match now {
            None => Change::Created,
            Some(now) if now == after => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        let mut earlier = None;
        if !self.dry && change != Change::Unchanged {
            // A plugin of ours is not an original that has to come back.
            let before = now.filter(|_| plugin.is_none());
            earlier = self.keep(&store, &path, (agent, level), before, &after, &file)?;
            file.write(found.as_ref(), &after)?;
        }
        let backup = Some(store.backup(&path)).filter(|backup| !self.dry && backup.exists());
        let configuration = format.read(&after);
        Ok(FileChange {
            change,
            events: served(agent, format, &after),
            original: backup,
            earlier,
            handmade: handmade(agent, &configuration),
            switches: configuration.switches,
            next: next_steps(agent, level, &self.surroundings),
            path,
            before: found.map(|it| it.bytes),
            after: Some(after),
        })
    }

    /// Keeps the original: for a file that is as install left it, the bytes from before the first
    /// installation. Returns the new path of an earlier original.
    fn keep(
        &self,
        store: &Store,
        path: &Path,
        (agent, level): (Agent, Level),
        now: Option<&[u8]>,
        after: &[u8],
        file: &ConfigFile,
    ) -> Result<Option<PathBuf>, InstallError> {
        let known = store.get(path);
        if let (Some(record), Some(now)) = (&known, now)
            && record.after == digest(now)
        {
            let record = Record { after: digest(after), ..record.clone() };
            store.put_record(path, &record)?;
            return Ok(None);
        }
        let original = known.as_ref().and_then(|it| store.original(path, it));
        let format = FileFormat::new(agent, level);
        // `install` always names the event, and the home in a file that is one user's. Without a record, an entry
        // that does not is its user's own.
        let has_home = !matches!(level, Level::Project | Level::System) && self.surroundings.home.is_some();
        let is_handwritten = |now: &[u8]| {
            let entries = format.read(now).entries;
            let mut ours = entries.iter().filter(|it| is_ours(agent, &it.command)).map(|it| &it.command);
            known.is_none() && ours.any(|it| !it.contains("--event") || has_home && !it.contains("--home"))
        };
        let before = match now {
            Some(now) if is_handwritten(now) => Some(now.to_vec()),
            // It was edited in the meantime: the edited file without our entries is what has to come back.
            Some(now) if !format.events(now).is_empty() => {
                let left = format.remove(now, original.as_deref());
                let left = left.map_err(|error| InstallError::document(path, error))?;
                let was_ours_alone = left.is_bare && known.as_ref().is_some_and(|it| it.before.is_none());
                (!was_ours_alone).then_some(left.bytes)
            }
            now => now.map(<[u8]>::to_vec),
        };
        let mut record = Record::new(agent, level, path, before.as_deref(), after);
        record.made = file.missing_directories();
        if let Some(known) = known.filter(|_| record.made.is_empty()) {
            record.made = known.made;
        }
        store.put(path, &record, before.as_deref())
    }

    /// Takes our entries out of an agent's configuration. A file that nobody has changed since is restored
    /// byte for byte. Blocks for up to 10 s while another process installs.
    ///
    /// # Errors
    ///
    /// [`InstallFailure`]; nothing is changed then.
    pub fn uninstall(&self, agent: Agent, level: Level) -> Result<FileChange, InstallFailure> {
        let path = self.settled(agent, level)?;
        let file = ConfigFile::new(level, &path, &self.surroundings.project)?;
        let store = self.store()?;
        let record = store.get(&path);
        let kept = store.kept(&path);
        let (plugin, format) = (agent.spec().plugin.as_ref(), FileFormat::new(agent, level));
        let is_others = |bytes: &[u8]| {
            plugin.is_some_and(|plugin| plugin_file::recognize(plugin, bytes) == Origin::Others)
        };
        let Some(found) = file.read()?.filter(|it| !is_others(&it.bytes)) else {
            if !self.dry && kept.is_none() && record.is_some() {
                store.forget(&path)?;
            }
            let original = kept.map(|_| store.backup(&path));
            return Ok(FileChange { path, original, ..FileChange::default() });
        };
        let (change, after) = match plugin {
            Some(plugin) => {
                check_untouched(plugin, &path, &found.bytes, record.as_ref())?;
                (Change::Deleted, None)
            }
            None => decide((agent, level), &path, &store, record.as_ref(), &found.bytes)?,
        };
        // The only copy of the original is not thrown away because somebody has emptied the file.
        let is_needed = kept.is_some() && kept != after;
        if !self.dry {
            let made = record.as_ref().map_or(&[][..], |it| &it.made);
            match (change, &after) {
                (Change::Unchanged, _) => {}
                (_, Some(after)) => file.write(Some(&found), after)?,
                (_, None) => file.delete(&found, made)?,
            }
            if !is_needed && record.is_some() {
                store.forget(&path)?;
            }
        }
        Ok(FileChange {
            change,
            events: served(agent, format, &found.bytes),
            original: is_needed.then(|| store.backup(&path)),
            handmade: after.as_deref().map_or(0, |after| calls(agent, &format.read(after))),
            path,
            before: Some(found.bytes),
            after,
            ..FileChange::default()
        })
    }
}

/// Returns true if the agent reads every file of a directory, so that hookbox has a file of its own there.
fn has_directory_of_files(agent: Agent) -> bool {
    let mut places = agent.spec().places_at(Level::User);
    let is_ours = |place: &&HookPlace| place.has_hooks() || matches!(place.holds, Holds::Plugins);
    places.find(is_ours).is_some_and(HookPlace::is_directory)
}

/// Returns the agent's own names of the events that reach hookbox by this file: all of them by a plugin.
fn served(agent: Agent, format: FileFormat, bytes: &[u8]) -> Vec<String> {
    match agent.spec().plugin {
        Some(_) => agent.events().iter().map(|it| it.name.to_owned()).collect(),
        None => format.events(bytes),
    }
}

/// Refuses to replace a plugin that somebody else has written or changed.
fn check_untouched(
    plugin: &PluginFile,
    path: &Path,
    bytes: &[u8],
    known: Option<&Record>,
) -> Result<(), InstallError> {
    match plugin_file::recognize(plugin, bytes).problem() {
        Some(problem) if known.is_none_or(|it| it.after != digest(bytes)) => {
            Err(InstallError::new(path, problem, "move the file away, and run the command again"))
        }
        _ => Ok(()),
    }
}

/// Checks that the agent's own parser reads the new file: if it does not, the agent runs no hook and says
/// nothing.
fn check_parsed(agent: Agent, path: &Path, now: &[u8], after: &[u8]) -> Result<(), InstallError> {
    let Some(of_after) = parser_error(agent.spec(), after) else { return Ok(()) };
    // Lines and columns are those of the file as the user sees it.
    let what = parser_error(agent.spec(), now).unwrap_or(of_after);
    let hint = format!(
        "correct the file by hand: {} runs no hook of it as it is; nothing was changed",
        agent.title()
    );
    Err(InstallError::new(path, what, hint))
}

/// Decides what uninstalling makes of a file.
fn decide(
    (agent, level): (Agent, Level),
    path: &Path,
    store: &Store,
    record: Option<&Record>,
    now: &[u8],
) -> Result<(Change, Option<Vec<u8>>), InstallError> {
    let original = record.and_then(|it| store.original(path, it));
    if let Some(record) = record.filter(|it| it.after == digest(now)) {
        match (&record.before, original.clone()) {
            (None, _) => return Ok((Change::Deleted, None)),
            (Some(_), Some(bytes)) => return Ok((Change::Restored, Some(bytes))),
            (Some(_), None) => {}
        }
    }
    let left = FileFormat::new(agent, level).remove(now, original.as_deref());
    let left = left.map_err(|error| InstallError::document(path, error))?;
    // Only hookbox gives a file of such a directory this name.
    let is_own = level != Level::System && has_directory_of_files(agent);
    let was_none = record.map_or(is_own, |it| it.before.is_none());
    Ok(if left.bytes == now {
        (Change::Unchanged, Some(left.bytes))
    } else if left.is_bare && was_none {
        (Change::Deleted, None)
    } else {
        (Change::Removed, Some(left.bytes))
    })
}

/// Returns the steps that remain for the user.
fn next_steps(agent: Agent, level: Level, surroundings: &Surroundings) -> Vec<String> {
    let spec = agent.spec();
    let root = text::escape(&surroundings.project.to_string_lossy(), 500);
    let own = spec.next_steps.iter().filter(|(levels, _)| levels.contains(&level));
    let mut next: Vec<String> = own.map(|(_, step)| step.replace("ROOT", &root)).collect();
    next.push(format!("restart {} if it is running", spec.title));
    if level == Level::System {
        next.push("every user of this machine needs to be able to run that program".to_owned());
    }
    if level == Level::Project {
        next.push(format!("everyone who works in {root} needs hookbox on the PATH"));
    }
    next
}
