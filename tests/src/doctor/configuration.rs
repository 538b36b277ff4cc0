//! The use that an agent makes of its files: those that it reads, refuses, and the keys that count.

use hookbox_agents::agent::{Agent, EventKind};
use serde_json::{Value, json};

use super::{
    configure, configure_with, doctor, entry, event, fails, file, findings, grouped, guarded, place, trusted,
};
use crate::environment::TestEnvironment;

fn succeeds(env: &TestEnvironment, args: &[&str]) {
    let output = doctor(env, &[args, &["--json"]].concat());
    assert_eq!(output.code, Some(0), "{args:?} {output:#?}");
}

#[test]
fn a_file_that_the_agent_refuses_or_takes_otherwise_has_no_guard() {
    let change = |agent: Agent, from: &str, to: &str| {
        let env = place(agent);
        let text = env.read(file(agent)).unwrap();
        assert!(text.contains(from), "{text}");
        env.file(file(agent), text.replacen(from, to, 1));
        env
    };
    let list = |agent: Agent| format!("\"{}\":", event(agent));
    for agent in [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Qwen] {
        for (from, to, words) in [
            (list(agent), format!("{0} [], {0}", list(agent)), "once"),
            ("\"type\":\"command\"".to_owned(), "\"kind\":\"command\"".to_owned(), "\"type\""),
            ("\"timeout\":20".to_owned(), "\"timeout\":\"20\", \"x\":1".to_owned(), "above 0"),
            ("\"timeout\":20".to_owned(), "\"timeout\":-20".to_owned(), "above 0"),
        ] {
            fails(&change(agent, &from, &to), agent, "configuration", words);
        }
    }
    for (agent, from, to, words) in [
        (Agent::Codex, "{", "{\"version\": 1, ", "unknown field"),
        (Agent::Claude, "{", "{\"permissions\": {\"allow\": \"Bash\"}, ", "\"permissions.allow\""),
        (Agent::Claude, "{", "{\"disableAllHooks\": null, ", "\"disableAllHooks\""),
        (Agent::Gemini, "{", "{\"a\": \"x\ty\", ", "line 1, column"),
        (Agent::Copilot, "\"version\":1", "\"version\":2", "\"version\": 1"),
        (Agent::Copilot, "\"timeoutSec\":20", "\"timeoutSec\":-1", "above 0"),
        (Agent::Cursor, "\"version\":1", "\"x\":1", "\"version\": 1"),
    ] {
        fails(&change(agent, from, to), agent, "configuration", words);
    }
    // An entry of another event is only reported. Claude Code leaves the whole file out.
    for (agent, code) in [(Agent::Claude, 1), (Agent::Gemini, 0), (Agent::Copilot, 0)] {
        let name = if agent == Agent::Copilot { "sessionEnd" } else { "SessionEnd" };
        let env = change(agent, "\"hooks\":{", &format!("\"hooks\":{{\"{name}\": 5, "));
        let output = doctor(&env, &[agent.as_str(), "--json"]);
        assert_eq!(output.code, Some(code), "{output:#?}");
        assert!(findings(&output).iter().any(|(_, _, text)| text.contains("expected a list")), "{output:#?}");
    }
}

#[test]
fn an_entry_that_the_agent_does_not_run_for_every_call_is_no_guard() {
    let agent = Agent::Claude;
    for (key, value) in [
        ("if", json!("Bash(git *)")),
        ("shell", json!("powershell")),
        ("args", json!([])),
        ("asyncRewake", json!(true)),
    ] {
        let env = place(agent);
        let mut own = entry(agent, "hookbox bridge AGENT");
        own[key] = value;
        configure(&env, agent, &own);
        fails(&env, agent, "event", &format!("has \"{key}\""));
    }
}

#[test]
fn a_matcher_is_read_as_the_agent_reads_it() {
    for (agent, matcher, words) in [
        (Agent::Claude, "(?i)bash", "cannot be judged"),
        (Agent::Claude, "^Bash\\z", "cannot be judged"),
        (Agent::Claude, "kind:shell", "cannot be judged"),
        (Agent::Gemini, "run_shell_command\\Z", "cannot be judged"),
        (Agent::Gemini, "(?x) shell", "cannot be judged"),
        (Agent::Qwen, "\\Qrun_shell_command\\E|x.", "cannot be judged"),
        (Agent::Copilot, "[[:alpha:]]+", "cannot be judged"),
        (Agent::Cursor, "(?!Read).*", "cannot be judged"),
        (Agent::Codex, "(?i)edit", "does not match"),
    ] {
        let env = place(agent);
        let own = entry(agent, "hookbox bridge AGENT");
        configure_with(&env, agent, &json!([grouped(agent, &own, Some(matcher))]));
        fails(&env, agent, "matcher", words);
    }
    for (agent, matcher) in [
        (Agent::Codex, "(?i)bash"),
        (Agent::Qwen, "Edit|ShellTool"),
        (Agent::Gemini, "^run_.*"),
        (Agent::Copilot, "bash|view"),
    ] {
        let env = place(agent);
        let own = entry(agent, "hookbox bridge AGENT");
        configure_with(&env, agent, &json!([grouped(agent, &own, Some(matcher))]));
        succeeds(&env, &[agent.as_str()]);
    }
}

#[test]
fn options_that_disarm_hookbox_are_seen() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        configure(&env, agent, &entry(agent, "hookbox bridge AGENT --no-hooks"));
        fails(&env, agent, "path", "lets it through");
        // The event of another entry: whatever it is asked it answers by an error, which mostly blocks.
        let other = agent.events().iter().find(|it| it.event == EventKind::SessionStart).unwrap().name;
        let mut own = entry(agent, &format!("hookbox bridge AGENT --event {other}"));
        if agent == Agent::Copilot {
            own["bash"] = json!(format!("hookbox bridge copilot --event {other}"));
        }
        configure(&env, agent, &own);
        let output = doctor(&env, &[agent.as_str(), "--json"]);
        let all = findings(&output);
        let is_proof = |(status, about, _): &&(String, String, String)| {
            status == "ok" && matches!(about.as_str(), "path" | "guard" | "failure")
        };
        assert!(output.code == Some(1) && all.iter().find(is_proof).is_none(), "{agent} {all:#?}");
    }
    // A guard that lets nothing through is one.
    let env = place(Agent::Claude);
    let nothing = "cat > /dev/null; echo '{\"blocked\":true,\"reason\":\"nothing runs here\"}'";
    env.native("home/.hookbox/hooks/strict", "before_tool_call", nothing);
    let output = doctor(&env, &["claude", "--json"]);
    let warns = |(status, about, text): &(String, String, String)| {
        status == "warning" && about == "guard" && text.contains("blocked by strict as well")
    };
    assert!(output.code == Some(0) && findings(&output).iter().any(warns), "{output:#?}");
    configure(&env, Agent::Claude, &entry(Agent::Claude, "hookbox bridge AGENT --event Stop"));
    fails(&env, Agent::Claude, "guard", "does not show that a guard works");
    let env = place(Agent::Claude);
    configure(&env, Agent::Claude, &entry(Agent::Claude, "hookbox bridge AGENT --trust all"));
    let output = doctor(&env, &["claude", "--json"]);
    let warns = |(status, about, text): &(String, String, String)| {
        status == "warning" && about == "command" && text.contains("--trust all")
    };
    assert!(output.code == Some(0) && findings(&output).iter().any(warns), "{output:#?}");
}

#[test]
fn of_the_switches_of_claude_code_the_strongest_counts() {
    for (user, project, local, code) in [
        (None, None, None, 0),
        (Some(true), None, None, 1),
        (Some(true), None, Some(false), 0),
        (Some(true), Some(false), None, 0),
        (Some(false), Some(true), None, 1),
        (None, Some(true), Some(false), 0),
        (None, None, Some(true), 1),
    ] {
        let env = place(Agent::Claude);
        for (path, value) in [
            (file(Agent::Claude), user),
            ("repo/.claude/settings.json", project),
            ("repo/.claude/settings.local.json", local),
        ] {
            let mut settings: Value =
                env.read(path).map(|it| serde_json::from_str(&it).unwrap()).unwrap_or(json!({}));
            if let Some(value) = value {
                settings["disableAllHooks"] = json!(value);
            }
            env.file(path, settings.to_string());
        }
        let output = doctor(&env, &["claude"]);
        assert_eq!(output.code, Some(code), "{user:?} {project:?} {local:?} {output:#?}");
    }
}

#[test]
fn a_file_of_copilots_hooks_switches_off_its_own() {
    let agent = Agent::Copilot;
    let env = place(agent);
    let off = json!({"version": 1, "disableAllHooks": true, "hooks": {}});
    env.file("home/.copilot/hooks/a.json", off.to_string());
    // Whatever else lies there.
    for number in 0..300 {
        env.file(&format!("home/.copilot/hooks/{number}.txt"), "");
    }
    succeeds(&env, &["copilot"]);
    env.file("home/.copilot/settings.json", json!({"disableAllHooks": true}).to_string());
    fails(&env, agent, "switch", "settings.json");
    let env = place(agent);
    let mut own: Value = serde_json::from_str(&env.read(file(agent)).unwrap()).unwrap();
    own["disableAllHooks"] = json!(true);
    env.file(file(agent), own.to_string());
    fails(&env, agent, "switch", "hookbox.json");
}

#[test]
fn variables_that_the_configuration_sets_are_set() {
    let agent = Agent::Claude;
    let env = place(agent);
    configure(&env, agent, &entry(agent, "$GUARD bridge AGENT"));
    fails(&env, agent, "command", "cannot be run");
    let mut settings: Value = serde_json::from_str(&env.read(file(agent)).unwrap()).unwrap();
    settings["env"] = json!({"GUARD": "hookbox"});
    env.file(file(agent), settings.to_string());
    succeeds(&env, &["claude"]);
    let env = place(Agent::Copilot);
    let mut own = entry(Agent::Copilot, "$GUARD bridge AGENT");
    own["env"] = json!({"GUARD": "hookbox"});
    configure(&env, Agent::Copilot, &own);
    succeeds(&env, &["copilot"]);
}

/// Moves what the user has configured into the project.
fn in_project(agent: Agent, path: &str) -> TestEnvironment {
    let env = place(agent);
    env.file(path, env.read(file(agent)).unwrap()).directory("repo/sub/deep");
    std::fs::remove_file(env.path(file(agent))).unwrap();
    env
}

#[test]
fn files_of_a_project_count_where_the_agent_looks_for_them() {
    for (agent, path) in [
        (Agent::Claude, "repo/.claude/settings.json"),
        (Agent::Gemini, "repo/.gemini/settings.json"),
        (Agent::Qwen, "repo/.qwen/settings.json"),
    ] {
        let env = in_project(agent, path);
        succeeds(&env, &[agent.as_str()]);
        let output = doctor(&env, &[agent.as_str(), "--cwd", "sub"]);
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stdout.contains("does not call hookbox"), "{output:#?}");
    }
    let agent = Agent::Copilot;
    let env = in_project(agent, "repo/.github/hooks/hookbox.json");
    let root = env.path("repo").to_string_lossy().into_owned();
    env.file("home/.copilot/config.json", json!({"trustedFolders": [root]}).to_string());
    for cwd in [".", "sub/deep"] {
        succeeds(&env, &["copilot", "--cwd", cwd]);
    }
    let agent = Agent::Codex;
    for (path, config) in [("repo/.codex/hooks.json", "repo"), ("repo/sub/.codex/hooks.json", "repo/sub")] {
        let env = in_project(agent, path);
        let list = json!([grouped(agent, &entry(agent, "hookbox bridge AGENT"), None)]);
        let project = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", env.path(config).display());
        env.file("home/.codex/config.toml", trusted(&env.path(path), &list) + &project);
        succeeds(&env, &["codex", "--cwd", "sub/deep"]);
        env.file("home/.codex/config.toml", trusted(&env.path(path), &list));
        let output = doctor(&env, &["codex", "--cwd", "sub/deep"]);
        assert!(output.code == Some(1) && output.stdout.contains("Codex does not trust"), "{output:#?}");
    }
}

#[test]
fn in_the_home_directory_a_file_is_read_once() {
    let env = place(Agent::Claude);
    succeeds(&env, &["claude", "--cwd", "../home"]);
}

#[test]
fn copilot_runs_the_hooks_of_a_folder_that_its_user_trusts() {
    let agent = Agent::Copilot;
    let config = "home/.copilot/config.json";
    let env = in_project(agent, "repo/.github/hooks/hookbox.json");
    fails(&env, agent, "trust", "Copilot CLI does not trust");
    env.file(config, json!({"trusted_folders": [env.path("home")]}).to_string());
    fails(&env, agent, "trust", "Copilot CLI does not trust");
    env.file(config, json!({"trusted_folders": [env.path("repo")]}).to_string());
    succeeds(&env, &["copilot"]);
    std::fs::remove_file(env.path(config)).unwrap();
    succeeds(&env.variable("COPILOT_ALLOW_ALL", "true"), &["copilot"]);
    // The user's own hooks need no trust.
    assert_eq!(doctor(&guarded(agent), &["copilot"]).code, Some(1));
    succeeds(&place(agent), &["copilot"]);
}

#[test]
fn files_with_shell_lines_of_their_own_are_named() {
    for (agent, file, line) in [
        (Agent::Claude, "repo/.claude/skills/a/SKILL.md", "!`git status`"),
        (Agent::Claude, "home/.claude/commands/a.md", "!`git status`"),
        (Agent::Qwen, "repo/.qwen/commands/deep/a.toml", "prompt = '!{git status}'"),
    ] {
        let env = place(agent);
        let lines = || {
            let found = findings(&doctor(&env, &[agent.as_str(), "--json"]));
            found.into_iter().filter(|it| it.1 == "lines").map(|it| (it.0, it.2)).collect::<Vec<_>>()
        };
        env.file(file, "no line");
        assert_eq!(lines(), []);
        env.file(file, line);
        let message = format!("shell lines run without a tool call: {}", env.path(file).display());
        assert_eq!(lines(), [("warning".to_owned(), message)]);
    }
}
