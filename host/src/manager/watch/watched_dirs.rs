//! Which directories to watch, and which names in them matter.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::discovery::{Entry, Options};
use crate::hook::Origin;
use crate::lockfile::{self, OWN};
use crate::trust::TrustFile;

/// How many directories are watched at most: the system's own limits are some thousands for all programs of a user.
const MAX_DIRECTORIES: usize = 1024;

/// How many plugins of one root are watched: as many as are used.
const MAX_PLUGINS: usize = 256;

/// What of a root matters. Beside it an agent may keep its conversations there.
const OF_A_ROOT: [&str; 6] = ["hooks", "plugins", lockfile::FILE, "hookbox.toml", "hooks.json", "mcp.json"];

/// Directories by their real paths, each with what matters in it. None is watched recursively.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interests {
    directories: BTreeMap<PathBuf, Names>,
    left_out: Option<PathBuf>,
}

/// What matters in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    All,
    These(BTreeSet<OsString>),
}

impl Interests {
    /// What a look with these options reads, and what the symlinks among the user's own hooks lead to.
    pub(super) fn of<'r>(
        options: &Options,
        repositories: impl IntoIterator<Item = &'r PathBuf>,
        entries: &[Entry],
    ) -> Self {
        let mut interests = Self::default();
        // What the user said of trust comes first, for nothing may crowd it out; then what is the user's own.
        if let Some(data) = &options.data {
            interests.file(&TrustFile::new(data).path());
        }
        if let Some(home) = &options.home {
            interests.place(home, &options.roots, None);
            for root in &options.roots {
                for file in OF_A_ROOT {
                    interests.target(&home.join(root).join(file));
                }
            }
        }
        if let Some(home) = &options.home {
            interests.sources(options, home, true, None);
        }
        for directory in &options.directories {
            interests.add(&options.cwd.join(directory), Names::All, None);
        }
        for entry in entries.iter().filter(|entry| entry.tier.origin() == Origin::User) {
            if let Some(path) = &entry.path {
                interests.target(path);
            }
        }
        for repo in repositories {
            let Ok(real) = repo.canonicalize() else { continue };
            interests.place(repo, &options.roots, Some(&real));
            interests.sources(options, repo, false, Some(&real));
        }
        interests
    }

    /// The directories to watch.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.keys().map(PathBuf::as_path)
    }

    /// The first directory beyond the limit.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &Path> {
        self.left_out.as_deref().into_iter()
    }

    /// Whether a change of this path matters.
    pub(super) fn concern(&self, path: &Path) -> bool {
        // A plugin that is being installed matters once it stands under its name.
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(OWN.as_bytes())) {
            return false;
        }
        let inside = || {
            let names = self.directories.get(path.parent()?)?;
            Some(match names {
                Names::All => true,
                Names::These(names) => names.contains(path.file_name()?),
            })
        };
        self.directories.contains_key(path) || inside() == Some(true)
    }

    /// The roots of a repository or of the home directory.
    fn place(&mut self, base: &Path, roots: &[String], within: Option<&Path>) {
        self.add(base, Names::These(roots.iter().map(OsString::from).collect()), within);
        for root in roots.iter().map(|root| base.join(root)) {
            self.add(&root, Names::These(OF_A_ROOT.map(OsString::from).into()), within);
            self.add(&root.join("hooks"), Names::All, within);
            let plugins = root.join("plugins");
            self.add(&plugins, Names::All, within);
            let is_own = |name: &OsString| name.as_encoded_bytes().starts_with(OWN.as_bytes());
            let entries = plugins.read_dir().into_iter().flatten().flatten();
            let names = entries.filter(|entry| !is_own(&entry.file_name())).take(MAX_PLUGINS);
            for plugin in names.map(|entry| entry.path()).filter(|path| path.is_dir()) {
                self.add(&plugin, Names::These([OsString::from("hooks")].into()), within);
                self.add(&plugin.join("hooks"), Names::All, within);
            }
        }
    }

    /// The files of the sources.
    fn sources(&mut self, options: &Options, base: &Path, is_home: bool, within: Option<&Path>) {
        for (directory, name) in options.sources.iter().flat_map(|source| source.watched(base, is_home)) {
            let names = name.map_or(Names::All, |name| Names::These([OsString::from(name)].into()));
            self.add(&directory, names, within);
        }
    }

    /// A file, also one that is not there yet.
    fn file(&mut self, path: &Path) {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.add(parent, Names::These([name.to_owned()].into()), None);
        }
    }

    /// What a symlink leads to, if there is one.
    fn target(&mut self, path: &Path) {
        if path.is_symlink()
            && let Ok(target) = path.canonicalize()
        {
            self.file(&target);
        }
    }

    /// A directory; where it is not there, the nearest one above it, for the name that leads to it.
    fn add(&mut self, directory: &Path, names: Names, within: Option<&Path>) {
        let mut wanted = (directory, names);
        let real = loop {
            let (path, _) = &wanted;
            match path.canonicalize() {
                Ok(real) if real.is_dir() => break real,
                _ => {}
            }
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
            wanted = (parent, Names::These([name.to_owned()].into()));
        };
        // A symlink of a repository leads nowhere else.
        if within.is_some_and(|within| !real.starts_with(within)) {
            return;
        }
        if !self.directories.contains_key(&real) && self.directories.len() >= MAX_DIRECTORIES {
            self.left_out.get_or_insert(real);
            return;
        }
        let (_, names) = wanted;
        let kept = self.directories.entry(real).or_insert_with(|| Names::These(BTreeSet::new()));
        match (kept, names) {
            (Names::These(kept), Names::These(more)) => kept.extend(more),
            (kept, Names::All) => *kept = Names::All,
            (Names::All, Names::These(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::source::{Finder, HookSource};
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
        let interests = Interests::of(&options(&base), Some(&base.join("repo")), &[]);
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
            assert_eq!(interests.concern(&base.join(path)), want, "{path}");
        }
    }

    #[derive(Debug)]
    struct Source;

    impl HookSource for Source {
        fn find(&self, _: &mut Finder<'_>) {}

        fn looks_for(&self, _: &str) -> bool {
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
        let concern = |options: &Options, path: &str| {
            Interests::of(options, Some(&base.join("repo")), &[]).concern(&base.join(path))
        };
        assert!(!concern(&options, "repo/.agent/settings.json"));
        options.sources = vec![std::sync::Arc::new(Source)];
        for (path, want) in [
            ("repo/.agent/settings.json", true),
            ("repo/.agent/history", false),
            ("repo/.github/hooks/a.json", true),
            ("home/.agent/settings.json", true),
            ("home/.github/hooks/a.json", false),
        ] {
            assert_eq!(concern(&options, path), want, "{path}");
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
        let interests = Interests::of(&options, Some(&base.join("repo")), &[]);
        assert_eq!(interests.directories().count(), MAX_DIRECTORIES);
        assert!(interests.left_out().next().is_some());
        assert!(interests.concern(&base.join("home/.hookbox/hooks/guard")));
    }
}
