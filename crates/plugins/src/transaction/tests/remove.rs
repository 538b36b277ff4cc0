//! Plugins that go.

use super::*;

#[test]
fn a_plugin_goes_whole_and_nothing_else_with_it() {
    let root = TestRoot::new();
    let plugins = root.open();
    root.file("outside/file", "stays");
    // Put there by hand, with links that lead out.
    root.file(".hookbox/plugins/org@repo/hooks/x", "mine");
    symlink(root.path("outside"), root.path(".hookbox/plugins/org@repo/hooks/out")).unwrap();
    symlink("../../../../outside/file", root.path(".hookbox/plugins/org@repo/hooks/file")).unwrap();
    let pipe = root.path(".hookbox/plugins/org@repo/pipe");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    take(&plugins, "org/repo").unwrap();
    let stays = [("outside", "directory"), ("outside/file", "100644 stays")];
    assert_eq!(root.plugin("org@repo"), None);
    for (path, what) in stays {
        assert_eq!(root.all()[Path::new(path)], what);
    }

    // A link in its place is not followed, and not removed.
    symlink("../../outside", root.path(".hookbox/plugins/org@repo")).unwrap();
    let before = root.all();
    let error = take(&plugins, "org/repo").unwrap_err();
    assert!(error.to_string().contains("is a symlink"), "{error}");
    assert_eq!(root.all(), before);
}

#[test]
fn an_entry_without_a_plugin_is_removed_from_the_lock_file() {
    let root = TestRoot::new();
    let plugins = root.open();
    for name in ["a/b", "c/d"] {
        add(&plugins, name, name, Replace::No, &Silent).unwrap();
    }
    fs::remove_dir_all(root.path(".hookbox/plugins/a@b")).unwrap();
    take(&plugins, "a/b").unwrap();
    assert_eq!(plugins.lock().unwrap().iter().count(), 1);
    let before = root.all();
    for name in ["a/b", "C/d"] {
        let error = take(&plugins, name).unwrap_err();
        assert!(matches!(error.kind, PluginErrorKind::NotInstalled));
    }
    assert_eq!(root.all(), before);
    take(&plugins, "c/d").unwrap();
}
