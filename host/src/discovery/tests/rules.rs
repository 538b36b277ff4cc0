//! The rules of looking and shadowing, where everything is trusted.

use super::*;

const PRE: &str = "before_tool_call";

#[test]
fn hooks_are_found_as_kodelet_finds_them() {
    let at = |path| (path, Hook(PRE));
    for (what, files, want) in [
        ("nothing", vec![("repo/.kodelet/hooks", Dir)], vec![]),
        ("a subdirectory is not looked into", vec![at("repo/.kodelet/hooks/sub/x")], vec![]),
        ("a file must be executable", vec![("repo/.kodelet/hooks/x", Mode(0o644, PRE))], vec![]),
        (
            "any execute bit counts",
            vec![("repo/.kodelet/hooks/x", Mode(0o744, PRE)), ("repo/.kodelet/hooks/y", Mode(0o611, PRE))],
            vec!["before_tool_call:x", "before_tool_call:y"],
        ),
        ("an unknown event", vec![("repo/.kodelet/hooks/x", Hook("no_such_event"))], vec![]),
        ("a failed query", vec![("repo/.kodelet/hooks/x", Script("echo turn_end; exit 3"))], vec![]),
        ("an empty answer", vec![("repo/.kodelet/hooks/x", Script("exit 0"))], vec![]),
        (
            "white space",
            vec![("repo/.kodelet/hooks/x", Script("printf '\\n turn_end \\r\\n'"))],
            vec!["turn_end:x"],
        ),
        (
            "the suffix of what is switched off is exact",
            vec![
                at("repo/.kodelet/hooks/.disable"),
                at("repo/.kodelet/hooks/a.disabled"),
                at("repo/.kodelet/hooks/b.disable.sh"),
                at("repo/.kodelet/hooks/c.DISABLE"),
                at("repo/.kodelet/hooks/d.disable"),
            ],
            vec![
                "before_tool_call:a.disabled",
                "before_tool_call:b.disable.sh",
                "before_tool_call:c.DISABLE",
            ],
        ),
        (
            "what is switched off shadows nothing",
            vec![at("repo/.kodelet/hooks/x.disable"), ("home/.kodelet/hooks/x", Hook("turn_end"))],
            vec!["turn_end:x"],
        ),
        (
            "an editor's backup is a hook, and names are compared by bytes",
            vec![at("repo/.kodelet/hooks/x~"), at("repo/.kodelet/hooks/x.sh"), at("repo/.kodelet/hooks/x")],
            vec!["before_tool_call:x", "before_tool_call:x.sh", "before_tool_call:x~"],
        ),
        (
            "a dangling link is one problem and shadows nothing",
            vec![("repo/.kodelet/hooks/x", Link("nowhere")), at("home/.kodelet/hooks/x")],
            vec!["before_tool_call:x"],
        ),
        (
            "a link counts as what it leads to",
            vec![
                ("repo/tools/plain", Text("")),
                ("repo/tools/tool", Hook(PRE)),
                ("repo/.kodelet/hooks/a", Link("../../tools/plain")),
                ("repo/.kodelet/hooks/b", Link("../../tools")),
                ("repo/.kodelet/hooks/c", Link("../../tools/tool")),
            ],
            vec!["before_tool_call:c"],
        ),
        (
            "the hooks directory may be a link",
            vec![at("repo/shared/x"), ("repo/.kodelet/hooks", Link("../shared"))],
            vec!["before_tool_call:x"],
        ),
        (
            "a plugin may not",
            vec![at("repo/shared/hooks/x"), ("repo/.kodelet/plugins/o@r", Link("../../shared"))],
            vec![],
        ),
        (
            "a file in the place of a hooks directory is local",
            vec![
                ("repo/.kodelet/hooks", Text("")),
                ("repo/.kodelet/plugins/o@bad/hooks", Text("")),
                ("repo/.kodelet/plugins/o@s/skills", Dir),
                at("home/.kodelet/hooks/x"),
            ],
            vec!["before_tool_call:x"],
        ),
        (
            "an earlier hook shadows by name, whatever its event",
            vec![("repo/.kodelet/hooks/x", Hook("turn_end")), at("home/.kodelet/hooks/x")],
            vec!["turn_end:x"],
        ),
        (
            "a hook that cannot be used shadows nothing",
            vec![("repo/.kodelet/hooks/x", Script("exit 1")), at("home/.kodelet/hooks/x")],
            vec!["before_tool_call:x"],
        ),
        (
            "plugins name their hooks, and shadow hook by hook",
            vec![
                at("repo/.kodelet/plugins/plain/hooks/x"),
                ("repo/.kodelet/plugins/o@r/hooks/x", Hook("turn_end")),
                at("repo/.kodelet/plugins/o@r/hooks/sub/y"),
                at("home/.kodelet/plugins/o@r/hooks/x"),
                at("home/.kodelet/plugins/o@r/hooks/y"),
                at("home/.kodelet/plugins/o@r@s/hooks/z"),
            ],
            vec![
                "turn_end:o/r/x",
                "before_tool_call:plain/x",
                "before_tool_call:o/r/y",
                "before_tool_call:o/r@s/z",
            ],
        ),
        (
            "tiers in order, and the roots inside of each",
            vec![
                at("home/.kodelet/plugins/o@r/hooks/a"),
                at("home/.hookbox/hooks/g"),
                at("home/.kodelet/hooks/f"),
                at("repo/.hookbox/plugins/o@r/hooks/b"),
                at("repo/.kodelet/hooks/c"),
                at("repo/.hookbox/hooks/d"),
                ("repo/.hookbox/hooks/same", Hook("turn_end")),
                at("repo/.kodelet/hooks/same"),
            ],
            vec![
                "before_tool_call:d",
                "turn_end:same",
                "before_tool_call:c",
                "before_tool_call:o/r/b",
                "before_tool_call:g",
                "before_tool_call:f",
                "before_tool_call:o/r/a",
            ],
        ),
    ] {
        let tree = Tree::new(&files);
        assert_eq!(active(&tree.discover(TrustPolicy::All)), want, "{what}");
    }
}

#[test]
fn everything_that_went_wrong_is_named_in_one_sentence() {
    let tree = Tree::new(&[
        ("repo/.hookbox", Text("")),
        ("repo/.kodelet/hooks/gone", Link("nowhere")),
        ("repo/.kodelet/hooks/loop", Link("loop")),
        ("repo/.kodelet/plugins/o@bad/hooks", Text("")),
        ("repo/.kodelet/plugins/o@link", Link("o@bad")),
        ("home/.kodelet/hooks", Text("")),
    ]);
    let discovery = tree.discover(TrustPolicy::All);
    assert_eq!(
        problems(&tree, &discovery),
        [
            "repo/.hookbox: is a file: expected a directory",
            "repo/.kodelet/plugins/o@bad/hooks: is a file: expected a directory",
            "repo/.kodelet/plugins/o@link: is a symlink and is ignored: a plugin is a directory of its own",
            "home/.kodelet/hooks: is a file: expected a directory",
            "repo/.kodelet/hooks/gone: leads nowhere",
            "repo/.kodelet/hooks/loop: is a symlink that leads to itself",
        ]
    );
    assert_eq!(statuses(&discovery), [("gone", "invalid"), ("loop", "invalid")]);
    assert!(discovery.hooks.is_empty());
}

#[test]
fn what_is_shadowed_is_listed_and_not_asked() {
    let asked = "echo asked >> \"$(dirname \"$0\")/../../../asked\"; echo turn_end";
    let tree = Tree::new(&[("repo/.kodelet/hooks/x", Hook(PRE)), ("home/.kodelet/hooks/x", Script(asked))]);
    let discovery = tree.discover(TrustPolicy::All);
    assert_eq!(statuses(&discovery), [("x", "active"), ("x", "shadowed")]);
    assert!(!tree.path("asked").exists());
    assert_eq!(registered(&discovery), ["x"]);
}

#[test]
fn a_directory_of_the_embedder_comes_after_the_roots_of_the_user() {
    let tree = Tree::new(&[
        ("home/.kodelet/hooks/z", Hook(PRE)),
        ("home/.kodelet/plugins/o@r/hooks/p", Hook(PRE)),
        ("extra/a", Hook(PRE)),
        ("extra/z", Hook(PRE)),
    ]);
    let mut options = tree.options(TrustPolicy::Recorded);
    options.directories = vec![tree.path("extra")];
    let discovery = discover(&options);
    assert_eq!(
        statuses(&discovery),
        [("z", "active"), ("a", "active"), ("z", "shadowed"), ("o/r/p", "active")]
    );
    options.home = None;
    assert_eq!(registered(&discover(&options)), ["a", "z"]);
}

#[test]
fn the_home_directory_is_never_also_the_repository() {
    let tree = Tree::new(&[("home/.kodelet/hooks/x", Hook(PRE))]);
    let options = Options::new(tree.path("home"), Some(tree.path("home")));
    let discovery = discover(&options);
    assert_eq!(discovery.repo, None);
    assert_eq!(active(&discovery), ["before_tool_call:x"]);
    assert!(entry(&discovery, "x").trusted);
}

#[test]
fn an_entry_is_written_with_the_keys_of_list() {
    let tree = Tree::new(&[("home/.kodelet/plugins/o@r/hooks/x", Hook(PRE))]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    let path = tree.path("home/.kodelet/plugins/o@r/hooks/x");
    let digest = crate::hook::Digest::of(&fs::read(&path).unwrap()).to_string();
    let want = serde_json::json!([{
        "name": "o/r/x", "path": path, "kind": "native", "events": ["before_tool_call"], "priority": 50,
        "tier": "global plugin", "plugin": "o/r", "trusted": true, "status": "active", "problem": null,
        "digest": digest, "lacks": [], "on_failure": "pass", "observe": false,
        "mode": "enforce", "timeout": "30s",
    }]);
    assert_eq!(serde_json::to_value(&discovery.entries).unwrap(), want);
}

#[test]
fn an_answer_is_kept_until_the_file_changes() {
    let count = "echo asked >> \"$(dirname \"$0\")/../../../asked\"; echo turn_end";
    let tree = Tree::new(&[("home/.kodelet/hooks/x", Script(count))]);
    let mut options = tree.options(TrustPolicy::Recorded);
    options.cache = Some(tree.path("cache"));
    let times = || fs::read_to_string(tree.path("asked")).unwrap().lines().count();
    for _ in 0..3 {
        assert_eq!(active(&discover(&options)), ["turn_end:x"]);
    }
    assert_eq!(times(), 1);
    tree.add("home/.kodelet/hooks/x", &Script(&format!("{count} # changed")));
    assert_eq!(active(&discover(&options)), ["turn_end:x"]);
    assert_eq!(times(), 2);
}
