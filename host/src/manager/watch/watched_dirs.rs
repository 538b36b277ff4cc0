//! The directories to watch, and the names in them that matter.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::discovery::{Entry, Options};
use crate::hook::Origin;
use crate::lockfile::{self, OWN};
use crate::trust::TrustFile;

/// The number of directories that are watched. The system's own limits are some thousands for all programs of a user.
const MAX_DIRECTORIES: usize = 1024;

/// The names in a root that matter. An agent may keep its conversations beside them.
const OF_A_ROOT: [&str; 6] = ["hooks", "plugins", lockfile::FILE, "hookbox.toml", "hooks.json", "mcp.json"];

/// Directories by their real paths, each with the names that matter in it; `None` means all names. None is watched
/// recursively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedDirs {
    directories: BTreeMap<PathBuf, Option<BTreeSet<OsString>>>,
    /// The first directory beyond the limit.
    left_out: Option<PathBuf>,
}

impl WatchedDirs {
    /// Returns the directories that a search with these options reads, and the targets of symlinks among the user's own
    /// hooks.
    pub(super) fn of<'r>(
        options: &Options,
        repositories: impl IntoIterator<Item = &'r PathBuf>,
        entries: &[Entry],
    ) -> Self {
        let mut watched = Self::default();
        // The trust file first, then the user's own files: a repository cannot crowd them out.
        if let Some(data) = &options.data {
            watched.add_file(&TrustFile::new(data).path());
        }
        if let Some((above, name)) =
            options.managed.iter().find_map(|it| it.path.parent().zip(it.path.file_name()))
        {
            watched.add_roots(above, &[name.to_string_lossy().into_owned()], None);
        }
        if let Some(home) = &options.home {
            watched.add_roots(home, &options.roots, None);
            for root in &options.roots {
                for file in OF_A_ROOT {
                    watched.add_target(&home.join(root).join(file));
                }
            }
            watched.add_sources(options, home, true, None);
        }
        for directory in &options.directories {
            watched.add(&options.cwd.join(directory), None, None);
        }
        for entry in entries.iter().filter(|entry| entry.tier.origin() == Origin::User) {
            if let Some(path) = &entry.path {
                watched.add_target(path);
            }
        }
        for repo in repositories {
            let Ok(real) = repo.canonicalize() else { continue };
            watched.add_roots(repo, &options.roots, Some(&real));
            watched.add_sources(options, repo, false, Some(&real));
        }
        watched
    }

    /// Returns the directories.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.directories.keys().map(PathBuf::as_path)
    }

    /// Returns the first directory beyond the limit.
    pub(super) fn left_out(&self) -> Option<&Path> {
        self.left_out.as_deref()
    }

    /// Returns true if a change of this path matters.
    pub(super) fn contains(&self, path: &Path) -> bool {
        // A plugin that is being installed matters when it gets its name.
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(OWN.as_bytes())) {
            return false;
        }
        let names = path.parent().and_then(|parent| self.directories.get(parent));
        let is_inside = names
            .zip(path.file_name())
            .is_some_and(|(names, name)| names.as_ref().is_none_or(|names| names.contains(name)));
        is_inside || self.directories.contains_key(path)
    }

    /// Adds the roots of a repository or of the home directory.
    fn add_roots(&mut self, base: &Path, roots: &[String], within: Option<&Path>) {
        self.add(base, Some(roots.iter().map(OsString::from).collect()), within);
        for root in roots.iter().map(|root| base.join(root)) {
            self.add(&root, Some(OF_A_ROOT.map(OsString::from).into()), within);
            self.add(&root.join("hooks"), None, within);
            let plugins = root.join("plugins");
            self.add(&plugins, None, within);
            let is_own = |name: &OsString| name.as_encoded_bytes().starts_with(OWN.as_bytes());
            let entries = plugins.read_dir().into_iter().flatten().flatten();
            let names = entries.filter(|entry| !is_own(&entry.file_name())).take(lockfile::MAX_PLUGINS);
            for plugin in names.map(|entry| entry.path()).filter(|path| path.is_dir()) {
                self.add(&plugin, Some([OsString::from("hooks")].into()), within);
                self.add(&plugin.join("hooks"), None, within);
            }
        }
    }

    /// Adds the files of the sources.
    fn add_sources(&mut self, options: &Options, base: &Path, is_home: bool, within: Option<&Path>) {
        for (directory, name) in options.sources.iter().flat_map(|source| source.watched(base, is_home)) {
            self.add(&directory, name.map(|name| [OsString::from(name)].into()), within);
        }
    }

    /// Adds a file that may not exist yet.
    fn add_file(&mut self, path: &Path) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.add(parent, Some([name.to_owned()].into()), None);
        }
    }

    /// Adds the target of a symlink.
    fn add_target(&mut self, path: &Path) {
        if path.is_symlink()
            && let Ok(target) = path.canonicalize()
        {
            self.add_file(&target);
        }
    }

    /// Adds a directory. If it does not exist, adds the nearest directory above it, with the name that leads to it.
    fn add(&mut self, directory: &Path, mut names: Option<BTreeSet<OsString>>, within: Option<&Path>) {
        let mut path = directory;
        let real = loop {
            match path.canonicalize() {
                Ok(real) if real.is_dir() => break real,
                _ => {}
            }
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
            (path, names) = (parent, Some([name.to_owned()].into()));
        };
        // A symlink of a repository does not lead out of it.
        if within.is_some_and(|within| !real.starts_with(within)) {
            return;
        }
        if !self.directories.contains_key(&real) && self.directories.len() >= MAX_DIRECTORIES {
            self.left_out.get_or_insert(real);
            return;
        }
        let all = self.directories.entry(real).or_insert_with(|| Some(BTreeSet::new()));
        *all = all.take().zip(names).map(|(mut all, more)| {
            all.extend(more);
            all
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::{Finder, HookSource};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn options(base: &Path) -> Options {
        let mut options = Options::new(base.join("repo"), Some(base.join("home")));
        options.data = Some(base.join("data"));
        options.directories = vec![base.join("own/hooks")];
        options
    }

    #[test]
    fn what_may_change_the_hooks_matters_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in [
            "repo/.hookbox/hooks",
            "repo/.hookbox/conversations",
            "home/.kodelet/plugins/a@b/hooks",
            "home/.kodelet/plugins/c@d",
            "home/documents",
            "data",
            "dotfiles",
            "elsewhere/hooks",
        ] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        fs::write(base.join("dotfiles/hookbox.toml"), "").unwrap();
        symlink(base.join("dotfiles/hookbox.toml"), base.join("home/.kodelet/hookbox.toml")).unwrap();
        symlink(base.join("elsewhere"), base.join("repo/.kodelet")).unwrap();
        let watched = WatchedDirs::of(&options(&base), Some(&base.join("repo")), &[]);
        for (path, want) in [
            ("repo/.hookbox", true),
            ("repo/.hookbox/hooks/x", true),
            ("repo/.hookbox/hookbox.toml", true),
            ("repo/.hookbox/plugins", true),
            ("repo/.hookbox/conversations", false),
            ("repo/.hookbox/conversations/1.json", false),
            ("repo/src", false),
            ("repo/.kodelet", true),
            ("elsewhere/hooks/x", false),
            ("home/.hookbox", true),
            ("home/documents", false),
            ("home/.kodelet/plugins/new@one", true),
            ("home/.kodelet/plugins/a@b/hooks/x", true),
            ("home/.kodelet/plugins/c@d/hooks", true),
            ("home/.kodelet/plugins/c@d/README.md", false),
            ("dotfiles/hookbox.toml", true),
            ("dotfiles/vimrc", false),
            ("data/trust.json", true),
            ("data/state.db", false),
            ("own", true),
            ("other", false),
        ] {
            assert_eq!(watched.contains(&base.join(path)), want, "{path}");
        }
    }

    #[derive(Debug)]
    struct Source;

    impl HookSource for Source {
        fn find(&self, _: &mut Finder<'_>) {}

        fn covers(&self, _: &str) -> bool {
            false
        }

        fn watched(&self, base: &Path, is_home: bool) -> Vec<(PathBuf, Option<String>)> {
            let settings = (base.join(".agent"), Some("settings.json".to_owned()));
            let hooks = (base.join(".github/hooks"), None);
            if is_home { vec![settings] } else { vec![settings, hooks] }
        }
    }

    #[test]
    fn files_of_a_source_matter() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for dir in ["repo/.agent", "repo/.github/hooks", "home/.agent", "home/.github/hooks", "data"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        let mut options = options(&base);
        let contains = |options: &Options, path: &str| {
            WatchedDirs::of(options, Some(&base.join("repo")), &[]).contains(&base.join(path))
        };
        assert!(!contains(&options, "repo/.agent/settings.json"));
        options.sources = vec![std::sync::Arc::new(Source)];
        for (path, want) in [
            ("repo/.agent/settings.json", true),
            ("repo/.agent/history", false),
            ("repo/.github/hooks/a.json", true),
            ("home/.agent/settings.json", true),
            ("home/.github/hooks/a.json", false),
        ] {
            assert_eq!(contains(&options, path), want, "{path}");
        }
    }

    #[test]
    fn no_repository_makes_more_watches_than_there_may_be_and_the_users_own_come_first() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for root in [".hookbox", ".kodelet", ".more"] {
            for plugin in 0..260 {
                fs::create_dir_all(base.join(format!("repo/{root}/plugins/o@{plugin}/hooks"))).unwrap();
            }
        }
        fs::create_dir_all(base.join("home/.hookbox/hooks")).unwrap();
        let mut options = options(&base);
        options.roots.push(".more".to_owned());
        let watched = WatchedDirs::of(&options, Some(&base.join("repo")), &[]);
        assert_eq!(watched.iter().count(), MAX_DIRECTORIES);
        assert!(watched.left_out().is_some());
        assert!(watched.contains(&base.join("home/.hookbox/hooks/guard")));
    }
}
