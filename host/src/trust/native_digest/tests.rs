//! The files that a digest covers.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

/// A repository with a hook, a helper beside it, a helper elsewhere, and settings.
fn repository() -> (tempfile::TempDir, DigestInput) {
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
    let (declared, lines) = (BTreeMap::new(), Vec::new());
    let (file, base, cwd) = (dir.join("x"), repo.clone(), repo.clone());
    (temp, DigestInput { repo, dir, file, base, declared, lines, cwd, settings, covered: Covered::default() })
}

#[test]
fn whatever_belongs_to_a_hook_changes_its_digest() {
    type Change = fn(&Path, &mut DigestInput);
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
        ("a command line that names a file", |_, at| at.lines = vec!["python3 'other' -v".to_owned()], true),
    ];
    for (what, change, changes) in changes {
        let (_temp, mut input) = repository();
        let before = input.digest().unwrap();
        let repo = input.repo.clone();
        change(&repo, &mut input);
        assert_eq!(input.digest().unwrap() != before, *changes, "{what}");
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
        let (temp, input) = repository();
        fs::create_dir_all(temp.path().join("away/deep")).unwrap();
        fs::write(temp.path().join("away/g.sh"), "1").unwrap();
        let input = if words.is_empty() { input } else { declared(input, words) };
        assert!(input.digest().is_ok(), "{words:?}");
        for (link, target) in links {
            symlink(target, input.repo.join(link)).unwrap();
        }
        let error = input.digest().unwrap_err();
        let TreeError::LeadsOut { path } = &error else { panic!("{links:?} {words:?}: {error}") };
        assert!(path.ends_with(want), "{links:?} {words:?}: {error}");
    }
    // The hooks directory itself.
    let (temp, input) = repository();
    fs::rename(&input.dir, temp.path().join("away")).unwrap();
    symlink("../../away", &input.dir).unwrap();
    assert!(matches!(input.digest(), Err(TreeError::LeadsOut { .. })), "{:?}", input.digest());
}

#[test]
fn a_symlink_within_the_repository_and_a_path_outside_of_it_are_nothing_to_refuse() {
    let (temp, input) = repository();
    fs::create_dir(temp.path().join("away")).unwrap();
    fs::write(temp.path().join("away/g.sh"), "1").unwrap();
    fs::create_dir(input.repo.join("real")).unwrap();
    fs::write(input.repo.join("real/g.sh"), "1").unwrap();
    symlink("real", input.repo.join("scripts")).unwrap();
    symlink(input.repo.join("scripts"), input.repo.join("again")).unwrap();
    for words in [&["sh scripts/g.sh"][..], &["sh again/g.sh"], &["cd again && ./g.sh"]] {
        let input = declared(input.clone(), words);
        fs::write(input.repo.join("real/g.sh"), "1").unwrap();
        let before = input.digest().unwrap();
        fs::write(input.repo.join("real/g.sh"), "2").unwrap();
        assert_ne!(input.digest().unwrap(), before, "{words:?}");
    }
    assert!(declared(input, &["sh ../away/g.sh"]).digest().is_ok(), "its letters say it");
}

#[test]
fn what_is_too_much_to_look_at_has_no_digest() {
    let (_temp, input) = repository();
    fs::File::create(input.dir.join("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(input.digest(), Err(TreeError::TooLarge));
    fs::remove_file(input.dir.join("large")).unwrap();
    for n in 0..MAX_FILES {
        fs::write(input.dir.join(n.to_string()), "").unwrap();
    }
    assert_eq!(input.digest(), Err(TreeError::TooManyFiles));
    let error = TreeError::TooLarge.to_string();
    assert_eq!(
        error,
        "more than 64 MiB of files belong to it, and hookbox cannot tell which of them it loads"
    );
}

#[test]
fn the_hooks_of_one_directory_are_different() {
    let (_temp, input) = repository();
    fs::write(input.dir.join("y"), "#!/bin/sh\n").unwrap();
    let (files, seen) = (FileAccess::repository(&input.repo).unwrap(), SharedTrees::default());
    let digest = |input: &DigestInput| input.digest_in(&files, &mut Allowance::of_one(), &seen);
    let other = DigestInput { file: input.dir.join("y"), ..input.clone() };
    assert_ne!(digest(&input), digest(&other));
    assert_eq!(digest(&input), input.digest(), "kept or not, it is the same");
}

/// A hooks.json that declares these words.
fn declared(input: DigestInput, words: &[&str]) -> DigestInput {
    let declared = [("text".to_owned(), "{}".to_owned())].into();
    let lines = words.iter().map(|word| (*word).to_owned()).collect();
    DigestInput { file: input.repo.join(".hookbox/hooks.json"), declared, lines, ..input }
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
        let (_temp, input) = repository();
        let input = declared(input, words);
        fs::create_dir_all(input.repo.join("tools/deep")).unwrap();
        fs::create_dir_all(input.repo.join(Path::new(file).parent().unwrap())).unwrap();
        let path = input.repo.join(file);
        fs::write(&path, "1").unwrap();
        let before = input.digest().unwrap();
        fs::write(&path, "2").unwrap();
        assert_ne!(input.digest().unwrap(), before, "{words:?}: {file}");
    }
}

#[test]
fn what_stands_beside_a_script_that_a_line_names_changes_its_digest() {
    let put = |input: &DigestInput, file: &str, text: &str| {
        let path = input.repo.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (words, script, beside) in [
        (&["python3 scripts/a.py"][..], "scripts/a.py", "scripts/b.py"),
        (&["python3", "scripts/a.py"], "scripts/a.py", "scripts/deep/b.py"),
        (&["sh scripts/a.sh"], "scripts/a.sh", "scripts/lib.sh"),
        (&["sh ./scripts/deep/../a.sh"], "scripts/a.sh", "scripts/lib.sh"),
        (&["node -e \"require('./scripts/g')\""], "scripts/g.js", "scripts/g.js"),
        (&["node -e \"require('./scripts/g')\""], "scripts/g.cjs", "scripts/h.js"),
        (&["node", "scripts/g"], "scripts/g.js", "scripts/g.js"),
        (&["scripts/link.sh"], "real/a.sh", "real/lib.sh"),
        (&["python3 .hookbox/hooks/lib/a.py"], ".hookbox/hooks/lib/a.py", ".hookbox/hooks/b.py"),
    ] {
        let (_temp, input) = repository();
        let input = declared(input, words);
        put(&input, script, "1");
        put(&input, beside, "1");
        fs::create_dir_all(input.repo.join("scripts/deep")).unwrap();
        symlink("../real/a.sh", input.repo.join("scripts/link.sh")).unwrap();
        let before = input.digest().unwrap();
        put(&input, beside, "2");
        assert_ne!(input.digest().unwrap(), before, "{words:?}: {beside}");
    }
    // Programs that are not scripts, and the root, have nothing beside them that counts.
    for (words, file, beside) in [("cat data/list", "data/list", "data/other"), ("sh a.sh", "a.sh", "b.sh")] {
        let (_temp, input) = repository();
        let input = declared(input, &[words]);
        put(&input, file, "1");
        put(&input, beside, "1");
        let before = input.digest().unwrap();
        put(&input, beside, "2");
        assert_eq!(input.digest().unwrap(), before, "{words}");
    }
}

#[test]
fn too_much_beside_a_script_changes_its_digest_once() {
    let (_temp, input) = repository();
    fs::create_dir(input.repo.join("scripts")).unwrap();
    fs::write(input.repo.join("scripts/a.sh"), "1").unwrap();
    let input = declared(input, &["sh scripts/a.sh"]);
    let before = input.digest().unwrap();
    fs::File::create(input.repo.join("scripts/large")).unwrap().set_len(BESIDE.1 + 1).unwrap();
    let after = input.digest().unwrap();
    assert_ne!(after, before, "that it is too much counts");
    fs::write(input.repo.join("scripts/a.sh"), "2").unwrap();
    assert_ne!(input.digest().unwrap(), after, "the script itself is covered");
    let files = FileAccess::repository(&input.repo).unwrap();
    let little = &mut Allowance { bytes: 64, ..Allowance::of_unapproved() };
    assert_eq!(input.digest_in(&files, little, &SharedTrees::default()), Err(TreeError::Spent));
}

#[test]
fn what_is_declared_has_the_same_digest_wherever_the_agent_works() {
    let (_temp, input) = repository();
    fs::create_dir_all(input.repo.join("sub/tools")).unwrap();
    fs::write(input.repo.join("sub/tools/config"), "of sub").unwrap();
    let input = declared(input, &["sh tools/config"]);
    let below = DigestInput { cwd: input.repo.join("sub"), ..input.clone() };
    assert_eq!(below.digest(), input.digest());
    let (_temp, native) = repository();
    fs::create_dir_all(native.repo.join("sub/tools")).unwrap();
    fs::write(native.repo.join("sub/tools/config"), "of sub").unwrap();
    let below = DigestInput { cwd: native.repo.join("sub"), ..native.clone() };
    assert_ne!(below.digest(), native.digest(), "a file that is the hook runs there");
}

#[test]
fn the_whole_repository_is_not_part_of_a_digest() {
    let (_temp, input) = repository();
    let input = declared(input, &["python3", "."]);
    let before = input.digest();
    fs::write(input.repo.join("other"), "2").unwrap();
    assert_eq!(input.digest(), before);
    let names = declared(input, &["cd tools && ./run"]).names().unwrap();
    assert!(names.iter().any(|it| it.as_os_str() == "tools/"), "{names:?}");
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
        let (_temp, input) = repository();
        let at = |path: &str| input.repo.join(path);
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
        let before = input.digest().unwrap();
        fs::write(at(beside), "2").unwrap();
        assert_eq!(input.digest().unwrap() != before, changes, "{link} {target} {beside}");
    }
}

#[test]
fn a_hook_that_leads_to_the_root_of_the_repository_cannot_be_trusted() {
    let (_temp, input) = repository();
    fs::write(input.repo.join("x.py"), "1").unwrap();
    symlink("../../x.py", input.dir.join("y.py")).unwrap();
    assert!(input.digest().is_ok());
    let at_root = DigestInput { file: input.dir.join("y.py"), ..input };
    assert!(matches!(at_root.digest(), Err(TreeError::AtRoot { .. })), "{:?}", at_root.digest());
}

#[test]
fn a_component_is_its_bytes_and_all_that_is_said_of_it() {
    let (_temp, input) = repository();
    let bytes = Digest::of(b"1");
    let bare = DigestInput { settings: BTreeMap::new(), ..input.clone() };
    assert_eq!(bare.of_component(&bytes), bytes);
    let entry = BTreeMap::from([("text".to_owned(), "{}".to_owned())]);
    let all = [
        bytes.clone(),
        input.of_component(&bytes),
        input.of_component(&Digest::of(b"2")),
        DigestInput { declared: entry.clone(), ..bare }.of_component(&bytes),
        DigestInput { declared: entry, ..input }.of_component(&bytes),
    ];
    let unique: BTreeSet<String> = all.iter().map(Digest::hex).collect();
    assert_eq!(unique.len(), all.len());
}

#[test]
fn a_new_file_of_an_installed_plugin_is_no_change_of_it() {
    type Change = fn(&Path);
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let changes: &[(&str, Change, bool)] = &[
        ("a log", |it| fs::write(it.join("hooks/hook.log"), "1").unwrap(), false),
        ("a directory of state", |it| fs::create_dir_all(it.join("state/deep")).unwrap(), false),
        ("a symlink to an installed file", |it| symlink("guard.py", it.join("hooks/json.py")).unwrap(), true),
        ("an installed file", |it| fs::write(it.join("rules.json"), "2").unwrap(), true),
        ("an installed file that is gone", |it| fs::remove_file(it.join("rules.json")).unwrap(), true),
        ("the file of its line", |it| fs::write(it.join("later"), "2").unwrap(), true),
    ];
    for (name, change, changes) in changes {
        let temp = tempfile::tempdir().unwrap();
        let (_other, input) = repository();
        let plugin = temp.path().join("plugins/a@b");
        write(&plugin.join("hooks/guard.py"), "1");
        write(&plugin.join("rules.json"), "1");
        symlink("hooks", plugin.join("linked")).unwrap();
        let installed = ["hooks/guard.py", "rules.json", "linked"].map(PathBuf::from);
        let installed = Arc::new(installed.into_iter().collect());
        let input = declared(
            DigestInput {
                repo: temp.path().to_owned(),
                base: plugin.clone(),
                dir: plugin.clone(),
                file: plugin.join("hooks/hooks.json"),
                covered: Covered { plugin: plugin.clone(), installed },
                ..input
            },
            &["plugins/a@b/hooks/guard.py", "plugins/a@b/later"],
        );
        let before = input.digest().unwrap();
        change(&plugin);
        assert_eq!(input.digest().unwrap() != before, *changes, "{name}");
    }
}
