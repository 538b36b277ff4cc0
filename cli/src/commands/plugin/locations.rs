//! The directories with plugins: of the repository, and of the home directory.

use std::path::{Path, PathBuf};

use hookbox::discovery::{self, Options};
use hookbox::manager::Manager;
use hookbox::{Runtime, escape, shown_path};
use hookbox_plugins::{
    Hosts, KnownPlugin, Location, PluginError, PluginErrorKind, PluginName, Plugins, known, needs_repair,
};

use crate::error::{InputError, note, warn, warn_with_hint};
use crate::interrupt::unless_interrupted;
use crate::{compiler, options};

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

/// Repairs an interrupted change, and prints the repairs. A user without the right to write only gets a warning.
pub(super) fn repair(plugins: &Plugins) {
    if !needs_repair(plugins).unwrap_or(false) {
        return;
    }
    match plugins.lock_exclusively().and_then(|lock| hookbox_plugins::repair(&lock)) {
        Ok(repairs) => repairs.iter().for_each(note),
        Err(error) => warn(&error),
    }
}

/// Reads the name of a plugin.
pub(super) fn name(word: &str) -> Result<PluginName, PluginError> {
    word.parse().map_err(|error| {
        let error = PluginError::new(word, PluginErrorKind::Name(error));
        error.hint("give its name as ORG/REPO; see `hookbox plugin list`")
    })
}

/// Finds the plugin of this name (`org/repo`, or that of its directory), and its plugins directory.
pub(super) fn find<'p>(all: &'p [Plugins], word: &str) -> anyhow::Result<(&'p Plugins, KnownPlugin)> {
    let mut found = Vec::new();
    for dir in all {
        found.extend(
            known(dir)?.into_iter().filter(|it| it.name == word || it.dir == word).map(|it| (dir, it)),
        );
    }
    if found.len() > 1 {
        let paths: Vec<String> = found.iter().map(|(_, it)| shown_path(&it.path)).collect();
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
