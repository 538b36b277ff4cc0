//! Amp, which runs hookbox from a plugin.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, fails, guarded};

const USER: &str = "home/.config/amp/plugins/hookbox.ts";

/// Two plugins of others, in the forms in which people publish them.
const OTHERS: [(&str, &str); 2] = [
    (
        "home/.config/amp/plugins/notify.ts",
        "import type { PluginAPI } from '@ampcode/plugin'\n\nexport default function (amp: PluginAPI) {\n\
         \tamp.on('agent.end', async (event, ctx) => {\n\t\tawait ctx.ui.notify(event.status)\n\t})\n}\n",
    ),
    (
        "home/.config/amp/plugins/memory/index.ts",
        "export default (amp) => {\n  amp.on('tool.call', () => ({ action: 'allow' }))\n}\n",
    ),
];

#[test]
fn a_plugin_is_a_guard_beside_the_plugins_of_others() {
    let agent = Agent::Amp;
    let env = guarded(agent);
    for (file, text) in OTHERS {
        env.file(file, text);
    }
    assert!(doctor(&env, &["amp"]).stdout.contains("hookbox install amp"));
    let output = env.hookbox(["install", "amp"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.contains("--plugin-ready-timeout"), "{output:#?}");
    let output = doctor(&env, &["amp", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
    assert_eq!(found[0]["events"].as_array().unwrap().len(), agent.events().len());

    let text = env.read(USER).unwrap();
    env.file(USER, text.replace("reject-and-continue", "allow"));
    fails(&env, agent, "configuration", "was changed since");
    env.file(USER, text);
    for level in ["--user", "--project"] {
        assert_eq!(env.hookbox(["install", "amp", level]).code, Some(0));
        let rows = env.hookbox(["uninstall", "amp", level, "--json"]).json();
        assert_eq!(rows[0]["change"], "deleted", "{level}");
    }
    assert!(!env.path(USER).exists() && !env.path("repo/.amp/plugins").exists());
    for (file, text) in OTHERS {
        assert_eq!(env.read(file).unwrap(), text);
    }
}

#[test]
fn a_variable_that_names_other_plugins_leaves_this_one_out() {
    for (value, is_off) in
        [("off", true), ("notify,memory", true), ("all", false), ("notify, hookbox", false)]
    {
        let env = guarded(Agent::Amp).variable("PLUGINS", value);
        assert_eq!(env.hookbox(["install", "amp", "--guards", "none"]).code, Some(0));
        let output = doctor(&env, &["amp"]);
        assert_eq!(output.stdout.contains("PLUGINS is set"), is_off, "{value}: {output:#?}");
        assert_eq!(output.code == Some(0), !is_off, "{value}: {output:#?}");
    }
}
