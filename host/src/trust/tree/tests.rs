//! What a digest covers.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A repository with a hook, a helper beside it, a helper elsewhere, and settings.
fn repository() -> (tempfile::TempDir, Belongings) {
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
    symlink("../../tools/linked", repo.join(".hookbox/hooks/link")).unwrap();
    symlink("nowhere", repo.join(".hookbox/hooks/dangling")).unwrap();
    symlink("..", repo.join(".hookbox/hooks/lib/up")).unwrap();
    let dir = repo.join(".hookbox/hooks");
    let settings = [("priority".to_owned(), "1".to_owned())].into();
    let (declared, words) = (BTreeMap::new(), Vec::new());
    let (file, base, cwd) = (dir.join("x"), repo.clone(), repo.clone());
    let variables = Variables { project: &["CLAUDE_PROJECT_DIR"], ..Variables::default() };
    (temp, Belongings { repo, dir, file, base, declared, words, variables, cwd, settings })
}

#[test]
fn whatever_belongs_to_a_hook_changes_its_digest() {
    type Change = fn(&Path, &mut Belongings);
    let changes: &[(&str, Change, bool)] = &[
        ("nothing", |_, _| {}, false),
        ("another file of the repository", |it, _| fs::write(it.join("other"), "2").unwrap(), false),
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
        (
            "a variable that names a file",
            |_, at| at.variables.own = vec![("BASH_ENV".to_owned(), "other".to_owned())],
            true,
        ),
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
fn what_a_symlink_leads_to_out_of_the_repository_cannot_be_trusted() {
    // The links, the words of a command line, and the link that is named.
    for (links, words, want) in [
        (&[(".hookbox/hooks/out", "../../../away/g.sh")][..], &[][..], ".hookbox/hooks/out"),
        (&[(".hookbox/hooks/lib/out", "../../../../away")], &[], ".hookbox/hooks/lib/out"),
        (&[(".hookbox/hooks/one", "two"), (".hookbox/hooks/two", "../../../away/g.sh")], &[], "hooks/one"),
        (&[("scripts", "../away")], &["sh scripts/g.sh"], "scripts"),
        (&[("scripts", "../away")], &["cd scripts && ./g.sh"], "scripts"),
        (&[("scripts", "../away")], &["python3", "-m", "scripts.g"], "scripts"),
        (&[("scripts", "first"), ("first", "../away")], &["sh scripts/deep/../g.sh"], "scripts"),
        (&[("g.sh", "../away/g.sh")], &["sh ./g.sh"], "g.sh"),
        (&[("one.sh", "two.sh"), ("two.sh", "../away/g.sh")], &["sh one.sh"], "one.sh"),
        (&[("tools/out", "../../away/g.sh")], &["ls tools"], "tools/out"),
    ] {
        let (temp, subject) = repository();
        fs::create_dir_all(temp.path().join("away/deep")).unwrap();
        fs::write(temp.path().join("away/g.sh"), "1").unwrap();
        let subject = if words.is_empty() { subject } else { declared(subject, words) };
        assert!(subject.digest().is_ok(), "{words:?}");
        for (link, target) in links {
            symlink(target, subject.repo.join(link)).unwrap();
        }
        let error = subject.digest().unwrap_err();
        let TreeError::LeadsOut { path } = &error else { panic!("{links:?} {words:?}: {error}") };
        assert!(path.ends_with(want), "{links:?} {words:?}: {error}");
    }
    // The hooks directory itself.
    let (temp, subject) = repository();
    fs::rename(&subject.dir, temp.path().join("away")).unwrap();
    symlink("../../away", &subject.dir).unwrap();
    assert!(matches!(subject.digest(), Err(TreeError::LeadsOut { .. })), "{:?}", subject.digest());
}

#[test]
fn a_symlink_within_the_repository_and_a_path_outside_of_it_are_nothing_to_refuse() {
    let (temp, subject) = repository();
    fs::create_dir(temp.path().join("away")).unwrap();
    fs::write(temp.path().join("away/g.sh"), "1").unwrap();
    fs::create_dir(subject.repo.join("real")).unwrap();
    fs::write(subject.repo.join("real/g.sh"), "1").unwrap();
    symlink("real", subject.repo.join("scripts")).unwrap();
    symlink(subject.repo.join("scripts"), subject.repo.join("again")).unwrap();
    for words in [&["sh scripts/g.sh"][..], &["sh again/g.sh"], &["cd again && ./g.sh"]] {
        let subject = declared(subject.clone(), words);
        fs::write(subject.repo.join("real/g.sh"), "1").unwrap();
        let before = subject.digest().unwrap();
        fs::write(subject.repo.join("real/g.sh"), "2").unwrap();
        assert_ne!(subject.digest().unwrap(), before, "{words:?}");
    }
    assert!(declared(subject, &["sh ../away/g.sh"]).digest().is_ok(), "its letters say it");
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
    let (files, seen) = (FileAccess::repository(&subject.repo).unwrap(), Seen::default());
    let digest = |subject: &Belongings| subject.digest_in(&files, &mut Allowance::of_one(), &seen);
    let other = Belongings { file: subject.dir.join("y"), ..subject.clone() };
    assert_ne!(digest(&subject), digest(&other));
    assert_eq!(digest(&subject), subject.digest(), "kept or not, it is the same");
}

/// A hooks.json that declares these words.
fn declared(subject: Belongings, words: &[&str]) -> Belongings {
    let declared = [("text".to_owned(), "{}".to_owned())].into();
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Belongings { file: subject.repo.join(".hookbox/hooks.json"), declared, words, ..subject }
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
fn what_stands_beside_a_script_that_a_line_names_changes_its_digest() {
    let put = |subject: &Belongings, file: &str, text: &str| {
        let path = subject.repo.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (words, script, beside, more) in [
        (&["python3 scripts/a.py"][..], "scripts/a.py", "scripts/b.py", true),
        (&["python3", "scripts/a.py"], "scripts/a.py", "scripts/deep/b.py", true),
        (&["sh scripts/a.sh"], "scripts/a.sh", "scripts/lib.sh", false),
        (&["sh ./scripts/deep/../a.sh"], "scripts/a.sh", "scripts/lib.sh", false),
        (&["node -e \"require('./scripts/g')\""], "scripts/g.js", "scripts/g.js", true),
        (&["node -e \"require('./scripts/g')\""], "scripts/g.cjs", "scripts/h.js", true),
        (&["node", "scripts/g"], "scripts/g.js", "scripts/g.js", true),
        (&["scripts/link.sh"], "real/a.sh", "real/lib.sh", false),
        (&["python3 .hookbox/hooks/lib/a.py"], ".hookbox/hooks/lib/a.py", ".hookbox/hooks/b.py", false),
    ] {
        let (_temp, subject) = repository();
        let subject = declared(subject, words);
        put(&subject, script, "1");
        put(&subject, beside, "1");
        fs::create_dir_all(subject.repo.join("scripts/deep")).unwrap();
        symlink("../real/a.sh", subject.repo.join("scripts/link.sh")).unwrap();
        let before = subject.digest().unwrap();
        assert_eq!(subject.names().unwrap().1, more, "{words:?}");
        put(&subject, beside, "2");
        assert_ne!(subject.digest().unwrap(), before, "{words:?}: {beside}");
    }
    // What is no script, and the root, have nothing beside them that counts.
    for (words, file, beside) in [("cat data/list", "data/list", "data/other"), ("sh a.sh", "a.sh", "b.sh")] {
        let (_temp, subject) = repository();
        let subject = declared(subject, &[words]);
        put(&subject, file, "1");
        put(&subject, beside, "1");
        let before = subject.digest().unwrap();
        put(&subject, beside, "2");
        assert_eq!(subject.digest().unwrap(), before, "{words}");
        assert!(!subject.names().unwrap().1, "{words}");
    }
}

#[test]
fn too_much_beside_a_script_is_no_part_of_a_digest_and_that_is_said() {
    let (_temp, subject) = repository();
    fs::create_dir(subject.repo.join("scripts")).unwrap();
    fs::write(subject.repo.join("scripts/a.sh"), "1").unwrap();
    let subject = declared(subject, &["sh scripts/a.sh"]);
    let before = subject.digest().unwrap();
    assert!(!subject.names().unwrap().1);
    fs::File::create(subject.repo.join("scripts/large")).unwrap().set_len(BESIDE.1 + 1).unwrap();
    let after = subject.digest().unwrap();
    assert_ne!(after, before, "that it is too much counts");
    assert!(subject.names().unwrap().1);
    fs::write(subject.repo.join("scripts/a.sh"), "2").unwrap();
    assert_ne!(subject.digest().unwrap(), after, "the script itself is covered");
    let files = FileAccess::repository(&subject.repo).unwrap();
    let little = &mut Allowance { bytes: 64, ..Allowance::of_unapproved() };
    assert_eq!(subject.digest_in(&files, little, &Seen::default()), Err(TreeError::Spent));
}

#[test]
fn what_is_declared_has_the_same_digest_wherever_the_agent_works() {
    let (_temp, subject) = repository();
    fs::create_dir_all(subject.repo.join("sub/tools")).unwrap();
    fs::write(subject.repo.join("sub/tools/config"), "of sub").unwrap();
    let subject = declared(subject, &["sh tools/config"]);
    let below = Belongings { cwd: subject.repo.join("sub"), ..subject.clone() };
    assert_eq!(below.digest(), subject.digest());
    let (_temp, native) = repository();
    fs::create_dir_all(native.repo.join("sub/tools")).unwrap();
    fs::write(native.repo.join("sub/tools/config"), "of sub").unwrap();
    let below = Belongings { cwd: native.repo.join("sub"), ..native.clone() };
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

#[test]
fn a_symlink_to_a_script_counts_with_the_directory_that_it_leads_to() {
    // The link, its target, whether that is a script, and the file beside the target that changes.
    for (link, target, is_program, beside, changes) in [
        (".hookbox/hooks/guard", "../../scripts/guard", true, "scripts/json.py", true),
        (".hookbox/hooks/guard", "../../scripts/guard", true, "scripts/deep/er/x", true),
        (".hookbox/hooks/lib/m.js", "../../../scripts/guard", false, "scripts/n.js", true),
        // Code that a directory at the end of another link loads.
        (".hookbox/hooks/guard", "../../first/guard", true, "scripts/x", true),
        (".hookbox/hooks/text", "../../scripts/guard", false, "scripts/x", false),
        (".hookbox/hooks/guard", "../../scripts/guard", true, "elsewhere", false),
    ] {
        let (_temp, subject) = repository();
        let at = |path: &str| subject.repo.join(path);
        fs::create_dir_all(at("scripts/deep/er")).unwrap();
        fs::create_dir_all(at("first")).unwrap();
        fs::write(at("scripts/guard"), "1").unwrap();
        fs::write(at("first/guard"), "1").unwrap();
        symlink("../scripts/guard", at("first/m.py")).unwrap();
        let mode = if is_program { 0o755 } else { 0o644 };
        for file in ["scripts/guard", "first/guard"] {
            fs::set_permissions(at(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(target, at(link)).unwrap();
        let before = subject.digest().unwrap();
        fs::write(at(beside), "2").unwrap();
        assert_eq!(subject.digest().unwrap() != before, changes, "{link} {target} {beside}");
    }
}

#[test]
fn a_hook_that_leads_to_the_root_of_the_repository_cannot_be_trusted_and_another_link_there_is_said() {
    let (_temp, subject) = repository();
    fs::write(subject.repo.join("x.py"), "1").unwrap();
    symlink("../../x.py", subject.dir.join("y.py")).unwrap();
    assert!(subject.digest().is_ok());
    assert!(subject.names().unwrap().1, "more may be used than is known");
    let at_root = Belongings { file: subject.dir.join("y.py"), ..subject };
    assert!(matches!(at_root.digest(), Err(TreeError::AtRoot { .. })), "{:?}", at_root.digest());
}

#[test]
fn a_component_is_its_bytes_and_all_that_is_said_of_it() {
    let (_temp, subject) = repository();
    let bytes = Digest::of(b"1");
    let bare = Belongings { settings: BTreeMap::new(), ..subject.clone() };
    assert_eq!(bare.of_component(&bytes), bytes);
    let entry = BTreeMap::from([("text".to_owned(), "{}".to_owned())]);
    let all = [
        bytes.clone(),
        subject.of_component(&bytes),
        subject.of_component(&Digest::of(b"2")),
        Belongings { declared: entry.clone(), ..bare }.of_component(&bytes),
        Belongings { declared: entry, ..subject }.of_component(&bytes),
    ];
    let unique: BTreeSet<String> = all.iter().map(Digest::hex).collect();
    assert_eq!(unique.len(), all.len());
}
