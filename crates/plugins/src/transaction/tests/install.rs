//! Plugins that come, or do not.

use super::*;

#[test]
fn a_plugin_comes_is_replaced_and_goes_and_the_lock_file_says_so() {
    let root = TestRoot::new();
    let plugins = root.open();
    let steps = At::new("", || {});
    let first = add(&plugins, "org/repo", "one", Replace::No, &steps).unwrap();
    assert_eq!(*steps.2.lock().unwrap(), ["Begun", "Prepared", "Exchanged", "Locked", "Cleaned"]);
    add(&plugins, "a/other", "other", Replace::Yes, &Silent).unwrap();
    let other = root.plugin("a@other").unwrap();
    let one = root.plugin("org@repo").unwrap();
    assert_eq!(one[Path::new("hooks/guard")], "100755 one");
    assert_eq!(first.path, root.path(".hookbox/plugins/org@repo"));

    let second = add(&plugins, "org/repo", "two", Replace::Yes, &Silent).unwrap();
    assert_eq!(root.plugin("org@repo").unwrap()[Path::new("hooks/guard")], "100755 two");
    let lock = plugins.lock().unwrap();
    assert_eq!(lock.get(second.id.as_ref().unwrap()), second.locked.as_ref());
    assert_ne!(first.locked, second.locked);
    let names: Vec<String> = installed(&plugins).unwrap().iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["a/other", "org/repo"]);

    take(&plugins, "org/repo").unwrap();
    assert_eq!((root.plugin("org@repo"), root.plugin("a@other")), (None, Some(other)));
    let left: Vec<String> = plugins.lock().unwrap().iter().map(|it| it.name.to_string()).collect();
    assert_eq!(left, ["a/other"]);
    assert_eq!(root.own(), [""; 0]);
    assert!(!root.path(".hookbox/.plugins.lock.new").exists() && !needs_repair(&plugins).unwrap());
}

#[test]
fn an_installation_that_fails_changes_nothing() {
    type Prepare = fn(&TestRoot);
    let cases: [(&str, Prepare, Replace, &str, &str); 9] = [
        (
            "org/repo",
            |it| drop(add(&it.open(), "org/repo", "old", Replace::No, &Silent).unwrap()),
            Replace::No,
            "from https://example.org/org/repo at 2026-01-31T12:00:00Z",
            "give --force to replace it, or update it: hookbox plugin update org/repo",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins/org@repo/hooks/x", "mine"),
            Replace::No,
            "by hand",
            "give --force to replace it",
        ),
        (
            "org/repo",
            |it| it.file(".hookbox/plugins/Org@repo/hooks/x", "mine"),
            Replace::Yes,
            "differs from Org/repo, which is installed, by the case",
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
            "--name org/REPO",
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
            "is not a plugins.lock",
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
    ];
    for (name, prepare, replace, what, hint) in cases {
        let root = TestRoot::new();
        let plugins = root.open();
        prepare(&root);
        let before = root.all();
        let error = add(&plugins, name, "new", replace, &Silent).unwrap_err();
        assert!(error.to_string().contains(what), "{what}: {error}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{hint}: {error:?}");
        assert_eq!(root.all(), before, "{what}");
    }
}

#[test]
fn the_lock_entry_must_have_the_digest_of_the_staged_plugin() {
    let root = TestRoot::new();
    let plugins = root.open();
    let (one, two) = (staged(&plugins, "one"), staged(&plugins, "two"));
    let wrong = locked("org/repo", &two);
    drop(two);
    let lock = plugins.lock_exclusively().unwrap();
    let error = install(&lock, one, wrong, Replace::No, &Silent).unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Mismatch(_)), "{error}");
    assert_eq!((root.plugin("org@repo"), root.own()), (None, vec![]));
}

#[test]
fn those_who_install_at_the_same_time_lose_nothing() {
    let root = TestRoot::new();
    let base = root.dir.path();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for n in 0..3 {
                    add(&open(base), &format!("w{writer}/p{n}"), "text", Replace::No, &Silent).unwrap();
                }
            });
        }
    });
    let plugins = root.open();
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
    assert_eq!((wins, root.own()), (1, vec![]));
}
