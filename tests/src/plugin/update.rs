//! `hookbox plugin update`: what changes is shown, and trust does not carry over.

use serde_json::{Value, json};

use super::repository::{File, Repository};
use super::{done, fails, plugin};
use crate::environment::{TestEnvironment, sample};

const GUARD: &str = "#!/bin/sh\n[ \"$1\" = hook ] && echo before_tool_call\nexit 0\n";
const DECLARED: &str = r#"{"hooks": {"PreToolUse": [{"name": "say", "command": "true", "priority": 7}]}}"#;
const CHANGED: &str =
    r#"{"hooks": {"PreToolUse": [{"name": "say", "command": "false", "on_failure": "block"}]}}"#;

fn rows(env: &TestEnvironment, args: &[&str]) -> Value {
    done(env, &[&["update", "--json"], args].concat()).json()
}

#[test]
fn an_update_shows_what_changes_and_asks_anew_for_what_changed() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "git/org/tools");
    let old: [File<'_>; 4] = [
        ("100755", "hooks/guard", GUARD),
        ("100644", "hooks/hooks.json", DECLARED),
        ("100644", "recipes/old.md", "x"),
        ("100644", "README.md", "1"),
    ];
    let first = repository.commit("main", &old);
    done(&env, &["add", &repository.url(), "--yes"]);
    let current = done(&env, &["update"]);
    assert_eq!(current.stdout, "org/tools is up to date\n");
    let lock = || env.read("repo/.hookbox/plugins.lock").unwrap();
    let before = lock();

    let new: [File<'_>; 5] = [
        ("100755", "hooks/guard", GUARD),
        ("100644", "hooks/hooks.json", CHANGED),
        ("100755", "hooks/second", GUARD),
        ("100644", "recipes/new.md", "x"),
        ("100644", "README.md", "1"),
    ];
    let second = repository.commit("main", &new);
    let shown = done(&env, &["update", "--dry-run"]);
    for line in [
        &format!("org/tools: {first} -> {second}"),
        "  + recipe new",
        "  - recipe old",
        "  + hook second",
        "  ~ hook say",
        "      priority: 7 -> 50",
        "      on_failure: pass -> block",
        "      runs: true -> false",
        "      bytes: changed",
        "  new or changed, so that a new yes is needed: org/tools/second org/tools/say",
        "  unchanged beside other files that changed, so that a new yes is needed: org/tools/guard",
    ] {
        assert!(shown.stdout.lines().any(|it| it == line), "{line}: {shown:#?}");
    }
    assert_eq!(lock(), before, "nothing has changed");
    let row = &rows(&env, &["org/tools", "--dry-run"])[0];
    assert_eq!(
        (&row["updated"], &row["current"], &row["to"]["commit"]),
        (&json!(false), &json!(false), &json!(second))
    );
    assert_eq!(row["difference"]["recipes"], json!({"added": ["new"], "removed": ["old"]}));
    assert_eq!(row["difference"]["hooks_changed"][0]["changes"][0]["what"], "priority");

    // Without a yes it is updated, and nothing of it is trusted any more.
    let row = &rows(&env, &["--no-trust"])[0];
    assert_eq!((&row["updated"], &row["trusted"]), (&json!(true), &json!(false)));
    let status = |name: &str| env.list(&[]).iter().find(|it| it["name"] == name).unwrap()["status"].clone();
    assert_eq!(
        (status("org/tools/guard"), status("org/tools/second")),
        (json!("untrusted"), json!("untrusted"))
    );
    repository.commit("main", &old);
    let back = done(&env, &["update", "--yes"]);
    assert!(
        back.stdout.ends_with("Updated org/tools:\n  Skills:  0\n  Recipes: 1\n  Hooks:   2\n"),
        "{back:#?}"
    );
    assert_eq!(status("org/tools/guard"), "active");

    // Another commit with the same files is the same plugin.
    let third = repository.commit("main", &old);
    let same = done(&env, &["update"]);
    assert!(same.stderr.contains("the same bytes: trust and grants stay"), "{same:#?}");
    assert!(lock().contains(&third));
    assert_eq!(status("org/tools/guard"), "active");
    // A script may load any file of its plugin.
    let mut readme = old;
    readme[3].2 = "2";
    repository.commit("main", &readme);
    let other = done(&env, &["update"]);
    assert!(other.stderr.contains("  ~ file README.md\n"), "{other:#?}");
    assert_eq!(status("org/tools/guard"), "untrusted");
}

#[test]
fn a_component_that_is_the_same_keeps_what_it_has_and_a_changed_one_loses_it() {
    let env = TestEnvironment::new();
    env.copy("x/tools/hooks/audit-log.wasm", &sample("audit-log"))
        .copy("x/tools/hooks/error-kb.wasm", &sample("error-kb"));
    done(&env, &["add", "../x/tools", "--yes", "--grant"]);
    env.copy("x/tools/hooks/error-kb.wasm", &sample("session-memory")).file("x/tools/recipes/new.md", "x");
    let output = done(&env, &["update"]);
    for words in [
        "unchanged byte for byte, so that trust and grants stay: x/tools/audit-log.wasm",
        "a new yes is needed: x/tools/error-kb.wasm",
        "asks: +conversation",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
    }
    let row = &done(&env, &["show", "x/tools", "--json"]).json()["details"]["hooks"];
    assert_eq!(
        (&row[0]["trusted"], &row[0]["granted"]),
        (&json!(true), &json!(["read-write:$DATA"])),
        "{row:#}"
    );
    assert_eq!((&row[1]["trusted"], &row[1]["granted"]), (&json!(false), &json!([])), "{row:#}");
    let records = env.hookbox(["grants", "--json"]).json();
    assert_eq!(records.as_array().unwrap().len(), 1, "nothing is kept of the other bytes: {records:#}");
    // A yes grants nothing anew.
    env.copy("x/tools/hooks/error-kb.wasm", &sample("loop-detector"));
    done(&env, &["update", "--yes"]);
    let row = &done(&env, &["show", "x/tools", "--json"]).json()["details"]["hooks"];
    assert_eq!(
        (&row[0]["granted"], &row[1]["trusted"]),
        (&json!(["read-write:$DATA"]), &json!(true)),
        "{row:#}"
    );
    assert_eq!(row[1]["granted"], json!([]));
}

#[test]
fn a_yes_to_an_update_trusts_nothing_that_the_user_has_untrusted_and_that_is_unchanged() {
    let env = TestEnvironment::new();
    env.copy("x/tools/hooks/audit-log.wasm", &sample("audit-log"));
    done(&env, &["add", "../x/tools", "--yes", "--grant"]);
    assert_eq!(env.hookbox(["untrust", "x/tools/audit-log.wasm"]).code, Some(0));
    env.script("x/tools/hooks/guard", GUARD);
    let output = done(&env, &["update", "--yes", "--grant"]);
    for words in [
        "unchanged byte for byte and not trusted, which stays so: x/tools/audit-log.wasm",
        "a new yes is needed: x/tools/guard",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
    }
    let row = &done(&env, &["show", "x/tools", "--json"]).json()["details"]["hooks"];
    let trusted = [&row[0]["trusted"], &row[1]["trusted"]];
    assert_eq!((trusted, &row[0]["granted"]), ([&json!(false), &json!(true)], &json!([])), "{row:#}");
}

#[test]
fn a_change_of_another_file_is_named_with_the_hook_that_it_concerns() {
    let env = TestEnvironment::new();
    env.script("x/tools/hooks/guard", GUARD).file("x/tools/hooks/lib/h.sh", "1");
    done(&env, &["add", "../x/tools", "--yes"]);
    env.file("x/tools/hooks/lib/h.sh", "2").file("x/tools/hooks/lib/new.sh", "x");
    let shown = done(&env, &["update", "--dry-run"]);
    for line in [
        "  + file hooks/lib/new.sh",
        "  ~ file hooks/lib/h.sh",
        "  unchanged beside other files that changed, so that a new yes is needed: x/tools/guard",
    ] {
        assert!(shown.stdout.lines().any(|it| it == line), "{line}: {shown:#?}");
    }
    let row = &rows(&env, &["--no-trust"])[0];
    let files = json!({"added": ["hooks/lib/new.sh"], "removed": [], "changed": ["hooks/lib/h.sh"]});
    assert_eq!(row["difference"]["other_files"], files, "{row:#}");
}

#[test]
fn one_plugin_that_cannot_be_updated_or_removed_keeps_no_other_from_it() {
    let env = TestEnvironment::new();
    for name in ["a", "b", "c"] {
        env.file(&format!("x/{name}/recipes/one.md"), "x");
        done(&env, &["add", &format!("../x/{name}")]);
        env.file(&format!("x/{name}/recipes/two.md"), "x");
    }
    std::fs::remove_dir_all(env.path("x/a")).unwrap();
    let output = fails(&env, &["update", "--json"], 1, &["x/a was not updated"]);
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    let done_of: Vec<_> = rows.as_array().unwrap().iter().map(|it| (&it["name"], &it["updated"])).collect();
    assert_eq!(done_of, [(&json!("x/b"), &json!(true)), (&json!("x/c"), &json!(true))]);

    // A file in the place of the plugin's directory stays.
    let broken = env.path("repo/.hookbox/plugins/x@a");
    std::fs::remove_dir_all(&broken).unwrap();
    std::fs::write(&broken, "x").unwrap();
    let output = fails(&env, &["remove", "x/a", "x/b", "--json"], 1, &["x/a was not removed"]);
    let rows: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["name"]), (1, &json!("x/b")), "{rows:#}");
    assert!(broken.exists());
}

#[test]
fn an_update_loses_changes_by_hand_only_with_force() {
    let env = TestEnvironment::new();
    env.script("x/tools/hooks/guard", GUARD);
    done(&env, &["add", "../x/tools"]);
    let hooks = env.path("repo/.hookbox/plugins/x@tools/hooks");
    std::fs::rename(hooks.join("guard"), hooks.join("guard.disable")).unwrap();
    assert_eq!(done(&env, &["show", "x/tools", "--json"]).json()["details"]["changed"], true);
    fails(&env, &["update"], 1, &["x/tools: was changed by hand since it was installed", "--force"]);
    assert!(hooks.join("guard.disable").exists());
    done(&env, &["update", "--dry-run"]);
    done(&env, &["update", "--force"]);
    assert!(hooks.join("guard").exists() && !hooks.join("guard.disable").exists());
}

#[test]
fn another_reference_is_gone_over_to_and_kept() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "git/org/tools");
    repository.commit("main", &[("100644", "recipes/main.md", "x")]);
    let other = repository.commit("next", &[("100644", "recipes/next.md", "x")]);
    done(&env, &["add", &repository.url()]);
    let row = &rows(&env, &["org/tools", "--ref", "next"])[0];
    assert_eq!((&row["updated"], &row["to"]["commit"]), (&json!(true), &json!(other)));
    let newer = repository.commit("next", &[("100644", "recipes/newer.md", "x")]);
    assert_eq!(rows(&env, &[])[0]["to"]["commit"], newer);
    assert_eq!(plugin(&env, &["update", "--ref", "next"]).code, Some(2), "it is one plugin's");
    fails(&env, &["update", "no/such"], 1, &["no/such: not found"]);
}
