//! Grok Build runs the hooks of Claude Code and Cursor, too: what its own entry judges reaches no hook a second time.

use std::fs;

use hookbox_agents::Agent;
use serde_json::json;

use super::{args, call, guard};
use crate::environment::program;

#[test]
fn an_event_that_its_own_entry_judges_passes_the_entry_of_another_agent() {
    let env = guard(&json!({"block": "not here"}), "block");
    let installed = env.hookbox(["install", "grok", "--guards", "none"]);
    assert_eq!(installed.code, Some(0), "{installed:#?}");
    let payload = call(&env, Agent::Grok, "PreToolUse", "ls").to_string();
    let asked = |agent, event| env.hookbox_with(args(agent, Some(event), &[]), &payload);
    let blocks = |agent, event| asked(agent, event).stdout.contains("not here");
    for (agent, event) in [(Agent::Claude, "PreToolUse"), (Agent::Cursor, "preToolUse")] {
        let output = asked(agent, event);
        assert_eq!((output.code, output.stdout.contains("not here")), (Some(0), false), "{output:#?}");
    }
    assert!(blocks(Agent::Grok, "PreToolUse"));
    // A call that only has the field in its input is Claude Code's own.
    let mut own = call(&env, Agent::Claude, "PreToolUse", "ls");
    own["tool_input"]["workspaceRoot"] = json!("/");
    let output = env.hookbox_with(args(Agent::Claude, Some("PreToolUse"), &[]), own.to_string());
    assert!(output.stdout.contains("not here"), "{output:#?}");
    // A repository may be able to set variables, and a home directory with such an entry.
    let others = env.path("repo");
    env.copy("repo/.grok/hooks/hookbox.json", &env.path("home/.grok/hooks/hookbox.json"));
    for (name, value) in [("HOME", &others), ("GROK_HOME", &env.path("home/.grok"))] {
        let mut command = env.command(program());
        let home = env.path("home");
        command.args(args(Agent::Claude, Some("PreToolUse"), &["--home", home.to_str().unwrap()]));
        let output = env.run(command.env(name, value), &payload);
        assert!(output.stdout.contains("\"deny\""), "{name}: {output:#?}");
    }
    // An entry whose program is gone judges nothing.
    let path = env.path("home/.grok/hooks/hookbox.json");
    let entry = fs::read_to_string(&path).unwrap();
    let line = entry.split("\"command\": \"").nth(1).unwrap().split(' ').next().unwrap();
    env.file("home/.grok/hooks/hookbox.json", entry.replace(line, "/gone/hookbox"));
    assert!(blocks(Agent::Claude, "PreToolUse"));
    env.file("home/.grok/hooks/hookbox.json", entry);
    // An entry that its user has switched off judges nothing.
    env.file("home/.grok/disabled-hooks", "global/hookbox:pre_tool_use[0].hooks[0]\n");
    assert!(blocks(Agent::Claude, "PreToolUse"));
    // Without an entry of its own, those of Claude Code guard it.
    env.file("home/.grok/disabled-hooks", "");
    env.file("home/.grok/hooks/hookbox.json", "{}");
    assert!(blocks(Agent::Claude, "PreToolUse"));
}
