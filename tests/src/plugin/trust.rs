//! The parts of a plugin that are trusted, and when.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{done, fails, on_a_terminal, plugin, written};
use crate::environment::{TestEnvironment, sample};

const GUARD: &str = "org/tools/guard";
/// The plugins directory, by the flag that installs into it.
const PLACES: [(&[&str], &str); 2] = [(&[], "repo"), (&["--global"], "home")];

fn call() -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": "ls"}})
}

fn status(env: &TestEnvironment, name: &str) -> (Value, Value) {
    let list = env.list(&[]);
    let hook = list.iter().find(|hook| hook["name"] == name).unwrap_or_else(|| panic!("{list:?}"));
    (hook["status"].clone(), hook["trusted"].clone())
}

fn add(env: &TestEnvironment, flags: &[&str]) -> crate::environment::Output {
    done(env, &[&["add", "../tools", "--name", "org/tools"], flags].concat())
}

#[test]
fn a_plugin_runs_once_the_user_said_yes_and_not_before_wherever_it_stands() {
    for (place, base) in PLACES {
        let env = TestEnvironment::new();
        written(&env, "tools");
        // There is no terminal.
        let output = add(&env, place);
        for words in ["no terminal to ask on", "guard (native)", "all your rights", "hookbox trust"] {
            assert!(output.stderr.contains(words), "{words}: {output:#?}");
        }
        assert_eq!(status(&env, GUARD), (json!("untrusted"), json!(false)), "{base}");
        let report = env.event(&["before_tool_call", "--report"], &call());
        assert_eq!(report["hooks"][0]["cause"], "untrusted", "{report:#}");
        assert_eq!(env.read("home/ran"), None);

        let shown = add(&env, &[place, &["--force", "--yes", "--json"]].concat());
        let row = &shown.json()[0];
        assert_eq!((&row["trusted"], &row["details"]["hooks"][0]["trusted"]), (&json!(true), &json!(true)));
        assert!(shown.stderr.contains("trusted org/tools/guard"), "{shown:#?}");
        assert_eq!(env.read("home/ran"), None, "to trust a hook is not to run it");
        env.event(&["before_tool_call"], &call());
        assert_eq!(env.read("home/ran").as_deref(), Some("run\n"), "{base}");
        assert_eq!(status(&env, GUARD), (json!("active"), json!(true)));
        let shown = done(&env, &["show", "org/tools"]);
        assert!(shown.stdout.contains("events  before_tool_call (priority"), "{shown:#?}");
        assert!(!shown.stdout.contains("not known"), "it has been asked: {shown:#?}");

        // A `git pull` can change any file of the plugin.
        for file in ["skills/pdf/SKILL.md", "hooks/guard"] {
            let path = format!("{base}/.hookbox/plugins/org@tools/{file}");
            let before = env.read(&path).unwrap();
            env.file(&path, format!("{before}\n"));
            assert_eq!(status(&env, GUARD), (json!("untrusted"), json!(false)), "{base} {file}");
            let output = env.hookbox_with(["run", "before_tool_call"], call().to_string());
            assert!(output.stderr.contains("has changed since you trusted it"), "{output:#?}");
            assert_eq!(env.read("home/ran").as_deref(), Some("run\n"));
            env.file(&path, before);
        }
        assert_eq!(status(&env, GUARD).0, "active", "{base}");
    }
}

#[test]
fn on_a_terminal_it_is_asked_once_and_installed_either_way() {
    for (typed, flags, trusted) in [
        ("y\n", &[][..], true),
        ("n\n", &[], false),
        ("\n", &[], false),
        ("", &["--yes"], true),
        ("", &["--no-trust"], false),
    ] {
        let env = TestEnvironment::new();
        written(&env, "tools");
        let output =
            on_a_terminal(&env, &[&["add", "../tools", "--name", "org/tools"], flags].concat(), typed);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let asked = output.stdout.matches("[y/N]").count();
        assert_eq!(asked, usize::from(flags.is_empty()), "{output:#?}");
        assert!(output.stdout.contains("Installed org/tools:"), "{output:#?}");
        assert_eq!(status(&env, GUARD).1, trusted, "{typed:?} {flags:?}: {output:#?}");
    }
}

#[test]
fn a_plugin_that_changes_while_the_user_reads_is_not_trusted() {
    // In the home, a file that comes after the installation is no part of the plugin: this one comes before.
    for (more, root, file) in
        [(&[][..], "repo", "guard"), (&["--global"], "home", "guard"), (&["--global"], "home", "json.py")]
    {
        changes_while_the_user_reads(more, root, file);
    }
}

fn changes_while_the_user_reads(more: &[&str], root: &str, file: &str) {
    let env = TestEnvironment::new();
    written(&env, "tools");
    let mut command =
        env.on_a_terminal(&[&["plugin", "add", "../tools", "--name", "org/tools"], more].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = String::new();
    let mut byte = [0];
    while !shown.contains("[y/N]") && stdout.read(&mut byte).unwrap() == 1 {
        shown.push(char::from(byte[0]));
    }
    let plugins = std::fs::read_dir(env.path(format!("{root}/.hookbox/plugins"))).unwrap();
    let stage = plugins.map(|it| it.unwrap().path()).find(|path| path.join("tree").is_dir()).unwrap();
    std::fs::write(stage.join("tree/hooks").join(file), "#!/bin/sh\ntouch \"$HOME/evil\"\n").unwrap();
    stdin.write_all(b"y\n").unwrap();
    stdout.read_to_string(&mut shown).unwrap();
    assert!(!child.wait().unwrap().success(), "{shown}");
    assert!(shown.contains("has changed since it was shown, so that nothing of it is trusted"), "{shown}");
    assert_eq!(env.hookbox(["grants", "--json"]).json(), json!([]));
    env.hookbox_with(["run", "before_tool_call"], call().to_string());
    assert!(!env.path("home/evil").exists());
}

#[test]
fn rights_are_granted_only_where_the_user_says_so_and_trusts_it() {
    for (flags, trusted, granted) in [
        (&["--yes"][..], true, json!([])),
        (&["--yes", "--grant"], true, json!(["read-write:$DATA"])),
        (&["--grant"], false, json!([])),
        (&["--no-trust"], false, json!([])),
    ] {
        let env = TestEnvironment::new();
        env.copy("tools/hooks/audit-log.wasm", &sample("audit-log"));
        let output = add(&env, &[flags, &["--json"]].concat());
        let hook = output.json()[0]["details"]["hooks"][0].clone();
        assert_eq!((&hook["trusted"], &hook["granted"]), (&json!(trusted), &granted), "{flags:?}");
        assert_eq!(hook["asks"], json!(["read-write:$DATA"]));
        assert!(output.stderr.contains("asks    to "), "{output:#?}");
        let hint = "hookbox grants add org/tools/audit-log.wasm";
        assert_eq!(output.stderr.contains(hint), trusted && granted == json!([]), "{output:#?}");
        let records = env.hookbox(["grants", "--json"]).json();
        assert_eq!(records.as_array().unwrap().len(), usize::from(trusted), "{records:#}");
        // The same bytes keep their grants, and there is no hint to grant them.
        let again = add(&env, &["--force", "--yes", "--json"]);
        assert_eq!(again.json()[0]["details"]["hooks"][0]["granted"], granted, "{flags:?}");
        assert_eq!(again.stderr.contains(hint), granted == json!([]), "{again:#?}");
    }
    let env = TestEnvironment::new();
    for flags in [["--no-trust", "--yes"], ["--no-trust", "--grant"]] {
        assert_eq!(plugin(&env, &[&["add", "./x"], &flags[..]].concat()).code, Some(2));
    }
}

#[test]
fn a_no_takes_back_what_was_trusted_and_granted_before() {
    for (place, base) in PLACES {
        let env = TestEnvironment::new();
        written(&env, "tools").copy("tools/hooks/audit-log.wasm", &sample("audit-log")).native(
            "repo/.hookbox/hooks/mine",
            "turn_end",
            "true",
        );
        assert_eq!(env.hookbox(["trust", "mine", "--yes"]).code, Some(0));
        let recorded = || {
            let records = env.hookbox(["grants", "--json"]).json();
            let names = records.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        // No terminal, a flag, and the form without a source.
        for (no, from_lock) in [(&["--force"][..], false), (&["--force", "--no-trust"], false), (&[], true)] {
            add(&env, &[place, &["--yes", "--grant", "--force"]].concat());
            assert_eq!(recorded().len(), 3, "{base}");
            let output = match from_lock {
                false => add(&env, &[place, no].concat()),
                true => {
                    let plugin = env.path(format!("{base}/.hookbox/plugins/org@tools"));
                    std::fs::remove_dir_all(plugin).unwrap();
                    done(&env, &[&["add"], place, no].concat())
                }
            };
            for hook in ["guard", "audit-log.wasm"] {
                let words = format!("revoked trust and grants of org/tools/{hook}");
                assert!(output.stderr.contains(&words), "{words}: {output:#?}");
            }
            assert_eq!(recorded(), ["mine"], "{base} {no:?}");
            assert_eq!(status(&env, GUARD).0, "untrusted");
        }
        let again = add(&env, &[place, &["--force", "--no-trust"]].concat());
        assert!(!again.stderr.contains("revoked"), "{again:#?}");
    }
}

#[test]
fn all_hooks_of_a_plugin_are_trusted_and_untrusted_by_its_name_and_nothing_is_granted() {
    for (place, base) in PLACES {
        let env = TestEnvironment::new();
        written(&env, "tools").copy("tools/hooks/audit-log.wasm", &sample("audit-log"));
        env.native(&format!("{base}/.hookbox/plugins/org@toolsmith/hooks/other"), "turn_end", "true");
        add(&env, place);
        let refused = env.hookbox(["trust", "org/tools", "--yes", "--grant", "read-write:$DATA"]);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        assert_eq!(env.hookbox(["trust", "org/tools"]).code, Some(2), "there is no terminal");
        let records = env.hookbox(["trust", "org/tools", "--yes", "--json"]).json();
        let said: Vec<_> =
            records.as_array().unwrap().iter().map(|it| (it["name"].clone(), it["grants"].clone())).collect();
        let none = || json!([]);
        assert_eq!(said, [(json!("org/tools/audit-log.wasm"), none()), (json!(GUARD), none())], "{base}");
        assert_eq!(status(&env, GUARD), (json!("active"), json!(true)));
        let again = env.hookbox(["trust", "org/tools"]);
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again:#?}");

        let output = env.hookbox(["untrust", "org/tools"]);
        assert_eq!(output.stdout.lines().count(), 2, "{output:#?}");
        assert_eq!(env.hookbox(["grants", "--json"]).json(), json!([]), "{base}");
        assert_eq!(env.hookbox(["untrust", "org/tools"]).code, Some(2));
        assert_eq!(env.hookbox(["trust", "org/none", "--yes"]).code, Some(2));
    }
}

#[test]
fn a_hook_cannot_install_update_or_remove() {
    let env = TestEnvironment::new().variable("HOOKBOX_DEPTH", "1");
    written(&env, "tools");
    for args in [&["add", "../tools"][..], &["update"], &["remove", "org/tools"]] {
        fails(&env, args, 2, &["a hook can neither trust nor grant"]);
    }
    assert!(!env.path("repo/.hookbox").exists());
}

#[test]
fn a_removed_plugin_is_no_longer_trusted() {
    for (place, base) in PLACES {
        let env = TestEnvironment::new();
        written(&env, "tools").native("repo/.hookbox/hooks/mine", "turn_end", "true");
        assert_eq!(env.hookbox(["trust", "mine", "--yes"]).code, Some(0));
        add(&env, &[place, &["--yes"]].concat());
        assert_eq!(env.hookbox(["grants", "--json"]).json().as_array().unwrap().len(), 2);
        env.file(&format!("{base}/.hookbox/plugins/keep"), "x");

        let output = done(&env, &[&["remove", "org/tools"], place].concat());
        assert!(output.stdout.starts_with("Removed org/tools ("), "{output:#?}");
        assert!(output.stderr.contains("revoked trust and grants of org/tools/guard"), "{output:#?}");
        assert!(!env.path(format!("{base}/.hookbox/plugins/org@tools")).exists());
        assert!(env.path(format!("{base}/.hookbox/plugins/keep")).exists());
        let records = env.hookbox(["grants", "--json"]).json();
        assert_eq!(records.as_array().unwrap().len(), 1, "{records:#}");
        assert!(!env.read(&format!("{base}/.hookbox/plugins.lock")).unwrap().contains("org/tools"));
        fails(&env, &[&["remove", "org/tools"], place].concat(), 1, &["org/tools: not found"]);
        // A plugin of the same bytes is a new one.
        add(&env, place);
        assert_eq!(status(&env, GUARD).0, "untrusted");
    }
}

#[test]
fn a_plugin_that_stands_in_the_home_directory_without_hookbox_runs_as_ever() {
    let env = TestEnvironment::new();
    written(&env, "home/.kodelet/plugins/org@tools");
    env.event(&["before_tool_call"], &call());
    assert_eq!(env.read("home/ran").as_deref(), Some("run\n"));
    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!((&row["location"], &row["details"]["trusted"]), (&json!("global"), &json!(true)), "{row:#}");
    assert_eq!(row["details"]["source"], Value::Null);
    fails(&env, &["update", "org/tools", "--global"], 1, &["was not installed by hookbox", "--force"]);
}
