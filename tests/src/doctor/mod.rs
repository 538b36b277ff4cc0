//! `hookbox doctor`: it succeeds where a guard fires, and says why where anything on the way lets a call through.

mod amp;
mod broken;
mod cline;
mod configuration;
mod kiro;
mod limits;
mod more;
mod opencode;
mod pi;

use std::fs;
use std::path::Path;

use hookbox_agents::Agent;
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, program, sample};

/// A user with the sample guard and this agent, which calls hookbox.
fn place(agent: Agent) -> TestEnvironment {
    let env = guarded(agent);
    if agent == Agent::Gemini {
        trust_folder(&env);
    }
    configure(&env, agent, &entry(agent, "hookbox bridge AGENT"));
    env
}

/// A user with the sample guard and this agent, which is not configured.
fn guarded(agent: Agent) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\non_failure = \"block\"\n");
    env.symlink("bin/hookbox", program().to_str().unwrap());
    let name = match agent {
        Agent::Cursor => "cursor-agent",
        Agent::Kiro => "kiro-cli",
        _ => agent.as_str(),
    };
    env.script(&format!("bin/{name}"), "#!/bin/sh\n");
    env
}

/// The file that Gemini CLI writes when its user trusts the project.
fn trust_folder(env: &TestEnvironment) {
    let rules = json!({env.path("repo").to_string_lossy(): "TRUST_FOLDER"});
    env.file("home/.gemini/trustedFolders.json", rules.to_string());
}

/// The file in which the agent's user keeps hooks.
fn file(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "home/.claude/settings.json",
        Agent::Codex => "home/.codex/hooks.json",
        Agent::Gemini => "home/.gemini/settings.json",
        Agent::Qwen => "home/.qwen/settings.json",
        Agent::Copilot => "home/.copilot/hooks/hookbox.json",
        Agent::Cursor => "home/.cursor/hooks.json",
        Agent::Kimi => "home/.kimi-code/config.toml",
        _ => unreachable!("hookbox runs no command hooks of it"),
    }
}

/// The agent's name of `before_tool_call`, as its configuration here has it.
fn event(agent: Agent) -> &'static str {
    agent.names_of(hookbox_agents::agent::EventKind::BeforeToolCall).next().unwrap()
}

/// An entry with this command line, in the agent's form; it waits for 20 s.
fn entry(agent: Agent, command: &str) -> Value {
    let command = command.replace("AGENT", agent.as_str());
    match agent {
        Agent::Copilot => {
            json!({"type": "command", "bash": format!("{command} --event preToolUse"), "timeoutSec": 20})
        }
        Agent::Cursor | Agent::Kimi => json!({"command": command, "timeout": 20}),
        Agent::Gemini => json!({"type": "command", "name": "hookbox", "command": command, "timeout": 20_000}),
        _ => json!({"type": "command", "command": command, "timeout": 20}),
    }
}

/// Writes the configuration with this entry before tool calls.
fn configure(env: &TestEnvironment, agent: Agent, entry: &Value) {
    configure_with(env, agent, &json!([grouped(agent, entry, None)]));
}

fn grouped(agent: Agent, entry: &Value, matcher: Option<&str>) -> Value {
    let mut group = match agent {
        Agent::Copilot | Agent::Cursor | Agent::Kimi => entry.clone(),
        _ => json!({"hooks": [entry]}),
    };
    if let Some(matcher) = matcher {
        group["matcher"] = json!(matcher);
    }
    group
}

fn configure_with(env: &TestEnvironment, agent: Agent, list: &Value) {
    if agent == Agent::Kimi {
        env.file(file(agent), tables(event(agent), list));
        return;
    }
    let mut configuration = json!({"hooks": {event(agent): list}});
    if matches!(agent, Agent::Copilot | Agent::Cursor) {
        configuration["version"] = json!(1);
    }
    env.file(file(agent), configuration.to_string());
    if agent == Agent::Codex {
        trust(env, list);
    }
}

/// Returns `[[hooks]]` tables of these entries.
fn tables(event: &str, list: &Value) -> String {
    let mut text = String::new();
    for entry in list.as_array().unwrap() {
        text += &format!("[[hooks]]\nevent = \"{event}\"\n");
        for (key, value) in entry.as_object().unwrap() {
            text += &format!("{key} = {value}\n");
        }
    }
    text
}

/// The settings that Codex writes when its user trusts every hook in `/hooks`.
fn trust(env: &TestEnvironment, list: &Value) {
    env.file("home/.codex/config.toml", trusted(&env.path(file(Agent::Codex)), list));
}

/// Returns Codex's settings that trust the hooks of this file.
fn trusted(path: &Path, list: &Value) -> String {
    let mut text = String::new();
    for (at, group) in list.as_array().unwrap().iter().enumerate() {
        let hook = &group["hooks"][0];
        let matcher = group.get("matcher").map(|it| format!(",\"matcher\":{it}")).unwrap_or_default();
        let command = hook["command"].to_string();
        let timeout = hook.get("timeout").cloned().unwrap_or(json!(600));
        let identity = format!(
            "{{\"event_name\":\"pre_tool_use\",\"hooks\":[{{\"async\":false,\"command\":{command},\"timeout\":{timeout},\"type\":\"command\"}}]{matcher}}}"
        );
        let hash = hookbox::hook::Digest::of(identity.as_bytes());
        text +=
            &format!("[hooks.state.\"{}:pre_tool_use:{at}:0\"]\ntrusted_hash = \"{hash}\"\n", path.display());
    }
    text
}

fn doctor(env: &TestEnvironment, args: &[&str]) -> Output {
    env.hookbox([&["doctor"], args].concat())
}

/// The findings of one agent: status, about, message.
fn findings(output: &Output) -> Vec<(String, String, String)> {
    let all: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |it: &Value| (text(&it["status"]), text(&it["about"]), text(&it["message"]));
    all[0]["findings"].as_array().unwrap().iter().map(of).collect()
}

/// The examination fails; this is one of the reasons.
#[track_caller]
fn fails(env: &TestEnvironment, agent: Agent, about: &str, words: &str) -> Output {
    let output = doctor(env, &[agent.as_str(), "--json"]);
    assert_eq!(output.code, Some(1), "{agent} {about}: {output:#?}");
    let all = findings(&output);
    let is_it = |(status, it, message): &(String, String, String)| {
        status == "failed" && it == about && message.contains(words)
    };
    assert!(all.iter().any(is_it), "{agent} {about} {words:?}: {all:#?}");
    output
}

/// Every file below the home and the repository with its content, but for what is compiled and cached.
fn everything(env: &TestEnvironment) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut waiting = vec![env.path("home"), env.path("repo")];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".cache") || path.ends_with(".local/share/hookbox") {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
            } else {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_guard_in_shadow_mode_does_not_guard_and_doctor_tells() {
    let env = place(Agent::Claude);
    let settings = "[hooks.\"guardrail.wasm\"]\non_failure = \"block\"\nmode = \"observe\"\n";
    env.file("home/.hookbox/hookbox.toml", settings);
    let output = fails(&env, Agent::Claude, "guard", "only builtin:self-protection blocks");
    let all = findings(&output);
    let is_it = |(status, about, message): &(String, String, String)| {
        status == "warning"
            && about == "guard"
            && message == "guardrail.wasm is in shadow mode: it does not guard"
    };
    assert!(all.iter().any(is_it), "{all:#?}");
    assert!(all.iter().any(|it| it.0 == "warning" && it.1 == "failure"), "{all:#?}");
}

#[test]
fn each_installed_guard_is_tried_with_a_call_of_its_own() {
    let env = place(Agent::Claude);
    // No other hook blocks first.
    fs::remove_file(env.path("home/.hookbox/hooks/guardrail.wasm")).unwrap();
    env.file("home/.hookbox/hookbox.toml", "");
    let added =
        env.hookbox(["guard", "add", "destructive", "git", "injection", "secrets", "supply-chain", "--yes"]);
    assert_eq!(added.code, Some(0), "{added:#?}");
    let of_guards = |env: &TestEnvironment| -> Vec<(String, String)> {
        let all = findings(&doctor(env, &["claude", "--json"]));
        let tried =
            all.into_iter().filter(|(_, about, message)| about == "guard" && message.contains(".wasm "));
        tried.map(|(status, _, message)| (status, message.split('`').next().unwrap().to_owned())).collect()
    };
    let answers = |name: &str| ("ok".to_owned(), format!("{name}.wasm answers to "));
    let tried = of_guards(&env);
    for name in ["destructive", "git", "injection", "secrets", "supply-chain"] {
        assert!(tried.contains(&answers(name)), "{name}: {tried:#?}");
    }
    let settings = env.read("home/.hookbox/hookbox.toml").unwrap();
    let own = "[hooks.\"git.wasm\".settings]\nallow = [\"git push --force origin main\"]\n";
    env.file("home/.hookbox/hookbox.toml", format!("{settings}\n{own}"));
    let tried = of_guards(&env);
    assert!(tried.contains(&("warning".to_owned(), "git.wasm says nothing to ".to_owned())), "{tried:#?}");
}

#[test]
fn a_guard_that_was_damaged_is_written_again_by_the_command_of_the_hint() {
    let env = place(Agent::Claude);
    assert_eq!(env.hookbox(["guard", "add", "git", "--yes"]).code, Some(0));
    let git = "home/.hookbox/hooks/git.wasm";
    let whole = fs::read(env.path(git)).unwrap();
    fs::write(env.path(git), &whole[..100_000]).unwrap();
    let output = doctor(&env, &["claude"]);
    let hint = "hint: write it again: hookbox guard add git --force";
    assert!(output.stdout.contains(hint) && !output.stdout.contains("harmless lines"), "{output:#?}");
    assert_eq!(env.hookbox(["guard", "add", "git", "--force", "--yes"]).code, Some(0));
    let output = doctor(&env, &["claude"]);
    assert!(output.code == Some(0) && !output.stdout.contains("guard add"), "{output:#?}");
}

#[test]
fn the_last_event_is_shown_and_sessions_since_are_a_warning() {
    let env = place(Agent::Claude);
    let found = || doctor(&env, &["claude", "--json"]).json()[0].clone();
    let heartbeat = |found: &Value| {
        let all = found["findings"].as_array().unwrap();
        all.iter().find(|it| it["about"] == "heartbeat").unwrap().clone()
    };
    // The doctor's own events are not the agent's.
    for _ in 0..2 {
        let never = found();
        assert_eq!((&never["last_event"], &never["sessions_since"]), (&json!(null), &json!(0)));
        assert_eq!(heartbeat(&never)["message"], "configured; no event was seen yet");
    }
    let event = Agent::Claude.event("PreToolUse").unwrap();
    let payload = Agent::Claude.shell_call(event, "ls", &env.path("repo"), "one");
    assert_eq!(env.hookbox_with(["bridge", "claude"], payload.to_string()).code, Some(0));
    let seen = found();
    assert!(seen["last_event"].as_str().unwrap().ends_with('Z'), "{seen:#}");
    assert_eq!(heartbeat(&seen)["status"], "ok");
    let call = json!({
        "type": "assistant", "sessionId": "two", "timestamp": "2999-01-01T00:00:00Z",
        "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
    });
    env.file("home/.claude/projects/p/two.jsonl", format!("{call}\n"));
    let since = found();
    assert_eq!((&since["sessions_since"], &since["guarded"]), (&json!(1), &json!(true)), "{since:#}");
    let heartbeat = heartbeat(&since);
    assert_eq!(heartbeat["status"], "warning");
    assert_eq!(heartbeat["message"], "configured; last event just now, 1 session since");
    assert!(heartbeat["hint"].as_str().unwrap().contains("hookbox install claude"), "{heartbeat:#}");
}

#[test]
fn that_an_agent_is_not_on_path_is_said_once() {
    let env = place(Agent::Claude);
    fs::remove_file(env.path("bin/claude")).unwrap();
    let text = doctor(&env, &["claude"]).stdout;
    assert_eq!(text.matches("not on PATH").count(), 1, "{text}");
}

#[test]
fn an_agent_whose_guard_fires_is_guarded_and_nothing_is_changed() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        let before = everything(&env);
        let output = doctor(&env, &[agent.as_str(), "--json"]);
        assert_eq!(output.code, Some(0), "{agent}: {output:#?}");
        assert_eq!(everything(&env), before, "{agent}");
        let all: Value = serde_json::from_str(&output.stdout).unwrap();
        let found = &all[0];
        assert_eq!(found["agent"], json!(agent.as_str()));
        assert_eq!((&found["configured"], &found["guarded"]), (&json!(true), &json!(true)), "{output:#?}");
        let events = found["events"].as_array().unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["event"], json!(event(agent)));
        assert_eq!(events[0]["hookbox_event"], json!("before_tool_call"));
        assert_eq!((&events[0]["level"], &events[0]["timeout_ms"]), (&json!("user"), &json!(20_000)));
        let all = findings(&output);
        // Nothing in this project switches hooks off, but another repository could.
        let is_fine = |(status, about, _): &(String, String, String)| {
            status == "ok" || (status == "warning" && about == "switch")
        };
        assert!(all.iter().all(is_fine), "{agent}: {all:#?}");
        for (about, words) in [
            ("version", "hookbox 0"),
            ("path", "hookbox trust"),
            ("guard", "`rm -rf /` is blocked by guardrail.wasm"),
            ("failure", "what hookbox cannot read is blocked"),
        ] {
            let is_there = all.iter().any(|(_, it, message)| it == about && message.contains(words));
            assert!(is_there, "{agent} {about}: {all:#?}");
        }
        let text = doctor(&env, &[agent.as_str()]);
        assert_eq!(text.code, Some(0));
        assert!(
            text.stdout.starts_with(&format!("{} ({agent}): guarded\n", agent.title())),
            "{}",
            text.stdout
        );
    }
}

#[test]
fn a_project_and_another_line_are_examined_and_other_agents_are_reported() {
    let env = place(Agent::Gemini);
    let output = doctor(&env, &["--json", "--command", "sudo ls"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let all: Value = serde_json::from_str(&output.stdout).unwrap();
    let agents: Vec<(&str, bool)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["agent"].as_str().unwrap(), it["configured"].as_bool().unwrap()))
        .collect();
    assert_eq!(agents.len(), Agent::ALL.len());
    assert!(agents.iter().all(|(agent, configured)| *configured == (*agent == "gemini")), "{agents:?}");
    // One that is named has to be guarded.
    let named = doctor(&env, &["gemini", "claude"]);
    assert_eq!(named.code, Some(1), "{named:#?}");
    assert!(named.stdout.contains("hookbox install claude"), "{}", named.stdout);
    // A line that no guard blocks, in the project's own directory.
    env.directory("repo/sub");
    let other = doctor(&env, &["gemini", "--command", "ls -la", "--cwd", "sub", "--json"]);
    assert_eq!(other.code, Some(1), "{other:#?}");
    let all = findings(&other);
    assert!(
        all.iter().any(|(status, about, text)| status == "failed"
            && about == "guard"
            && text.contains("`ls -la` runs")),
        "{all:#?}"
    );
    assert!(all.iter().any(|(status, about, _)| status == "ok" && about == "path"), "{all:#?}");
}

#[test]
fn without_any_agent_nothing_is_guarded_and_wrong_usage_is_exit_code_2() {
    let env = TestEnvironment::new();
    let output = doctor(&env, &[]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("hookbox setup"), "{output:#?}");
    for args in [&["emacs"][..], &["--cwd", "nowhere"], &["--jsn"]] {
        let output = doctor(&env, args);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{args:?}: {output:#?}");
        assert!(output.stderr.contains("hint"), "{args:?}: {output:#?}");
    }
}
