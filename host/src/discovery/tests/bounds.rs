//! Directories that are too full, unreadable or strange.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

#[test]
fn of_a_full_directory_the_first_files_by_name_are_taken() {
    let tree = Tree::new(&[("repo/.kodelet/hooks", Dir)]);
    for at in (0..300).rev() {
        let path = tree.path(&format!("repo/.kodelet/hooks/{at:03}"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    // Untrusted, so that no file is executed.
    let discovery = tree.discover(TrustPolicy::Recorded);
    let names: Vec<_> = discovery.entries.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(names, (0..256).map(|at| format!("{at:03}")).collect::<Vec<_>>());
    assert_eq!(
        problems(&tree, &discovery),
        ["repo/.kodelet/hooks: has more than 256 hooks: only the first 256 by name are used"]
    );
}

#[test]
fn of_a_full_repository_the_first_hooks_are_taken_and_the_users_all() {
    let tree = Tree::new(&[("home/.kodelet/hooks/mine", Hook("turn_end")), ("repo/many/x", Text(""))]);
    for at in 0..250 {
        tree.add(&format!("repo/many/{at:03}"), &Mode(0o755, ""));
    }
    for plugin in ["o@a", "o@b", "o@c", "o@d"] {
        tree.add(&format!("repo/.kodelet/plugins/{plugin}/hooks"), &Link("../../../many"));
    }
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!((discovery.entries.len(), discovery.hooks.len()), (513, 513));
    let last = discovery.entries.iter().rfind(|entry| entry.tier == crate::hook::Tier::RepoPlugin).unwrap();
    assert_eq!(last.name, "o/c/011");
    assert_eq!(active(&discovery), ["turn_end:mine"]);
    assert_eq!(
        problems(&tree, &discovery),
        ["repo: has more than 512 hooks: only the first 512 are used, and 488 are left out"]
    );
}

#[test]
fn what_a_repository_declares_counts_among_its_hooks_and_a_file_is_bounded() {
    let entries = vec![r#"{"command": "true"}"#; 300].join(",");
    let file = format!(r#"{{"version": 1, "hooks": {{"turn_end": [{entries}]}}}}"#);
    let tree = Tree::new(&[
        ("repo/.hookbox/hooks.json", Text(&file)),
        ("repo/.kodelet/hooks.json", Text(&file)),
        ("repo/.kodelet/plugins/o@r/hooks/hooks.json", Text(&file)),
        ("home/.hookbox/hooks.json", Text(&format!("{file}{}", " ".repeat(4 << 20)))),
        (
            "home/.kodelet/hooks.json",
            Text(r#"{"hooks": {"turn_end": [{"command": "true", "name": "mine"}]}}"#),
        ),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!((discovery.entries.len(), active(&discovery)), (513, vec!["turn_end:mine".to_owned()]));
    let many = "has more than 256 hooks: only the first 256 are used, and 44 are left out";
    assert_eq!(
        problems(&tree, &discovery),
        [
            format!("repo/.hookbox/hooks.json: {many}"),
            format!("repo/.kodelet/hooks.json: {many}"),
            "home/.hookbox/hooks.json: cannot be read: larger than 4194304 bytes: none of its hooks run"
                .to_owned(),
        ]
    );
}

#[test]
fn a_full_directory_that_many_plugins_link_to_is_not_looked_through_for_each() {
    let tree = Tree::new(&[("repo/many", Dir)]);
    for at in 0..5_000 {
        fs::write(tree.path(&format!("repo/many/{at}")), "").unwrap();
    }
    for at in 0..100 {
        tree.add(&format!("repo/.kodelet/plugins/o@{at:03}/hooks"), &Link("../../../many"));
    }
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert!(discovery.entries.is_empty());
    assert_eq!(
        problems(&tree, &discovery),
        ["repo: has more than 65536 files in directories of hooks: the others were not read"]
    );
}

#[test]
fn without_a_working_directory_the_users_hooks_run_all_the_same() {
    let tree = Tree::new(&[("home/.kodelet/hooks/x", Hook("turn_end")), ("gone", Dir)]);
    fs::remove_dir(tree.path("gone")).unwrap();
    for cwd in [PathBuf::new(), tree.path("gone"), PathBuf::from("/")] {
        let discovery = discover(&Options::new(cwd.clone(), Some(tree.path("home"))));
        assert_eq!(discovery.repo, None, "{cwd:?}");
        assert_eq!(active(&discovery), ["turn_end:x"], "{cwd:?}");
        let gone = [".: the working directory is gone: hookbox cannot tell whose hooks to run"];
        let want = if cwd.as_os_str().is_empty() { &gone[..] } else { &[] };
        assert_eq!(problems(&tree, &discovery), want, "{cwd:?}");
    }
}

#[test]
fn an_unreadable_directory_is_one_problem() {
    let tree = Tree::new(&[("home/.hookbox/hooks", Dir), ("home/.kodelet/hooks/x", Hook("turn_end"))]);
    let closed = tree.path("home/.hookbox/hooks");
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let discovery = tree.discover(TrustPolicy::Recorded);
    let is_root = fs::read_dir(&closed).is_ok();
    fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(active(&discovery), ["turn_end:x"]);
    if !is_root {
        assert_eq!(problems(&tree, &discovery), ["home/.hookbox/hooks: cannot be read: permission denied"]);
    }
}

#[test]
fn strange_files_are_neither_opened_nor_fatal() {
    let tree = Tree::new(&[
        ("home/.kodelet/hooks/x\u{1b}[31m", Script("exit 1")),
        ("home/.kodelet/hooks/ok", Hook("turn_end")),
    ]);
    for fifo in ["pipe", "pipe.wasm"] {
        let path = tree.path("home/.kodelet/hooks").join(fifo);
        assert!(Command::new("mkfifo").args(["-m", "755"]).arg(path).status().unwrap().success());
    }
    let odd = tree.path("home/.kodelet/hooks").join(OsStr::from_bytes(b"odd-\xff"));
    fs::copy(tree.path("home/.kodelet/hooks/ok"), odd).unwrap();
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(active(&discovery), ["turn_end:ok"]);
    let problems = problems(&tree, &discovery);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| !problem.contains('\u{1b}')), "{problems:?}");
    assert!(problems[0].ends_with("its name is not UTF-8, so that it cannot be named"), "{problems:?}");
}

#[test]
fn a_root_is_the_name_of_a_directory() {
    let tree = Tree::new(&[("out/hooks/x", Hook("turn_end")), ("repo/own/hooks/y", Hook("turn_end"))]);
    let mut options = tree.options(TrustPolicy::All);
    options.roots = ["../out", "..", "", "a/b", "/", "own/", "own", "own"].map(str::to_owned).into();
    let discovery = discover(&options);
    assert_eq!(active(&discovery), ["turn_end:y"]);
    assert_eq!(discovery.problems.len(), 6);
}

#[cfg(feature = "component")]
#[test]
fn a_component_beyond_its_limit_is_not_read() {
    let tree = Tree::new(&[
        ("home/.kodelet/hooks/big.wasm", Text("")),
        ("home/.kodelet/hooks/small.wasm", Text("x")),
    ]);
    let big = fs::OpenOptions::new().write(true).open(tree.path("home/.kodelet/hooks/big.wasm")).unwrap();
    big.set_len((64 << 20) + 1).unwrap();
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(statuses(&discovery), [("big.wasm", "invalid"), ("small.wasm", "invalid")]);
    assert_eq!(discovery.entries[0].digest, None);
    assert_eq!(
        problems(&tree, &discovery)[0],
        "home/.kodelet/hooks/big.wasm: cannot be read: larger than 67108864 bytes"
    );
    // What was read and cannot be used is told apart by its digest.
    assert!(discovery.entries[1].digest.is_some());
}

#[test]
fn of_a_repository_only_so_many_bytes_of_declarations_are_read() {
    let file = format!(r#"{{"hooks": {{}}}}{}"#, " ".repeat((1 << 20) - 20));
    let tree = Tree::new(&[]);
    for at in 0..8 {
        tree.add(&format!("repo/.hookbox/plugins/o@p{at}/hooks/hooks.json"), &Text(&file));
        tree.add(&format!("home/.hookbox/plugins/o@p{at}/hooks/hooks.json"), &Text(&file));
    }
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(
        problems(&tree, &discovery),
        ["repo: declares hooks in more than 4 MiB: 3 files that declare hooks were not read"]
    );
}
