//! A repository with plugins, changed through the library: the common part of the tests of changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hookbox_plugins::{
    EntryPath, Location, Locked, Observer, PluginError, PluginName, Plugins, Replace, Silent, Stage, Staged,
    install, remove,
};

/// The plugin that is changed.
pub(crate) const NAME: &str = "org/repo";

/// Returns the kinds, modes and bytes of all entries below a directory, by their paths; `None` if there is none.
pub(crate) fn tree(top: &Path) -> Option<BTreeMap<PathBuf, String>> {
    top.is_dir().then(|| {
        let mut all = BTreeMap::new();
        let mut waiting = vec![top.to_owned()];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let about = path.symlink_metadata().unwrap();
                let what = match about.file_type() {
                    kind if kind.is_symlink() => format!("-> {}", fs::read_link(&path).unwrap().display()),
                    kind if kind.is_dir() => {
                        waiting.push(path.clone());
                        "directory".to_owned()
                    }
                    _ => format!("{:o} {:?}", about.permissions().mode(), fs::read(&path).unwrap()),
                };
                all.insert(path.strip_prefix(top).unwrap().to_owned(), what);
            }
        }
        all
    })
}

/// The plugins of a repository.
pub(crate) fn open(base: &Path) -> Plugins {
    Plugins::open(Location::Local, base, ".hookbox").unwrap()
}

/// Hookbox's own files in the plugins directory and beside the lock file, without the file that is locked.
pub(crate) fn own(base: &Path) -> Vec<String> {
    let mut own = Vec::new();
    for dir in [base.join(".hookbox/plugins"), base.join(".hookbox")] {
        let Ok(entries) = fs::read_dir(dir) else { continue };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        own.extend(names.filter(|name| name.starts_with('.') && name != ".hookbox-lock"));
    }
    own
}

/// A plugin of some files that say this, staged.
pub(crate) fn staged(plugins: &Plugins, text: &str, observer: &dyn Observer) -> Result<Staged, PluginError> {
    let mut stage = Stage::new(plugins, observer)?;
    for (path, executable) in [("hooks/guard", true), ("skills/a/SKILL.md", false), ("recipes/b.md", false)] {
        stage.file(&EntryPath::new(path.as_bytes()).unwrap(), executable, None, text.as_bytes())?;
    }
    stage.finish()
}

pub(crate) fn locked(name: &str, staged: &Staged) -> Locked {
    Locked {
        name: name.parse().unwrap(),
        source: format!("https://example.org/{name}"),
        reference: None,
        commit: Some("a".repeat(40)),
        manifest: None,
        tree: staged.digest().clone(),
        key: None,
        installed: "2026-01-31T12:00:00Z".to_owned(),
        files: hookbox_plugins::InstalledFiles::default(),
        hooks: Vec::new(),
    }
}

/// Installs a plugin of some files that say this.
pub(crate) fn add(
    plugins: &Plugins,
    name: &str,
    text: &str,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<(), PluginError> {
    let staged = staged(plugins, text, observer)?;
    let locked = locked(name, &staged);
    install(&plugins.lock_exclusively()?, staged, locked, replace, observer).map(drop)
}

/// The change of the plugin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Install,
    Replace,
    Remove,
}

impl Change {
    pub(crate) const ALL: [Self; 3] = [Self::Install, Self::Replace, Self::Remove];

    pub(crate) fn make(self, plugins: &Plugins, observer: &dyn Observer) -> Result<(), PluginError> {
        let name: PluginName = NAME.parse().unwrap();
        match self {
            Self::Install => add(plugins, NAME, "new", Replace::No, observer),
            Self::Replace => add(plugins, NAME, "new", Replace::Yes, observer),
            Self::Remove => remove(&plugins.lock_exclusively()?, &name, observer).map(drop),
        }
    }

    /// Installs the plugins that are there before the change: another one, and this one unless it is to be new.
    pub(crate) fn prepare(self, base: &Path) -> Plugins {
        let plugins = open(base);
        add(&plugins, "a/other", "other", Replace::No, &Silent).unwrap();
        if !matches!(self, Self::Install) {
            add(&plugins, NAME, "old", Replace::No, &Silent).unwrap();
        }
        plugins
    }
}
