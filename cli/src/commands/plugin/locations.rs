//! The directories with plugins: of the repository, and of the home directory.

use std::path::{Path, PathBuf};

use hookbox::Runtime;
use hookbox::escape;
use hookbox::internal::discovery::{self, Options};
use hookbox::manager::Manager;
use hookbox_plugins::{
    Hosts, Installed, Location, Locked, PluginError, PluginErrorKind, PluginName, Plugins, PluginsLock,
    needs_repair,
};

use crate::compiler;
use crate::error::{InputError, note, warn, warn_with_hint};
use crate::interrupt::unless_interrupted;
use crate::options;

/// The most names of a plugins directory that are checked for directories that are not plugins.
const MAX_NAMES: usize = 1024;

/// The directories and the engine that a command works with.
pub(super) struct Environment<'a> {
    locate: &'a options::Locate,
    options: Options,
    pub(super) runtime: Runtime,
}

/// The repository or the home directory.
#[derive(Clone, Debug)]
pub(super) struct Base {
    location: Location,
    path: PathBuf,
}

impl<'a> Environment<'a> {
    /// Sets up the environment. Call it after [`options::Locate::enter`].
    pub(super) fn new(locate: &'a options::Locate) -> Result<Self, InputError> {
        let options = locate.discovery()?;
        let runtime = compiler::cached_runtime(&options);
        Ok(Self { locate, options, runtime })
    }

    /// Discovers the hooks. A signal ends the hooks that are asked for their events.
    pub(super) async fn manager(&self) -> anyhow::Result<Manager> {
        Ok(unless_interrupted(self.locate.manager_with(&self.runtime)).await??)
    }

    /// Returns the working directory.
    pub(super) fn cwd(&self) -> &Path {
        &self.options.cwd
    }

    fn local(&self) -> Option<Base> {
        let path = discovery::repository(&self.options)?;
        Some(Base { location: Location::Local, path })
    }

    fn global(&self) -> Option<Base> {
        let path = self.options.home.clone()?;
        Some(Base { location: Location::Global, path })
    }

    /// Returns the base that a command changes.
    pub(super) fn base(&self, global: bool) -> Result<Base, InputError> {
        if global {
            return self.global().ok_or_else(|| {
                InputError::new(
                    "expected a home directory, found none",
                    "set HOME to a directory of your own",
                )
            });
        }
        self.local().ok_or_else(|| {
            let what = "expected a repository to install into, and this directory is in none";
            InputError::new(what, "work in a repository, or give --global for your home directory")
        })
    }

    /// Returns both bases, or the one that a flag names.
    pub(super) fn bases(&self, global: bool, local: bool) -> Vec<Base> {
        let repository = self.local().filter(|_| !global);
        let home = self.global().filter(|_| !local);
        repository.into_iter().chain(home).collect()
    }

    /// Returns the hosts to read `org/repo` with. The settings may name the git host.
    pub(super) fn hosts_of_names(&self) -> Result<Hosts, InputError> {
        let mut hosts = Hosts::new(self.cwd());
        let host = discovery::git_host(&self.options).map_err(|problem| {
            let hint = "repair it, because it may name the git host, or give the whole URL";
            InputError::new(problem.to_string(), hint)
        })?;
        hosts.git = host.unwrap_or(hosts.git);
        Ok(hosts)
    }

    /// Opens the first root of a base, where new plugins are installed, and makes it if needed. The second
    /// value has to be dropped last.
    pub(super) fn first(&self, base: &Base) -> anyhow::Result<(Plugins, NewDirectories)> {
        let root = self.first_root();
        let dir = base.path.join(root);
        let missing = [dir.join("plugins"), dir].into_iter().filter(|dir| !dir.exists());
        let new = NewDirectories(missing.collect());
        let plugins = Plugins::open(base.location, &base.path, root)?;
        Ok((plugins, new))
    }

    /// Opens the first root of a base, if it has plugins.
    pub(super) fn find_first(&self, base: &Base) -> anyhow::Result<Option<Plugins>> {
        Ok(Plugins::find(base.location, &base.path, self.first_root())?)
    }

    fn first_root(&self) -> &str {
        self.options.roots.first().map_or(".hookbox", String::as_str)
    }

    /// Opens all roots of these bases that have plugins. One that cannot be read is a warning.
    pub(super) fn all(&self, bases: impl IntoIterator<Item = Base>) -> Vec<Plugins> {
        let mut all = Vec::new();
        for base in bases {
            for root in &self.options.roots {
                match Plugins::find(base.location, &base.path, root) {
                    Ok(found) => all.extend(found),
                    Err(error) => warn_with_hint(&error, error.hint.as_ref()),
                }
            }
        }
        all
    }
}

/// Directories that were made for a plugin. Dropping this removes those that are empty: an empty root would
/// look like a chosen one.
pub(super) struct NewDirectories(Vec<PathBuf>);

impl Drop for NewDirectories {
    fn drop(&mut self) {
        self.0.iter().for_each(|dir| drop(std::fs::remove_dir(dir)));
    }
}

/// Locks a plugins directory to change it, and prints the repairs that were made.
pub(super) fn lock(plugins: &Plugins) -> anyhow::Result<PluginsLock<'_>> {
    let lock = plugins.lock_exclusively()?;
    for repair in hookbox_plugins::repair(&lock)? {
        note(repair);
    }
    Ok(lock)
}

/// Repairs an interrupted change, for a command that makes no other change. A user without the right to write
/// only gets a warning.
pub(super) fn repair(plugins: &Plugins) {
    if needs_repair(plugins).unwrap_or(false)
        && let Err(error) = lock(plugins)
    {
        warn(&error);
    }
}

/// Reads the name of a plugin.
pub(super) fn name(word: &str) -> Result<PluginName, PluginError> {
    word.parse().map_err(|error| {
        let error = PluginError::new(word, PluginErrorKind::Name(error));
        error.hint("give its name as ORG/REPO; see `hookbox plugin list`")
    })
}

/// A plugin that is in a plugins directory or in its lock file.
#[derive(Clone, Debug)]
pub(super) struct KnownPlugin {
    /// `org/repo`, or a name made of the directory's if that is not `org@repo`.
    pub(super) name: String,
    /// The name to install and remove it by.
    pub(super) id: Option<PluginName>,
    /// The name of its directory.
    pub(super) dir: String,
    pub(super) path: PathBuf,
    /// The entry of the lock file.
    pub(super) locked: Option<Locked>,
    /// True if its directory exists.
    pub(super) is_here: bool,
}

impl From<Installed> for KnownPlugin {
    fn from(installed: Installed) -> Self {
        let Installed { name, dir, path, locked } = installed;
        Self { name: name.to_string(), id: Some(name), dir, path, locked, is_here: true }
    }
}

impl KnownPlugin {
    /// A plugin with a directory of this name, which is not here.
    fn unseen(plugins: &Plugins, dir: String) -> Self {
        // The names of its hooks begin with this.
        let name = dir.replacen('@', "/", 1);
        let (id, path) = (PluginName::from_dir(&dir).ok(), plugins.path().join(&dir));
        Self { name, id, dir, path, locked: None, is_here: false }
    }

    /// Returns the error about a plugin that only the lock file names.
    pub(super) fn missing(&self, plugins: &Plugins) -> PluginError {
        let mut flags = String::new();
        if plugins.location() == Location::Global {
            flags.push_str(" --global");
        }
        if plugins.root() != ".hookbox" {
            flags.push_str(&format!(" --root {}", escape(plugins.root(), 200)));
        }
        let what = "is named by plugins.lock, and is not here".to_owned();
        PluginError::new(&self.name, PluginErrorKind::Unexpected(what))
            .hint(format!("install what plugins.lock names with `hookbox plugin add{flags}`"))
    }
}

/// Returns all plugins of a plugins directory and its lock file, by name.
pub(super) fn plugins(plugins: &Plugins) -> anyhow::Result<Vec<KnownPlugin>> {
    let installed = hookbox_plugins::installed(plugins)?;
    let mut all: Vec<KnownPlugin> = installed.into_iter().map(KnownPlugin::from).collect();
    let by_hand = by_hand(plugins).into_iter();
    all.extend(by_hand.map(|dir| KnownPlugin { is_here: true, ..KnownPlugin::unseen(plugins, dir) }));
    let lock = plugins.lock()?;
    for locked in lock.iter() {
        let dir = locked.name.dir();
        if !all.iter().any(|it| it.dir == dir) {
            let locked = Some(locked.clone());
            all.push(KnownPlugin { locked, ..KnownPlugin::unseen(plugins, dir) });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Returns the names of the directories that discovery searches although they are not `org@repo`.
fn by_hand(plugins: &Plugins) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(plugins.path()) else { return Vec::new() };
    let entries = entries.take(MAX_NAMES).filter_map(|entry| entry.ok());
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with(".hookbox-") && PluginName::from_dir(name).is_err()).collect()
}

/// Finds the plugin of this name (`org/repo`, or that of its directory), and its plugins directory.
pub(super) fn find<'p>(all: &'p [Plugins], word: &str) -> anyhow::Result<(&'p Plugins, KnownPlugin)> {
    let mut found = Vec::new();
    for dir in all {
        found.extend(
            plugins(dir)?.into_iter().filter(|it| it.name == word || it.dir == word).map(|it| (dir, it)),
        );
    }
    if found.len() > 1 {
        let paths: Vec<String> =
            found.iter().map(|(_, it)| escape(&it.path.to_string_lossy(), 1024)).collect();
        let what = format!("{}: expected one plugin, found {}", escape(word, 200), paths.join(" and "));
        let hint = "give --project or --global, or --root NAME if that is not enough";
        return Err(InputError::new(what, hint).into());
    }
    match found.pop() {
        Some(found) => Ok(found),
        None => {
            let is_directory = !matches!(word, "" | "." | "..") && !word.contains(['/', '\\']);
            let name = if is_directory { escape(word, 200) } else { name(word)?.to_string() };
            let error = PluginError::new(name, PluginErrorKind::NotInstalled);
            Err(error.hint("see `hookbox plugin list`").into())
        }
    }
}
