//! One thing on the way is broken at a time.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{
    configure, configure_with, doctor, entry, event, fails, file, findings, grouped, place, trust_folder,
};
use crate::environment::program;

#[test]
fn a_program_that_is_not_there_or_cannot_be_run() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        configure(&env, agent, &entry(agent, "/nowhere/hookbox bridge AGENT"));
        fails(&env, agent, "command", "cannot be run");
    }
    let env = place(Agent::Claude);
    configure(&env, Agent::Claude, &entry(Agent::Claude, "/nowhere/hookbox bridge AGENT"));
    let text = doctor(&env, &["claude"]).stdout;
    assert!(text.contains("NOT guarded") && text.contains("FAILED") && text.contains("hint: "), "{text}");
    env.file("home/tool/hookbox", "no program").mode("home/tool/hookbox", 0o644);
    configure(&env, Agent::Claude, &entry(Agent::Claude, "~/tool/hookbox bridge AGENT"));
    fails(&env, Agent::Claude, "command", "cannot be run");
}

#[test]
fn another_version_of_the_program() {
    let env = place(Agent::Claude);
    let real = program();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'hookbox 0.0.1 (hookbox:hook@0.0.1)' && exit\nexec {} \"$@\"\n",
        real.display()
    );
    env.script("home/old/hookbox", &script);
    configure(&env, Agent::Claude, &entry(Agent::Claude, "\"$HOME/old/hookbox\" bridge AGENT"));
    fails(&env, Agent::Claude, "version", "another version: hookbox 0.0.1");
}

#[test]
fn a_matcher_that_leaves_the_shell_tool_out() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        let other = entry(agent, "hookbox bridge AGENT");
        configure_with(&env, agent, &json!([grouped(agent, &other, Some("Nothing"))]));
        fails(&env, agent, "matcher", "does not match the shell tool");
    }
    let env = place(Agent::Claude);
    let own = entry(Agent::Claude, "hookbox bridge AGENT");
    configure_with(&env, Agent::Claude, &json!([grouped(Agent::Claude, &own, Some("(?!Edit).*"))]));
    fails(&env, Agent::Claude, "matcher", "cannot be judged");
    // One that takes some tools is a warning.
    configure_with(&env, Agent::Claude, &json!([grouped(Agent::Claude, &own, Some("Bash"))]));
    let output = doctor(&env, &["claude", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(findings(&output).iter().any(|(status, about, _)| status == "warning" && about == "matcher"));
}

#[test]
fn hooks_that_are_switched_off() {
    for (agent, setting, value) in [
        (Agent::Claude, "disableAllHooks", json!(true)),
        (Agent::Qwen, "disableAllHooks", json!(true)),
        (Agent::Gemini, "hooksConfig", json!({"enabled": false})),
        (Agent::Gemini, "hooksConfig", json!({"disabled": ["hookbox"]})),
    ] {
        let env = place(agent);
        let mut configuration: Value = serde_json::from_str(&env.read(file(agent)).unwrap()).unwrap();
        configuration[setting] = value;
        env.file(file(agent), configuration.to_string());
        fails(&env, agent, "switch", "off");
    }
    let env = place(Agent::Codex);
    let trust = env.read("home/.codex/config.toml").unwrap();
    env.file("home/.codex/config.toml", format!("{trust}\n[features]\nhooks = false\n"));
    fails(&env, Agent::Codex, "switch", "features");
    // A setting about another hook is none of ours.
    let env = place(Agent::Gemini);
    let mut configuration: Value = serde_json::from_str(&env.read(file(Agent::Gemini)).unwrap()).unwrap();
    configuration["hooksConfig"] = json!({"disabled": ["other"]});
    env.file(file(Agent::Gemini), configuration.to_string());
    assert_eq!(doctor(&env, &["gemini"]).code, Some(0));
}

#[test]
fn a_command_that_codex_does_not_trust() {
    let env = place(Agent::Codex);
    let trust = env.read("home/.codex/config.toml").unwrap();
    for (config, words) in [
        (String::new(), "does not trust"),
        (trust.replace("sha256:", "sha256:00"), "does not trust"),
        (format!("{trust}enabled = false\n"), "switched off"),
    ] {
        env.file("home/.codex/config.toml", &config);
        let output = fails(&env, Agent::Codex, "trust", words);
        assert!(output.stdout.contains("/hooks"), "{output:#?}");
    }
    // The command was changed after it was trusted.
    env.file("home/.codex/config.toml", &trust);
    let hooks = env.read(file(Agent::Codex)).unwrap();
    env.file(file(Agent::Codex), hooks.replace("bridge codex", "bridge codex --deadline 9s"));
    fails(&env, Agent::Codex, "trust", "does not trust");
}

#[test]
fn a_project_that_its_agent_does_not_trust() {
    let rules = "home/.gemini/trustedFolders.json";
    let env = place(Agent::Gemini);
    let own = env.read(file(Agent::Gemini)).unwrap();
    for (settings, level) in [
        // The agent asks for trust unless its user declines, and runs none of the user's hooks without it.
        (own.clone(), file(Agent::Gemini)),
        (own.replacen('{', r#"{"security": {"folderTrust": {"enabled": true}}, "#, 1), file(Agent::Gemini)),
        (own.clone(), "repo/.gemini/settings.json"),
    ] {
        env.file(file(Agent::Gemini), "{}").file(level, settings);
        std::fs::remove_file(env.path(rules)).unwrap();
        let output = fails(&env, Agent::Gemini, "trust", "runs no hook there");
        assert!(output.stdout.contains("GEMINI_CLI_TRUST_WORKSPACE=true"), "{output:#?}");
        trust_folder(&env);
        assert_eq!(doctor(&env, &["gemini"]).code, Some(0), "{level}");
        if level.starts_with("repo") {
            std::fs::remove_file(env.path(level)).unwrap();
        }
    }
    env.file(
        file(Agent::Gemini),
        own.replacen('{', r#"{"security": {"folderTrust": {"enabled": false}}, "#, 1),
    );
    std::fs::remove_file(env.path(rules)).unwrap();
    assert_eq!(doctor(&env, &["gemini"]).code, Some(0));
    // Qwen Code skips only the project's, and where its user asks for it.
    let env = place(Agent::Qwen);
    let own = env.read(file(Agent::Qwen)).unwrap();
    let asks = r#"{"security": {"folderTrust": {"enabled": true}}}"#;
    env.file(file(Agent::Qwen), own.replacen('{', &asks.replace("}}}", "}},"), 1));
    assert_eq!(doctor(&env, &["qwen"]).code, Some(0));
    env.file("repo/.qwen/settings.json", own).file(file(Agent::Qwen), asks);
    fails(&env, Agent::Qwen, "trust", "skips its hooks");
    let env = place(Agent::Codex);
    env.file("repo/.codex/hooks.json", env.read(file(Agent::Codex)).unwrap());
    env.file(file(Agent::Codex), "{}");
    fails(&env, Agent::Codex, "trust", "Codex does not trust");
}

#[test]
fn the_environment_can_trust_every_folder_or_none() {
    let variable = |name: &str, value: &str| place(Agent::Gemini).variable(name, value);
    for (name, value) in [("GEMINI_CLI_TRUST_WORKSPACE", "false"), ("GEMINI_RESTRICTED_MODE", "true")] {
        fails(&variable(name, value), Agent::Gemini, "trust", &format!("{name}={value}"));
    }
    for (name, value, want) in [
        ("GEMINI_CLI_TRUST_WORKSPACE", "true", 0),
        ("GEMINI_CLI_TRUST_WORKSPACE", "yes", 1),
        ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "../home/rules.json", 0),
        ("QWEN_CODE_TRUSTED_FOLDERS_PATH", "../home/rules.json", 1),
    ] {
        let env = variable(name, value);
        std::fs::rename(env.path("home/.gemini/trustedFolders.json"), env.path("home/rules.json")).unwrap();
        assert_eq!(doctor(&env, &["gemini"]).code, Some(want), "{name}={value}");
    }
}

#[test]
fn what_the_whole_line_answers_is_judged() {
    for agent in Agent::with_commands() {
        for line in ["hookbox bridge AGENT || true", "hookbox bridge AGENT; exit 0"] {
            let env = place(agent);
            let mut command = entry(agent, line);
            if agent == Agent::Copilot {
                command["bash"] = json!(line.replace("AGENT", "copilot --event preToolUse"));
            }
            configure(&env, agent, &command);
            if agent == Agent::Copilot {
                // The event is known in any case, so that each block is printed, which is what the agent reads.
                let output = doctor(&env, &[agent.as_str()]);
                assert_eq!(output.code, Some(0), "{line}: {output:#?}");
            } else {
                // If the event is unknown, a block is an exit code, and the line swallows it.
                fails(&env, agent, "failure", "what hookbox cannot read runs");
            }
        }
    }
}

#[test]
fn an_agent_that_does_not_wait_long_enough() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        configure(&env, agent, &entry(agent, "hookbox bridge AGENT --deadline 20s"));
        fails(&env, agent, "timeout", "hookbox may take 20s");
    }
    // Without a timeout the agent's own default counts: 30 s in Copilot CLI.
    let env = place(Agent::Copilot);
    let command =
        json!({"type": "command", "bash": "hookbox bridge copilot --event preToolUse --deadline 40s"});
    configure(&env, Agent::Copilot, &command);
    fails(&env, Agent::Copilot, "timeout", "waits 30s");
    configure(
        &env,
        Agent::Copilot,
        &json!({"type": "command", "bash": "hookbox bridge copilot --event preToolUse"}),
    );
    assert_eq!(doctor(&env, &["copilot"]).code, Some(0));
}

#[test]
fn a_guard_that_is_not_trusted_invalid_or_not_there() {
    let agent = Agent::Claude;
    let env = place(agent);
    let guard = "home/.hookbox/hooks/guardrail.wasm";
    std::fs::remove_file(env.path(guard)).unwrap();
    env.file("home/.hookbox/hookbox.toml", "");
    fails(&env, agent, "guard", "only builtin:self-protection blocks `rm -rf /`");
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\non_failure = \"pass\"\n");
    env.file(guard, "no component");
    fails(&env, agent, "guard", "guardrail.wasm cannot be used");
    env.file("home/.hookbox/hookbox.toml", "");
    std::fs::remove_file(env.path(guard)).unwrap();
    env.native(
        "repo/.hookbox/hooks/guard",
        "before_tool_call",
        "echo '{\"blocked\":true,\"reason\":\"no\"}'",
    );
    let output = fails(&env, agent, "guard", "you have not trusted it");
    assert!(output.stdout.contains("hookbox trust guard"), "{output:#?}");
    // The way there is well all the same.
    assert!(
        findings(&output).iter().any(|(status, about, _)| status == "ok" && about == "path"),
        "{output:#?}"
    );
    env.hookbox(["trust", "guard", "--yes"]);
    assert_eq!(doctor(&env, &["claude"]).code, Some(0));
}

#[test]
fn an_answer_that_the_agent_does_not_honour() {
    let real = program();
    let real = real.display();
    for (what, agent, run, words) in [
        ("exit code 1", Agent::Claude, format!("{real} \"$@\"; exit 1"), "exit code 1"),
        (
            "words before it",
            Agent::Claude,
            format!("echo welcome; exec {real} \"$@\""),
            "something else than one JSON",
        ),
        ("nothing", Agent::Gemini, "cat > /dev/null".to_owned(), "printed nothing"),
        ("no end", Agent::Qwen, "exec sleep 1000".to_owned(), "no answer"),
        ("a signal", Agent::Cursor, "kill -9 $$".to_owned(), "exit code 137"),
        ("a field too many", Agent::Codex, format!("{real} \"$@\" | sed 's/^{{/{{\"x\":1,/'"), "has a field"),
        (
            "another form",
            Agent::Copilot,
            format!(
                "sed 's/\"toolName\"/\"hook_event_name\":\"PreToolUse\",\"toolName\"/' | {real} bridge copilot"
            ),
            "takes nothing in {hookSpecificOutput}",
        ),
    ] {
        let env = place(agent);
        env.script(
            "home/wrap/hookbox",
            &format!("#!/bin/bash\n[ \"$1\" = --version ] && exec {real} --version\n{run}\n"),
        );
        let mut command = entry(agent, "~/wrap/hookbox bridge AGENT --deadline 500ms");
        if what == "no end" {
            command["timeout"] = json!(1);
        }
        configure(&env, agent, &command);
        let output = fails(&env, agent, "path", words);
        let here = "although guardrail.wasm blocks it here";
        assert!(
            findings(&output).iter().any(|(_, about, message)| about == "guard" && message.contains(here)),
            "{what}: {output:#?}"
        );
    }
}

#[test]
fn more_than_one_command_for_an_event() {
    for agent in [Agent::Claude, Agent::Cursor] {
        let env = place(agent);
        let own = grouped(agent, &entry(agent, "hookbox bridge AGENT"), None);
        configure_with(&env, agent, &json!([own, own]));
        fails(&env, agent, "event", "more than once");
    }
    // At two levels.
    let env = place(Agent::Claude);
    env.file("repo/.claude/settings.local.json", env.read(file(Agent::Claude)).unwrap());
    fails(&env, Agent::Claude, "event", "more than once");
}

#[test]
fn an_entry_that_is_not_waited_for_of_another_agent_or_of_another_event() {
    let agent = Agent::Claude;
    let env = place(agent);
    let mut own = entry(agent, "hookbox bridge AGENT");
    own["async"] = json!(true);
    configure(&env, agent, &own);
    fails(&env, agent, "event", "async");
    configure(&env, agent, &entry(agent, "hookbox bridge gemini"));
    fails(&env, agent, "command", "speaks to hookbox as gemini");
    let other = json!({"hooks": {"PostToolUse": [{"hooks": [entry(agent, "hookbox bridge AGENT")]}]}});
    env.file(file(agent), other.to_string());
    fails(&env, agent, "event", &format!("no command for {}", event(agent)));
}

#[test]
fn a_configuration_that_cannot_be_read() {
    for agent in Agent::with_commands() {
        let env = place(agent);
        env.file(file(agent), "{\"hooks\": ");
        let output = doctor(&env, &[agent.as_str(), "--json"]);
        assert_eq!(output.code, Some(1), "{output:#?}");
        let all = findings(&output);
        assert!(
            all.iter().any(|(status, about, text)| status == "failed"
                && about == "configuration"
                && text.contains(if agent == Agent::Kimi { "expected TOML" } else { "expected JSON" })),
            "{all:#?}"
        );
    }
}

#[test]
fn what_passes_where_hookbox_fails_is_a_warning() {
    let env = place(Agent::Claude);
    env.file("home/.hookbox/hookbox.toml", "");
    let output = doctor(&env, &["claude", "--json"]);
    let all = findings(&output);
    let says = |(status, about, _): &(String, String, String)| status == "warning" && about == "failure";
    // The sample says by itself what becomes of its failures.
    let blocks = all.iter().any(|(status, about, _)| status == "ok" && about == "failure");
    assert!(output.code == Some(0) && (blocks || all.iter().any(says)), "{output:#?}");
}
