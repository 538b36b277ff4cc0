//! Nothing is trusted that was not shown, and nothing is claimed that was not checked.

use serde_json::json;

use super::{done, fails, on_a_terminal, written};
use crate::environment::TestEnvironment;

fn trusted(env: &TestEnvironment, name: &str) -> bool {
    let list = env.list(&[]);
    list.iter().find(|hook| hook["name"] == name).unwrap_or_else(|| panic!("{list:?}"))["trusted"]
        == json!(true)
}

#[test]
fn files_that_the_repository_adds_to_a_plugin_are_not_trusted_with_it() {
    let hooks_json = |hook: &str| format!("{{\"version\": 1, \"hooks\": {{\"PreToolUse\": [{hook}]}}}}");
    let server = r#"{"version": 1, "mcpServers": {"lint": {"command": "sh", "args": ["-c", "touch \"$HOME/ran\""]}}, "hooks": {}}"#;
    for (name, hook, brought, words) in [
        (
            "t",
            r#"{"name": "t", "tool": "lint.check"}"#,
            Some(("mcp.json", server)),
            "it runs check of the server lint",
        ),
        (
            "c",
            r#"{"name": "c", "command": "sh ../../../lib/x.sh"}"#,
            Some(("../lib/x.sh", "touch \"$HOME/ran\"")),
            "lib/x.sh of the repository, which was not shown",
        ),
        (
            "c",
            r#"{"name": "c", "command": "sh hooks/x.sh"}"#,
            Some(("hookbox.toml", "[hooks.\"o/p/c\"]\nsettings = { a = 1 }\n")),
            "the repository has settings for it",
        ),
        ("c", r#"{"name": "c", "command": "sh hooks/x.sh"}"#, None, ""),
    ] {
        let env = TestEnvironment::new();
        env.file("plugin/hooks/hooks.json", hooks_json(hook)).file("plugin/hooks/x.sh", "true\n");
        if let Some((file, text)) = brought {
            env.file(&format!("repo/.hookbox/{file}"), text);
        }
        let output = done(&env, &["add", "../plugin", "--name", "o/p", "--yes"]);
        assert_eq!(trusted(&env, &format!("o/p/{name}")), brought.is_none(), "{hook}: {output:#?}");
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
        assert_eq!(brought.is_some(), output.stderr.contains("`hookbox trust` shows it"), "{output:#?}");
        env.hookbox_with(["run", "before_tool_call"], r#"{"tool_name": "bash", "tool_input": {}}"#);
        assert_eq!(env.read("home/ran"), None, "{hook}");
    }
}

#[test]
fn a_lock_file_cannot_claim_a_signature() {
    let env = TestEnvironment::new();
    written(&env, "tools");
    done(&env, &["add", "../tools", "--name", "o/p", "--no-trust"]);
    let lock = env.read("repo/.hookbox/plugins.lock").unwrap();
    std::fs::remove_dir_all(env.path("repo/.hookbox/plugins/o@p")).unwrap();
    let digest = hookbox::Digest::of(b"key");
    let forged = lock.replace("installed = ", &format!("key = \"{digest}\"\ninstalled = "));
    assert_ne!(lock, forged);
    env.file("repo/.hookbox/plugins.lock", &forged);
    let output = fails(&env, &["add", "--yes"], 1, &["key: expected a manifest beside it"]);
    assert!(!output.stderr.contains("signed  by"), "{output:#?}");
    let forged = forged.replace("key = ", &format!("manifest = \"{digest}\"\nkey = "));
    env.file(
        "repo/.hookbox/plugins.lock",
        forged.replace("source = \"", "source = \"oci://127.0.0.1:9/o/p:1\" # \""),
    );
    let output = fails(&env, &["add", "--yes"], 2, &["expected --key: its signature was verified"]);
    assert!(!output.stderr.contains("signed  by"), "{output:#?}");
}

#[test]
fn the_lock_file_has_to_say_what_stands_there_hook_by_hook() {
    let env = TestEnvironment::new();
    written(&env, "tools");
    done(&env, &["add", "../tools", "--name", "o/p", "--no-trust"]);
    let lock = env.read("repo/.hookbox/plugins.lock").unwrap();
    let output = done(&env, &["add"]);
    assert!(output.stderr.contains("o/p is installed"), "{output:#?}");
    let (head, hook) = lock.split_once("[[plugin.hook]]").unwrap();
    for (changed, words) in [
        (head.to_owned(), "hook guard: expected none, found native"),
        (lock.replace("kind = \"native\"", "kind = \"component\""), "hook guard: expected component"),
        (format!("{lock}\n[[plugin.hook]]{}", hook.replace("guard", "other")), "hook other: expected native"),
    ] {
        env.file("repo/.hookbox/plugins.lock", changed);
        fails(&env, &["add"], 1, &["is not what plugins.lock says", words]);
    }
}

#[test]
fn where_the_settings_of_the_git_host_cannot_be_used_no_other_host_is_asked() {
    for settings in ["[plugins]\ngit_host = \"git.example.com\"\n", "[plugins]\ngit_host = 1\n", "[plugins\n"]
    {
        let env = TestEnvironment::new();
        env.file("home/.hookbox/hookbox.toml", settings)
            .file("home/.gitconfig", "[url \"file:///nowhere/\"]\n\tinsteadOf = https://github.com/\n");
        let output = fails(&env, &["add", "org/repo"], 2, &["hookbox.toml", "may name the git host"]);
        assert!(!output.stderr.contains("nowhere"), "{output:#?}");
        written(&env, "tools");
        done(&env, &["add", "../tools", "--name", "o/p"]);
    }
}

#[test]
fn questions_of_git_and_ssh_stay_on_the_terminal() {
    let env = TestEnvironment::new().variable("TERM", "xterm");
    env.script(
        "bin/ssh",
        "#!/bin/bash\nprintf 'Enter passphrase for key: ' > /dev/tty\nread -r word < /dev/tty\necho \"said $word\" >&2\nexit 1\n",
    );
    let output = on_a_terminal(&env, &["add", "ssh://host/a/b"], "secret\n");
    let at = output.stdout.find("Enter passphrase").unwrap_or_else(|| panic!("{output:#?}"));
    let line = output.stdout[at..].lines().next().unwrap();
    assert!(!line.contains("\u{1b}[2K") && !line.contains("looking for"), "{output:#?}");
    assert!(output.stdout.contains("looking for a/b"), "{output:#?}");
}
