//! Cline, which runs hookbox from a plugin, and waits 3 s for it.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, fails, guarded};

#[test]
fn a_plugin_is_a_guard_unless_cline_has_switched_it_off() {
    let agent = Agent::Cline;
    let env = guarded(agent);
    assert!(doctor(&env, &["cline"]).stdout.contains("hookbox install cline"));
    assert_eq!(env.hookbox(["install", "cline"]).code, Some(0));
    let output = doctor(&env, &["cline", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
    let before = &found[0]["events"][2];
    assert_eq!((&before["event"], &before["timeout_ms"]), (&json!("beforeTool"), &json!(3000)));
    assert!(before["command"].as_str().unwrap().ends_with(" --deadline 2s"), "{before}");

    let plugin = env.path("home/.cline/plugins/hookbox.js");
    let settings = "home/.cline/data/settings/global-settings.json";
    env.file(settings, json!({"disabledPlugins": ["/elsewhere.js"]}).to_string());
    assert_eq!(doctor(&env, &["cline"]).code, Some(0));
    env.file(settings, json!({"disabledPlugins": [plugin.to_str().unwrap()]}).to_string());
    fails(&env, agent, "switch", "disabledPlugins");
    env.file(settings, "{}");

    let text = env.read("home/.cline/plugins/hookbox.js").unwrap();
    env.file("home/.cline/plugins/hookbox.js", text.replace("skip: true", "skip: false"));
    fails(&env, agent, "configuration", "was changed since");
    env.file("home/.cline/plugins/hookbox.js", text);
    for level in ["--user", "--project"] {
        assert_eq!(env.hookbox(["install", "cline", level]).code, Some(0));
        let rows = env.hookbox(["uninstall", "cline", level, "--json"]).json();
        assert_eq!(rows[0]["change"], "deleted", "{level}");
    }
    assert!(!plugin.exists() && !env.path("repo/.cline").exists());
}
