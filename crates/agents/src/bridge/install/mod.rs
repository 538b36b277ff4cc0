//! Installs hookbox into the configuration of an agent: adds our entries and removes them, and keeps all
//! others.
//!
//! Pure rules (`desired`, `edit`) compute the new text. [`Installer`] reads and writes the file: whole or not
//! at all, never over a change of somebody else, and with the original kept in hookbox's private data
//! directory. Our entries are recognised by their command line ([`is_ours`]), because no agent keeps a mark
//! of ours.
//!
//! ```
//! use hookbox_agents::config::{Level, Surroundings};
//! use hookbox_agents::bridge::install::{Change, InstallOptions, Installer};
//! use hookbox_agents::Agent;
//!
//! # let dir = tempfile::tempdir()?;
//! # let home = dir.path().canonicalize()?;
//! # std::fs::create_dir(home.join("shop"))?;
//! let surroundings = Surroundings { home: Some(home.clone()), ..Surroundings::new(home.join("shop")) };
//! let installer = Installer::new(surroundings, home.join("data"));
//! let installed = installer.install(Agent::Codex, Level::User, &InstallOptions::new("/usr/bin/hookbox"))?;
//! assert_eq!((installed.change, installed.path), (Change::Created, home.join(".codex/hooks.json")));
//!
//! let uninstalled = installer.uninstall(Agent::Codex, Level::User)?;
//! assert_eq!(uninstalled.change, Change::Deleted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config_file;
pub(crate) mod desired;
mod edit;
mod edit_file;
mod edit_list;
mod edit_toml;
pub(crate) mod outcome;
pub(crate) mod record;
mod site;

use std::path::{Path, PathBuf};
use std::time::Duration;

use self::config_file::ConfigFile;
use self::desired::desired_entries;
use self::edit_file::FileFormat;
use self::record::Store;
use self::site::{Site, has_directory_of_files};
use crate::agent::Agent;
use crate::agent::bridge_command::Installed;
use crate::bridge::Bridge;
use crate::bridge::plugin_file::{self, Origin};
use crate::config::{Level, Surroundings, file, parser_error};
use crate::finding::real;
use crate::text;

pub use self::desired::{InstallOptions, usual_events, wanted_events};
pub use self::outcome::{Change, FileChange, InstallError, InstallFailure};
pub use crate::agent::is_ours;

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
    /// [`InstallFailure::Options`] if it has none.
    pub fn file(&self, agent: Agent, level: Level) -> Result<PathBuf, InstallFailure> {
        let at = |level| {
            let plugin = || plugin_file::file(agent.spec(), level, &self.surroundings);
            file(agent, level, &self.surroundings).or_else(plugin)
        };
        at(level).ok_or_else(|| match (level, &self.surroundings.home) {
            (Level::User, None) => InstallFailure::options(
                format!(
                    "expected the configuration of {} in the home directory, found no home directory",
                    agent.title()
                ),
                "set HOME",
            ),
            _ => {
                let levels = Level::ALL.into_iter().filter(|it| at(*it).is_some());
                let levels: Vec<String> = levels.map(|it| format!("--{it}")).collect();
                InstallFailure::options(
                    format!("{} has no configuration of hooks at the {level} level", agent.title()),
                    format!("use {}", levels.join(" or ")),
                )
            }
        })
    }

    /// Returns true if the agent is on this machine: it has a configuration directory at the user level, or one of these
    /// directories has its program.
    pub fn is_here(&self, agent: Agent, path: &[PathBuf]) -> bool {
        let names = agent.spec().process.commands;
        let is_there = |name: &&str| path.iter().any(|directory| directory.join(name).is_file());
        self.has_directory(agent) || names.iter().any(is_there)
    }

    /// Returns true if the agent has a configuration directory at the user level.
    pub fn has_directory(&self, agent: Agent) -> bool {
        let up = if has_directory_of_files(agent, Level::User) { 2 } else { 1 };
        let file = self.file(agent, Level::User).ok();
        file.and_then(|it| it.ancestors().nth(up).map(Path::is_dir)).unwrap_or(false)
    }

    /// Returns the file of an agent at a level, which is the same wherever the agent starts.
    fn settled(&self, agent: Agent, level: Level) -> Result<PathBuf, InstallFailure> {
        let path = self.file(agent, level)?;
        if level.is_in_project() && self.repository.is_none() && self.is_around_home() {
            let directory = text::escape(&self.surroundings.project.to_string_lossy(), 1000);
            return Err(InstallFailure::options(
                format!("{directory} is not a project: it contains the home directory, or the whole system"),
                format!("go into a project's directory, or leave out --{level}"),
            ));
        }
        match self.surroundings.unsettled(agent.spec().moved_by.as_ref()) {
            Some((variable, value)) if level == Level::User => {
                let value = text::escape(&value.to_string_lossy(), 200);
                Err(InstallFailure::options(
                    format!("expected an absolute path in {variable}, found {value:?}"),
                    format!(
                        "set {variable} to an absolute path: the agent finds another directory wherever it starts"
                    ),
                ))
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
            let (most, found) = (InstallOptions::MAX_DEADLINE.as_secs(), options.deadline.as_secs_f64());
            return Err(InstallFailure::options(
                format!("expected a deadline of up to {most} s and not of 0, found {found} s"),
                "give --deadline a time such as 15s, up to 10m",
            ));
        }
        let is_usual =
            options.events.is_empty() && options.from.is_empty() && options.deadline == Bridge::DEADLINE;
        match agent.spec().plugin {
            None => desired_entries(agent, options).map(drop),
            Some(_) if is_usual => Ok(()),
            Some(_) => Err(InstallFailure::Fixed { agent }),
        }
    }

    /// Opens the file of an agent at a level, with its record.
    fn site(&self, agent: Agent, level: Level) -> Result<Site, InstallFailure> {
        let path = self.settled(agent, level)?;
        let file = ConfigFile::new(level, &path, &self.surroundings.project)?;
        let store = if self.dry {
            Store::read_only(&self.data)
        } else {
            Store::open(&self.data, self.repository.as_deref())?
        };
        let (found, record, format) = (file.read()?, store.get(&path), FileFormat::new(agent, level));
        Ok(Site { agent, level, path, file, store, found, record, format })
    }

    /// Returns the files into which hookbox was installed, at any level and in any project, and not uninstalled.
    pub fn files(&self) -> Vec<PathBuf> {
        Store::read_only(&self.data).paths()
    }

    /// Returns the options with which hookbox is installed at a level, as the agent's file has them; `None` if it is not
    /// installed. The program of a plugin that another version wrote is empty.
    ///
    /// # Errors
    ///
    /// [`InstallFailure`] if the file cannot be read.
    pub fn installed(&self, agent: Agent, level: Level) -> Result<Option<InstallOptions>, InstallFailure> {
        let site = self.clone().dry(true).site(agent, level)?;
        let Some(now) = site.now() else { return Ok(None) };
        if let Some(plugin) = &agent.spec().plugin {
            return Ok(match plugin_file::recognize(plugin, now) {
                Origin::Ours { program, home } => {
                    let home = Some(home).filter(|it| !it.is_empty());
                    Some(InstallOptions { home, ..InstallOptions::new(program) })
                }
                Origin::Changed if site.is_as_written() => Some(InstallOptions::new("")),
                _ => None,
            });
        }
        let strict = agent.spec().config.entry.strict_key;
        let mut found: Option<InstallOptions> = None;
        for entry in site.format.read(now).entries {
            let Some(line) = Installed::of(&entry.command).filter(|it| it.agent == agent) else { continue };
            let options = found.get_or_insert_with(|| InstallOptions {
                from: line.from,
                home: line.home,
                deadline: Duration::ZERO,
                ..InstallOptions::new(line.program)
            });
            options.deadline = options.deadline.max(line.deadline.unwrap_or_default());
            options.is_strict |=
                line.is_strict || strict.is_some_and(|key| entry.extra.get(key) == Some(&true.into()));
            options.events.push(entry.event);
        }
        Ok(found.map(|mut options| {
            options.events.dedup();
            // A later version may have more usual events.
            if usual_events(agent).map(|it| it.name).eq(options.events.iter()) {
                options.events.clear();
            }
            if options.deadline.is_zero() {
                options.deadline = Bridge::DEADLINE;
            }
            options
        }))
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
        let mut site = self.site(agent, level)?;
        let (now, format) = (site.now(), site.format);
        let after = if let Some(plugin) = &agent.spec().plugin {
            site.check_untouched(plugin)?;
            plugin_file::text(plugin, &options.program, options.home.as_deref()).into_bytes()
        } else {
            let (desired, now) = (desired_entries(agent, options)?, now.unwrap_or_default());
            let after = format.merge(now, &desired).map_err(|error| site.document(error))?;
            if format.is_usual() {
                check_parsed(agent, &site.path, now, &after)?;
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
            earlier = site.keep(&after)?;
            site.file.write(site.found.as_ref(), &after)?;
        }
        let configuration = format.read(&after);
        Ok(FileChange {
            change,
            events: site.served(&after),
            original: site.original().filter(|it| !self.dry && it.exists()),
            earlier,
            handmade: format.calls(&configuration, |is_ours| !is_ours),
            switches: configuration.switches,
            next: next_steps(agent, level, &self.surroundings),
            path: site.path,
            before: site.found.map(|it| it.bytes),
            after: Some(after),
        })
    }

    /// Takes our entries out of an agent's configuration. A file that nobody has changed since is restored
    /// byte for byte. Blocks for up to 10 s while another process installs.
    ///
    /// # Errors
    ///
    /// [`InstallFailure`]; nothing is changed then.
    pub fn uninstall(&self, agent: Agent, level: Level) -> Result<FileChange, InstallFailure> {
        let site = self.site(agent, level)?;
        let (change, after) = site.without_ours()?;
        // The only copy of the original is not thrown away because somebody has changed the file.
        let kept = site.kept();
        let is_needed = kept.is_some() && kept != after;
        if !self.dry {
            match (&site.found, &after) {
                (Some(found), Some(after)) if change != Change::Unchanged => {
                    site.file.write(Some(found), after)?;
                }
                (Some(found), None) => {
                    site.file.delete(found, site.record.as_ref().map_or(0, |it| it.made))?;
                }
                _ => {}
            }
            if let Some(record) = site.record.as_ref().filter(|_| !is_needed) {
                site.store.forget(&site.path, record)?;
            }
        }
        let now = site.now().filter(|_| change != Change::Unchanged);
        Ok(FileChange {
            change,
            events: now.map(|now| site.served(now)).unwrap_or_default(),
            original: site.original().filter(|_| is_needed),
            handmade: after.as_deref().map_or(0, |it| site.format.calls(&site.format.read(it), |_| true)),
            path: site.path,
            before: site.found.map(|it| it.bytes),
            after,
            ..FileChange::default()
        })
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

#[cfg(test)]
mod tests;
