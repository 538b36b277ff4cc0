//! Where plugins are: in the repository, and in the home directory.

use std::path::{Path, PathBuf};

use crate::interrupt::unless_interrupted;
use hookbox::discovery::{self, Options};
use hookbox::manager::Manager;
use hookbox::private_dir;
use hookbox::text::escape;
use hookbox::wasm::Runtime;
use hookbox_plugins::{
    Hosts, Installed, Location, Locked, PluginError, PluginErrorKind, PluginName, Plugins, PluginsLock,
    needs_repair,
};

use super::failed;
use crate::compiler;
use crate::error::{InputError, hint, note, warn};
use crate::options;

/// How many names of a plugins directory are looked at for what is no plugin.
const MAX_NAMES: usize = 1024;

/// What the commands work with.
pub(super) struct Here<'a> {
    locate: &'a options::Locate,
    options: Options,
    /// One engine for all looks into components.
    pub(super) runtime: Runtime,
}

/// A place that holds plugins.
#[derive(Clone, Debug)]
pub(super) struct Place {
    location: Location,
    /// The repository, or the home directory.
    base: PathBuf,
}

impl<'a> Here<'a> {
    /// After [`options::Locate::enter`].
    pub(super) fn new(locate: &'a options::Locate) -> Result<Self, InputError> {
        let options = locate.discovery()?;
        let repository = discovery::repository(&options);
        let cache = private_dir::default_cache(options.home.as_deref());
        // Without a cache components are compiled each time; `hookbox list` says why there is none.
        let cache = cache.and_then(|dir| private_dir::open(&dir, repository.as_deref()).ok());
        Ok(Self { locate, options, runtime: compiler::runtime(cache.as_deref()) })
    }

    /// The hooks that are there now.
    pub(super) async fn manager(&self) -> anyhow::Result<Manager> {
        // Hooks are asked what they are: a signal ends those as well.
        Ok(unless_interrupted(self.locate.manager_with(&self.runtime)).await??)
    }

    /// Where this process works.
    pub(super) fn cwd(&self) -> &Path {
        &self.options.cwd
    }

    fn local(&self) -> Option<Place> {
        let base = discovery::repository(&self.options)?;
        Some(Place { location: Location::Local, base })
    }

    fn global(&self) -> Option<Place> {
        let base = self.options.home.clone()?;
        Some(Place { location: Location::Global, base })
    }

    /// The place that a command is to change.
    pub(super) fn place(&self, global: bool) -> Result<Place, InputError> {
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

    /// What a source is read with, where a relative directory is looked for in this one.
    pub(super) fn hosts(&self, cwd: &Path) -> Hosts {
        Hosts::new(cwd)
    }

    /// The same for `org/repo`, whose host the settings may name.
    pub(super) fn hosts_of_names(&self, cwd: &Path) -> Result<Hosts, InputError> {
        let mut hosts = Hosts::new(cwd);
        let said = discovery::git_host(&self.options).map_err(|problem| {
            let hint = "repair it: without it nobody can say which host is meant; or give the whole URL";
            InputError::new(problem.to_string(), hint)
        })?;
        hosts.git = said.unwrap_or(hosts.git);
        Ok(hosts)
    }

    /// The plugins of the first root of a place, where new ones are installed. It is made where it is missing; the
    /// second value has to live longer than all work there.
    pub(super) fn first(&self, place: &Place) -> anyhow::Result<(Plugins, Fresh)> {
        let root = self.options.roots.first().map_or(".hookbox", String::as_str);
        let root_dir = place.base.join(root);
        let missing = [root_dir.join("plugins"), root_dir].into_iter().filter(|dir| !dir.exists());
        let fresh = Fresh(missing.collect());
        let plugins = Plugins::open(place.location, &place.base, root).map_err(failed)?;
        Ok((plugins, fresh))
    }

    /// The same, if they are there.
    pub(super) fn find_first(&self, place: &Place) -> anyhow::Result<Option<Plugins>> {
        let root = self.options.roots.first().map_or(".hookbox", String::as_str);
        Plugins::find(place.location, &place.base, root).map_err(failed)
    }

    /// The plugins of all roots of these places, as far as they are there; what cannot be read is a warning.
    pub(super) fn all(&self, places: impl IntoIterator<Item = Place>) -> Vec<Plugins> {
        let mut all = Vec::new();
        for place in places {
            for root in &self.options.roots {
                match Plugins::find(place.location, &place.base, root) {
                    Ok(found) => all.extend(found),
                    Err(error) => warned(&error),
                }
            }
        }
        all
    }
}

/// Directories that were made for a plugin. Dropping this removes those that hold nothing after all: an empty root
/// would be taken for one that is meant.
pub(super) struct Fresh(Vec<PathBuf>);

impl Drop for Fresh {
    fn drop(&mut self) {
        self.0.iter().for_each(|dir| drop(std::fs::remove_dir(dir)));
    }
}

/// Both places, or the one that a flag names.
pub(super) fn places(here: &Here<'_>, global: bool, local: bool) -> Vec<Place> {
    let in_repository = here.local().filter(|_| !global);
    let in_home = here.global().filter(|_| !local);
    in_repository.into_iter().chain(in_home).collect()
}

/// Locks a plugins directory to change it, and says what was repaired there.
pub(super) fn lock(plugins: &Plugins) -> anyhow::Result<PluginsLock<'_>> {
    let guard = plugins.lock_exclusively().map_err(failed)?;
    for repair in hookbox_plugins::repair(&guard).map_err(failed)? {
        note(repair);
    }
    Ok(guard)
}

/// Repairs what a killed process left behind, unless another one is at work, for a command that changes nothing itself.
/// Whoever may not write there may still look.
pub(super) fn repair(plugins: &Plugins) {
    if needs_repair(plugins).unwrap_or(false)
        && let Err(error) = lock(plugins)
    {
        warn(&error);
    }
}

fn warned(error: &PluginError) {
    warn(error);
    error.hint.iter().for_each(hint);
}

/// Reads the name of a plugin.
pub(super) fn name(word: &str) -> anyhow::Result<PluginName> {
    word.parse().map_err(|error| {
        let error = PluginError::new(word, PluginErrorKind::Name(error));
        failed(error.hint("give its name as ORG/REPO; see `hookbox plugin list`"))
    })
}

/// A plugin of a place, as the commands speak of it.
#[derive(Clone, Debug)]
pub(super) struct There {
    /// What it is called: `org/repo`, or the name of its directory where that is none of a plugin.
    pub(super) name: String,
    /// The name that it is installed and removed by.
    pub(super) id: Option<PluginName>,
    /// The name of its directory.
    pub(super) dir: String,
    pub(super) path: PathBuf,
    /// What the lock file says of it.
    pub(super) locked: Option<Locked>,
    /// Whether its directory is there.
    pub(super) is_here: bool,
}

impl From<Installed> for There {
    fn from(installed: Installed) -> Self {
        let Installed { name, dir, path, locked } = installed;
        Self { name: name.to_string(), id: Some(name), dir, path, locked, is_here: true }
    }
}

impl There {
    /// That only the lock file names it.
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

/// The plugins of a place by name: those that are there, also under a name that is none of a plugin, and those that
/// only the lock file names.
pub(super) fn plugins(plugins: &Plugins) -> anyhow::Result<Vec<There>> {
    let installed = hookbox_plugins::installed(plugins).map_err(failed)?;
    let mut all: Vec<There> = installed.into_iter().map(There::from).collect();
    all.extend(by_hand(plugins));
    let lock = plugins.lock().map_err(failed)?;
    for locked in lock.iter() {
        let dir = locked.name.dir();
        if !all.iter().any(|it| it.dir == dir) {
            all.push(There {
                name: locked.name.to_string(),
                id: Some(locked.name.clone()),
                path: plugins.path().join(&dir),
                dir,
                locked: Some(locked.clone()),
                is_here: false,
            });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The directories that hooks are looked for in, and whose names are none of a plugin.
fn by_hand(plugins: &Plugins) -> Vec<There> {
    let Ok(entries) = std::fs::read_dir(plugins.path()) else { return Vec::new() };
    let names = entries.take(MAX_NAMES).filter_map(|entry| entry.ok());
    let directories = names.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| !name.starts_with(".hookbox-") && PluginName::from_dir(name).is_err())
        .map(|dir| There {
            // As its hooks are called.
            name: dir.replacen('@', "/", 1),
            id: None,
            path: plugins.path().join(&dir),
            dir,
            locked: None,
            is_here: true,
        })
        .collect()
}

/// The plugin of this name, with where it stands.
pub(super) fn find<'p>(all: &'p [Plugins], word: &str) -> anyhow::Result<(&'p Plugins, There)> {
    let mut found = Vec::new();
    for place in all {
        let there = plugins(place)?;
        found.extend(there.into_iter().filter(|it| it.name == word).map(|it| (place, it)));
    }
    if found.len() > 1 {
        let paths: Vec<String> =
            found.iter().map(|(_, it)| escape(&it.path.to_string_lossy(), 1024)).collect();
        let what = format!("{}: expected one plugin, found {}", escape(word, 200), paths.join(" and "));
        return Err(InputError::new(
            what,
            "give --local or --global, and --root NAME where that is not enough",
        )
        .into());
    }
    match found.pop() {
        Some(found) => Ok(found),
        None => {
            let error = PluginError::new(name(word)?.to_string(), PluginErrorKind::NotInstalled);
            Err(failed(error.hint("see `hookbox plugin list`")))
        }
    }
}
