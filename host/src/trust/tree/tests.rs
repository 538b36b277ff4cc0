//! What a digest covers.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A repository with a hook, a helper beside it, a helper elsewhere, and settings.
fn repository() -> (tempfile::TempDir, Subject) {
    let temp = tempfile::tempdir().unwrap();
    let repo = temp.path().join("repo");
    fs::create_dir_all(repo.join(".hookbox/hooks/lib/deep")).unwrap();
    fs::create_dir_all(repo.join("tools")).unwrap();
    let write = |path: &str, text: &str| fs::write(repo.join(path), text).unwrap();
    write(".hookbox/hooks/x", "#!/usr/bin/env -S CONFIG=tools/config tools/run\n");
    write(".hookbox/hooks/lib/deep/helper", "1");
    write("tools/config", "1");
    write("tools/run", "#!tools/inner\n");
    write("tools/inner", "1");
    write("tools/linked", "1");
    write("other", "1");
    fs::write(temp.path().join("outside"), "1").unwrap();
    symlink("../../tools/linked", repo.join(".hookbox/hooks/link")).unwrap();
    symlink("../../../outside", repo.join(".hookbox/hooks/out")).unwrap();
    symlink("nowhere", repo.join(".hookbox/hooks/dangling")).unwrap();
    symlink("..", repo.join(".hookbox/hooks/lib/up")).unwrap();
    let dir = repo.join(".hookbox/hooks");
    let settings = [("priority".to_owned(), "1".to_owned())].into();
    let (declared, words) = (BTreeMap::new(), Vec::new());
    let (file, base, cwd) = (dir.join("x"), repo.clone(), repo.clone());
    (temp, Subject { repo, dir, file, base, declared, words, cwd, settings })
}

#[test]
fn whatever_belongs_to_a_hook_changes_its_digest() {
    type Change = fn(&Path, &mut Subject);
    let changes: &[(&str, Change, bool)] = &[
        ("nothing", |_, _| {}, false),
        ("another file of the repository", |it, _| fs::write(it.join("other"), "2").unwrap(), false),
        ("a file outside", |it, _| fs::write(it.join("../outside"), "2").unwrap(), false),
        ("the hook", |_, at| fs::write(&at.file, "#!/bin/sh\n").unwrap(), true),
        ("a helper in a directory", |_, at| fs::write(at.dir.join("lib/deep/helper"), "2").unwrap(), true),
        ("a new file beside it", |_, at| fs::write(at.dir.join("new"), "").unwrap(), true),
        ("a new directory", |_, at| fs::create_dir(at.dir.join("new")).unwrap(), true),
        ("a file less", |_, at| fs::remove_file(at.dir.join("lib/deep/helper")).unwrap(), true),
        (
            "an execute bit",
            |_, at| {
                fs::set_permissions(at.dir.join("lib/deep/helper"), fs::Permissions::from_mode(0o755))
                    .unwrap();
            },
            true,
        ),
        (
            "a file's name",
            |_, at| fs::rename(at.dir.join("lib/deep/helper"), at.dir.join("lib/deep/h")).unwrap(),
            true,
        ),
        (
            "the hook's name",
            |_, at| {
                let to = at.dir.join("y");
                fs::rename(&at.file, &to).unwrap();
                at.file = to;
            },
            true,
        ),
        ("which file it is", |_, at| at.file = at.dir.join("lib/deep/helper"), true),
        (
            "a symlink's target",
            |_, at| {
                fs::remove_file(at.dir.join("link")).unwrap();
                symlink("../../other", at.dir.join("link")).unwrap();
            },
            true,
        ),
        (
            "a symlink that leads out, elsewhere",
            |_, at| {
                fs::remove_file(at.dir.join("out")).unwrap();
                symlink("../../../elsewhere", at.dir.join("out")).unwrap();
            },
            true,
        ),
        ("what a symlink leads to", |it, _| fs::write(it.join("tools/linked"), "2").unwrap(), true),
        ("what led nowhere", |_, at| fs::write(at.dir.join("nowhere"), "2").unwrap(), true),
        ("a file that the shebang names", |it, _| fs::write(it.join("tools/config"), "2").unwrap(), true),
        ("its interpreter's own", |it, _| fs::write(it.join("tools/inner"), "2").unwrap(), true),
        (
            "a setting",
            |_, at| {
                at.settings.insert("priority".to_owned(), "2".to_owned());
            },
            true,
        ),
        ("a setting less", |_, at| at.settings.clear(), true),
        (
            "what declares it",
            |_, at| {
                at.declared.insert("text".to_owned(), "{}".to_owned());
            },
            true,
        ),
        ("a command line that names a file", |_, at| at.words = vec!["python3 'other' -v".to_owned()], true),
    ];
    for (what, change, changes) in changes {
        let (_temp, mut subject) = repository();
        let before = subject.digest().unwrap();
        let repo = subject.repo.clone();
        change(&repo, &mut subject);
        assert_eq!(subject.digest().unwrap() != before, *changes, "{what}");
    }
}

#[test]
fn what_is_too_much_to_look_at_has_no_digest() {
    let (_temp, subject) = repository();
    fs::File::create(subject.dir.join("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(subject.digest(), Err(TreeError::TooLarge));
    fs::remove_file(subject.dir.join("large")).unwrap();
    for n in 0..MAX_FILES {
        fs::write(subject.dir.join(n.to_string()), "").unwrap();
    }
    assert_eq!(subject.digest(), Err(TreeError::TooManyFiles));
    let error = TreeError::TooLarge.to_string();
    assert_eq!(error, "more than 64 MiB of files belong to it, and nobody can say what it loads");
}

#[test]
fn the_hooks_of_one_directory_are_different() {
    let (_temp, subject) = repository();
    fs::write(subject.dir.join("y"), "#!/bin/sh\n").unwrap();
    let (files, seen) = (Files::repository(&subject.repo).unwrap(), Seen::default());
    let digest = |subject: &Subject| subject.digest_in(&files, &mut Allowance::of_one(), &seen);
    let other = Subject { file: subject.dir.join("y"), ..subject.clone() };
    assert_ne!(digest(&subject), digest(&other));
    assert_eq!(digest(&subject), subject.digest(), "kept or not, it is the same");
}

/// A hooks.json that declares these words.
fn declared(subject: Subject, words: &[&str]) -> Subject {
    let declared = [("text".to_owned(), "{}".to_owned())].into();
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Subject { file: subject.repo.join(".hookbox/hooks.json"), declared, words, ..subject }
}

#[test]
fn a_file_that_a_command_line_uses_changes_its_digest_however_it_is_written() {
    for (words, file) in [
        (&["sh my\\ hooks/b.sh"][..], "my hooks/b.sh"),
        (&["sh too'ls/a'.sh"], "tools/a.sh"),
        (&["sh \"too\"ls/a.sh"], "tools/a.sh"),
        (&["sh ${NOSUCH:-tools/a.sh}"], "tools/a.sh"),
        (&["cd tools && ./a.sh"], "tools/a.sh"),
        (&["cd tools/deep && ../../other.sh"], "other.sh"),
        (&["sh -c 'cd tools; ./a.sh'"], "tools/a.sh"),
        (&["cd tools && ./a.sh"], "tools/inner"),
        (&["python3", "pk"], "pk/__main__.py"),
        (&["python3", "pk"], "pk/deep/module.py"),
        (&["python3", "-m", "pk.deep.module"], "pk/deep/module.py"),
        (&["python3", "${NOSUCH:-srv.py}"], "srv.py"),
        (&["node", "--require=./srv.py"], "srv.py"),
        (&["sh", "my\\file"], "my\\file"),
    ] {
        let (_temp, subject) = repository();
        let subject = declared(subject, words);
        fs::create_dir_all(subject.repo.join("tools/deep")).unwrap();
        fs::create_dir_all(subject.repo.join(Path::new(file).parent().unwrap())).unwrap();
        let path = subject.repo.join(file);
        fs::write(&path, "1").unwrap();
        let before = subject.digest().unwrap();
        fs::write(&path, "2").unwrap();
        assert_ne!(subject.digest().unwrap(), before, "{words:?}: {file}");
    }
}

#[test]
fn what_is_declared_has_the_same_digest_wherever_the_agent_works() {
    let (_temp, subject) = repository();
    fs::create_dir_all(subject.repo.join("sub/tools")).unwrap();
    fs::write(subject.repo.join("sub/tools/config"), "of sub").unwrap();
    let subject = declared(subject, &["sh tools/config"]);
    let below = Subject { cwd: subject.repo.join("sub"), ..subject.clone() };
    assert_eq!(below.digest(), subject.digest());
    let (_temp, native) = repository();
    fs::create_dir_all(native.repo.join("sub/tools")).unwrap();
    fs::write(native.repo.join("sub/tools/config"), "of sub").unwrap();
    let below = Subject { cwd: native.repo.join("sub"), ..native.clone() };
    assert_ne!(below.digest(), native.digest(), "a file that is the hook runs there");
}

#[test]
fn the_whole_repository_is_no_part_of_a_digest_and_that_is_said() {
    let (_temp, subject) = repository();
    let subject = declared(subject, &["python3", "."]);
    let before = subject.digest();
    fs::write(subject.repo.join("other"), "2").unwrap();
    assert_eq!(subject.digest(), before);
    let repo = subject.repo.to_string_lossy().into_owned();
    for (line, whole) in [
        ("python3 .", true),
        ("python3 tools/..", true),
        ("python3 \"$CLAUDE_PROJECT_DIR\"", true),
        ("PYTHONPATH=. python3 tools/run", true),
        (repo.as_str(), true),
        ("cd \"$CLAUDE_PROJECT_DIR\" && sh tools/run", false),
        ("sh \"$CLAUDE_PROJECT_DIR\"/tools/run", false),
    ] {
        assert_eq!(declared(subject.clone(), &[line]).names().unwrap().1, whole, "{line}");
    }
    let (names, more) = declared(subject, &["cd tools && ./run"]).names().unwrap();
    assert!(!more && names.iter().any(|it| it.as_os_str() == "tools/"), "{names:?}");
}
