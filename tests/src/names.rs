//! A name that came later shadows nothing that the user relies on, and a guard that does not run is loud.

use hookbox::EventName;
use hookbox_agents::agent::{Agent, Printed};
use serde_json::{Value, json};

use crate::answers::{Backend, each, user};
use crate::environment::{Output, TestEnvironment, guest, sample};

const BEFORE: &EventName = &EventName::BeforeToolCall;

fn call() -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": "rm -rf build"}})
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

/// The statuses of the hooks of this name, in their order.
fn statuses(env: &TestEnvironment, name: &str) -> Vec<String> {
    let of_name = env.list(&[]).into_iter().filter(|hook| hook["name"] == name);
    of_name.map(|hook| hook["status"].as_str().unwrap().to_owned()).collect()
}

fn is_blocked(env: &TestEnvironment) -> bool {
    env.event(&["before_tool_call"], &call())["blocked"] == true
}

/// A repository with a component that the user trusts as `notes.wasm`, and a guard of the user's.
fn notes() -> TestEnvironment {
    let env = TestEnvironment::new();
    let guard = "on_failure = \"block\"";
    Backend::Native.hook(&env, "home/.hookbox", "guard", BEFORE, &json!({"block": "no"}), guard);
    env.copy("repo/.hookbox/hooks/notes.wasm", &guest("answers"));
    succeeds(&env.hookbox(["trust", "notes.wasm", "--yes"]));
    env
}

fn declares(env: &TestEnvironment, entry: &Value) {
    env.file("repo/.hookbox/hooks.json", json!({"hooks": {"before_tool_call": [entry]}}).to_string());
}

#[test]
fn a_trusted_component_that_is_declared_under_another_name_takes_no_guards_place() {
    let env = notes();
    env.file(
        "repo/.hookbox/hooks.json",
        r#"{"hooks": {"after_turn": [{"component": ".hookbox/hooks/notes.wasm", "name": "guard"}]}}"#,
    );
    assert!(is_blocked(&env));
    let rows: Vec<_> = env.list(&[]).into_iter().filter(|it| it["name"] == "guard").collect();
    assert_eq!((&rows[0]["tier"], &rows[0]["trusted"]), (&json!("repo"), &json!(false)), "{rows:?}");
    assert_eq!((&rows[1]["tier"], &rows[1]["status"]), (&json!("global"), &json!("active")), "{rows:?}");
    assert_eq!(statuses(&env, "notes.wasm"), ["active"]);
}

#[test]
fn all_that_is_said_of_a_trusted_component_is_trusted_with_it() {
    let answer = json!({"modify": {"command": "true"}, "only": ["before_tool_call"]}).to_string();
    let settings = |name: &str, more: &str| {
        format!("[hooks.\"{name}\"]\nsettings = {{ answer = {} }}\n{more}\n", json!(answer))
    };
    let entry = || json!({"component": "tools/edit.wasm", "name": "edit", "observe": false});
    let with = |key: &str, value: Value| {
        let mut entry = entry();
        entry[key] = value;
        entry
    };
    for (what, changed, more) in [
        ("its name", with("name", json!("other")), ""),
        ("its matcher", with("matcher", json!("bash")), ""),
        ("its priority", with("priority", json!(7)), ""),
        ("its policy", with("on_failure", json!("block")), ""),
        ("its time", with("timeout", json!(1)), ""),
        ("whether it observes", with("observe", json!(true)), ""),
        ("a setting", entry(), "fuel = 100000000"),
        ("nothing", entry(), ""),
    ] {
        let env = TestEnvironment::new();
        env.copy("repo/tools/edit.wasm", &guest("answers"));
        declares(&env, &entry());
        env.file("repo/.hookbox/hookbox.toml", settings("edit", ""));
        succeeds(&env.hookbox(["trust", "edit", "--yes"]));
        let is_applied = || env.event(&["before_tool_call"], &call())["input"] == json!({"command": "true"});
        assert!(is_applied(), "{what}");

        declares(&env, &changed);
        let name = changed["name"].as_str().unwrap();
        env.file("repo/.hookbox/hookbox.toml", settings(name, more));
        let output = env.hookbox_with(["run", "before_tool_call"], call().to_string());
        assert_eq!(is_applied(), what == "nothing", "{what}: {output:#?}");
        let is_told = output.stderr.contains("has changed since you trusted it");
        assert_eq!(is_told, what != "nothing", "{what}: {output:#?}");
        let status = &env.hookbox(["grants", "--json"]).json()[0]["status"];
        assert_eq!(status, if what == "nothing" { "current" } else { "changed" }, "{what}");
    }
}

#[test]
fn a_component_that_changes_in_its_settings_alone_loses_its_rights() {
    let env = TestEnvironment::new();
    env.copy("repo/.hookbox/hooks/audit-log.wasm", &sample("audit-log"));
    succeeds(&env.hookbox(["trust", "audit-log.wasm", "--yes"]));
    let granted = || env.hookbox(["grants", "--json"]).json()[0].clone();
    assert_eq!(granted()["status"], "current");
    assert_eq!(env.list(&[])[0]["trusted"], true);
    env.file("repo/.hookbox/hookbox.toml", "[hooks.\"audit-log.wasm\"]\nsettings = { path = \"x\" }\n");
    assert_eq!(granted()["status"], "changed");
    assert_eq!(env.list(&[])[0]["trusted"], false);
    let refused = env.hookbox(["grants", "add", "audit-log.wasm", "read-write:$DATA", "--yes"]);
    assert!(refused.stderr.contains("is not trusted"), "{refused:#?}");
    // The settings are shown before they are trusted.
    let shown = env.hookbox(["trust", "audit-log.wasm", "--yes"]);
    assert!(shown.stderr.contains("set to  settings.path = x"), "{shown:#?}");
    assert_eq!(granted()["status"], "current");
}

#[tokio::test]
async fn a_hook_takes_the_place_of_the_users_only_where_trust_showed_it_and_was_told_to() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
        backend.hook(&env, "repo/.hookbox", "guard", BEFORE, &json!({}), "");
        let theirs = env.path(format!("repo/.hookbox/hooks/{name}"));
        let mine = env.path(format!("home/.hookbox/hooks/{name}"));
        let trust = |flags: &[&str]| {
            let args = ["trust", theirs.to_str().unwrap()].into_iter().chain(flags.iter().copied());
            env.hookbox(args)
        };
        let shown = trust(&["--yes"]);
        succeeds(&shown);
        let words =
            format!("has the name of {} (global): both run, unless you give --replace", mine.display());
        assert!(shown.stderr.contains(&words), "{shown:#?}");
        assert_eq!(statuses(&env, &name), ["active", "active"]);
        assert!(is_blocked(&env));

        let shown = trust(&["--yes", "--replace", "--json"]);
        let words = format!("takes the place of {} (global), which does not run then", mine.display());
        assert!(shown.stderr.contains(&words), "{shown:#?}");
        assert_eq!(shown.json()["replaces"], json!([["global", format!(".hookbox/hooks/{name}")]]));
        assert_eq!(statuses(&env, &name), ["active", "shadowed"]);
        assert!(!is_blocked(&env));
        let again = trust(&[]);
        assert!(again.stderr.contains("is trusted already"), "{again:#?}");

        // Nobody showed what came later.
        user_in(&env, backend, "home/.kodelet");
        assert_eq!(statuses(&env, &name), ["active", "shadowed", "active"]);
        assert!(is_blocked(&env));
        succeeds(&env.hookbox(["untrust", theirs.to_str().unwrap()]));
        assert!(is_blocked(&env));
    })
    .await;
}

/// Another guard of the user's.
fn user_in(env: &TestEnvironment, backend: Backend, root: &str) {
    backend.hook(env, root, "guard", BEFORE, &json!({"block": "no"}), "");
}

#[tokio::test]
async fn within_a_repository_a_later_entry_takes_no_trusted_guards_place() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = backend.hook(&env, "repo/.kodelet", "guard", BEFORE, &json!({"block": "no"}), "");
        succeeds(&env.hookbox(["trust", &name, "--yes"]));
        assert!(is_blocked(&env));
        Backend::Component.hook(&env, "repo/.hookbox", "guard", BEFORE, &json!({}), "");
        env.copy("repo/tools/pass.wasm", &guest("answers"));
        declares(&env, &json!({"component": "tools/pass.wasm", "name": name, "matcher": "none"}));
        assert!(is_blocked(&env), "{backend:?}");
        // Trusted as well, it still takes nobody's place: nobody asked for that.
        let later = match backend {
            Backend::Native => env.path("repo/.hookbox/hooks.json#before_tool_call[0]"),
            Backend::Component => env.path("repo/.hookbox/hooks/guard.wasm"),
        };
        succeeds(&env.hookbox(["trust", later.to_str().unwrap(), "--yes"]));
        assert!(is_blocked(&env), "{backend:?}");
    })
    .await;
}

#[test]
fn a_plugin_takes_no_hooks_place_when_it_is_added_and_trusted() {
    let env = TestEnvironment::new();
    let of_user = "home/.hookbox/plugins/org@tools/hooks/guard";
    env.native(of_user, "before_tool_call", "cat > /dev/null; printf '{\"blocked\":true}'");
    assert!(is_blocked(&env));
    env.native("tools/hooks/guard", "before_tool_call", "cat > /dev/null; echo '{}'");
    let source = env.path("tools").into_os_string().into_string().unwrap();
    let added = env.hookbox(["plugin", "add", &source, "--name", "org/tools", "--yes"]);
    succeeds(&added);
    assert!(added.stderr.contains("has the same name, and both run"), "{added:#?}");
    assert_eq!(statuses(&env, "org/tools/guard"), ["active", "active"]);
    assert!(is_blocked(&env));
    let theirs = "repo/.hookbox/plugins/org@tools/hooks/guard";
    succeeds(&env.hookbox(["trust", env.path(theirs).to_str().unwrap(), "--yes", "--replace"]));
    assert_eq!(statuses(&env, "org/tools/guard"), ["active", "shadowed"]);
}

/// Returns the bridge's answer to Claude Code before a tool call.
fn shown_by_the_bridge(env: &TestEnvironment) -> String {
    let payload =
        Agent::Claude.shell_call(Agent::Claude.event("PreToolUse").unwrap(), "ls", &env.path("repo"), "s1");
    let output = env.hookbox_with(["bridge", "claude"], payload.to_string());
    let printed = Printed { exit_code: output.code, stdout: &output.stdout, stderr: &output.stderr };
    let effect = Agent::Claude.effect(Agent::Claude.event("PreToolUse").unwrap(), printed);
    format!("{effect:?} {}", output.stdout)
}

#[test]
fn a_trusted_guard_that_its_repository_takes_away_is_said_everywhere_in_every_event() {
    type Change = fn(&TestEnvironment);
    const GUARD: &str = "repo/.hookbox/hooks/guard";
    let changes: [(&str, Change, &str); 5] = [
        (
            "switched off",
            |env| {
                let settings = "[hooks.guard]\nenabled = false\non_failure = \"block\"\n";
                env.file("repo/.hookbox/hookbox.toml", settings);
            },
            "was switched off by its repository since you trusted it",
        ),
        (
            "renamed",
            |env| {
                env.file("repo/.hookbox/hookbox.toml", "");
                std::fs::rename(env.path(GUARD), env.path(format!("{GUARD}.disable"))).unwrap();
            },
            "no longer exists, and you trusted it as a guard",
        ),
        (
            "removed",
            |env| {
                env.file("repo/.hookbox/hookbox.toml", "");
                std::fs::remove_file(env.path(GUARD)).unwrap();
            },
            "no longer exists, and you trusted it as a guard",
        ),
        (
            "no guard any more",
            |env| {
                env.file("repo/.hookbox/hookbox.toml", "");
            },
            "has changed since you trusted it",
        ),
        (
            "changed beside",
            |env| {
                env.file("repo/.hookbox/hooks/lib", "2");
            },
            "has changed since you trusted it",
        ),
    ];
    let changed = |change: Change, what: &str| {
        let env = TestEnvironment::new();
        env.native(GUARD, "before_tool_call", "cat > /dev/null; printf '{\"blocked\":true}'");
        env.file("repo/.hookbox/hooks/lib", "1");
        env.file("repo/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
        succeeds(&env.hookbox(["trust", "guard", "--yes"]));
        assert!(is_blocked(&env), "{what}");
        change(&env);
        env
    };
    for (what, change, said) in changes {
        let env = changed(change, what);
        for _event in 0..2 {
            let run = env.hookbox_with(["run", "before_tool_call"], call().to_string());
            assert!(run.stderr.contains(said), "{what}: {run:#?}");
            let shown = shown_by_the_bridge(&env);
            // A guard that is still declared blocks: it fails in every event.
            let blocks = what == "changed beside" && shown.starts_with("Blocked");
            assert!(shown.contains(said) || blocks, "{what}: {shown}");
        }
        let list = env.hookbox(["list"]);
        assert!(format!("{}{}", list.stdout, list.stderr).contains(said), "{what}: {list:#?}");
        // A user who untrusts the guard accepts the change.
        let env = changed(change, what);
        succeeds(&env.hookbox(["untrust", "guard"]));
        assert!(!shown_by_the_bridge(&env).contains(said), "{what}");
    }
}

#[test]
fn where_all_is_trusted_a_guard_of_the_users_that_is_shadowed_is_loud() {
    let env = notes();
    Backend::Native.hook(&env, "repo/.hookbox", "guard", BEFORE, &json!({}), "");
    let run = env.hookbox_with(["run", "before_tool_call", "--trust", "all"], call().to_string());
    assert_eq!(run.json()["blocked"], false, "{run:#?}");
    assert!(run.stderr.contains("home/.hookbox/hooks/guard: does not run: "), "{run:#?}");
}
