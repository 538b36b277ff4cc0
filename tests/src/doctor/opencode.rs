//! OpenCode, which runs hookbox from a plugin.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{doctor, fails, guarded};
use crate::environment::{TestEnvironment, program};

const USER: &str = "home/.config/opencode/plugins/hookbox.js";
const PROJECT: &str = "repo/.opencode/plugins/hookbox.js";

fn installed(args: &[&str]) -> TestEnvironment {
    let env = guarded(Agent::OpenCode);
    let output = env.hookbox([&["install", "opencode"], args].concat());
    assert_eq!(output.code, Some(0), "{output:#?}");
    env
}

/// Lets the plugin call this script.
fn calls(env: &TestEnvironment, run: &str) {
    let real = program();
    let script = format!("#!/bin/bash\n[ \"$1\" = --version ] && exec {} --version\n{run}\n", real.display());
    env.script("home/wrap/hookbox", &script);
    let path = env.path("home/wrap/hookbox");
    let output = env.hookbox(["install", "opencode", "--program", path.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn a_plugin_whose_program_blocks_is_a_guard() {
    for (args, path, level) in [(&[][..], USER, "user"), (&["--project"], PROJECT, "project")] {
        let env = installed(args);
        let output = doctor(&env, &["opencode", "--json"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let found: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!((&found[0]["configured"], &found[0]["guarded"]), (&json!(true), &json!(true)));
        let events = found[0]["events"].as_array().unwrap();
        assert_eq!(events.len(), Agent::OpenCode.events().len());
        assert_eq!(events[0]["level"], json!(level));
        assert_eq!(events[0]["file"], json!(env.path(path).to_str().unwrap()));
        let text = doctor(&env, &["opencode"]).stdout;
        assert!(
            text.starts_with("OpenCode (opencode): guarded\n") && text.contains("guardrail.wasm"),
            "{text}"
        );
        // OpenCode looks for a project's plugins up to the repository's root.
        env.directory("repo/sub");
        assert_eq!(doctor(&env, &["opencode", "--cwd", "sub"]).code, Some(0));
    }
}

#[test]
fn a_plugin_that_lets_a_call_through_is_none() {
    let agent = Agent::OpenCode;
    let env = guarded(agent);
    let output = doctor(&env, &["opencode"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("hookbox install opencode"), "{output:#?}");

    let env = installed(&[]);
    let text = env.read(USER).unwrap();
    env.file(USER, text.replace("throw new Error(deny)", "return"));
    fails(&env, agent, "configuration", "was changed since");
    env.file(USER, "export default async () => ({})");
    let output = doctor(&env, &["opencode"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("is not a plugin of hookbox"), "{output:#?}");
    env.file(USER, &text).file(PROJECT, &text);
    fails(&env, agent, "event", "tool.execute.before calls hookbox more than once");

    let env = installed(&[]);
    calls(&env, "echo '{}'");
    fails(&env, agent, "path", "takes nothing in {}");
    calls(&env, "echo '{\"decision\": \"deny\", \"reason\": \"no\"}'");
    fails(&env, agent, "guard", "does not show that a guard works");
    std::fs::remove_file(env.path("home/wrap/hookbox")).unwrap();
    fails(&env, agent, "command", "cannot be run");

    let env = installed(&[]).variable("OPENCODE_PURE", "1");
    fails(&env, agent, "switch", "OPENCODE_PURE");
    let env = installed(&[]);
    std::fs::remove_file(env.path("home/.hookbox/hooks/guardrail.wasm")).unwrap();
    env.file("home/.hookbox/hookbox.toml", "");
    fails(&env, agent, "guard", "only builtin:self-protection blocks `rm -rf /`");
}
