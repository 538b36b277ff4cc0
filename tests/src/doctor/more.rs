//! Droid, Mistral Vibe and OpenHands, whose own hooks hookbox does not run, and Kilo.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, fails, guarded};

/// Installs hookbox for an agent, and checks that the doctor finds a guard.
#[track_caller]
fn installed(agent: Agent) -> crate::environment::TestEnvironment {
    let env = guarded(agent);
    let name = agent.as_str();
    assert!(doctor(&env, &[name]).stdout.contains(&format!("hookbox install {name}")));
    assert_eq!(env.hookbox(["install", name]).code, Some(0));
    let output = doctor(&env, &[name, "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
    assert_eq!(found[0]["events"].as_array().unwrap().len(), agent.events().len());
    env
}

#[test]
fn a_file_that_takes_the_place_of_the_entries_is_a_failure() {
    let own = json!([{"hooks": [{"type": "command", "command": "true"}]}]);
    let vibe = "[[hooks]]\nname = \"hookbox-pre_tool\"\ntype = \"pre_tool\"\ncommand = \"true\"\n";
    for (agent, file, text, about, part) in [
        (
            Agent::Droid,
            "repo/.factory/settings.json",
            json!({"hooks": {"hooksDisabled": true}}).to_string(),
            "switch",
            "hooksDisabled",
        ),
        (
            Agent::Droid,
            "repo/.factory/hooks.json",
            json!({"hooksDisabled": true}).to_string(),
            "switch",
            "switches every hook off",
        ),
        (
            Agent::Qoder,
            "repo/.qoder/settings.json",
            json!({"hooksConfig": {"enabled": false}}).to_string(),
            "switch",
            "switches every hook off",
        ),
        (
            Agent::Grok,
            "home/.grok/disabled-hooks",
            "global/hookbox:pre_tool_use[0].hooks[0]\n".to_owned(),
            "switch",
            "switches hooks of this file off",
        ),
        (
            Agent::Goose,
            "repo/.config/goose/settings.local.json",
            json!({"disabledPlugins": ["lint", "hookbox"]}).to_string(),
            "switch",
            "switches the plugin hookbox off, by",
        ),
        (
            Agent::Goose,
            "home/.config/goose/config.yaml",
            "plugins:\n  /home/ada/.agents/plugins/hookbox:\n    enabled: false\n".to_owned(),
            "switch",
            "switches the plugin hookbox off",
        ),
        (
            Agent::Goose,
            "repo/.agents/plugins/hookbox/plugin.json",
            "{}".to_owned(),
            "switch",
            "not your own plugin of that name",
        ),
        (
            Agent::Droid,
            "home/.factory/hooks.json",
            json!({"PreToolUse": own}).to_string(),
            "event",
            "in place of that of settings.json",
        ),
        (Agent::Vibe, "repo/.vibe/hooks.toml", vibe.to_owned(), "switch", "another hook of the name"),
        (Agent::OpenHands, "repo/.openhands/hooks.json", "{}".to_owned(), "switch", "none of your own hooks"),
    ] {
        let env = installed(agent);
        env.file(file, text);
        fails(&env, agent, about, part);
    }
}

#[test]
fn an_entry_of_vibe_that_is_not_strict_is_a_failure_and_is_repaired() {
    let env = installed(Agent::Vibe);
    let file = "home/.vibe/hooks.toml";
    let text = env.read(file).unwrap();
    assert_eq!(text.matches("strict = true").count(), 1, "{text}");
    for event in ["pre_tool", "post_tool", "post_agent"] {
        assert!(text.contains(&format!("type = \"{event}\"\nname = \"hookbox-{event}\"\n")), "{text}");
    }
    env.file(file, text.replace("strict = true\n", ""));
    fails(&env, Agent::Vibe, "event", "is not strict");
    assert_eq!(env.hookbox(["install", "vibe"]).code, Some(0));
    assert_eq!(env.read(file).unwrap(), text);
}

#[test]
fn the_plugin_of_kilo_names_kilo_and_goes_with_its_directories() {
    let env = installed(Agent::Kilo);
    let text = env.read("home/.config/kilo/plugins/hookbox.js").unwrap();
    assert!(text.ends_with("const AGENT = \"kilo\";\n"));
    for agent in [
        "kilo",
        "droid",
        "vibe",
        "openhands",
        "auggie",
        "qoder",
        "grok",
        "antigravity",
        "crush",
        "goose",
        "devin",
        "amp",
        "kiro",
    ] {
        for level in ["--user", "--project"] {
            assert_eq!(env.hookbox(["install", agent, level]).code, Some(0));
            let rows = env.hookbox(["uninstall", agent, level, "--json"]).json();
            assert_eq!(rows[0]["change"], "deleted", "{agent} {level}");
        }
    }
}

#[test]
fn the_hooks_of_antigravity_that_have_other_names_stay_and_a_switch_is_found() {
    let env = guarded(Agent::Antigravity);
    let file = "home/.gemini/config/hooks.json";
    let entry = r#"{"type": "command", "command": "./scripts/lint.sh", "timeout": 10}"#;
    let group = format!(r#"[{{"matcher": "run_command", "hooks": [{entry}]}}]"#);
    let own = format!(
        r#"{{"lint": {{"PostToolUse": {group}}}, "gate": {{"enabled": false, "PreToolUse": {group}}}, "reminder": {{"PreInvocation": [{entry}]}}}}"#
    );
    env.file(file, &own);
    assert_eq!(env.hookbox(["install", "antigravity", "--guards", "none"]).code, Some(0));
    let installed: Value = serde_json::from_str(&env.read(file).unwrap()).unwrap();
    let before: Value = serde_json::from_str(&own).unwrap();
    for name in ["lint", "gate", "reminder"] {
        assert_eq!(installed[name], before[name]);
    }
    // Events about tools have groups, and others have none.
    assert!(installed["hooks"]["PreToolUse"][0]["hooks"][0]["command"].is_string(), "{installed:#}");
    assert!(installed["hooks"]["Stop"][0]["command"].is_string(), "{installed:#}");
    assert_eq!(doctor(&env, &["antigravity"]).code, Some(0));
    let off = env.read(file).unwrap().replacen("\"hooks\": {", "\"hooks\": {\"enabled\": false,", 1);
    env.file(file, off);
    fails(&env, Agent::Antigravity, "switch", "switches every hook off");
    assert_eq!(env.hookbox(["uninstall", "antigravity"]).code, Some(0));
    let left: Value = serde_json::from_str(&env.read(file).unwrap()).unwrap();
    assert_eq!((&left["lint"], &left["gate"]), (&before["lint"], &before["gate"]));
}
