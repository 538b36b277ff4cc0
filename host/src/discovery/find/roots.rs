//! The repositories of a directory, the roots and hooks directories in them and in the home directory, and the plugins
//! that hookbox installed there.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::declared::{Servers, Source};
use super::settings::{self, Tables, Top};
use crate::discovery::Problem;
use crate::hook::{Origin, Tier};
use crate::lockfile::{self, InstalledFiles, Lock};
use hookbox_system::files::{self, FileAccess};
use hookbox_system::text;

/// A root, with its settings.
pub(crate) struct RootDir {
    pub(crate) access: FileAccess,
    pub(crate) origin: Origin,
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
    /// Its settings for all hooks together.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
    /// The MCP servers of its mcp.json.
    pub(crate) servers: Servers,
}

impl RootDir {
    /// Returns the file that declares its servers.
    pub(crate) fn mcp_file(&self) -> PathBuf {
        self.path.join(Source::McpJson.file())
    }

    /// Returns the settings file.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.path.join(settings::FILE)
    }
}

/// A plugin's manifest for Claude Code.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The list of plugins of a marketplace for Claude Code.
pub const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// A hooks directory.
pub(crate) struct HooksDir {
    pub(crate) access: FileAccess,
    pub(crate) tier: Tier,
    /// The index of its root; the embedder's own directories are counted after the roots.
    pub(crate) root: usize,
    /// The plugin's directory name; empty outside of plugins.
    pub(crate) plugin_dir: String,
    /// The plugin, as `org/repo`.
    pub(crate) plugin: Option<String>,
    pub(crate) path: PathBuf,
    /// True if its hooks run only with the digest that the user trusted: those of a repository, and those of
    /// a plugin that hookbox installed.
    pub(crate) needs_trust: bool,
    /// The directory in which declared hooks run: the parent of the root, or the plugin's.
    pub(crate) base: PathBuf,
    /// The files that hookbox installed there, of a plugin.
    pub(crate) installed: Arc<InstalledFiles>,
}

impl HooksDir {
    /// Makes a hooks directory outside of plugins.
    pub(crate) fn new(access: &FileAccess, tier: Tier, root: usize, path: PathBuf, base: &Path) -> Self {
        Self {
            access: access.clone(),
            tier,
            root,
            plugin_dir: String::new(),
            plugin: None,
            path,
            needs_trust: tier.origin() == Origin::Repo,
            base: base.to_owned(),
            installed: Arc::default(),
        }
    }

    /// Makes the hooks directory of a root.
    pub(crate) fn of_root(root: &RootDir) -> Self {
        let tier = root.origin.tiers().0;
        let base = root.path.parent().unwrap_or(&root.path);
        Self::new(&root.access, tier, root.root, root.path.join("hooks"), base)
    }

    /// Makes the hooks directory of the plugin in `base`, which needs trust.
    pub(crate) fn of_plugin(
        access: &FileAccess,
        tier: Tier,
        root: usize,
        plugin_dir: String,
        base: &Path,
    ) -> Self {
        let plugin = Some(plugin_dir.replacen('@', "/", 1));
        let dir = Self::new(access, tier, root, base.join("hooks"), base);
        Self { plugin_dir, plugin, needs_trust: true, ..dir }
    }

    /// Returns the file that declares the hooks of this origin: in the root, or in a plugin.
    pub(crate) fn declaring(&self, source: Source) -> PathBuf {
        match &self.plugin {
            Some(_) if source == Source::Manifest => self.base.join(MANIFEST),
            Some(_) => self.path.join(source.file()),
            None => self.path.with_file_name(source.file()),
        }
    }

    /// Returns the full name of a hook in this directory.
    pub(crate) fn full_name(&self, file: &str) -> String {
        match &self.plugin {
            Some(plugin) => format!("{plugin}/{file}"),
            None => file.to_owned(),
        }
    }
}

/// Returns the roots that are directory names, each once. Any other text (`..`, `a/b`, `/etc`) would lead out of the
/// repository or the home directory.
pub(crate) fn valid(roots: &[String], cwd: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut valid: Vec<String> = Vec::new();
    for root in roots {
        let is_name = Path::new(root).file_name() == Some(OsStr::new(root)) && !root.contains('\0');
        if !is_name {
            let root = text::escape(root, 200);
            let message = format!("the root {root:?} is left out: expected the name of a directory");
            problems.push(Problem::new(cwd, message));
        } else if !valid.contains(root) {
            valid.push(root.clone());
        }
    }
    valid
}

/// The plugins that hookbox installed in a root.
#[derive(Default)]
pub(super) struct Installed {
    lock: Lock,
    /// True if hookbox may have installed any other plugin of the home directory: the lock file cannot be read, or a
    /// command is changing the plugins.
    perhaps_all: bool,
}

impl Installed {
    /// Reads the lock file beside a `plugins` directory of the user's. Whoever may change a repository writes its lock file,
    /// so that nothing depends on that one.
    pub(super) fn read(access: &FileAccess, tier: Tier, plugins: &Path, problems: &mut Vec<Problem>) -> Self {
        if tier != Tier::GlobalPlugin {
            return Self::default();
        }
        let unknown = Self { perhaps_all: true, ..Self::default() };
        let pending = plugins.with_file_name(lockfile::PENDING);
        if access.entry_kind(&pending).is_ok() || access.is_symlink(&pending) {
            return unknown;
        }
        let file = plugins.with_file_name(lockfile::FILE);
        let why = match access.read_if_exists(&file, lockfile::MAX_FILE) {
            None => return Self::default(),
            Some(Err(error)) => files::explain(&error),
            Some(Ok(bytes)) => match Lock::from_bytes(&bytes) {
                Ok(lock) => return Self { lock, perhaps_all: false },
                Err(error) => error.to_string(),
            },
        };
        let message = format!("{why}: the plugins beside it run only as far as you trust their hooks");
        problems.push(Problem::new(&file, message).hint(lockfile::hint(&file)));
        unknown
    }

    /// Returns true if hookbox may have installed the plugin in this directory.
    pub(super) fn contains(&self, directory: &str) -> bool {
        self.perhaps_all || self.lock.of_directory(directory).is_some()
    }

    /// Returns the files that it installed in this directory, if they are known.
    pub(super) fn files(&self, directory: &str) -> InstalledFiles {
        self.lock.of_directory(directory).map(|it| it.files.clone()).unwrap_or_default()
    }
}

/// The number of nested repositories that count: more is a mistake, or an attack.
const MAX_REPOSITORIES: usize = 8;

/// The repositories that a directory lies in. The hooks of each one count: an inner repository hides no
/// hooks of an outer one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repositories {
    /// The repository: the nearest one.
    pub(crate) nearest: Option<PathBuf>,
    /// The repositories around it, the outermost first.
    pub(crate) outer: Vec<PathBuf>,
    /// The number of repositories between these that were left out.
    pub(crate) left_out: usize,
}

impl Repositories {
    /// Returns a problem if repositories were left out: hooks that the user trusts may be among theirs.
    pub(crate) fn problem(&self, cwd: &Path) -> Option<Problem> {
        let left_out = self.left_out;
        let message = format!(
            "lies in more than {MAX_REPOSITORIES} repositories, one in another: {left_out} between the outermost and the nearest \
             were not examined"
        );
        let problem = Problem::new(cwd, message)
            .hint("take .git, .hookbox and .kodelet out of directories that are none");
        (left_out > 0).then_some(Problem { hides: true, ..problem })
    }
}

/// Finds the ancestors of `cwd` that contain `.git` or a root; without any, `cwd` itself. A path that is not
/// absolute has no repository.
///
/// Below the home directory every ancestor counts. Outside it only directories count that the user owns and
/// that are not shared, so that no other user plants hooks in `/tmp` or `/srv`. The home directory is never a
/// repository: its contents are the user's own. A directory above the home directory, and `/`, counts only if
/// the user owns it and it contains `.git` or a root.
pub(crate) fn repositories(cwd: &Path, home: Option<&Path>, roots: &[String]) -> Repositories {
    let mut found = Repositories::default();
    if !cwd.is_absolute() {
        return found;
    }
    // Directories are compared by identity: `$HOME` may contain a symlink where `cwd` does not.
    let mut parents_of_home = home.into_iter().flat_map(Path::ancestors).skip(1);
    let home = home.and_then(identity);
    let user = rustix::process::geteuid().as_raw();
    let ancestors: Vec<_> = cwd.ancestors().map(|dir| (dir, fs::metadata(dir).ok())).collect();
    let here = ancestors.first().and_then(|(_, here)| here.as_ref());
    let at_home = |it: &Metadata| home == Some(id(it));
    let below_home = ancestors.iter().skip(1).any(|(_, it)| it.as_ref().is_some_and(at_home));
    // Everybody may write to a shared directory such as `/tmp`, and each user owns the directories that he
    // makes there.
    let is_shared = |it: &Metadata| it.mode() & 0o1002 == 0o1002;
    let counts = |it: &Metadata| below_home || it.uid() == user && !is_shared(it);
    let to_home = ancestors.iter().take_while(|(_, it)| !it.as_ref().is_some_and(at_home));
    let marked = to_home.filter(|(dir, it)| it.as_ref().is_some_and(counts) && is_marked(dir, roots));
    let mut marked = marked.map(|(dir, _)| (*dir).to_owned());
    found.nearest = marked.next();
    found.outer = marked.collect();
    found.outer.reverse();
    // The inner ones are left out: an attacker can add them, but not an outer one.
    found.left_out = found.outer.len().saturating_sub(MAX_REPOSITORIES - 1);
    found.outer.truncate(MAX_REPOSITORIES - 1);
    if found.nearest.is_none() {
        let mut is_above_home = || {
            parents_of_home.any(|dir| dir == cwd || here.is_some_and(|here| identity(dir) == Some(id(here))))
        };
        // A directory that was removed does not count, nor one of another user such as `/tmp`.
        let is_own = here.is_some_and(|it| it.is_dir() && counts(it) && !at_home(it));
        let is_nearest = is_own && cwd.parent().is_some() && !is_above_home();
        found.nearest = is_nearest.then(|| cwd.to_owned());
    }
    found
}

/// Returns device and inode.
fn identity(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir).ok().as_ref().map(id)
}

fn id(it: &Metadata) -> (u64, u64) {
    (it.dev(), it.ino())
}

/// Returns true if a directory contains `.git` or a root.
fn is_marked(dir: &Path, roots: &[String]) -> bool {
    let there = |name: &str| fs::symlink_metadata(dir.join(name)).ok();
    there(".git").is_some()
        || roots.iter().any(|root| there(root).is_some_and(|it| it.is_dir() || it.is_symlink()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(dirs: &[&str]) -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for dir in dirs {
            fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        temp
    }

    fn nearest(cwd: &Path, home: Option<&Path>, roots: &[String]) -> Option<PathBuf> {
        repositories(cwd, home, roots).nearest
    }

    #[test]
    fn every_marked_ancestor_below_the_home_directory_counts() {
        let temp = tree(&[
            "home/.hookbox",
            "home/w/.hookbox",
            "home/w/plain/p/.git",
            "home/w/plain/p/sub/.kodelet",
            "out/.git",
            "out/sub/.hookbox/x",
        ]);
        let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
        let at = |path: &str| temp.path().join(path);
        for (cwd, nearest, outer) in [
            ("home/w/plain/p/sub", Some("home/w/plain/p/sub"), &["home/w", "home/w/plain/p"][..]),
            ("home/w/plain/p", Some("home/w/plain/p"), &["home/w"]),
            ("home/w/plain", Some("home/w"), &[]),
            ("home", None, &[]),
            ("out/sub", Some("out/sub"), &["out"]),
            ("out/sub/.hookbox/x", Some("out/sub"), &["out"]),
        ] {
            let found = repositories(&at(cwd), Some(&at("home")), &roots);
            let want = Repositories {
                nearest: nearest.map(at),
                outer: outer.iter().map(|it| at(it)).collect(),
                left_out: 0,
            };
            assert_eq!(found, want, "{cwd}");
        }
    }

    #[test]
    fn of_too_many_repositories_the_outermost_and_the_nearest_count() {
        let temp = tree(&[]);
        let mut dirs = vec![temp.path().join("home/p")];
        for _ in 0..MAX_REPOSITORIES + 2 {
            dirs.push(dirs.last().unwrap().join("x"));
        }
        dirs.iter().for_each(|dir| fs::create_dir_all(dir.join(".git")).unwrap());
        let found = repositories(dirs.last().unwrap(), Some(&temp.path().join("home")), &[]);
        assert_eq!(found.nearest.as_ref(), dirs.last());
        assert_eq!((&found.outer[..], found.left_out), (&dirs[..MAX_REPOSITORIES - 1], 3));
    }

    #[test]
    fn a_directory_that_everybody_shares_is_no_repository() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tree(&["home", "shared/.git", "shared/p/.git"]);
        let at = |path: &str| temp.path().join(path);
        fs::set_permissions(at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        let found = repositories(&at("shared/p"), Some(&at("home")), &[]);
        assert_eq!((found.nearest, found.outer), (Some(at("shared/p")), vec![]));
        assert_eq!(nearest(&at("shared"), Some(&at("home")), &[]), None);
    }

    #[test]
    fn the_repository_is_the_nearest_marked_ancestor() {
        let temp = tree(&[
            "home/p/.git",
            "home/p/sub/deep",
            "home/q/.hookbox",
            "home/q/r/.kodelet",
            "home/q/r/s",
            "home/.hookbox",
            "home/plain/x",
            "out/.git",
            "out/sub",
        ]);
        let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
        for (cwd, want) in [
            ("home/p/sub/deep", Some("home/p")),
            ("home/p", Some("home/p")),
            ("home/q/r/s", Some("home/q/r")),
            ("home/q", Some("home/q")),
            // The home directory holds a root and is still not a repository.
            ("home/plain/x", Some("home/plain/x")),
            ("home", None),
            ("out/sub", Some("out")),
        ] {
            let found = nearest(&temp.path().join(cwd), Some(&temp.path().join("home")), &roots);
            assert_eq!(found, want.map(|dir| temp.path().join(dir)), "{cwd}");
        }
    }

    #[test]
    fn a_directory_above_the_home_directory_must_say_that_it_is_a_repository() {
        let temp = tree(&["a/home", "b/.git", "b/home"]);
        let roots = [".hookbox".to_owned()];
        let at = |path: &str| temp.path().join(path);
        assert_eq!(nearest(&at("a"), Some(&at("a/home")), &roots), None);
        assert_eq!(nearest(&at("b"), Some(&at("b/home")), &roots), Some(at("b")));
        assert_eq!(nearest(Path::new("/"), Some(&at("a/home")), &roots), None);
    }

    #[test]
    fn a_path_that_is_no_directory_of_its_own_is_no_repository() {
        let temp = tree(&["home", "p/.git", "p/sub"]);
        let home = temp.path().join("home");
        let at = |path: &str| temp.path().join(path);
        for (cwd, want) in [
            (PathBuf::new(), None),
            (".".into(), None),
            ("sub".into(), None),
            ("/".into(), None),
            (at("gone"), None),
            (at("p/gone/deep"), Some(at("p"))),
        ] {
            assert_eq!(nearest(&cwd, Some(&home), &[]), want, "{}", cwd.display());
            assert_eq!(nearest(&cwd, None, &[]), want, "{}", cwd.display());
        }
    }

    #[test]
    fn a_home_directory_behind_a_symlink_is_still_no_repository() {
        let temp = tree(&["real/.hookbox", "real/p"]);
        std::os::unix::fs::symlink("real", temp.path().join("home")).unwrap();
        let roots = [".hookbox".to_owned()];
        let home = temp.path().join("home");
        assert_eq!(nearest(&temp.path().join("real"), Some(&home), &roots), None);
        assert_eq!(
            nearest(&temp.path().join("real/p"), Some(&home), &roots),
            Some(temp.path().join("real/p"))
        );
    }

    #[test]
    fn outside_of_the_home_directory_only_what_the_user_owns_is_a_repository() {
        let temp = tree(&["theirs/.git", "theirs/sub", "home"]);
        let theirs = temp.path().join("theirs");
        if std::os::unix::fs::chown(&theirs, Some(12_345), None).is_err() {
            return; // Only root can give a directory away.
        }
        let found = |home: &str| nearest(&theirs.join("sub"), Some(&temp.path().join(home)), &[]);
        assert_eq!(found("home"), Some(theirs.join("sub")));
        // Without `.git` and roots, the directory itself has to be the user's, too.
        let open = temp.path().join("open");
        fs::create_dir(&open).unwrap();
        std::os::unix::fs::chown(&open, Some(12_345), None).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
        assert_eq!(nearest(&open, Some(&temp.path().join("home")), &[]), None);
        assert_eq!(nearest(&open, None, &[]), None);
        assert_eq!(nearest(&open, Some(temp.path()), &[]), Some(open));
        // Below it ownership does not matter.
        assert_eq!(found("."), Some(theirs.clone()));
    }
}
