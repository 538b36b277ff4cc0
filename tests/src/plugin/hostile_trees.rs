//! Trees of git that nobody makes by accident: each is refused by name, and nothing is written anywhere.

use hookbox_plugins::PluginErrorKind;
use hookbox_plugins::Silent;
use hookbox_plugins::limits::{Limits, MAX_FILE};

use super::repository::{Repository, fetched, git, staged};
use crate::environment::TestEnvironment;

/// An entry of a tree: its mode, its name, and a blob with these bytes.
type Entry<'a> = (&'a str, &'a [u8], &'a str);

const FILE: &str = "100644";
const LINK: &str = "120000";
const DIR: &str = "40000";

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let env = TestEnvironment::new();
    let long = [b'n'; 300];
    let cases: [(&[Entry<'_>], &str); 15] = [
        (&[(FILE, b"..", "x")], "hooks/..: has a part `..`"),
        (&[(FILE, b".", "x")], "hooks/.: has a part that is empty or `.`"),
        (&[(FILE, b"../../x", "x")], "hooks/../../x: has a part `..`"),
        (&[(FILE, b"/etc/cron.d/x", "x")], "hooks//etc/cron.d/x: has a part that is empty"),
        (&[(FILE, b".git", "x")], "hooks/.git: has a part `.git`"),
        (&[(FILE, b".GiT", "x")], "hooks/.GiT: has a part `.git`"),
        (&[(FILE, b"a\\b", "x")], "has a control character or a backslash"),
        (&[(FILE, b"a\n\x1b[31mb", "x")], "hooks/a\\n\\u{1b}[31mb: has a control character"),
        (&[(FILE, b"a\xff", "x")], "is not UTF-8"),
        (&[(FILE, &long, "x")], "is too long"),
        (&[(FILE, b"a", "x"), (FILE, b"a", "y")], "hooks/a: appears twice"),
        (&[(FILE, b"Guard", "x"), (FILE, b"guard", "y")], "by the case of its letters only"),
        (&[(FILE, "Ä".as_bytes(), "x"), (FILE, "ä".as_bytes(), "y")], "by the case of its letters only"),
        (&[("160000", b"sub", "x")], "hooks/sub: is a submodule of git"),
        (
            &[("100600", b"guard", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")],
            "hooks/guard: is kept by git-lfs",
        ),
    ];
    for (at, (entries, says)) in cases.into_iter().enumerate() {
        let repository = Repository::new(&env, &format!("source{at}"));
        let ids: Vec<String> = entries.iter().map(|(_, _, bytes)| repository.blob(bytes)).collect();
        let entries: Vec<(&str, &[u8], &str)> =
            entries.iter().zip(&ids).map(|((mode, name, _), id)| (*mode, *name, id.as_str())).collect();
        let hooks = repository.tree(&entries);
        let top = repository.tree(&[(DIR, "hooks", &hooks)]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
}

#[test]
fn a_file_beside_the_hooks_has_a_plain_name_too() {
    let env = TestEnvironment::new();
    let names: [(&[u8], Option<&str>); 11] = [
        (b"..", Some("has a part `..`")),
        (b"/etc/passwd", Some("is absolute")),
        (b"hooks/../../x", Some("has a part `..`")),
        (b".git", Some("has a part `.git`")),
        (b".", Some("has a part that is empty or `.`")),
        (b"a\x07", Some("has a control character")),
        (b"latin\xe9.txt", Some("is not UTF-8")),
        (&[b'n'; 300], Some("is too long")),
        (b"Hooks", Some("by the case of its letters only")),
        (b".gitmodules", None),
        // hookbox's own files have these names, one directory above.
        (b"plugins.lock", None),
    ];
    for (at, (name, says)) in names.into_iter().enumerate() {
        let repository = Repository::new(&env, &format!("source{at}"));
        let blob = repository.blob("x");
        let hooks = repository.tree(&[(FILE, "guard", &blob)]);
        let top = repository.tree(&[(FILE, name, blob.as_str()), (DIR, b"hooks", hooks.as_str())]);
        repository.commit_tree("main", &top);
        let result = fetched(&env, &repository.url(), None, None);
        match says {
            Some(says) => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(says), "{says}: {error}");
            }
            None => assert_eq!(result.unwrap().0.len(), 2, "{}", name.escape_ascii()),
        }
    }
}

#[test]
fn a_submodule_a_pointer_and_a_symlink_beside_the_hooks_are_refused() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    for (mode, bytes, says) in [
        ("160000", "x", "vendor: is a submodule of git"),
        (FILE, pointer, "vendor: is kept by git-lfs"),
        (LINK, "/etc/passwd", "vendor: is a symlink to /etc/passwd, which is not in the plugin"),
        (LINK, "gone", "vendor: is a symlink to gone, which leads nowhere in the plugin"),
    ] {
        let (blob, vendor) = (repository.blob("x"), repository.blob(bytes));
        let hooks = repository.tree(&[(FILE, "guard", &blob)]);
        let top = repository.tree(&[(DIR, "hooks", hooks.as_str()), (mode, "vendor", &vendor)]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint.is_some(), "{says}: {error}");
    }
}

#[test]
fn a_symlink_that_leaves_the_plugin_or_leads_nowhere_is_refused() {
    let env = TestEnvironment::new();
    let long = "x/".repeat(1000);
    let cases: [(&[&str], &str); 10] = [
        (&["/etc/passwd"], "a: is a symlink to /etc/passwd, which is not in the plugin"),
        (&["../../../../etc/passwd"], "is not in the plugin"),
        (&["../.git/config"], "is not in the plugin"),
        (&["nothing"], "hooks/a: is a symlink to nothing, which leads nowhere in the plugin"),
        (&["a"], "which cannot be followed in the plugin"),
        (&["b", "c", "a"], "which cannot be followed in the plugin"),
        (&[".", "a/../../../x"], "is not in the plugin"),
        (&[""], "is a symlink whose target is empty or too long"),
        (&[long.as_str()], "is a symlink whose target is empty or too long"),
        (&["a\nb"], "is a symlink with an odd target"),
    ];
    for (at, (targets, says)) in cases.into_iter().enumerate() {
        let repository = Repository::new(&env, &format!("source{at}"));
        let ids: Vec<String> = targets.iter().map(|target| repository.blob(target)).collect();
        let links: Vec<(&str, &str, &str)> =
            ["a", "b", "c"].into_iter().zip(&ids).map(|(name, id)| (LINK, name, id.as_str())).collect();
        let (hooks, blob) = (repository.tree(&links), repository.blob("x"));
        let top = repository.tree(&[(FILE, "README.md", blob.as_str()), (DIR, "hooks", &hooks)]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains(says), "{targets:?}: {error}");
    }
}

#[test]
fn a_file_below_a_symlink_goes_nowhere() {
    let env = TestEnvironment::new();
    env.directory("outside");
    let repository = Repository::new(&env, "source");
    let (link, blob) = (repository.blob(env.path("outside").to_str().unwrap()), repository.blob("x"));
    let below = repository.tree(&[(FILE, "x", &blob)]);
    // The same name as a symlink and as a directory, in either order.
    for entries in [[(LINK, "a", &*link), (DIR, "a", &*below)], [(DIR, "a", &*below), (LINK, "a", &*link)]] {
        let hooks = repository.tree(&entries);
        let top = repository.tree(&[(DIR, "hooks", &hooks)]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains("hooks/a"), "{error}");
    }
    let inside = repository.blob("../recipes");
    let hooks = repository.tree(&[(LINK, "a", inside.as_str()), (FILE, "a/x", &blob)]);
    let recipes = repository.tree(&[(FILE, "r.md", &blob)]);
    let top = repository.tree(&[(DIR, "hooks", &hooks), (DIR, "recipes", &recipes)]);
    repository.commit_tree("main", &top);
    let error = fetched(&env, &repository.url(), None, None).unwrap_err();
    assert!(error.to_string().contains("hooks/a"), "{error}");
}

#[test]
fn the_top_has_directories() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let (blob, link) = (repository.blob("x"), repository.blob("skills"));
    let skills = repository.tree(&[(FILE, "a", &blob)]);
    let nothing = repository.tree::<&str>(&[]);
    for (top, says) in [
        (vec![(FILE, "hooks", &*blob)], "hooks: is a file: expected a directory"),
        (
            vec![(LINK, "hooks", &*link), (DIR, "skills", &*skills)],
            "hooks: is a symlink: expected a directory",
        ),
        (vec![("160000", "hooks", &*blob)], "hooks: is a submodule"),
        (vec![(DIR, "hooks", &*nothing)], "has no skills, no recipes and no hooks"),
        (vec![(DIR, "lib", &*skills)], "has no skills, no recipes and no hooks"),
        (vec![], "has no skills, no recipes and no hooks"),
    ] {
        let tree = repository.tree(&top);
        repository.commit_tree("main", &tree);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains(says), "{says}: {error}");
        assert!(!matches!(error.kind, PluginErrorKind::Empty) || error.hint.is_some());
    }
}

#[test]
fn ten_thousand_files_are_refused_also_beside_the_hooks() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let blob = repository.blob("x");
    let names: Vec<String> = (0..10_000).map(|n| format!("{n:05}")).collect();
    let entries: Vec<(&str, &str, &str)> =
        names.iter().map(|name| (FILE, name.as_str(), blob.as_str())).collect();
    let many = repository.tree(&entries);
    let few = repository.tree(&[(FILE, "guard", blob.as_str())]);
    for (hooks, modules) in [(&many, &few), (&few, &many)] {
        let top = repository.tree(&[(DIR, "hooks", hooks.as_str()), (DIR, "node_modules", modules)]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::TooLarge(_)), "{error}");
        assert!(error.to_string().contains("a plugin may have 4096 files"), "{error}");
        assert!(error.hint.is_some());
    }
}

#[test]
fn trees_that_multiply_and_trees_without_bottom_are_refused() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let blob = repository.blob("x");
    // Sixteen in sixteen, eight times: four thousand million files in eight objects.
    let names: Vec<String> = (0..16).map(|n| format!("{n:x}")).collect();
    let mut tree = repository.tree(&[(FILE, "x", blob.as_str())]);
    for _ in 0..8 {
        let entries: Vec<(&str, &str, &str)> =
            names.iter().map(|name| (DIR, name.as_str(), tree.as_str())).collect();
        tree = repository.tree(&entries);
    }
    let top = repository.tree(&[(DIR, "skills", &tree)]);
    repository.commit_tree("main", &top);
    let error = fetched(&env, &repository.url(), None, None).unwrap_err();
    assert!(error.to_string().contains("a plugin may have 4096 files"), "{error}");
    let mut tree = repository.tree(&[(FILE, "x", blob.as_str())]);
    for _ in 0..60 {
        tree = repository.tree(&[(DIR, "d", &tree)]);
    }
    let top = repository.tree(&[(DIR, "skills", &tree)]);
    repository.commit_tree("main", &top);
    let error = fetched(&env, &repository.url(), None, None).unwrap_err();
    assert!(error.to_string().contains("is too deep"), "{error}");
}

#[test]
fn a_file_that_unpacks_to_more_than_a_plugin_may_hold_is_not_unpacked() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let zeros = repository.blob(vec![0; usize::try_from(MAX_FILE).unwrap() + 1]);
    let hooks = repository.tree(&[(FILE, "bomb.wasm", zeros.as_str())]);
    let top = repository.tree(&[(DIR, "hooks", &hooks)]);
    repository.commit_tree("main", &top);
    let error = fetched(&env, &repository.url(), None, None).unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::TooLarge(_)), "{error}");
    assert!(error.to_string().contains("hooks/bomb.wasm: is too large"), "{error}");
}

#[test]
fn limits_hold_for_all_files_together() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "source");
    let blob = repository.blob([b'x'; 60]);
    let hooks = repository.tree(&[(FILE, "a", blob.as_str()), (FILE, "b", &blob)]);
    let top = repository.tree(&[(DIR, "hooks", &hooks)]);
    repository.commit_tree("main", &top);
    for (limits, says) in [
        (Limits { bytes: 119, ..Limits::default() }, Some("hooks/b: is too much")),
        (Limits { file: 59, ..Limits::default() }, Some("hooks/a: is too large")),
        (Limits { entries: 2, ..Limits::default() }, Some("hooks/b: is one too many")),
        (Limits { bytes: 120, file: 60, entries: 3 }, None),
    ] {
        let result =
            staged(&env, limits, |stage| git(&repository.url().parse()?, None, None, stage, &Silent));
        match says {
            Some(says) => assert!(result.unwrap_err().to_string().contains(says), "{says}"),
            None => assert_eq!(result.unwrap().0.len(), 2),
        }
    }
}

#[test]
fn objects_that_are_missing_or_not_well_formed_are_refused() {
    let env = TestEnvironment::new();
    let trees: [fn(&Repository<'_>) -> String; 4] = [
        |repository| repository.tree(&[(FILE, "x", "12".repeat(20).as_str())]),
        |repository| repository.tree(&[(FILE, "", repository.blob("x").as_str())]),
        |repository| repository.object("tree", "100644 x\0short"),
        |repository| repository.blob("no tree"),
    ];
    for (at, tree) in trees.into_iter().enumerate() {
        let repository = Repository::new(&env, &format!("source{at}"));
        let top = repository.tree(&[(DIR, "hooks", tree(&repository).as_str())]);
        repository.commit_tree("main", &top);
        let error = fetched(&env, &repository.url(), None, None).unwrap_err();
        assert!(error.to_string().contains("git failed: "), "{at}: {error}");
    }
}
