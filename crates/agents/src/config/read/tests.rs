use super::*;
use crate::Agent;
use crate::config::{read, toml_settings, toml_switches};

#[test]
fn entries_are_read_in_every_agents_form() {
    let grouped = |event: &str, timeout: &str| {
        format!(
            r#"{{"hooks": {{"{event}": [{{"matcher": "Bash", "hooks": [{{"type": "prompt", "prompt": "x"}}, {{"type": "command", "name": "n", "command": "guard \"a\"", "timeout": {timeout}}}]}}]}}}}"#
        )
    };
    let flat = |event: &str, entry: &str| format!(r#"{{"version": 1, "hooks": {{"{event}": [{entry}]}}}}"#);
    for (agent, text, seconds) in [
        (Agent::Claude, grouped("PreToolUse", "20"), 20),
        (Agent::Codex, grouped("PreToolUse", "20"), 20),
        (Agent::Gemini, grouped("BeforeTool", "20000"), 20),
        (Agent::Qwen, grouped("PreToolUse", "20000"), 20),
        (
            Agent::Copilot,
            flat(
                "preToolUse",
                r#"{"type": "command", "matcher": "Bash", "bash": "guard \"a\"", "timeoutSec": 20}"#,
            ),
            20,
        ),
        (
            Agent::Copilot,
            flat(
                "PreToolUse",
                r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard \"a\"", "timeout": 20}]}"#,
            ),
            20,
        ),
        (
            Agent::Cursor,
            flat("preToolUse", r#"{"command": "guard \"a\"", "matcher": "Bash", "timeout": 20}"#),
            20,
        ),
    ] {
        let found = read(agent, text.as_bytes()).unwrap();
        assert_eq!((found.entries.len(), found.problems.len()), (1, 0), "{agent} {found:?}");
        let entry = &found.entries[0];
        assert!(entry.event.eq_ignore_ascii_case("PreToolUse") || entry.event == "BeforeTool");
        assert_eq!(
            (entry.command.as_str(), entry.matcher.as_deref()),
            ("guard \"a\"", Some("Bash")),
            "{agent}"
        );
        assert_eq!(entry.timeout, Duration::from_secs(seconds), "{agent}");
        assert!(!entry.is_for_every_tool() && !entry.is_in_background());
    }
}

#[test]
fn what_is_no_entry_is_a_problem_and_hides_no_other() {
    let text = br#"{"hooks": {"A": 1, "B": [1, {}, {"hooks": [2, {"type": "command", "command": "x", "async": true}]}]}}"#;
    let found = read(Agent::Claude, text).unwrap();
    assert_eq!((found.entries.len(), found.problems.len()), (1, 4), "{found:?}");
    assert!(found.entries[0].is_in_background() && found.entries[0].is_for_every_tool());
    assert_eq!(found.entries[0].position, (2, 1));
    let without_version =
        read(Agent::Cursor, br#"{"hooks": {"stop": [{"command": "x", "failClosed": true}]}}"#).unwrap();
    assert!(without_version.entries[0].extra["failClosed"] == true);
    assert!(without_version.problems[0].what.contains("version"));
    assert!(read(Agent::Claude, br#"{"hooks": []}"#).is_err());
    let many =
        format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{}]}}]}}}}"#, [r#"{"command": "x"}"#; 5000].join(","));
    assert_eq!(read(Agent::Claude, many.as_bytes()).unwrap().entries.len(), 5000);
}

#[test]
fn what_an_agent_would_take_otherwise_is_a_problem_at_its_event() {
    let entry = r#""type": "command", "command": "x""#;
    let all = [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Qwen];
    let unbounded = [Agent::Codex];
    for (group, without) in [
        (format!(r#"{{"hooks": [{{{entry}}}]}}"#), &all[..]),
        (format!(r#"{{"matcher": null, "hooks": [{{{entry}}}]}}"#), &all[1..]),
        (format!(r#"{{"matcher": 5, "hooks": [{{{entry}}}]}}"#), &[]),
        (format!(r#"{{"matcher": "a", "matcher": "b", "hooks": [{{{entry}}}]}}"#), &[]),
        (format!(r#"{{"hooks": [], "hooks": [{{{entry}}}]}}"#), &[]),
        (format!(r#"{{"hooks": [{{{entry}, "command": "y"}}]}}"#), &[]),
        (r#"{"hooks": [{"command": "x"}]}"#.to_owned(), &[]),
        (r#"{"hooks": [{"type": 5, "command": "x"}]}"#.to_owned(), &[]),
        (r#"{"hooks": [{"type": "commands", "command": "x"}]}"#.to_owned(), &[]),
        (r#"{"hooks": [{"type": "command", "command": 5}]}"#.to_owned(), &[]),
        (r#"{"hooks": [{"type": "prompt", "prompt": "x"}]}"#.to_owned(), &all),
        (format!(r#"{{"hooks": [{{{entry}, "timeout": "20"}}]}}"#), &[]),
        (format!(r#"{{"hooks": [{{{entry}, "timeout": -3}}]}}"#), &[]),
        (format!(r#"{{"hooks": [{{{entry}, "timeout": 0}}]}}"#), &[]),
        (format!(r#"{{"hooks": [{{{entry}, "timeout": null}}]}}"#), &unbounded),
        (format!(r#"{{"hooks": [{{{entry}, "timeout": 2147483648}}]}}"#), &unbounded),
    ] {
        for agent in all {
            let text = format!(r#"{{"hooks": {{"E": [{group}]}}}}"#);
            let found = read(agent, text.as_bytes()).unwrap();
            assert_eq!(found.problems.is_empty(), without.contains(&agent), "{agent} {text} {found:?}");
            assert!(found.problems.iter().all(|it| it.event.as_deref() == Some("E")), "{found:?}");
        }
    }
    for text in [r#"{"hooks": {"E": [], "E": []}}"#, r#"{"hooks": {}, "hooks": {"E": []}}"#] {
        assert_eq!(read(Agent::Claude, text.as_bytes()).unwrap().problems.len(), 1, "{text}");
    }
}

#[test]
fn what_limits_an_entry_is_said() {
    for (more, want) in [
        ("\"if\": \"Bash(git *)\"", &["if"][..]),
        ("\"async\": true, \"args\": []", &["async", "args"]),
        ("\"async\": false, \"shell\": \"bash\", \"enabled\": true, \"name\": \"x\"", &[]),
        ("\"shell\": \"powershell\", \"enabled\": false", &["shell", "enabled"]),
    ] {
        let text = format!(
            r#"{{"hooks": {{"E": [{{"hooks": [{{"type": "command", "command": "x", {more}}}]}}]}}}}"#
        );
        let found = read(Agent::Claude, text.as_bytes()).unwrap();
        assert_eq!(found.entries[0].limits().collect::<Vec<_>>(), want, "{text}");
    }
}

#[test]
fn of_claude_code_its_variables_and_its_switch_are_read() {
    let text = br#"{"env": {"A": "x", "B": 1}, "disableAllHooks": false}"#;
    let found = read(Agent::Claude, text).unwrap();
    assert_eq!(found.env, [("A".to_owned(), "x".to_owned()), ("B".to_owned(), "1".to_owned())]);
    assert_eq!(found.disables_all, Some(false));
    let kept_on = vec!["\"disableAllHooks\": true"];
    assert_eq!(read(Agent::Qwen, text).unwrap(), Configuration { kept_on, ..Configuration::default() });
}

#[test]
fn what_switches_hooks_off_is_found() {
    for (agent, text, want) in [
        (Agent::Claude, r#"{"disableAllHooks": true, "allowManagedHooksOnly": true}"#, 2),
        (Agent::Claude, r#"{"disableAllHooks": false}"#, 0),
        (Agent::Qwen, r#"{"disableAllHooks": true}"#, 1),
        (Agent::Copilot, r#"{"disableAllHooks": true, "disabledHooks": ["a", "b"]}"#, 3),
        (Agent::Gemini, r#"{"hooksConfig": {"enabled": false, "disabled": ["hookbox"]}}"#, 2),
        (Agent::Gemini, r#"{"hooksConfig": {"enabled": true}, "disableAllHooks": true}"#, 0),
        (Agent::Qwen, r#"{"hooksConfig": {"enabled": false}}"#, 1),
        (Agent::Gemini, r#"{"hooks": {"enabled": false, "disabled": ["hookbox"]}}"#, 0),
        (Agent::Codex, r#"{"disableAllHooks": true}"#, 0),
    ] {
        let found = read(agent, text.as_bytes()).unwrap();
        assert_eq!((found.switches.len(), found.problems), (want, Vec::new()), "{agent} {text}");
    }
    for (text, want) in [
        ("[features]\nhooks = false\n", 1),
        ("[features]\ncodex_hooks = false\n", 1),
        ("allow_managed_hooks_only = true\n[features]\nhooks = true\n", 1),
        ("", 0),
    ] {
        assert_eq!(toml_switches(&toml_settings(text.as_bytes()).unwrap()).len(), want, "{text}");
    }
    assert!(toml_settings(b"[").is_err());
}

/// The test has two configurations of each agent without a client here: one as its documentation has it, and one as a public
/// repository has it.
#[test]
fn published_configurations_of_agents_that_were_not_run_are_read() {
    let seconds = Duration::from_secs;
    for (agent, text, want) in [
        (
            Agent::Crush,
            r#"{"$schema": "https://charm.land/crush.json", "hooks": {"PreToolUse": [
                {"name": "no-rm", "matcher": "bash", "command": "./hooks/no-rm.sh", "timeout": 10},
                {"command": "date >> ./tools.log"}
            ]}}"#,
            &[("PreToolUse", Some("bash"), seconds(10)), ("PreToolUse", None, seconds(30))][..],
        ),
        (
            Agent::Crush,
            r#"{"hooks": {"PreToolUse": [{"matcher": "^bash$", "command": "$HOME/bin/hook.sh", "timeout": 10}]},
                "mcp": {"x": {"type": "stdio", "command": "x"}}}"#,
            &[("PreToolUse", Some("^bash$"), seconds(10))],
        ),
        (
            Agent::Goose,
            r#"{"hooks": {"PreToolUse": [{"matcher": "developer__shell", "hooks": [
                {"type": "command", "command": "${PLUGIN_ROOT}/scripts/sudo.sh", "on_failure": "block"}]}]}}"#,
            &[("PreToolUse", Some("developer__shell"), seconds(30))],
        ),
        (
            Agent::Goose,
            r#"{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "x", "timeout": 120}]}]}}"#,
            &[("SessionEnd", None, seconds(120))],
        ),
        (
            Agent::Devin,
            r#"{"hooks": {"PreToolUse": [{"matcher": "exec", "hooks": [
                {"type": "command", "command": "./scripts/validate.sh", "timeout": 10}]}]}}"#,
            &[("PreToolUse", Some("exec"), seconds(10))],
        ),
        (
            Agent::Devin,
            r#"{
                // The model.
                "agent": {"model": "sonnet"}, "read_config_from": {"claude": false},
                "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}, {"type": "prompt", "prompt": "y"}]}]}
            }"#,
            &[("Stop", None, seconds(60))],
        ),
        (
            Agent::Kiro,
            r#"{"version": "v1", "hooks": [
                {"name": "safety", "description": "x", "trigger": "PreToolUse", "matcher": "^execute_(bash|cmd)$",
                 "timeout": 10, "action": {"type": "command", "command": "sh ~/bin/clusters.sh"}},
                {"name": "remind", "trigger": "PreToolUse", "matcher": "fs_write",
                 "action": {"type": "agent", "prompt": "Keep the glossary in order."}},
                {"name": "format", "trigger": "PostFileSave", "matcher": "\\.go$", "enabled": true,
                 "action": {"type": "command", "command": "gofmt -l ."}}]}"#,
            &[
                ("PreToolUse", Some("^execute_(bash|cmd)$"), seconds(10)),
                ("PostFileSave", Some("\\.go$"), seconds(60)),
            ],
        ),
        // Another version has none.
        (
            Agent::Kiro,
            r#"{"version": "1.0.0", "hooks": [{"trigger": "Stop", "action": {"command": "x"}}]}"#,
            &[],
        ),
        (Agent::Kiro, r#"{"version": "1.0.0", "when": {"type": "fileEdited"}, "hooks": {}}"#, &[]),
    ] {
        let found = read(agent, text.as_bytes()).unwrap();
        let entries: Vec<_> =
            found.entries.iter().map(|it| (it.event.as_str(), it.matcher.as_deref(), it.timeout)).collect();
        assert_eq!(entries, want, "{agent} {text}");
        assert_eq!((found.problems, found.switches), (Vec::new(), Vec::new()), "{agent} {text}");
    }
}
