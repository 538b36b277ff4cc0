use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::plugin::{EntryPath, Location, Silent, Stage, installed, needs_repair};

/// A repository with plugins, and everything in it by path.
pub(in crate::plugin) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(in crate::plugin) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(in crate::plugin) fn open(&self) -> Plugins {
        open(self.dir.path())
    }

    pub(in crate::plugin) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(in crate::plugin) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Everything, but the file that is locked.
    pub(in crate::plugin) fn all(&self) -> BTreeMap<PathBuf, String> {
        let mut all = tree(self.dir.path());
        all.remove(Path::new(".hookbox/plugins/.hookbox-lock"));
        all
    }

    /// The plugin of this name, as far as its directory is there.
    pub(in crate::plugin) fn plugin(&self, dir: &str) -> Option<BTreeMap<PathBuf, String>> {
        let path = self.path(".hookbox/plugins").join(dir);
        path.is_dir().then(|| tree(&path))
    }

    /// Hookbox's own files in the plugins directory.
    pub(in crate::plugin) fn own(&self) -> Vec<String> {
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
pub(in crate::plugin) fn staged(plugins: &Plugins, text: &str) -> Staged {
    let mut stage = Stage::new(plugins, &Silent).unwrap();
    for (path, executable) in [("hooks/guard", true), ("skills/a/SKILL.md", false), ("recipes/b.md", false)] {
        let path = EntryPath::new(path.as_bytes()).unwrap();
        stage.file(&path, executable, None, text.as_bytes()).unwrap();
    }
    stage.symlink(&EntryPath::new(b"hooks/link").unwrap(), Path::new("guard")).unwrap();
    stage.finish().unwrap()
}

pub(in crate::plugin) fn locked(name: &str, staged: &Staged) -> Locked {
    Locked {
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

pub(in crate::plugin) fn add(
    plugins: &Plugins,
    name: &str,
    text: &str,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<Installed, PluginError> {
    let staged = staged(plugins, text);
    let locked = locked(name, &staged);
    install(&plugins.lock_exclusively()?, staged, locked, replace, observer)
}

fn take(plugins: &Plugins, name: &str) -> Result<Removed, PluginError> {
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

#[test]
fn a_plugin_comes_is_replaced_and_goes_and_the_lock_file_says_so() {
    let place = Place::new();
    let plugins = place.open();
    let steps = At::new("", || {});
    let first = add(&plugins, "org/repo", "one", Replace::No, &steps).unwrap();
    assert_eq!(*steps.2.lock().unwrap(), ["Journalled", "Exchanged", "Locked", "Settled", "Cleaned"]);
    add(&plugins, "a/other", "other", Replace::Yes, &Silent).unwrap();
    let other = place.plugin("a@other").unwrap();
    let one = place.plugin("org@repo").unwrap();
    assert_eq!(one[Path::new("hooks/guard")], "100755 one");
    assert_eq!(first.path, place.path(".hookbox/plugins/org@repo"));

    let second = add(&plugins, "org/repo", "two", Replace::Yes, &Silent).unwrap();
    assert_eq!(place.plugin("org@repo").unwrap()[Path::new("hooks/guard")], "100755 two");
    let lock = plugins.lock().unwrap();
    assert_eq!(lock.get(&second.name), second.locked.as_ref());
    assert_ne!(first.locked, second.locked);
    let names: Vec<String> = installed(&plugins).unwrap().iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["a/other", "org/repo"]);

    let gone = take(&plugins, "org/repo").unwrap();
    assert_eq!((gone.locked, gone.path), (second.locked, Some(second.path)));
    assert_eq!((place.plugin("org@repo"), place.plugin("a@other")), (None, Some(other)));
    let left: Vec<String> = plugins.lock().unwrap().iter().map(|it| it.name.to_string()).collect();
    assert_eq!(left, ["a/other"]);
    assert_eq!(place.own(), [""; 0]);
    assert!(!place.path(".hookbox/.plugins.lock.new").exists() && !needs_repair(&plugins).unwrap());
}

#[test]
fn what_cannot_be_installed_changes_nothing() {
    type Prepare = fn(&Place);
    let cases: [(&str, Prepare, Replace, &str, &str); 10] = [
        (
            "org/repo",
            |it| drop(add(&it.open(), "org/repo", "old", Replace::No, &Silent).unwrap()),
            Replace::No,
            "came from https://example.org/org/repo at 2026-01-31T12:00:00Z",
            "replace it with --force, or bring it up to date: hookbox plugin update org/repo",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins/org@repo/hooks/x", "mine"),
            Replace::No,
            "was put there by hand",
            "replace it with --force",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins/Org@repo/hooks/x", "mine"),
            Replace::Yes,
            "differs from Org/repo, which is there, by the case",
            "hookbox plugin remove Org/repo",
        ),
        (
            "org/repo",
            |it| {
                add(&it.open(), "org/REPO", "old", Replace::No, &Silent).unwrap();
                fs::remove_dir_all(it.path(".hookbox/plugins/org@REPO")).unwrap();
            },
            Replace::Yes,
            "differs from org/REPO",
            "write org/REPO",
        ),
        (
            "org/repo",
            |it| {
                it.file("elsewhere/hooks/x", "mine");
                symlink("../../elsewhere", it.path(".hookbox/plugins/org@repo")).unwrap();
            },
            Replace::Yes,
            "is a symlink",
            "remove it yourself",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins/org@repo", "file"),
            Replace::Yes,
            "is a file",
            "remove it yourself",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins.lock", "garbage"),
            Replace::Yes,
            "is no plugins.lock",
            "move it aside",
        ),
        (
            "org/repo",
            |it| {
                add(&it.open(), "a/b", "old", Replace::No, &Silent).unwrap();
                fs::rename(it.path(".hookbox/plugins.lock"), it.path(".hookbox/mine.lock")).unwrap();
                symlink("mine.lock", it.path(".hookbox/plugins.lock")).unwrap();
            },
            Replace::Yes,
            "is a symlink: expected a file",
            "put the file itself there",
        ),
        (
            "org/repo",
            |it| fs::create_dir(it.path(".hookbox/.plugins.lock.new")).unwrap(),
            Replace::Yes,
            ".plugins.lock.new: Is a directory",
            "",
        ),
        (
            "org/repo",
            |it| fs::create_dir(it.path(".hookbox/plugins/.hookbox-pending.new")).unwrap(),
            Replace::Yes,
            ".hookbox-pending.new: Is a directory",
            "",
        ),
    ];
    for (name, prepare, replace, what, hint) in cases {
        let place = Place::new();
        let plugins = place.open();
        prepare(&place);
        let before = place.all();
        let error = add(&plugins, name, "new", replace, &Silent).unwrap_err();
        assert!(error.to_string().contains(what), "{what}: {error}");
        assert!(error.hint.clone().unwrap_or_default().contains(hint), "{hint}: {error:?}");
        assert_eq!(place.all(), before, "{what}");
    }
}

#[test]
fn what_was_staged_is_what_the_lock_file_is_to_say() {
    let place = Place::new();
    let plugins = place.open();
    let (one, two) = (staged(&plugins, "one"), staged(&plugins, "two"));
    let wrong = locked("org/repo", &two);
    drop(two);
    let guard = plugins.lock_exclusively().unwrap();
    let error = install(&guard, one, wrong, Replace::No, &Silent).unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Mismatch(_)), "{error}");
    assert_eq!((place.plugin("org@repo"), place.own()), (None, vec![]));
}

#[test]
fn a_plugin_goes_whole_and_nothing_else_with_it() {
    let place = Place::new();
    let plugins = place.open();
    place.file("outside/file", "stays");
    // Put there by hand, with links that lead out.
    place.file(".hookbox/plugins/org@repo/hooks/x", "mine");
    symlink(place.path("outside"), place.path(".hookbox/plugins/org@repo/hooks/out")).unwrap();
    symlink("../../../../outside/file", place.path(".hookbox/plugins/org@repo/hooks/file")).unwrap();
    let pipe = place.path(".hookbox/plugins/org@repo/pipe");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let gone = take(&plugins, "org/repo").unwrap();
    assert_eq!((gone.locked, gone.path.is_some()), (None, true));
    let stays = [("outside", "directory"), ("outside/file", "100644 stays")];
    assert_eq!(place.plugin("org@repo"), None);
    for (path, what) in stays {
        assert_eq!(place.all()[Path::new(path)], what);
    }

    // A link in its place is not followed, and not removed.
    symlink("../../outside", place.path(".hookbox/plugins/org@repo")).unwrap();
    let before = place.all();
    let error = take(&plugins, "org/repo").unwrap_err();
    assert!(error.to_string().contains("is a symlink"), "{error}");
    assert_eq!(place.all(), before);
}

#[test]
fn what_only_the_lock_file_names_goes_from_it() {
    let place = Place::new();
    let plugins = place.open();
    for name in ["a/b", "c/d"] {
        add(&plugins, name, name, Replace::No, &Silent).unwrap();
    }
    fs::remove_dir_all(place.path(".hookbox/plugins/a@b")).unwrap();
    let gone = take(&plugins, "a/b").unwrap();
    assert!(gone.locked.is_some() && gone.path.is_none());
    let before = place.all();
    for name in ["a/b", "C/d"] {
        let error = take(&plugins, name).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::NotInstalled));
        assert_eq!(error.hint.unwrap(), "installed here (local): c/d");
    }
    assert_eq!(place.all(), before);
    take(&plugins, "c/d").unwrap();
    assert_eq!(take(&plugins, "c/d").unwrap_err().hint.unwrap(), "no plugin is installed here (local)");
}

#[test]
fn a_plugin_may_be_as_deep_as_it_likes_and_still_goes() {
    let place = Place::new();
    let plugins = place.open();
    place.file(".hookbox/plugins/org@repo/hooks/x", "mine");
    let top = cap_std::fs::Dir::open_ambient_dir(
        place.path(".hookbox/plugins/org@repo"),
        cap_std::ambient_authority(),
    )
    .unwrap();
    let mut dir = top;
    // More than there are descriptors for, and longer than a path may be.
    for _ in 0..3_000 {
        dir.create_dir("deep").unwrap();
        dir = dir.open_dir("deep").unwrap();
    }
    drop(dir);
    take(&plugins, "org/repo").unwrap();
    assert_eq!((place.plugin("org@repo"), place.own()), (None, vec![]));
}

#[test]
fn a_change_that_fails_on_its_way_is_undone() {
    // What goes wrong when a step is reached, and how it is put right again.
    type Act = fn(&Path);
    let block: Act = |root| {
        fs::rename(root.join("plugins.lock"), root.join("aside")).unwrap();
        fs::create_dir(root.join("plugins.lock")).unwrap();
    };
    let unblock: Act = |root| {
        fs::remove_dir(root.join("plugins.lock")).unwrap();
        fs::rename(root.join("aside"), root.join("plugins.lock")).unwrap();
    };
    for (name, replace, exchanges) in
        [("new/one", Replace::No, true), ("org/repo", Replace::Yes, true), ("org/repo", Replace::Yes, false)]
    {
        let place = Place::new();
        let plugins = place.open();
        add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
        let before = place.all();
        let root = place.path(".hookbox");
        let observer = At::new("Exchanged", move || block(&root));
        let staged = staged(&plugins, "new");
        let locked = locked(name, &staged);
        let guard = plugins.lock_exclusively().unwrap();
        let error = put(&guard, staged, locked, replace, &observer, exchanges).unwrap_err();
        assert!(error.to_string().contains("plugins.lock"), "{error}");
        unblock(&place.path(".hookbox"));
        assert_eq!(place.all(), before, "{name} {exchanges}");
        assert_eq!(repair(&guard).unwrap(), []);
    }

    let place = Place::new();
    let plugins = place.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    let before = place.all();
    let root = place.path(".hookbox");
    let observer = At::new("Exchanged", move || block(&root));
    let guard = plugins.lock_exclusively().unwrap();
    remove(&guard, &"org/repo".parse().unwrap(), &observer).unwrap_err();
    unblock(&place.path(".hookbox"));
    assert_eq!(place.all(), before);
}

#[test]
fn a_directory_that_comes_between_is_not_written_over() {
    let place = Place::new();
    let plugins = place.open();
    let path = place.path(".hookbox/plugins/org@repo");
    let observer = At::new("Journalled", move || fs::create_dir(&path).unwrap());
    let error = add(&plugins, "org/repo", "new", Replace::No, &observer).unwrap_err();
    assert!(
        matches!(&error.kind, PluginErrorKind::Io(it) if it.kind() == io::ErrorKind::AlreadyExists),
        "{error}"
    );
    assert_eq!(place.plugin("org@repo").unwrap().len(), 0);
    assert_eq!((place.own(), plugins.lock().unwrap().is_empty()), (vec![], true));
}

#[test]
fn those_who_install_at_the_same_time_lose_nothing() {
    let place = Place::new();
    let base = place.dir.path();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for n in 0..3 {
                    add(&open(base), &format!("w{writer}/p{n}"), "text", Replace::No, &Silent).unwrap();
                }
            });
        }
    });
    let plugins = place.open();
    assert_eq!((installed(&plugins).unwrap().len(), plugins.lock().unwrap().iter().count()), (12, 12));
    let wins = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn(move || add(&open(base), "same/plugin", &format!("{n}"), Replace::No, &Silent))
            })
            .collect();
        tries
            .into_iter()
            .map(|it| it.join().unwrap())
            .filter(|it| match it {
                Ok(_) => true,
                Err(error) => {
                    assert!(matches!(error.kind, PluginErrorKind::Exists(_)), "{error}");
                    false
                }
            })
            .count()
    });
    assert_eq!((wins, place.own()), (1, vec![]));
}

/// Where the two tests below tell themselves what to do: a directory, and after how many steps to stop.
const CHILD: &str = "HOOKBOX_TEST_TWO_STEPS";

#[test]
fn a_replacement_in_two_steps_is_finished_or_undone_wherever_it_is_killed() {
    let mut withdrawn = false;
    for n in 0.. {
        let place = Place::new();
        let plugins = place.open();
        add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
        let old = place.plugin("org@repo");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "plugin::transaction::tests::the_child_that_is_killed", "--nocapture"])
            .env(CHILD, format!("{n} {}", place.dir.path().display()))
            .output()
            .unwrap();
        let is_cut_short = needs_repair(&plugins).unwrap();
        withdrawn |= place.plugin("org@repo").is_none();
        let done = repair(&plugins.lock_exclusively().unwrap()).unwrap();
        let now = place.plugin("org@repo");
        let is_old = now == old;
        assert!(is_old || now.unwrap()[Path::new("hooks/guard")] == "100755 new", "{n}");
        let lock = plugins.lock().unwrap();
        let said = &lock.get(&"org/repo".parse().unwrap()).unwrap().tree;
        let is = crate::plugin::digest(&place.path(".hookbox/plugins/org@repo")).unwrap();
        assert_eq!((*said == is, place.own()), (true, vec![]), "{n}");
        if child.status.success() {
            assert!(n >= 4 && !is_old && done.is_empty(), "{n} {child:?} {done:?}");
            break;
        }
        assert_eq!(done.is_empty(), !is_cut_short, "{n} {child:?} {done:?}");
        add(&plugins, "org/repo", "new", Replace::Yes, &Silent).unwrap();
    }
    assert!(withdrawn, "one kill lay between the two steps");
}

#[test]
fn the_child_that_is_killed() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (steps, base) = what.split_once(' ').unwrap();
    let left = Mutex::new(steps.parse::<usize>().unwrap());
    struct Killer(Mutex<usize>);
    impl Observer for Killer {
        fn step(&self, _: &Step<'_>) {
            let mut left = self.0.lock().unwrap();
            *left = left.checked_sub(1).unwrap_or_else(|| std::process::abort());
        }
    }
    let plugins = open(Path::new(base));
    let staged = staged(&plugins, "new");
    let locked = locked("org/repo", &staged);
    let guard = plugins.lock_exclusively().unwrap();
    put(&guard, staged, locked, Replace::Yes, &Killer(left), false).unwrap();
}
