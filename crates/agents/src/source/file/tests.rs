use std::time::Duration;

use super::*;
use crate::hook::OnFailure;

fn outside(agent: Agent, within: Within, plugin: Option<&str>) -> Outside {
    let plugin = plugin.map(PathBuf::from);
    let level = if plugin.is_some() { Level::User } else { Level::Project };
    Outside { agent, shown: "f".to_owned(), path: "/w/f".into(), level, plugin, within }
}

fn read(agent: Agent, text: &str) -> ForeignFile {
    let within =
        if agent == Agent::Gemini || agent == Agent::Claude { Within::Settings } else { Within::Hooks };
    parse(text, &outside(agent, within, None)).unwrap()
}

/// `NAME EVENT LINE` of every hook; of one that cannot run, why.
fn told(file: &ForeignFile) -> Vec<String> {
    let one = |hook: &Declared| {
        let event = hook.event.as_ref().map_or("-", |event| event.as_str()).to_owned();
        let what = match &hook.handler {
            Ok(_) => hook.runs().unwrap(),
            Err(why) => format!("! {why}"),
        };
        format!("f#{} {event} {what}", hook.label)
    };
    file.hooks.iter().map(one).collect()
}

fn faults(file: &ForeignFile) -> Vec<&str> {
    file.faults.iter().map(|fault| fault.message.as_str()).collect()
}

#[test]
fn every_agents_shape_is_read() {
    for (agent, text, want) in [
        (
            Agent::Claude,
            r#"{"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "b"}]}, {"hooks": [{"type": "command", "command": "c"}]}], "Stop": [{"hooks": [{"type": "command", "command": "d"}]}]}}"#,
            &[
                "f#PreToolUse[0] before_tool_call a",
                "f#PreToolUse[1] before_tool_call b",
                "f#PreToolUse[2] before_tool_call c",
                "f#Stop[0] agent_stop d",
            ][..],
        ),
        (
            Agent::Claude,
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "prog", "args": ["a b"]}]}]}}"#,
            &["f#PreToolUse[0] before_tool_call prog 'a b'"],
        ),
        (
            Agent::Gemini,
            "// mine\n{\"hooks\": {\"enabled\": true, \"BeforeTool\": [{\"matcher\": \"*\", \"hooks\": [{\"name\": \"n\", \"type\": \"command\", \"command\": \"a // no comment\"}]}]}}",
            &["f#BeforeTool[0] before_tool_call a // no comment"],
        ),
        (
            Agent::Copilot,
            r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "a", "powershell": "b", "timeoutSec": 5}], "PostToolUse": [{"command": "c"}]}}"#,
            &["f#preToolUse[0] before_tool_call a", "f#PostToolUse[0] after_tool_call c"],
        ),
        (
            Agent::Cursor,
            r#"{"version": 1, "hooks": {"beforeShellExecution": [{"command": "a", "matcher": "rm"}], "stop": [{"command": "b"}]}}"#,
            &["f#beforeShellExecution[0] before_tool_call a", "f#stop[0] agent_stop b"],
        ),
    ] {
        let file = read(agent, text);
        assert_eq!(told(&file), want, "{agent}");
        assert_eq!(faults(&file), Vec::<&str>::new(), "{agent}");
    }
}

#[test]
fn what_cannot_run_is_an_entry_that_says_why() {
    let claude = |hook: &str| format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{hook}]}}]}}}}"#);
    let copilot = |hook: &str| format!(r#"{{"version": 1, "hooks": {{"preToolUse": [{hook}]}}}}"#);
    for (agent, text, want) in [
        (
            Agent::Claude,
            claude(r#"{"type": "prompt", "prompt": "p"}"#),
            "line 1, column 47: type: expected \"command\" or \"http\", the only types that are run, found \"prompt\"",
        ),
        (
            Agent::Claude,
            claude(r#"{"type": "http", "url": "u"}"#),
            "url: expected an address that begins with",
        ),
        (
            Agent::Gemini,
            claude(r#"{"type": "http", "url": "http://u"}"#).replace("PreToolUse", "BeforeTool"),
            "the only type that is run, found \"http\"",
        ),
        (Agent::Claude, claude(r#"{"type": "mcp_tool", "server": "s"}"#), "found \"mcp_tool\""),
        (Agent::Claude, claude(r#"{"type": "command"}"#), "expected command, found none"),
        (
            Agent::Claude,
            claude(r#"{"type": "command", "comand": "x"}"#),
            "unknown key \"comand\" (did you mean command?)",
        ),
        (
            Agent::Claude,
            claude(r#"{"type": "command", "command": 5}"#),
            "command: expected a command line, found 5",
        ),
        (
            Agent::Claude,
            claude(r#"{"type": "command", "command": "x", "shell": "powershell"}"#),
            "is a line for PowerShell, which is not run here",
        ),
        (
            Agent::Claude,
            claude(r#"{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x"}"#),
            "and is not a hook of a plugin",
        ),
        (
            Agent::Claude,
            claude(r#"{"type": "command", "command": "x ${CLAUDE_PLUGIN_DATA}"}"#),
            "needs ${CLAUDE_PLUGIN_DATA}, and is not a hook of a plugin",
        ),
        (Agent::Claude, claude("5"), "expected an object such as"),
        (
            Agent::Copilot,
            copilot(r#"{"type": "command", "powershell": "x"}"#),
            "has a line for PowerShell only, which is not run here",
        ),
        (
            Agent::Copilot,
            copilot(r#"{"type": "command", "bash": "x", "cwd": "../out"}"#),
            "cwd: expected a directory of the project",
        ),
        (
            Agent::Copilot,
            copilot(r#"{"type": "command", "bash": "x", "env": {"A": 5}}"#),
            "env: expected an object with a text for each name",
        ),
        (
            Agent::Copilot,
            r#"{"version": 2, "hooks": {"preToolUse": [{"bash": "x"}]}}"#.to_owned(),
            "is in a file that cannot be used",
        ),
    ] {
        let file = read(agent, &text);
        let told = told(&file);
        assert_eq!(told.len(), 1, "{text}");
        assert!(told[0].contains("! ") && told[0].contains(want), "{text}: {told:?}");
    }
}

#[test]
fn a_misspelt_event_says_the_nearest_and_one_that_is_not_here_says_so() {
    let text = r#"{"hooks": {"PreToolUze": [{"hooks": [{"type": "command", "command": "x"}]}], "PostToolBatch": [{"hooks": [{"type": "command", "command": "y"}]}]}}"#;
    let file = read(Agent::Claude, text);
    assert_eq!(
        faults(&file),
        [
            "line 1, column 12: unknown event \"PreToolUze\" of Claude Code (did you mean PreToolUse?); its hooks do not run",
            "line 1, column 78: hookbox has no event for Claude Code's PostToolBatch; its hooks do not run",
        ]
    );
    assert_eq!(file.hooks.len(), 2);
    assert!(file.hooks.iter().all(|hook| hook.handler.is_err() && hook.event.is_none()));
}

#[test]
fn a_failure_follows_the_policy_that_the_agent_lets_a_hook_say() {
    for (agent, text, want) in [
        (
            Agent::Cursor,
            r#"{"version": 1, "hooks": {"preToolUse": [{"command": "x", "failClosed": true}]}}"#,
            Some(OnFailure::Block),
        ),
        (
            Agent::Cursor,
            r#"{"version": 1, "hooks": {"preToolUse": [{"command": "x", "failClosed": "yes"}]}}"#,
            Some(OnFailure::Block),
        ),
        (Agent::Cursor, r#"{"version": 1, "hooks": {"preToolUse": [{"command": "x"}]}}"#, None),
        (
            Agent::Claude,
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "block"}]}]}}"#,
            Some(OnFailure::Block),
        ),
        (
            Agent::Claude,
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "continue"}]}]}}"#,
            Some(OnFailure::Pass),
        ),
    ] {
        assert_eq!(read(agent, text).hooks[0].on_failure, want, "{text}");
    }
}

#[test]
fn a_time_is_in_the_agents_unit() {
    let claude = |agent, time: &str| {
        let event = if agent == Agent::Gemini { "BeforeTool" } else { "PreToolUse" };
        let text = format!(
            r#"{{"hooks": {{"{event}": [{{"hooks": [{{"type": "command", "command": "x", "timeout": {time}}}]}}]}}}}"#
        );
        let file = read(agent, &text);
        (file.hooks[0].timeout, file.faults.len())
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (agent, time, want, faults) in [
        (Agent::Claude, "5", seconds(5), 0),
        (Agent::Codex, "2.5", Some(Duration::from_millis(2500)), 0),
        (Agent::Gemini, "5000", seconds(5), 0),
        (Agent::Qwen, "5", seconds(5), 0),
        (Agent::Qwen, "5000", seconds(5), 0),
        (Agent::Claude, "0", None, 1),
        (Agent::Claude, "-1", None, 1),
        (Agent::Claude, "1e300", None, 1),
        (Agent::Claude, "\"5\"", None, 1),
    ] {
        assert_eq!(claude(agent, time), (want, faults), "{agent} {time}");
    }
}

#[test]
fn what_switches_hooks_off_and_what_is_hookboxs_own_is_noted() {
    let file = read(
        Agent::Claude,
        r#"{"disableAllHooks": true, "enabledPlugins": {"a@m": true, "b@m": false}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hookbox bridge claude"}, {"type": "command", "command": "x"}]}]}}"#,
    );
    assert_eq!((file.switches_off, file.own), (Some("\"disableAllHooks\": true"), 1));
    assert_eq!(file.plugins, [("a@m".to_owned(), true), ("b@m".to_owned(), false)]);
    assert_eq!(told(&file), ["f#Stop[0] agent_stop x"]);

    let file = read(
        Agent::Gemini,
        r#"{"hooksConfig": {"disabled": ["n", "y"]}, "hooks": {"BeforeTool": [{"hooks": [{"name": "n", "type": "command", "command": "x"}, {"type": "command", "command": "y"}, {"type": "command", "command": "z"}]}]}}"#,
    );
    assert_eq!(file.hooks.iter().map(|hook| hook.is_disabled).collect::<Vec<_>>(), [true, true, false]);
    let hooks_config = r#"{"hooksConfig": {"enabled": false}}"#;
    let all = r#"{"version": 1, "disableAllHooks": true, "hooks": {}}"#;
    let whole = Some("\"disableAllHooks\": true");
    let one = Some("\"hooksConfig\": {\"enabled\": false}");
    for (agent, by_all, by_config) in [
        (Agent::Claude, whole, None),
        (Agent::Codex, None, None),
        (Agent::Gemini, None, one),
        (Agent::Qwen, whole, one),
        (Agent::Copilot, whole, None),
        (Agent::Cursor, None, None),
    ] {
        assert_eq!(read(agent, all).switches_off, by_all, "{agent}");
        assert_eq!(read(agent, hooks_config).switches_off, by_config, "{agent}");
    }
    let once = r#"{"hooks": {"enabled": false, "disabled": ["x"], "notifications": true}}"#;
    for agent in [Agent::Gemini, Agent::Qwen] {
        let file = read(agent, once);
        assert_eq!((file.switches_off, faults(&file)), (None, Vec::new()), "{agent}");
    }
}

#[test]
fn of_a_key_that_is_there_twice_the_last_counts_and_no_hook_is_lost() {
    let file = read(
        Agent::Claude,
        r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "a"}], "hooks": [{"command": "b"}]}], "Stop": [{"hooks": [{"command": "x", "command": "c"}]}]}, "hooks": {"Stop": [{"hooks": [{"command": "d"}]}]}, "disableAllHooks": false}"#,
    );
    let want = ["a", "b", "c", "d"].iter().enumerate();
    let want: Vec<String> = want.map(|(at, line)| format!("f#Stop[{at}] agent_stop {line}")).collect();
    assert_eq!(told(&file), want);
    assert_eq!(file.switches_off, None);
    let faults = faults(&file).join("\n");
    assert_eq!(faults.matches("appears twice: the hooks of both run").count(), 3, "{faults}");
    assert_eq!(faults.matches("appears twice: the last one counts").count(), 2, "{faults}");
}

#[test]
fn a_variable_of_a_plugin_is_needed_unless_the_line_says_what_holds_without_it() {
    for (line, is_needed) in [
        ("${CLAUDE_PLUGIN_ROOT}/x", true),
        ("$CLAUDE_PLUGIN_ROOT/x", true),
        ("${CLAUDE_PLUGIN_ROOT%/}/x", true),
        ("${CLAUDE_PLUGIN_ROOT:?}/x", true),
        ("${CLAUDE_PLUGIN_ROOT:-/d}/x $CLAUDE_PLUGIN_ROOT", true),
        ("${CLAUDE_PLUGIN_ROOT:-/d}/x", false),
        ("${CLAUDE_PLUGIN_ROOT-/d}/x", false),
        ("${CLAUDE_PLUGIN_ROOT:=/d}/x", false),
        ("x ${CLAUDE_PLUGIN_ROOT:+-p}", false),
        ("x ${CLAUDE_PLUGIN_DATA:-/d}", false),
        ("$CLAUDE_PLUGIN_ROOTS/x", false),
        ("x # no CLAUDE_PLUGIN_ROOT here", false),
    ] {
        let text = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{line}"}}]}}]}}}}"#);
        assert_eq!(read(Agent::Claude, &text).hooks[0].handler.is_err(), is_needed, "{line}");
    }
}

#[test]
fn variables_are_taken_in_bounds_and_as_text() {
    let file = read(
        Agent::Claude,
        r#"{"env": {"A": "a", "N": 5, "B": true, "": "x", "C=D": "x", "Z": "\u0000", "L": [], "A": "last"}}"#,
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(file.env, [pair("A", "last"), pair("N", "5"), pair("B", "true")]);
    assert_eq!(faults(&file).iter().filter(|it| it.ends_with("; it is left out")).count(), 4);
    let long = format!(r#"{{"env": {{"A": "a", "B": "{}", "C": "c"}}}}"#, "x".repeat(70_000));
    let file = read(Agent::Claude, &long);
    assert_eq!(file.env, [pair("A", "a")]);
    assert!(faults(&file)[0].contains("env: has more than 65536 bytes: the rest is left out"));
    // Nobody else sets variables so.
    assert!(read(Agent::Qwen, r#"{"env": {"A": "a"}}"#).env.is_empty());
}

#[test]
fn the_directory_of_a_plugin_stands_in_its_lines() {
    for (root, line, want) in [
        ("/p/x", "${CLAUDE_PLUGIN_ROOT}/run '${CLAUDE_PLUGIN_ROOT}/a'", "/p/x/run '/p/x/a'"),
        // The shell puts it in.
        ("/p/a b", "\\\"${CLAUDE_PLUGIN_ROOT}\\\"/run", "\"${CLAUDE_PLUGIN_ROOT}\"/run"),
        ("/p/$(x)", "${CLAUDE_PLUGIN_ROOT}/run", "${CLAUDE_PLUGIN_ROOT}/run"),
    ] {
        let text = format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{line}"}}]}}]}}}}"#
        );
        let file = parse(&text, &outside(Agent::Claude, Within::Hooks, Some(root))).unwrap();
        assert_eq!(file.hooks[0].runs().unwrap(), want, "{root}");
    }
    let text = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PLUGIN_ROOT}"]}]}]}}"#;
    let file = parse(text, &outside(Agent::Claude, Within::Hooks, Some("/p/a b"))).unwrap();
    assert_eq!(file.hooks[0].words(), ["/p/a b/run", "/p/a b"]);
}

#[test]
fn a_manifest_holds_hooks_or_names_files() {
    let read = |text: &str| parse(text, &outside(Agent::Claude, Within::Manifest, Some("/p"))).unwrap();
    let file = read(r#"{"name": "guard", "version": "1.0.0", "hooks": "./more.json"}"#);
    assert_eq!(
        (file.name.as_deref(), file.files.as_slice()),
        (Some("guard"), &["./more.json".to_owned()][..])
    );
    let inline = r#"{"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}"#;
    for hooks in [inline.to_owned(), format!(r#"["a.json", {inline}]"#), format!(r#"{{"hooks": {inline}}}"#)]
    {
        let file = read(&format!(r#"{{"name": "guard", "hooks": {hooks}}}"#));
        assert_eq!(told(&file), ["f#Stop[0] agent_stop x"], "{hooks}");
        assert_eq!(faults(&file), Vec::<&str>::new());
    }
}

#[test]
fn comments_are_taken_where_the_agent_takes_them_and_keep_every_place() {
    let text = "{ // é one\n /* two\n */ \"hooks\": {\"Before\": []}, \"x\": \"// /* \\\" no */\"}";
    let file = read(Agent::Gemini, text);
    assert_eq!(file.faults[0].message.split(": ").next(), Some("line 3, column 15"));
    let error = parse(text, &outside(Agent::Claude, Within::Settings, None)).unwrap_err();
    assert!(error.starts_with("line 1, column 3: is not JSON: "), "{error}");
    assert!(error.ends_with("(it has comments, which Claude Code does not take)"), "{error}");
    for broken in ["{", "/* {}", "\"\\", "{\"a\": /", "// {}"] {
        assert!(parse(broken, &outside(Agent::Gemini, Within::Settings, None)).is_err(), "{broken}");
    }
}

#[test]
fn hostile_files_end_in_bounds() {
    let outside = outside(Agent::Gemini, Within::Settings, None);
    let deep = format!("{{\"hooks\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&deep, &outside).unwrap_err().contains("nested more than 32 levels deep"));
    let many = format!(
        "{{\"hooks\": {{\"BeforeTool\": [{}5]}}}}",
        "{\"hooks\": [{\"command\": \"x\"}]},".repeat(5000)
    );
    let file = parse(&many, &outside).unwrap();
    assert_eq!(file.hooks.len(), MAX_HOOKS);
    assert!(faults(&file).last().unwrap().contains("more than 256 hooks"));
    let twice = r#"{"hooks": {"BeforeTool": [], "BeforeTool": [{"hooks": []}]}, "hooks": 5}"#;
    let twice = parse(twice, &outside).unwrap();
    assert_eq!(faults(&twice).iter().filter(|fault| fault.contains("appears twice")).count(), 2);
    let keys: String = (0..3000).map(|n| format!("\"k{n}\": 1,")).collect();
    assert!(!parse(&format!("{{\"hooks\": {{{keys} \"z\": []}}}}"), &outside).unwrap().faults.is_empty());
}
