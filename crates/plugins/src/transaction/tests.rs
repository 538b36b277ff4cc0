mod cut_short;
mod install;
mod remove;

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::{EntryPath, Location, Silent, Stage, installed, needs_repair};

/// A repository with plugins, and everything in it by path.
pub(crate) struct TestRoot {
    dir: tempfile::TempDir,
}

impl TestRoot {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn open(&self) -> Plugins {
        open(self.dir.path())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Everything, but the file that is locked.
    pub(crate) fn all(&self) -> BTreeMap<PathBuf, String> {
        let mut all = tree(self.dir.path());
        all.remove(Path::new(".hookbox/plugins/.hookbox-lock"));
        all
    }

    /// The plugin of this name, as far as its directory is there.
    pub(crate) fn plugin(&self, dir: &str) -> Option<BTreeMap<PathBuf, String>> {
        let path = self.path(".hookbox/plugins").join(dir);
        path.is_dir().then(|| tree(&path))
    }

    /// Hookbox's own files in the plugins directory.
    pub(crate) fn own(&self) -> Vec<String> {
        let names = fs::read_dir(self.path(".hookbox/plugins")).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".hookbox-") && name != ".hookbox-lock").collect()
    }
}

fn tree(top: &Path) -> BTreeMap<PathBuf, String> {
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
                kind if kind.is_file() => {
                    format!("{:o} {}", about.permissions().mode(), fs::read_to_string(&path).unwrap())
                }
                _ => "special".to_owned(),
            };
            all.insert(path.strip_prefix(top).unwrap().to_owned(), what);
        }
    }
    all
}

fn open(base: &Path) -> Plugins {
    Plugins::open(Location::Local, base, ".hookbox").unwrap()
}

/// A plugin with some files that say this, staged.
pub(crate) fn staged(plugins: &Plugins, text: &str) -> Staged {
    let mut stage = Stage::new(plugins, &Silent).unwrap();
    for (path, executable) in [("hooks/guard", true), ("skills/a/SKILL.md", false), ("recipes/b.md", false)] {
        let path = EntryPath::new(path.as_bytes()).unwrap();
        stage.file(&path, executable, None, text.as_bytes()).unwrap();
    }
    stage.symlink(&EntryPath::new(b"hooks/link").unwrap(), Path::new("guard")).unwrap();
    stage.finish().unwrap()
}

pub(crate) fn locked(name: &str, staged: &Staged) -> Locked {
    Locked {
        files: crate::InstalledFiles::default(),
        name: name.parse().unwrap(),
        source: format!("https://example.org/{name}"),
        reference: None,
        commit: Some("a".repeat(40)),
        manifest: None,
        tree: staged.digest().clone(),
        key: None,
        installed: "2026-01-31T12:00:00Z".to_owned(),
        hooks: Vec::new(),
    }
}

pub(crate) fn add(
    plugins: &Plugins,
    name: &str,
    text: &str,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<KnownPlugin, PluginError> {
    let staged = staged(plugins, text);
    let locked = locked(name, &staged);
    install(&plugins.lock_exclusively()?, staged, locked, replace, observer)
}

fn take(plugins: &Plugins, name: &str) -> Result<(), PluginError> {
    remove(&plugins.lock_exclusively().unwrap(), &name.parse().unwrap(), &Silent)
}

/// Remembers the names of the steps, and does something at one of them.
struct At<F: Fn() + Send + Sync>(&'static str, F, Mutex<Vec<String>>);

impl<F: Fn() + Send + Sync> At<F> {
    fn new(step: &'static str, act: F) -> Self {
        Self(step, act, Mutex::default())
    }
}

impl<F: Fn() + Send + Sync> Observer for At<F> {
    fn step(&self, step: &Step<'_>) {
        let name = format!("{step:?}").split(['(', ' ']).next().unwrap().to_owned();
        if name == self.0 {
            self.1();
        }
        self.2.lock().unwrap().push(name);
    }
}
