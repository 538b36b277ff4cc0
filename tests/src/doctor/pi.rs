//! Pi, which runs hookbox from an extension.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, fails, guarded};

const USER: &str = "home/.pi/agent/extensions/hookbox.js";

#[test]
fn an_extension_is_a_guard_unless_settings_leave_it_out() {
    let agent = Agent::Pi;
    let env = guarded(agent);
    assert!(doctor(&env, &["pi"]).stdout.contains("hookbox install pi"));
    assert_eq!(env.hookbox(["install", "pi"]).code, Some(0));
    let output = doctor(&env, &["pi", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
    assert_eq!(found[0]["events"].as_array().unwrap().len(), agent.events().len());
    // Another program is called `pi` as well: nothing is said about it.
    assert!(!output.stdout.contains("PATH"), "{output:#?}");

    let (own, projects) = ("home/.pi/agent/settings.json", "repo/.pi/settings.json");
    for (file, entry) in [
        (own, "-extensions/hookbox.js"),
        (own, "!extensions/*"),
        // A project leaves out the user's own, as seen in 0.73.
        (projects, "!**/hookbox.js"),
    ] {
        env.file(file, json!({"extensions": ["~/.pi/agent/extensions", entry]}).to_string());
        fails(&env, agent, "switch", &format!("leaves the plugin out: {entry:?}"));
        env.file(file, json!({"extensions": ["-extensions/other.js", "!extensions/legacy*"]}).to_string());
        assert_eq!(doctor(&env, &["pi"]).code, Some(0), "{file}");
    }

    let text = env.read(USER).unwrap();
    env.file(USER, text.replace("block: true", "block: false"));
    fails(&env, agent, "configuration", "was changed since");
    env.file(USER, text);
    for level in ["--user", "--project"] {
        assert_eq!(env.hookbox(["install", "pi", level]).code, Some(0));
        let rows = env.hookbox(["uninstall", "pi", level, "--json"]).json();
        assert_eq!(rows[0]["change"], "deleted", "{level}");
    }
    assert!(!env.path(USER).exists() && !env.path("repo/.pi/extensions").exists());
}
