//! A full disk, a limit and a disk that cannot be written change nothing, and say so.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use hookbox_plugins::{EntryPath, PluginError, Replace, Silent, Stage, install, remove};

use super::changes::{add, locked, open, own, staged, tree};
use crate::environment::TestEnvironment;

/// The task of the child, and its repository.
const CHILD: &str = "HOOKBOX_TEST_FULL_DISK";

/// The file that fills the disk.
const FILLER: &str = "filler";

fn child(command: &mut Command, what: &str, base: &Path) -> Output {
    command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "plugin::full_disk::the_child_on_a_disk_of_its_own", "--nocapture"])
        .env(CHILD, format!("{what} {}", base.display()))
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_and_a_read_only_one_change_nothing() {
    let env = TestEnvironment::new();
    let base = env.path("repo");
    if let Some(mut command) = env.with_disk("repo", "1m") {
        let output = child(command.current_dir("/"), "disk", &base);
        assert!(output.status.success(), "{output:#?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("all of it was tried"), "{output:#?}");
        return;
    }
    println!("skipped: no file system can be mounted here, not even in a namespace of one's own");
}

#[test]
fn a_limit_on_the_size_of_files_changes_nothing() {
    let env = TestEnvironment::new();
    let base = env.path("repo");
    let plugins = open(&base);
    for number in 0..20 {
        add(&plugins, &format!("org/plugin{number}"), "text", Replace::No, &Silent).unwrap();
    }
    let before = tree(&base);
    // Blocks of 512 or 1024 bytes, as the shell has it; the lock file is larger.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; ulimit -f 2 && exec "$@""#, "sh"]);
    let output = child(&mut command, "limit", &base);
    assert!(output.status.success(), "{output:#?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("all of it was tried"), "{output:#?}");
    assert_eq!(tree(&base), before);
}

#[test]
fn the_child_on_a_disk_of_its_own() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (what, base) = what.split_once(' ').unwrap();
    match what {
        "disk" => on_a_small_disk(Path::new(base)),
        _ => with_a_limit(Path::new(base)),
    }
    println!("all of it was tried");
}

fn with_a_limit(base: &Path) {
    let plugins = open(base);
    let large = large(&plugins).unwrap_err();
    assert!(large.to_string().contains("skills/a/SKILL.md: File too large"), "{large}");
    let error = add(&plugins, "org/new", "text", Replace::No, &Silent).unwrap_err();
    assert!(error.to_string().contains("plugins.lock: File too large"), "{error}");
    let guard = plugins.lock_exclusively().unwrap();
    let error = remove(&guard, &"org/plugin7".parse().unwrap(), &Silent).unwrap_err();
    assert!(error.to_string().contains("plugins.lock: File too large"), "{error}");
}

/// Stages more than fits.
fn large(plugins: &hookbox_plugins::Plugins) -> Result<(), PluginError> {
    let mut stage = Stage::new(plugins, &Silent)?;
    let bytes = vec![7; 2 << 20];
    stage.file(&EntryPath::new(b"skills/a/SKILL.md").unwrap(), false, None, &bytes[..])?;
    stage.finish().map(drop)
}

#[track_caller]
fn says(error: &PluginError, what: &str, hint: &str) {
    assert!(error.to_string().contains(what), "{error}");
    assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{error:?}");
}

fn on_a_small_disk(base: &Path) {
    let (full, room) = ("No space left on device", "make room on this disk");
    let plugins = open(base);
    for name in ["org/repo", "a/other"] {
        add(&plugins, name, "old", Replace::No, &Silent).unwrap();
    }
    // The lock's file has the number of a process while it is locked, which does not matter here.
    let all = || {
        let mut all = tree(base).unwrap();
        all.remove(Path::new(FILLER));
        all
    };
    let before = all();
    says(&large(&plugins).unwrap_err(), full, room);
    assert_eq!(all(), before);

    // Staged while there was room; nothing is left for the rest.
    for replace in [Replace::No, Replace::Yes] {
        let new = staged(&plugins, "new", &Silent).unwrap();
        let name = if replace == Replace::No { "org/new" } else { "org/repo" };
        let locked = locked(name, &new);
        fill(base);
        let guard = plugins.lock_exclusively().unwrap();
        let error = install(&guard, new, locked, replace, &Silent).unwrap_err();
        says(&error, full, room);
        drop(guard);
        assert_eq!((all(), own(base)), (before.clone(), vec![]));
        fs::remove_file(base.join(FILLER)).unwrap();
    }
    fill(base);
    let guard = plugins.lock_exclusively().unwrap();
    let error = remove(&guard, &"org/repo".parse().unwrap(), &Silent).unwrap_err();
    says(&error, full, room);
    drop(guard);
    says(&add(&plugins, "org/new", "new", Replace::No, &Silent).unwrap_err(), full, room);
    assert_eq!(all(), before);
    fs::remove_file(base.join(FILLER)).unwrap();
    add(&plugins, "org/repo", "new", Replace::Yes, &Silent).unwrap();

    let before = all();
    let remounted = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(base).status();
    assert!(remounted.is_ok_and(|it| it.success()));
    let error = add(&plugins, "org/new", "new", Replace::No, &Silent).unwrap_err();
    says(&error, "Read-only file system", "nothing can be written");
    says(&plugins.lock_exclusively().unwrap_err(), "Read-only file system", "nothing can be written");
    assert_eq!(all(), before);
}

/// Fills the disk to the last byte.
fn fill(base: &Path) {
    let mut file = File::create(base.join(FILLER)).unwrap();
    let mut size = 64 << 10;
    while size > 0 {
        // The part that fits is written.
        if file.write_all(&vec![0; size]).is_err() {
            size /= 2;
        }
    }
}
