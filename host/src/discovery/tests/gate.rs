//! The hooks of a repository that run, and paths that lead out of it.

use super::*;
use crate::event::EventName;
use crate::hook::Cause;

#[test]
fn a_native_hook_of_a_repository_is_neither_run_nor_asked_and_says_so_in_every_event() {
    let touch = "touch \"$(dirname \"$0\")/ran\"; echo before_tool_call";
    let tree = Tree::new(&[
        ("repo/.kodelet/hooks/x", Script(touch)),
        ("repo/.kodelet/plugins/o@r/hooks/y", Script(touch)),
        ("home/.kodelet/hooks/x", Hook("turn_end")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(statuses(&discovery), [("x", "untrusted"), ("o/r/y", "untrusted"), ("x", "active")]);
    assert!(!tree.path("repo/.kodelet/hooks/ran").exists());

    let row = &discovery.entries[0];
    assert!(!row.trusted && row.events.is_empty() && row.digest.is_some());
    let descriptor = discovery.hooks[0].descriptor();
    assert!(!descriptor.trusted);
    assert!(EventName::ALL.iter().all(|event| descriptor.subscribes_to(event)));
    let error = failure(&discovery, "x");
    assert_eq!(error.cause, Cause::Untrusted);
    assert!(
        error.message.contains("not trusted; review it with") && error.message.contains("hookbox trust /")
    );

    let trusting = tree.discover(TrustPolicy::All);
    assert_eq!(statuses(&trusting), [("x", "active"), ("o/r/y", "active"), ("x", "shadowed")]);
}

/// A lock file that names this plugin.
fn lock_of(name: &str) -> String {
    format!(
        "version = 1\n[[plugin]]\nname = \"{name}\"\nsource = \"./x\"\ntree = \"{}\"\n\
         installed = \"2026-01-01T00:00:00Z\"\n",
        crate::hook::Digest::of(b"")
    )
}

#[test]
fn a_plugin_that_was_installed_in_the_home_directory_runs_once_it_is_trusted() {
    let lock = lock_of("o/installed");
    let tree = Tree::new(&[
        ("home/.hookbox/plugins/o@installed/hooks/x", Hook("turn_end")),
        ("home/.hookbox/plugins/O@Installed2/hooks/x", Hook("turn_end")),
        ("home/.hookbox/plugins/o@by-hand/hooks/x", Hook("turn_end")),
        ("home/.hookbox/plugins/.hookbox-stage-1/hooks/x", Hook("turn_end")),
        ("home/.hookbox/plugins.lock", Text(&lock)),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(
        statuses(&discovery),
        [("O/Installed2/x", "active"), ("o/by-hand/x", "active"), ("o/installed/x", "untrusted")]
    );
    assert!(problems(&tree, &discovery).is_empty());
    let error = failure(&discovery, "o/installed/x");
    assert!(error.message.contains("not trusted since its plugin was installed"), "{error}");
    let it = entry(&discovery, "o/installed/x");
    let found = &it.found;
    let (scope, path) = found.key.clone().unwrap();
    assert!(found.needs_trust && scope == crate::trust::Scope::Global, "{it:?}");
    let digest = it.trust_digest().unwrap().unwrap();

    // The digest covers the plugin.
    tree.add("home/.hookbox/plugins/o@installed/recipes/x.md", &Text("changed"));
    assert_ne!(it.trust_digest().unwrap().unwrap(), digest);
    std::fs::remove_dir_all(tree.path("home/.hookbox/plugins/o@installed/recipes")).unwrap();
    assert_eq!(it.trust_digest().unwrap().unwrap(), digest);

    let data = tree.path("data");
    let record = crate::trust::Record {
        scope,
        name: it.name.clone(),
        path,
        kind: it.kind,
        digest,
        trusted: true,
        grants: Vec::new(),
        asked: Vec::new(),
        on_failure: it.on_failure,
        replaces: Vec::new(),
        when: "2026-01-01T00:00:00Z".to_owned(),
    };
    hookbox_system::files::private_dir::open(&data, None).unwrap();
    crate::trust::TrustFile::new(&data).update(|records| records.insert(record)).unwrap();
    let options =
        || Options { data: Some(data.clone()), ..Options::new(tree.path("repo"), Some(tree.path("home"))) };
    assert!(discover(&options()).entries.iter().all(|entry| entry.status == EntryStatus::Active));
    tree.add("home/.hookbox/plugins/o@installed/skills/y/SKILL.md", &Text("changed"));
    let changed = discover(&options());
    assert_eq!(statuses(&changed)[2], ("o/installed/x", "untrusted"));
    assert!(failure(&changed, "o/installed/x").message.contains("has changed since you trusted it"));
    assert_eq!(tree.discover(TrustPolicy::All).entries[2].status, EntryStatus::Active);
}

#[test]
fn while_a_plugin_is_being_installed_none_of_the_home_directory_runs_untrusted() {
    let tree = Tree::new(&[
        ("home/.hookbox/plugins/o@r/hooks/x", Hook("turn_end")),
        ("home/.hookbox/.plugins.lock.new", Text("")),
    ]);
    assert_eq!(statuses(&tree.discover(TrustPolicy::Recorded)), [("o/r/x", "untrusted")]);
}

#[test]
fn where_the_lock_file_cannot_be_read_no_plugin_of_the_home_directory_runs_untrusted() {
    let tree = Tree::new(&[
        ("home/.hookbox/plugins/o@r/hooks/x", Hook("turn_end")),
        ("home/.kodelet/plugins/o@s/hooks/x", Hook("turn_end")),
        ("home/.hookbox/plugins.lock", Text("version = 2")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(statuses(&discovery), [("o/r/x", "untrusted"), ("o/s/x", "active")]);
    let problems = problems(&tree, &discovery);
    assert!(
        matches!(&problems[..], [one] if one.starts_with("home/.hookbox/plugins.lock: has version 2")),
        "{problems:?}"
    );
}

#[test]
fn nothing_of_a_repository_leads_out_of_it() {
    let tree = Tree::new(&[
        ("out/x", Hook("turn_end")),
        ("out/hooks/x", Hook("turn_end")),
        ("out/hookbox.toml", Text("[hooks.guard]\non_failure = \"block\"\n")),
        ("a/.hookbox/hooks/x", Link("../../../out/x")),
        ("b/.hookbox/hooks", Link("../../out/hooks")),
        ("c/.hookbox", Link("../out")),
        ("d/.hookbox/hookbox.toml", Link("../../out/hookbox.toml")),
        ("e/.hookbox/plugins", Link("../../out")),
    ]);
    for (repo, path) in [
        ("a", "a/.hookbox/hooks/x"),
        ("b", "b/.hookbox/hooks"),
        ("c", "c/.hookbox"),
        ("d", "d/.hookbox/hookbox.toml"),
        ("e", "e/.hookbox/plugins"),
    ] {
        let options =
            Options { trust: TrustPolicy::All, ..Options::new(tree.path(repo), Some(tree.path("home"))) };
        let discovery = discover(&options);
        assert!(discovery.hooks.is_empty(), "{repo}");
        let problems = problems(&tree, &discovery);
        assert!(
            matches!(&problems[..], [one] if one.starts_with(&format!("{path}: leads out of the repository"))),
            "{repo}: {problems:?}"
        );
    }
}

#[test]
fn what_the_user_links_may_lead_anywhere() {
    let tree = Tree::new(&[
        ("out/hooks/x", Hook("turn_end")),
        ("home/.kodelet/hooks/y", Link("../../../out/hooks/x")),
        ("home/.hookbox", Link("../out")),
    ]);
    assert_eq!(active(&tree.discover(TrustPolicy::Recorded)), ["turn_end:x", "turn_end:y"]);
}

#[test]
fn an_absolute_link_that_stays_in_the_repository_is_followed() {
    let tree = Tree::new(&[("repo/tools/x", Hook("turn_end")), ("repo/.kodelet/hooks", Dir)]);
    let target = tree.path("repo/tools/x");
    tree.add("repo/.kodelet/hooks/x", &Link(target.to_str().unwrap()));
    assert_eq!(active(&tree.discover(TrustPolicy::All)), ["turn_end:x"]);
}

#[cfg(not(feature = "component"))]
#[test]
fn a_build_without_components_says_so() {
    let tree = Tree::new(&[
        ("repo/.hookbox/hooks/x.wasm", Text("\0asm")),
        ("home/.hookbox/hooks/x.wasm.disable", Text("\0asm")),
    ]);
    let discovery = tree.discover(TrustPolicy::Recorded);
    assert_eq!(statuses(&discovery), [("x.wasm", "invalid"), ("x.wasm.disable", "disabled")]);
    assert_eq!(discovery.entries[1].kind, crate::hook::Kind::Component);
    assert_eq!(
        problems(&tree, &discovery),
        ["repo/.hookbox/hooks/x.wasm: is a component, and this build runs no components"]
    );
}
