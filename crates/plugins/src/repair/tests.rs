use super::*;
use crate::transaction::tests::{Place, add, locked, staged};
use crate::{Replace, Silent, installed};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::Command;

fn repaired(place: &Place) -> Vec<Repair> {
    repair(&place.open().lock_exclusively().unwrap()).unwrap()
}

#[test]
fn what_a_killed_command_fetched_is_removed_and_what_a_living_one_fetches_stays() {
    let place = Place::new();
    let plugins = place.open();
    let living = staged(&plugins, "living");
    for name in [".hookbox-stage-0a", ".hookbox-stage-0b"] {
        place.file(&format!(".hookbox/plugins/{name}/tree/hooks/x"), "dead");
    }
    // None of these is a staging directory.
    place.file(".hookbox/plugins/.hookbox-stage-file", "file");
    place.file("elsewhere/x", "mine");
    symlink("../../elsewhere", place.path(".hookbox/plugins/.hookbox-stage-link")).unwrap();
    fs::create_dir(place.path(".hookbox/plugins/.hookbox-stage-a b")).unwrap();
    place.file(".hookbox/.plugins.lock.new", "half a fi");
    place.file(".hookbox/plugins/.hookbox-pending.new", "half a fi");
    assert!(needs_repair(&plugins).unwrap());
    let done = repaired(&place);
    assert_eq!(done, [Repair::Swept { directories: 2 }]);
    assert_eq!(done[0].to_string(), "removed what 2 commands that were cut short had fetched");
    let mut own = place.own();
    own.sort();
    let mut want =
        [".hookbox-stage-a b", ".hookbox-stage-file", ".hookbox-stage-link"].map(str::to_owned).to_vec();
    want.push(living.path().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned());
    want.sort();
    assert_eq!(own, want);
    assert!(place.path("elsewhere/x").is_file() && !place.path(".hookbox/.plugins.lock.new").exists());
    assert!(!needs_repair(&plugins).unwrap());
    assert_eq!(repaired(&place), []);
    let locked = locked("org/repo", &living);
    crate::install(&plugins.lock_exclusively().unwrap(), living, locked, Replace::No, &Silent).unwrap();
}

#[test]
fn a_journal_that_makes_no_sense_is_set_aside_and_nothing_is_deleted() {
    let place = Place::new();
    let plugins = place.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    for (number, text) in
        ["", "\0\0\0\0", "version = 1\naction = \"remove\"\nplugin = \"../..\""].iter().enumerate()
    {
        place.file(".hookbox/plugins/.hookbox-pending.toml", text);
        place.file(&format!(".hookbox/plugins/.hookbox-stage-{number}/tree/hooks/x"), "the only copy");
        let done = repaired(&place);
        let (kept, journal) =
            (format!(".hookbox-kept-{number}"), format!(".hookbox-pending-{}.toml", number + 1));
        let [Repair::SetAside { name: None, why, kept: names }] = done.as_slice() else { panic!("{done:?}") };
        assert!(
            why.starts_with("its journal is none") && *names == [kept.clone(), journal.clone()],
            "{done:?}"
        );
        assert!(place.path(&format!(".hookbox/plugins/{kept}/tree/hooks/x")).is_file());
        assert_eq!(fs::read_to_string(place.path(".hookbox/plugins").join(journal)).unwrap(), *text);
        assert_eq!(repaired(&place), []);
    }
    assert_eq!(installed(&plugins).unwrap().len(), 1);
}

#[test]
fn a_journal_that_is_no_file_leads_nowhere() {
    for what in ["symlink", "directory", "pipe"] {
        let place = Place::new();
        let plugins = place.open();
        let path = plugins.path().join(".hookbox-pending.toml");
        place.file("victim", "whole");
        match what {
            "symlink" => symlink(place.path("victim"), &path).unwrap(),
            "directory" => fs::create_dir(&path).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
        }
        assert!(matches!(repaired(&place).as_slice(), [Repair::SetAside { name: None, .. }]), "{what}");
        assert_eq!(fs::read_to_string(place.path("victim")).unwrap(), "whole");
        assert_eq!(repaired(&place), [], "{what}");
    }
}

#[test]
fn a_newer_journal_and_a_broken_lock_file_stop_everything() {
    let place = Place::new();
    let plugins = place.open();
    place.file(".hookbox/plugins/.hookbox-pending.toml", "version = 2\nelse = true\n");
    let before = place.all();
    let error = repair(&plugins.lock_exclusively().unwrap()).unwrap_err();
    assert!(error.to_string().contains("a newer hookbox"), "{error}");
    assert_eq!(place.all(), before);

    let journal = remove_of(&place, ".hookbox-stage-1");
    place.file(".hookbox/plugins/.hookbox-pending.toml", &journal);
    place.file(".hookbox/plugins.lock", "garbage");
    let before = place.all();
    let error = repair(&plugins.lock_exclusively().unwrap()).unwrap_err();
    assert!(error.hint.unwrap().contains("move it aside"));
    assert_eq!(place.all(), before);
}

#[test]
fn what_somebody_else_put_there_meanwhile_is_left_alone() {
    let place = Place::new();
    let plugins = place.open();
    add(&plugins, "org/repo", "old", Replace::No, &Silent).unwrap();
    let journal = remove_of(&place, ".hookbox-stage-1");
    fs::create_dir(place.path(".hookbox/plugins/.hookbox-stage-1")).unwrap();
    fs::rename(place.path(".hookbox/plugins/org@repo"), place.path(".hookbox/plugins/.hookbox-stage-1/tree"))
        .unwrap();
    place.file(".hookbox/plugins/org@repo/hooks/x", "mine");
    place.file(".hookbox/plugins/.hookbox-pending.toml", &journal);
    let lock = fs::read(place.path(".hookbox/plugins.lock")).unwrap();
    let done = repaired(&place);
    let [Repair::SetAside { name: Some(name), kept, .. }] = done.as_slice() else { panic!("{done:?}") };
    assert_eq!((name.to_string().as_str(), kept.len()), ("org/repo", 2));
    assert!(
        done[0].to_string().contains("look into .hookbox-kept-1, .hookbox-pending-1.toml"),
        "{}",
        done[0]
    );
    assert!(place.path(".hookbox/plugins/.hookbox-kept-1/tree/hooks/guard").is_file());
    assert_eq!(fs::read_to_string(place.path(".hookbox/plugins/org@repo/hooks/x")).unwrap(), "mine");
    assert_eq!(fs::read(place.path(".hookbox/plugins.lock")).unwrap(), lock);
}

#[test]
fn a_journal_whose_staging_directory_is_a_symlink_moves_nothing_through_it() {
    let place = Place::new();
    let plugins = place.open();
    place.file("outside/tree/hooks/x", "not a plugin");
    symlink("../../outside", place.path(".hookbox/plugins/.hookbox-stage-1")).unwrap();
    let inode = |path: &str| fs::metadata(place.path(path)).unwrap().ino();
    let staged = staged(&plugins, "x");
    let locked = Box::new(locked("org/repo", &staged));
    let action = Action::Replace { new: inode("outside/tree"), old: 1, locked };
    let stage = StageName::new(".hookbox-stage-1").unwrap();
    let journal = Journal { name: "org/repo".parse().unwrap(), stage, action };
    place.file(".hookbox/plugins/.hookbox-pending.toml", &journal.print().unwrap());
    assert!(matches!(repaired(&place).as_slice(), [Repair::Undone { .. }]));
    assert!(place.path("outside/tree/hooks/x").is_file() && place.plugin("org@repo").is_none());
}

/// The journal of a removal of what stands there now.
fn remove_of(place: &Place, stage: &str) -> String {
    let old = fs::metadata(place.path(".hookbox/plugins/org@repo")).map_or(1, |it| it.ino());
    let (name, stage) = ("org/repo".parse().unwrap(), StageName::new(stage).unwrap());
    Journal { name, stage, action: Action::Remove { old } }.print().unwrap()
}
