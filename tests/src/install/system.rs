//! The system's configuration, which no repository overrides, in a directory in place of `/`.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{done, refused};
use crate::environment::{Output, TestEnvironment, program, sample};

/// The agents with a configuration of the system, and the setting by which a project switches hooks off.
const AGENTS: [(Agent, &str, &str, &str); 6] = [
    (
        Agent::Claude,
        "etc/claude-code/managed-settings.json",
        "repo/.claude/settings.json",
        "{\"disableAllHooks\": true}",
    ),
    (Agent::Codex, "etc/codex/requirements.toml", "repo/.codex/config.toml", "[features]\nhooks = false\n"),
    (
        Agent::Gemini,
        "etc/gemini-cli/settings.json",
        "repo/.gemini/settings.json",
        "{\"hooksConfig\": {\"enabled\": false}}",
    ),
    (
        Agent::Qwen,
        "etc/qwen-code/settings.json",
        "repo/.qwen/settings.json",
        "{\"disableAllHooks\": true, \"hooksConfig\": {\"enabled\": false}}",
    ),
    (
        Agent::Copilot,
        "etc/github-copilot/policy.d/hookbox.json",
        "repo/.github/copilot/settings.json",
        "{\"disableAllHooks\": true}",
    ),
    (
        Agent::Droid,
        "etc/factory/settings.json",
        "repo/.factory/settings.json",
        "{\"hooks\": {\"hooksDisabled\": true}}",
    ),
];

fn place(agent: Agent) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("system").directory("repo/.git");
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\non_failure = \"block\"\n");
    env.symlink("bin/hookbox", program().to_str().unwrap());
    env.script(&format!("bin/{agent}"), "#!/bin/sh\n");
    if agent == Agent::Gemini {
        let rules = json!({env.path("repo").to_string_lossy(): "TRUST_FOLDER"});
        env.file("home/.gemini/trustedFolders.json", rules.to_string());
    }
    env
}

fn system(env: &TestEnvironment, command: &str, agent: Agent, more: &[&str]) -> Output {
    let root = env.path("system").to_string_lossy().into_owned();
    let own = ["--system", "--system-root", &root];
    env.hookbox([&[command, agent.as_str()][..], &own, more].concat())
}

fn doctor(env: &TestEnvironment, agent: Agent) -> (Option<i32>, Value) {
    let root = env.path("system").to_string_lossy().into_owned();
    let output = env.hookbox(["doctor", agent.as_str(), "--json", "--system-root", &root]);
    (output.code, serde_json::from_str::<Value>(&output.stdout).unwrap()[0].clone())
}

fn says(found: &Value, status: &str, words: &str) -> bool {
    let is = |it: &Value| {
        it["status"] == status && it["about"] == "switch" && it["message"].as_str().unwrap().contains(words)
    };
    found["findings"].as_array().unwrap().iter().any(is)
}

#[test]
fn hooks_of_the_system_stay_on_where_a_repository_switches_hooks_off() {
    for (agent, path, project, off) in AGENTS {
        let env = place(agent);
        done(&env.hookbox(["install", agent.as_str()]));
        let (_, found) = doctor(&env, agent);
        assert!(says(&found, "warning", "a repository can switch these hooks off"), "{found:#}");
        env.file(project, off);
        let (code, found) = doctor(&env, agent);
        assert_eq!(code, Some(1), "{found:#}");
        assert!(says(&found, "failed", "switches every hook off"), "{found:#}");

        done(&env.hookbox(["uninstall", agent.as_str()]));
        let rows = system(&env, "install", agent, &["--json"]).json();
        let file = env.path("system").join(path);
        assert_eq!((&rows[0]["level"], &rows[0]["path"]), (&json!("system"), &json!(file)));
        // The other users' agents have to read it, and have other home directories.
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o777;
        let text = env.read(&format!("system/{path}")).unwrap();
        assert!(mode == 0o644 && !text.contains("--home"), "{mode:o} {text}");
        assert_eq!(system(&env, "install", agent, &["--json"]).json()[0]["change"], "unchanged", "{agent}");
        let (code, found) = doctor(&env, agent);
        assert_eq!((code, &found["guarded"]), (Some(0), &json!(true)), "{found:#}");
        assert!(!says(&found, "warning", "a repository can switch these hooks off"), "{found:#}");
        let by_name = matches!(agent, Agent::Gemini | Agent::Qwen | Agent::Copilot);
        assert_eq!(says(&found, "warning", "single hooks off by name"), by_name, "{found:#}");

        let rows = system(&env, "uninstall", agent, &["--json"]).json();
        assert_eq!(rows[0]["change"], "deleted");
        assert!(!env.path("system/etc").exists(), "{agent}");
    }
}

#[test]
fn hooks_of_the_system_guard_where_no_setting_switches_hooks_off() {
    let env = place(Agent::Cursor);
    let rows = system(&env, "install", Agent::Cursor, &["--json"]).json();
    assert_eq!(rows[0]["path"], json!(env.path("system/etc/cursor/hooks.json")));
    let (code, found) = doctor(&env, Agent::Cursor);
    assert_eq!((code, &found["guarded"]), (Some(0), &json!(true)), "{found:#}");
    done(&system(&env, "uninstall", Agent::Cursor, &[]));
    assert!(!env.path("system/etc").exists());
}

#[test]
fn what_an_administrator_wrote_stays() {
    for (agent, path, _, _) in AGENTS {
        let env = place(agent);
        let path = &format!("system/{path}");
        let toml = path.ends_with(".toml");
        let own = if toml {
            "# mine\nallowed_approval_policies = [\"never\"]\n"
        } else {
            "{\"model\": \"opus\"}\n"
        };
        env.file(path, own).mode(path, 0o640);
        done(&system(&env, "install", agent, &[]));
        let installed = env.read(path).unwrap();
        assert!(installed.contains("bridge") && installed.contains("mine") == toml, "{installed}");
        let edited =
            if toml { installed.replace("# mine", "# yours") } else { installed.replace("opus", "haiku") };
        env.file(path, &edited);
        assert_eq!(system(&env, "uninstall", agent, &["--json"]).json()[0]["change"], "removed");
        let left = env.read(path).unwrap();
        assert!(!left.contains("hook") && left.contains(if toml { "# yours" } else { "haiku" }), "{left}");
        env.file(path, own);
        done(&system(&env, "install", agent, &[]));
        let output = system(&env, "uninstall", agent, &[]);
        assert!(output.stdout.contains("byte for byte"), "{output:#?}");
        assert_eq!(env.read(path).unwrap(), own);
    }
    // An administrator who has switched hooks off has the last word.
    let env = place(Agent::Qwen);
    env.file("system/etc/qwen-code/settings.json", "{\"disableAllHooks\": true}");
    let output = system(&env, "install", Agent::Qwen, &[]);
    assert!(output.stderr.contains("switches every hook off"), "{output:#?}");
    assert!(says(&doctor(&env, Agent::Qwen).1, "failed", "switches every hook off"));
}

#[test]
fn an_agent_without_a_systems_configuration_says_so() {
    let env = place(Agent::Cursor);
    for agent in [
        Agent::Kimi,
        Agent::OpenCode,
        Agent::Pi,
        Agent::Kilo,
        Agent::Vibe,
        Agent::OpenHands,
        Agent::Qoder,
        Agent::Grok,
        Agent::Antigravity,
        Agent::Crush,
        Agent::Goose,
        Agent::Devin,
        Agent::Amp,
        Agent::Kiro,
    ] {
        refused(&system(&env, "install", agent, &[]), 2, &["no configuration of hooks at the system level"]);
    }
    refused(&env.hookbox(["install", "claude", "--system", "--project"]), 2, &["--project"]);
    refused(&env.hookbox(["install", "claude", "--system-root", "/"]), 2, &["--system"]);
    let output = env.hookbox(["install", "claude", "--system", "--system-root", "/nowhere/here"]);
    refused(&output, 2, &["--system-root", "No such file"]);
}

#[test]
fn copilot_is_not_guarded_where_a_project_switches_its_hooks_off_in_claude_codes_settings() {
    for path in ["repo/.claude/settings.json", "repo/.claude/settings.local.json"] {
        let env = place(Agent::Copilot);
        done(&env.hookbox(["install", "copilot"]));
        let (code, found) = doctor(&env, Agent::Copilot);
        assert_eq!(code, Some(0), "{found:#}");
        assert!(says(&found, "warning", ".claude/settings.json"), "{found:#}");
        env.file(path, "{\"disableAllHooks\": true}");
        let (code, found) = doctor(&env, Agent::Copilot);
        assert!(code == Some(1) && says(&found, "failed", path.trim_start_matches("repo/")), "{found:#}");
    }
}
