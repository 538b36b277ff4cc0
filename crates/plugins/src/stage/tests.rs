use super::*;
use crate::{Location, Silent, digest};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn plugins() -> (tempfile::TempDir, Plugins) {
    let temp = tempfile::tempdir().unwrap();
    let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
    (temp, plugins)
}

fn path(path: &str) -> EntryPath {
    EntryPath::new(path.as_bytes()).unwrap()
}

/// Returns the names in the plugins directory.
fn names(plugins: &Plugins) -> Vec<String> {
    let entries = fs::read_dir(plugins.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_staged_plugin_has_plain_modes_and_exists_until_it_is_dropped() {
    let (_temp, plugins) = plugins();
    let mut stage = Stage::new(&plugins, &Silent).unwrap();
    stage.file(&path("hooks/lib/a.sh"), false, Some(3), &b"abc"[..]).unwrap();
    stage.file(&path("hooks/guard"), true, None, &b"#!/bin/sh\n"[..]).unwrap();
    stage.symlink(&path("hooks/other"), Path::new("./guard")).unwrap();
    stage.symlink(&path("skills/shared"), Path::new("../hooks/lib")).unwrap();
    stage.directory(&path("recipes/")).unwrap();
    let staged = stage.finish().unwrap();
    let at = |path: &str| staged.path().join(path);
    let mode = |path: &str| fs::metadata(at(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(fs::read_to_string(at("skills/shared/a.sh")).unwrap(), "abc");
    assert_eq!((mode("hooks/guard"), mode("hooks/lib/a.sh")), (0o755, 0o644));
    assert_eq!(staged.entries(), 8);
    let before = staged.digest().clone();
    assert_eq!(digest(&staged.path(), None).unwrap(), before);
    fs::set_permissions(at("hooks/lib/a.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(digest(&staged.path(), None).unwrap(), before, "the mode is part of it");
    assert_eq!(names(&plugins).len(), 1);
    drop(staged);
    assert!(names(&plugins).is_empty());
}

#[test]
fn an_entry_that_no_plugin_may_have_is_refused_by_name_and_nothing_stays() {
    type Try = fn(&mut Stage<'_>) -> Result<(), PluginError>;
    let (_temp, plugins) = plugins();
    let limits = Limits { entries: 6, bytes: 20, file: 10 };
    let tries: [(&str, Try); 16] = [
        ("hooks: is a file", |it| it.file(&path("hooks"), false, None, &b""[..])),
        ("hooks: is a symlink", |it| it.symlink(&path("hooks"), Path::new("recipes"))),
        ("hooks/p: is a symlink to /etc/passwd, which is not in the plugin", |it| {
            it.symlink(&path("hooks/p"), Path::new("/etc/passwd"))
        }),
        ("hooks/p: is a symlink to ../../x", |it| it.symlink(&path("hooks/p"), Path::new("../../x"))),
        ("hooks/p: is a symlink to ../.git/config", |it| {
            it.symlink(&path("hooks/p"), Path::new("../.git/config"))
        }),
        ("hooks/p: is a symlink with an odd target", |it| it.symlink(&path("hooks/p"), Path::new("a\nb"))),
        ("hooks/p: is a symlink with an odd target", |it| it.symlink(&path("hooks/p"), Path::new(""))),
        ("hooks/big: is too large: expected a file of at most 10 bytes, found 11", |it| {
            it.file(&path("hooks/big"), false, Some(11), &b"01234567890"[..])
        }),
        ("hooks/big: is too large", |it| it.file(&path("hooks/big"), false, None, io::repeat(7))),
        ("hooks/more: has more than the 2 bytes", |it| {
            it.file(&path("hooks/more"), false, Some(2), &b"abc"[..])
        }),
        ("hooks/less: has 3 bytes: expected the 4", |it| {
            it.file(&path("hooks/less"), false, Some(4), &b"abc"[..])
        }),
        ("hooks/c: is too much", |it| {
            it.file(&path("hooks/a"), false, None, &[0; 10][..])?;
            it.file(&path("hooks/b"), false, None, &[0; 9][..])?;
            it.file(&path("hooks/c"), false, Some(2), &[0; 2][..])
        }),
        ("skills/x: is one too many: a plugin may have 6", |it| {
            for file in ["1", "2", "3", "4"] {
                it.file(&path(&format!("hooks/{file}")), false, None, &b""[..])?;
            }
            it.directory(&path("skills/x"))
        }),
        ("hooks/a: appears twice", |it| {
            it.file(&path("hooks/a"), false, None, &b""[..])?;
            it.symlink(&path("hooks/a"), Path::new("b"))
        }),
        ("hooks/GUARD: differs from hooks/guard by the case", |it| {
            it.file(&path("hooks/guard"), false, None, &b""[..])?;
            it.file(&path("hooks/GUARD"), false, None, &b""[..])
        }),
        ("hooks/a: differs from hooks/A by the case", |it| {
            it.file(&path("hooks/A/x"), false, None, &b""[..])?;
            it.file(&path("hooks/a/y"), false, None, &b""[..])
        }),
    ];
    for (expected, attempt) in tries {
        let mut stage = Stage::within(&plugins, limits, &Silent).unwrap();
        let error = attempt(&mut stage).unwrap_err().to_string();
        assert!(error.contains(expected.split(": is a file").next().unwrap()), "{expected}: {error}");
        drop(stage);
        assert!(names(&plugins).is_empty(), "{expected}");
    }
}

#[test]
fn a_plugin_is_checked_as_a_whole() {
    let (_temp, plugins) = plugins();
    let empty = |it: &mut Stage<'_>| it.directory(&path("hooks"));
    let other = |it: &mut Stage<'_>| it.file(&path("README.md"), false, None, &b"x"[..]);
    let nowhere = |it: &mut Stage<'_>| it.symlink(&path("hooks/a"), Path::new("b"));
    let around = |it: &mut Stage<'_>| {
        it.symlink(&path("hooks/a"), Path::new("b"))?;
        it.symlink(&path("hooks/b"), Path::new("a"))
    };
    // Through a directory that is a symlink itself, `..` leads elsewhere than its letters say.
    let through = |it: &mut Stage<'_>| {
        it.file(&path("skills/a/b/c"), false, None, &b""[..])?;
        it.symlink(&path("hooks/down"), Path::new("../skills/a/b"))?;
        it.symlink(&path("hooks/out"), Path::new("down/../../../hooks"))
    };
    type Fill = dyn Fn(&mut Stage<'_>) -> Result<(), PluginError>;
    let cases: [(&str, &Fill); 5] = [
        ("the plugin: has no skills, no recipes and no hooks", &empty),
        ("the plugin: has no skills, no recipes and no hooks", &other),
        ("hooks/a: is a symlink to b, which leads nowhere", &nowhere),
        ("hooks/a: is a symlink to b, which cannot be followed", &around),
        ("out", &through),
    ];
    for (expected, fill) in cases {
        let mut stage = Stage::new(&plugins, &Silent).unwrap();
        let error = fill(&mut stage).and_then(|()| stage.finish().map(drop)).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(names(&plugins).is_empty(), "{expected}");
    }
}

#[test]
fn a_disk_that_is_full_while_a_file_comes_is_said_with_what_to_do() {
    struct Full;
    impl Read for Full {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let (_temp, plugins) = plugins();
    let mut stage = Stage::new(&plugins, &Silent).unwrap();
    let error = stage.file(&path("hooks/x"), false, None, Full).unwrap_err();
    assert_eq!((error.what.as_str(), error.hint.as_deref()), ("hooks/x", Some("make room on this disk")));
}

#[test]
fn a_plugin_is_reduced_to_what_an_earlier_version_installed_and_locked() {
    let (_temp, plugins) = plugins();
    let staged = |others: &[&str]| {
        let mut stage = Stage::new(&plugins, &Silent).unwrap();
        for file in [&["hooks/guard", "recipes/a.md"], others].concat() {
            stage.file(&path(file), false, None, file.as_bytes()).unwrap();
        }
        stage.finish().unwrap()
    };
    let (reduced, others) = (staged(&[]).digest().clone(), ["README.md", "lib/a.sh", ".hidden"]);
    let whole = staged(&others).digest().clone();
    assert_ne!(reduced, whole);
    for (locked, is_whole) in [(&whole, true), (&reduced, false), (&Digest::of(b"other"), true)] {
        let staged = staged(&others).as_locked(locked).unwrap();
        assert_eq!(staged.digest(), if is_whole { &whole } else { &reduced });
        assert_eq!(digest(&staged.path(), None).unwrap(), *staged.digest());
        assert!(others.iter().all(|it| staged.path().join(it).exists() == is_whole), "{locked}");
    }
}
