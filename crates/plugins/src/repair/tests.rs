use super::*;
use crate::transaction::tests::{TestRoot, add, locked, staged};
use crate::{Replace, Silent, installed};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

fn repaired(root: &TestRoot) -> Vec<String> {
    repair(&root.open().lock_exclusively().unwrap()).unwrap()
}

#[test]
fn the_files_of_a_dead_command_are_removed_and_those_of_a_living_one_stay() {
    let root = TestRoot::new();
    let plugins = root.open();
    let living = staged(&plugins, "living");
    for name in [".hookbox-stage-0a", ".hookbox-stage-0b"] {
        root.file(&format!(".hookbox/plugins/{name}/tree/hooks/x"), "dead");
    }
    // None of these is a staging directory.
    root.file(".hookbox/plugins/.hookbox-stage-file", "file");
    root.file("elsewhere/x", "mine");
    symlink("../../elsewhere", root.path(".hookbox/plugins/.hookbox-stage-link")).unwrap();
    fs::create_dir(root.path(".hookbox/plugins/.hookbox-stage-a b")).unwrap();
    root.file(".hookbox/.plugins.lock.new", "half a fi");
    assert!(needs_repair(&plugins).unwrap());
    let done = repaired(&root);
    assert_eq!(done, ["removed what 2 commands that were cut short had fetched"]);
    let mut own = root.own();
    own.sort();
    let mut want =
        [".hookbox-stage-a b", ".hookbox-stage-file", ".hookbox-stage-link"].map(str::to_owned).to_vec();
    want.push(living.path().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned());
    want.sort();
    assert_eq!(own, want);
    assert!(root.path("elsewhere/x").is_file() && !root.path(".hookbox/.plugins.lock.new").exists());
    assert!(!needs_repair(&plugins).unwrap());
    assert_eq!(repaired(&root), [""; 0]);
    let locked = locked("org/repo", &living);
    crate::install(&plugins.lock_exclusively().unwrap(), living, locked, Replace::No, &Silent).unwrap();
}

/// The text of a lock file without these plugins.
fn without(root: &TestRoot, names: &[&str]) -> String {
    let mut lock = root.open().lock().unwrap();
    for name in names {
        lock.remove(&name.parse().unwrap()).unwrap();
    }
    lock_file::print(&lock).unwrap()
}

#[test]
fn a_prepared_lock_file_counts_only_if_its_one_change_was_made() {
    type Act = fn(&TestRoot);
    let nothing: Act = |_| {};
    let delete: Act = |root| fs::remove_dir_all(root.path(".hookbox/plugins/org@repo")).unwrap();
    let edit: Act = |root| root.file(".hookbox/plugins/org@repo/hooks/x", "mine");
    let finished = |what| vec![format!("org/repo: its {what} was cut short before: it is finished now")];
    let undone = |what| vec![format!("org/repo: its {what} was cut short before: nothing of it was done")];
    // Without the plugins in the lock file, and in the prepared one; then the state of org/repo.
    for (before, after, act, want) in [
        (&[][..], &["org/repo"][..], nothing, undone("removal")),
        (&[], &["org/repo"], delete, finished("removal")),
        (&["org/repo"], &[], nothing, finished("installation")),
        (&["org/repo"], &[], delete, undone("installation")),
        (&["org/repo"], &[], edit, undone("installation")),
        // A change of two plugins, and of none, is not by hookbox.
        (&["org/repo", "a/b"], &[], nothing, vec![]),
        (&[], &[], nothing, vec![]),
    ] {
        let root = TestRoot::new();
        let plugins = root.open();
        for name in ["org/repo", "a/b"] {
            add(&plugins, name, "text", Replace::No, &Silent).unwrap();
        }
        let [before, after] = [before, after].map(|names| without(&root, names));
        root.file(".hookbox/plugins.lock", &before);
        root.file(".hookbox/.plugins.lock.new", &after);
        act(&root);
        let tree = root.plugin("org@repo");
        assert!(needs_repair(&plugins).unwrap());
        assert_eq!(repaired(&root), want);
        let is_finished = want.iter().any(|it| it.contains("finished"));
        let now = fs::read_to_string(root.path(".hookbox/plugins.lock")).unwrap();
        assert_eq!(now, if is_finished { after } else { before }, "{want:?}");
        assert_eq!((root.plugin("org@repo"), repaired(&root)), (tree, vec![]), "{want:?}");
        assert!(!root.path(".hookbox/.plugins.lock.new").exists());
    }
}

#[test]
fn a_prepared_lock_file_that_is_not_one_leads_nowhere() {
    for what in ["garbage", "symlink", "pipe"] {
        let root = TestRoot::new();
        let plugins = root.open();
        add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
        let path = root.path(".hookbox/.plugins.lock.new");
        root.file("victim", &without(&root, &["org/repo"]));
        let before = root.all();
        match what {
            "garbage" => fs::write(&path, "\0\0\0").unwrap(),
            "symlink" => symlink(root.path("victim"), &path).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
        }
        assert_eq!((repaired(&root), root.all()), (vec![], before), "{what}");
    }
}

#[test]
fn a_newer_prepared_file_and_a_broken_lock_file_stop_everything() {
    let root = TestRoot::new();
    let plugins = root.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    root.file(".hookbox/.plugins.lock.new", "version = 2\nelse = true\n");
    let before = root.all();
    let error = repair(&plugins.lock_exclusively().unwrap()).unwrap_err();
    assert!(error.hint.unwrap().contains("of the newer hookbox"));
    assert_eq!(root.all(), before);

    root.file(".hookbox/.plugins.lock.new", &without(&root, &["org/repo"]));
    root.file(".hookbox/plugins.lock", "garbage");
    let before = root.all();
    let error = repair(&plugins.lock_exclusively().unwrap()).unwrap_err();
    assert!(error.hint.unwrap().contains("move it aside"));
    assert_eq!(root.all(), before);
}

#[test]
fn a_plugin_that_was_moved_aside_gets_its_name_back_or_goes_if_another_one_has_it() {
    let root = TestRoot::new();
    let plugins = root.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    let [plugin, aside] =
        ["org@repo", ".hookbox-old-org@repo"].map(|it| root.path(".hookbox/plugins").join(it));
    let before = root.all();
    fs::rename(&plugin, &aside).unwrap();
    symlink("../../../elsewhere", root.path(".hookbox/plugins/.hookbox-old-a@b")).unwrap();
    assert!(needs_repair(&plugins).unwrap());
    assert_eq!(repaired(&root), [""; 0]);
    fs::remove_file(root.path(".hookbox/plugins/.hookbox-old-a@b")).unwrap();
    assert_eq!(root.all(), before);

    root.file(".hookbox/plugins/.hookbox-old-org@repo/hooks/x", "replaced");
    assert_eq!(repaired(&root), ["removed what a command that was cut short had fetched"]);
    assert_eq!(root.all(), before);
    assert_eq!(installed(&plugins).unwrap().len(), 1);
}
