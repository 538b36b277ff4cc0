//! Kiro, whose files have one list of hooks.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, guarded};

const USER: &str = "home/.kiro/hooks/hookbox.json";

/// Two files of others, in the forms in which people publish them.
const OTHERS: [(&str, &str); 2] = [
    (
        "home/.kiro/hooks/clusters.json",
        r#"{"version": "v1", "hooks": [{"name": "Clusters", "trigger": "PreToolUse", "matcher": "^execute_(bash|cmd)$",
            "timeout": 10, "action": {"type": "command", "command": "sh ~/bin/clusters.sh"}}]}"#,
    ),
    (
        "repo/.kiro/hooks/format.json",
        r#"{"version": "v1", "hooks": [
            {"name": "format", "trigger": "PostFileSave", "matcher": "\\.go$", "timeout": 20, "enabled": true,
             "action": {"type": "command", "command": "gofmt -l ."}},
            {"name": "words", "trigger": "PreToolUse", "matcher": "fs_append",
             "action": {"type": "agent", "prompt": "Keep the glossary in order."}}]}"#,
    ),
];

#[test]
fn a_file_of_hooks_is_a_guard_of_all_agents_beside_the_files_of_others() {
    let agent = Agent::Kiro;
    let env = guarded(agent);
    for (file, text) in OTHERS {
        env.file(file, text);
    }
    assert!(doctor(&env, &["kiro"]).stdout.contains("hookbox install kiro"));
    assert_eq!(env.hookbox(["install", "kiro"]).code, Some(0));
    let written: Value = serde_json::from_str(&env.read(USER).unwrap()).unwrap();
    assert_eq!(written["version"], "v1");
    let hooks = written["hooks"].as_array().unwrap();
    let triggers: Vec<_> = hooks.iter().map(|it| it["trigger"].as_str().unwrap()).collect();
    assert_eq!(triggers, ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]);
    for hook in hooks {
        let trigger = hook["trigger"].as_str().unwrap();
        assert_eq!((&hook["name"], &hook["timeout"]), (&json!(format!("hookbox-{trigger}")), &json!(30)));
        let command = hook["action"]["command"].as_str().unwrap();
        assert!(command.contains(&format!("bridge kiro --event {trigger}")), "{command}");
        // Kiro would read a matcher as an expression; without one it runs the hook for every tool.
        assert_eq!((&hook["action"]["type"], hook.get("matcher")), (&json!("command"), None));
    }
    let output = doctor(&env, &["kiro", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
    assert!(output.stdout.contains("it does not guard kiro_default"), "{output:#?}");
    let before = env.read(USER).unwrap();
    assert_eq!(env.hookbox(["install", "kiro"]).code, Some(0));
    assert_eq!(env.read(USER).unwrap(), before);
}

#[test]
fn an_entry_that_kiro_does_not_run_for_every_call_is_no_guard_and_is_repaired() {
    let env = guarded(Agent::Kiro);
    assert_eq!(env.hookbox(["install", "kiro"]).code, Some(0));
    let text = env.read(USER).unwrap();
    let is_guarded = |is_ok: bool, words: &str| {
        let output = doctor(&env, &["kiro"]);
        assert_eq!(output.code, Some(i32::from(!is_ok)), "{words}: {output:#?}");
        assert!(output.stdout.contains(words), "{words}: {output:#?}");
    };
    let changed = |at: &str, key: &str, value: Value| {
        let mut file: Value = serde_json::from_str(&text).unwrap();
        file.pointer_mut(at).unwrap()[key] = value;
        file.to_string()
    };
    for (at, key, value) in [
        ("", "version", json!("v2")),
        ("/hooks/2", "enabled", json!(false)),
        ("/hooks/2", "timeout", json!(1)),
        ("/hooks/2/action", "type", json!("agent")),
        ("/hooks/2", "trigger", json!("Manual")),
    ] {
        env.file(USER, changed(at, key, value));
        is_guarded(false, "");
        if key == "version" {
            std::fs::remove_file(env.path(USER)).unwrap();
        }
        assert_eq!(env.hookbox(["install", "kiro", "--guards", "none"]).code, Some(0), "{key}");
        is_guarded(true, "");
    }
    env.file(USER, changed("/hooks/2", "matcher", json!("fs_write")));
    is_guarded(true, "the matcher \"fs_write\" leaves tools out");
    assert_eq!(env.hookbox(["install", "kiro", "--guards", "none"]).code, Some(0));
    assert_eq!(env.read(USER).unwrap(), text);
}

#[test]
fn the_entries_of_others_in_hookboxs_file_stay() {
    let env = guarded(Agent::Kiro);
    let own: Value = serde_json::from_str(OTHERS[0].1).unwrap();
    env.file(USER, own.to_string());
    assert_eq!(env.hookbox(["install", "kiro", "--guards", "none"]).code, Some(0));
    let hooks: Value = serde_json::from_str(&env.read(USER).unwrap()).unwrap();
    assert_eq!((hooks["hooks"].as_array().unwrap().len(), &hooks["hooks"][0]), (6, &own["hooks"][0]));
    env.file(USER, format!("{hooks:#}\n\n"));
    assert_eq!(env.hookbox(["uninstall", "kiro"]).code, Some(0));
    let left: Value = serde_json::from_str(&env.read(USER).unwrap()).unwrap();
    assert_eq!(left, own);
    for (file, text) in
        [(USER, "[]"), (USER, "{\"version\": \"v1\", \"hooks\": {}}"), (USER, "{\"version\": \"v9\"}")]
    {
        env.file(file, text);
        assert_ne!(env.hookbox(["install", "kiro", "--guards", "none"]).code, Some(0), "{text}");
        assert_eq!(env.read(file).unwrap(), text);
    }
}

#[test]
fn doctor_names_the_agents_that_the_earlier_harness_leaves_without_hooks() {
    let env = guarded(Agent::Kiro);
    assert_eq!(env.hookbox(["install", "kiro", "--guards", "none"]).code, Some(0));
    let hook = json!({"hooks": {"preToolUse": [{"command": "hookbox bridge kiro --event preToolUse", "matcher": "*"}]}});
    env.file("home/.kiro/agents/mine.json", hook.to_string());
    env.file("home/.kiro/agents/reviewer.json", r#"{"name": "reviewer", "tools": ["*"]}"#);
    env.file("repo/.kiro/agents/shop.json", r#"{"hooks": {"preToolUse": [{"command": "./check.sh"}]}}"#);
    let output = doctor(&env, &["kiro"]);
    assert!(output.stdout.contains("it does not guard kiro_default, reviewer, shop"), "{output:#?}");
}
