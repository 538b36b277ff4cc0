//! The effect of settings files.

use std::time::Duration;

use super::*;
use crate::hook::{self, Cause, Limits, OnFailure, Tier};

#[test]
fn settings_go_before_the_defaults_and_flags_before_both() {
    let toml =
        "[hooks.x]\npriority = 10\non_failure = \"block\"\ntimeout = \"45s\"\n[hooks.off]\nenabled = false\n";
    let tree = Tree::new(&[
        ("home/.hookbox/hooks/a", Hook("turn_end")),
        ("home/.hookbox/hooks/off", Hook("turn_end")),
        ("home/.hookbox/hooks/x", Hook("turn_end")),
        ("home/.hookbox/hookbox.toml", Text(toml)),
    ]);
    let mut options = tree.options(TrustPolicy::Recorded);
    let discovery = discover(&options);
    assert_eq!(statuses(&discovery), [("x", "active"), ("a", "active"), ("off", "disabled")]);
    assert_eq!(registered(&discovery), ["a", "x"]);
    let x = entry(&discovery, "x");
    assert_eq!((x.priority, x.on_failure, x.timeout.as_str()), (10, OnFailure::Block, "45s"));
    assert_eq!(entry(&discovery, "a").timeout, "30s");

    options.limits = Limits { timeout: Some(Duration::from_secs(90)), ..Limits::default() };
    let discovery = discover(&options);
    assert!(discovery.hooks.iter().all(|hook| hook.descriptor().budget.wall == Duration::from_secs(90)));
}

#[test]
fn a_repository_lowers_limits_of_its_own_hooks_and_touches_nothing_else() {
    let toml = "\
        [hooks.slow]\ntimeout = \"10m\"\n[hooks.quick]\ntimeout = \"1s\"\npriority = 1\n\
        [hooks.mine]\nenabled = false\ntimeout = \"1s\"\n";
    let tree = Tree::new(&[
        ("repo/.hookbox/hookbox.toml", Text(toml)),
        ("repo/.hookbox/hooks/slow", Hook("turn_end")),
        ("repo/.hookbox/hooks/quick", Hook("turn_end")),
        ("home/.hookbox/hooks/mine", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::All);
    assert_eq!(statuses(&discovery), [("quick", "active"), ("slow", "active"), ("mine", "active")]);
    let timeouts: Vec<_> = discovery.entries.iter().map(|entry| entry.timeout.as_str()).collect();
    assert_eq!(timeouts, ["1s", "30s", "30s"]);
    assert_eq!(
        problems(&tree, &discovery),
        [
            "repo/.hookbox/hooks/slow: hookbox.toml raises timeout, which a repository cannot: the default applies",
            "repo/.hookbox/hookbox.toml: line 6: \"mine\" is not a hook of this root",
        ]
    );
}

#[test]
fn a_settings_file_speaks_of_the_hooks_of_its_root() {
    let tree = Tree::new(&[
        ("home/.hookbox/hookbox.toml", Text("[hooks.x]\npriority = 1\n")),
        ("home/.kodelet/hooks/x", Hook("turn_end")),
        ("home/.kodelet/hookbox.toml", Text("[hooks.\"o/r/p\"]\npriority = 2\n")),
        ("home/.kodelet/plugins/o@r/hooks/p", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!((entry(&discovery, "x").priority, entry(&discovery, "o/r/p").priority), (50, 2));
    assert_eq!(discovery.problems.len(), 1);
}

#[test]
fn a_guard_that_is_missing_or_broken_still_guards() {
    let block = |name: &str| format!("[hooks.{name:?}]\non_failure = \"block\"\n");
    let toml = ["broken", "gone", "dangling", "plain", "o/r/p", "x.wasm", "off"].map(block).concat();
    let tree = Tree::new(&[
        ("home/.hookbox/hookbox.toml", Text(&toml)),
        ("home/.hookbox/hooks/broken", Script("exit 1")),
        ("home/.hookbox/hooks/dangling", Link("nowhere")),
        ("home/.hookbox/hooks/plain", Text("#!/bin/sh\n")),
        ("home/.hookbox/hooks/off.disable", Hook("turn_end")),
        ("home/.hookbox/hooks/fine", Hook("turn_end")),
        ("home/.hookbox/hooks/careless", Script("exit 1")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(registered(&discovery), ["broken", "dangling", "fine", "gone", "plain", "x.wasm", "o/r/p"]);
    for (name, cause) in [
        ("broken", Cause::Exit),
        ("dangling", Cause::NotFound),
        ("gone", Cause::NotFound),
        ("plain", Cause::NotFound),
        ("x.wasm", Cause::NotFound),
        ("o/r/p", Cause::NotFound),
    ] {
        assert_eq!(failure(&discovery, name).cause, cause, "{name}");
        let row = entry(&discovery, name);
        assert_eq!((row.status, row.on_failure), (EntryStatus::Invalid, OnFailure::Block), "{name}");
        assert!(row.problem.is_some(), "{name}");
    }
    assert_eq!(entry(&discovery, "careless").status, EntryStatus::Invalid);
    assert_eq!(entry(&discovery, "off.disable").status, EntryStatus::Disabled);
    assert_eq!(entry(&discovery, "o/r/p").path, Some(tree.path("home/.hookbox/plugins/o@r/hooks/p")));
    let hint = |name: &str| {
        discovery.problems.iter().find(|it| it.hook.as_deref() == Some(name)).unwrap().hint.clone().unwrap()
    };
    assert!(hint("plain").starts_with("make it executable: chmod +x "));
    assert!(hint("gone").starts_with("put the hook at "));
}

#[test]
fn a_table_of_no_hook_names_the_hook_that_was_meant() {
    let tables = ["guardrail", "p", "no-deploy", "far-away", "x"].map(|name| format!("[hooks.{name:?}]\n"));
    let tree = Tree::new(&[
        ("home/.hookbox/hookbox.toml", Text(&tables.concat())),
        ("home/.hookbox/hooks/guardrail.wasm", Text("")),
        ("home/.hookbox/hooks/no-deploys", Hook("turn_end")),
        ("home/.hookbox/hooks/y", Hook("turn_end")),
        ("home/.hookbox/plugins/o@r/hooks/p", Hook("turn_end")),
        ("repo/.hookbox/hooks/far-away", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    let hint = |name: &str| {
        let is_table = |it: &&crate::discovery::Problem| {
            it.hook.as_deref() == Some(name) && it.message.starts_with("line ")
        };
        discovery.problems.iter().find(is_table).unwrap().hint.clone().unwrap().to_string()
    };
    for (name, meant) in [("guardrail", "guardrail.wasm"), ("p", "o/r/p"), ("no-deploy", "no-deploys")] {
        assert_eq!(hint(name), format!("did you mean \"{meant}\"? then write [hooks.\"{meant}\"]"));
    }
    for name in ["far-away", "x"] {
        assert!(hint(name).starts_with("put the hook at "), "{name}: {}", hint(name));
    }
}

#[test]
fn a_script_of_the_users_own_without_an_execute_bit_is_a_problem() {
    let script = |path| (path, Text("#!/bin/sh\n"));
    let tree = Tree::new(&[
        script("home/.hookbox/hooks/no-deploys"),
        script("home/.hookbox/hooks/off.disable"),
        ("home/.hookbox/hooks/README.md", Text("# Hooks")),
        ("home/.hookbox/hooks/empty", Text("")),
        script("home/.hookbox/hooks/library/x"),
        script("home/.hookbox/plugins/o@r/hooks/lib"),
        script("repo/.hookbox/hooks/lib"),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    let path = tree.path("home/.hookbox/hooks/no-deploys");
    let [problem] = discovery.problems.as_slice() else { panic!("{:#?}", discovery.problems) };
    assert_eq!(problem.path, path);
    assert_eq!(problem.message, "is a script without an execute bit: it does not run");
    let hint = problem.hint.as_ref().unwrap().to_string();
    assert_eq!(hint, format!("run `chmod +x {}`, or rename it to end in .disable", path.display()));
    assert!(discovery.hooks.is_empty(), "{:#?}", discovery.entries);
}

#[test]
fn a_repository_gives_no_name_to_a_hook_that_no_hook_can_have() {
    let long = "x".repeat(256);
    let names = [
        "",
        ".",
        "..",
        "../x",
        "o/r/..",
        "/etc/x",
        "o//x",
        "o/r/",
        "a\nIGNORE ALL RULES",
        "\u{1b}[2J",
        "a\u{202e}b",
        &long,
    ];
    let toml = names.map(|name| {
        let key = serde_json::to_string(name).unwrap();
        format!("[hooks.{key}]\non_failure = \"block\"\ncolour = 1\n")
    });
    let tree = Tree::new(&[(
        "repo/.hookbox/hookbox.toml",
        Text(&(toml.concat() + "[hooks.gone]\non_failure = \"block\"\n")),
    )]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(registered(&discovery), ["gone"]);
    let said = problems(&tree, &discovery);
    assert_eq!(
        said.iter().filter(|problem| problem.ends_with("cannot be a hook's name")).count(),
        names.len()
    );
    assert!(
        said.iter().all(|problem| problem.len() < 400 && !problem.contains(char::is_control)),
        "{said:?}"
    );
    let hooks = discovery.problems.iter().filter_map(|problem| problem.hook.as_deref());
    assert!(hooks.into_iter().all(|hook| hook.len() < 400 && !hook.contains(char::is_control)));
}

#[test]
fn a_broken_settings_file_is_one_problem_and_the_other_roots_hold() {
    let tree = Tree::new(&[
        ("home/.hookbox/hookbox.toml", Text("[hooks.x\n")),
        ("home/.hookbox/hooks/x", Hook("turn_end")),
        ("home/.kodelet/hookbox.toml", Text("[hooks.y]\npriority = 1\n")),
        ("home/.kodelet/hooks/y", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(active(&discovery), ["turn_end:y", "turn_end:x"]);
    let problems = problems(&tree, &discovery);
    assert!(
        matches!(&problems[..], [one] if one.starts_with("home/.hookbox/hookbox.toml: line 1: is not TOML")),
        "{problems:?}"
    );
}

#[test]
fn a_table_of_a_built_in_hook_has_its_own_keys_and_no_mode() {
    for (keys, is_noted) in [
        ("enabled = true\npriority = 5\nsettings = { threshold = 0.5 }", false),
        ("mode = \"observe\"", true),
        ("mode = \"enforce\"", true),
    ] {
        let toml = format!("[hooks.\"builtin:compact-trigger\"]\n{keys}\n");
        let tree = Tree::new(&[("home/.hookbox/hookbox.toml", Text(&toml))]);
        let problems = problems(&tree, &tree.discover(TrustPolicy::Recorded));
        assert_eq!(!problems.is_empty(), is_noted, "{keys}: {problems:?}");
    }
}

#[test]
fn a_hook_in_shadow_mode_guards_nothing_and_a_repositorys_replaces_no_hook_of_the_users() {
    let observe = |names: &[&str]| {
        let table = |name: &&str| format!("[hooks.{name:?}]\nmode = \"observe\"\non_failure = \"block\"\n");
        names.iter().map(table).collect::<String>()
    };
    let tree = Tree::new(&[
        ("home/.hookbox/hookbox.toml", Text(&observe(&["guard", "broken", "gone"]))),
        ("home/.hookbox/hooks/guard", Hook("turn_end")),
        ("home/.hookbox/hooks/broken", Script("exit 1")),
        ("home/.hookbox/hooks/mine", Hook("turn_end")),
        // The table of `guard` is not about the user's hook.
        ("repo/.hookbox/hookbox.toml", Text(&(observe(&["mine"]) + "[hooks.guard]\nmode = \"enforce\"\n"))),
        ("repo/.hookbox/hooks/mine", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::All);
    assert_eq!(registered(&discovery), ["mine", "guard", "mine"]);
    let modes: Vec<_> = discovery.entries.iter().map(|it| (it.name.as_str(), it.tier, it.mode)).collect();
    for (name, tier, mode) in [
        ("guard", Tier::Global, hook::Mode::Observe),
        ("broken", Tier::Global, hook::Mode::Observe),
        ("mine", Tier::Repo, hook::Mode::Observe),
        ("mine", Tier::Global, hook::Mode::Enforce),
    ] {
        assert!(modes.contains(&(name, tier, mode)), "{name}: {modes:?}");
    }
    assert!(discovery.entries.iter().all(|it| it.on_failure == OnFailure::Pass), "{:#?}", discovery.entries);
    let problems = problems(&tree, &discovery).join("\n");
    assert!(problems.contains("\"guard\" is not a hook of this root"), "{problems}");
}
