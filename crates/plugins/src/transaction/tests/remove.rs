//! Plugins that go.

use super::*;

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
