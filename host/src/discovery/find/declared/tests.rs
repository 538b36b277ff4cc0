//! Tables of files with their hooks and faults.

use super::*;
use crate::event::EventName;

/// Each hook as `NAME KIND EVENT what`, and each fault.
fn read(source: Source, text: &str) -> (Vec<String>, Vec<String>) {
    let contents = match parse(text, source) {
        Ok(contents) => contents,
        Err(why) => return (Vec::new(), vec![why]),
    };
    let hooks = contents.hooks.iter().map(|hook| {
        let event = hook.event.as_ref().map_or("-", EventName::as_str);
        let what = match &hook.handler {
            Ok(Handler::Command(CommandLine::Shell(line))) => format!("sh {line}"),
            Ok(Handler::Command(line)) => format!("argv {line}"),
            Ok(Handler::Wired(command)) => format!("claude {}", command.line),
            Ok(Handler::Component(path)) => format!("component {}", path.display()),
            Ok(Handler::Http(service)) => service.to_string(),
            Ok(Handler::Tool { server, tool, .. }) => format!("tool {server} {tool}"),
            Err(message) if hook.is_reported => format!("TOLD {message}"),
            Err(message) => format!("BROKEN {message}"),
        };
        let policy = if hook.on_failure == Some(OnFailure::Block) { " block" } else { "" };
        format!("{} {event} {what}{policy}", hook.file_name())
    });
    (hooks.collect(), contents.faults.into_iter().map(|fault| fault.message).collect())
}

fn hooks_json(text: &str) -> (Vec<String>, Vec<String>) {
    read(Source::HooksJson, text)
}

#[test]
fn an_entry_says_all_there_is_to_say_of_a_hook() {
    let contents = parse(
        r#"{"version": 1, "hooks": {"PreToolUse": [
            {"command": "python hooks/pre_tool.py", "priority": 20},
            {"command": ["./x", "a b"], "name": "guard", "priority": -5, "matcher": "bash|kind:shell", "timeout": 0.5,
             "on_failure": "block", "observe": true},
            {"component": "guards/x.wasm", "matcher": ["bash", "edit"], "timeout": "2s"}],
          "session_start": [{"tool": "memory.load.all", "matcher": "*"}]}}"#,
        Source::HooksJson,
    )
    .unwrap();
    assert_eq!(contents.faults, []);
    let [shell, argv, component, tool] = <[Declared; 4]>::try_from(contents.hooks).unwrap();
    assert_eq!(shell.file_name(), "hooks.json#PreToolUse[0]");
    assert_eq!((shell.priority, shell.on_failure, shell.timeout), (Some(20), None, None));
    assert_eq!(argv.file_name(), "guard");
    assert_eq!(argv.position_name(), "hooks.json#PreToolUse[1]");
    assert_eq!((argv.priority, argv.on_failure, argv.observe), (Some(-5), Some(OnFailure::Block), true));
    assert_eq!(
        (argv.tools, argv.timeout),
        (vec!["bash".into(), "kind:shell".into()], Some(Duration::from_millis(500)))
    );
    assert_eq!((component.kind, component.tools.len(), component.at), (Kind::Component, 2, 2));
    assert_eq!(component.timeout, Some(Duration::from_secs(2)));
    assert_eq!((tool.kind, tool.event, tool.tools.len()), (Kind::Tool, Some(EventName::SessionStart), 0));
    assert!(
        matches!(tool.handler, Ok(Handler::Tool { server, tool, .. }) if server == "memory" && tool == "load.all")
    );
}

#[test]
fn each_mistake_is_said_once_with_its_place_and_the_rest_holds() {
    const GOOD: &str = r#"{"command": "x"}"#;
    const RUNS: &str = "hooks.json#PreToolUse[1] before_tool_call sh x";
    for (entry, hook, fault) in [
        (
            r#"{"comand": "y"}"#,
            r#"BROKEN line 2, column 2: unknown key "comand" (did you mean command?)"#,
            None,
        ),
        (
            r#"{"command": 5}"#,
            r#"BROKEN line 2, column 13: command: expected a shell line, or a list of words such as ["python", "x.py"], found 5"#,
            None,
        ),
        (
            r#"{"command": []}"#,
            r#"BROKEN line 2, column 13: command: expected a shell line, or a list of words such as ["python", "x.py"], found an array"#,
            None,
        ),
        (
            r#"{"command": "y", "tool": "a.b"}"#,
            "BROKEN line 2, column 18: expected one of command, component, tool and url, found command and tool",
            None,
        ),
        (
            r#"{"command": "y", "command": "z"}"#,
            r#"BROKEN line 2, column 18: "command" appears twice: the first one counts"#,
            None,
        ),
        (
            r"{}",
            "BROKEN line 2, column 1: expected one of command, component, tool and url, found none of them",
            None,
        ),
        (
            r"5",
            r#"BROKEN line 2, column 1: PreToolUse[0]: expected an object such as {"command": "…"}, found 5"#,
            None,
        ),
        (
            r#"{"tool": "memory"}"#,
            r#"BROKEN line 2, column 10: tool: expected "SERVER.TOOL", of a server of this root's mcp.json, found "memory""#,
            None,
        ),
        (
            r#"{"command": 5, "on_failure": "block"}"#,
            r#"BROKEN line 2, column 13: command: expected a shell line, or a list of words such as ["python", "x.py"], found 5 block"#,
            None,
        ),
        (
            r#"{"command": "y", "prioritty": 5}"#,
            r#"BROKEN line 2, column 18: unknown key "prioritty" (did you mean priority?) block"#,
            None,
        ),
        (
            r#"{"command": "y", "runas": "nobody", "another": 1, "on_failure": "pass"}"#,
            r#"BROKEN line 2, column 18: unknown key "runas""#,
            None,
        ),
        (r#"{"command": "y", "description": "d", "id": 5, "$comment": "c"}"#, "sh y", None),
        (
            r#"{"component": "y", "prioritty": 5}"#,
            "component y",
            Some(r#"line 2, column 20: unknown key "prioritty" (did you mean priority?); it is left out"#),
        ),
        (
            r#"{"command": "y", "priority": "5"}"#,
            "sh y",
            Some(r#"line 2, column 30: priority: expected a whole number of 32 bits, found "5""#),
        ),
        (
            r#"{"command": "y", "priority": 1e99}"#,
            "sh y",
            Some("line 2, column 30: priority: expected a whole number of 32 bits, found 1e99"),
        ),
        (
            r#"{"command": "y", "timeout": 0}"#,
            "sh y",
            Some(
                r#"line 2, column 29: timeout: expected seconds above zero such as 2 or 0.5, or a time such as "500ms", found 0"#,
            ),
        ),
        (
            r#"{"command": "y", "observe": "yes"}"#,
            "sh y",
            Some(r#"line 2, column 29: observe: expected true or false, found "yes""#),
        ),
        (
            r#"{"command": "y", "matcher": "Ba.*"}"#,
            "sh y",
            Some(
                r#"line 2, column 29: matcher: expected tool names such as "bash|edit" or ["bash", "kind:shell"], found "Ba.*"; it gets all of them"#,
            ),
        ),
        (
            r#"{"command": "y", "name": "a/b"}"#,
            "sh y",
            Some(
                r#"line 2, column 26: name: expected a name without / and of at most 100 bytes, which does not begin as hooks.json#, mcp.json# or builtin:, found "a/b""#,
            ),
        ),
        (
            r#"{"command": "y", "name": "mcp.json#x"}"#,
            "sh y",
            Some(
                r#"line 2, column 26: name: expected a name without / and of at most 100 bytes, which does not begin as hooks.json#, mcp.json# or builtin:, found "mcp.json#x""#,
            ),
        ),
        (
            r#"{"command": "y", "on_failure": "stop"}"#,
            "sh y block",
            Some(
                r#"line 2, column 32: on_failure: expected "pass" or "block", found "stop"; taken as "block""#,
            ),
        ),
        (
            r#"{"command": "y", "onFailure": "block"}"#,
            "sh y block",
            Some(
                r#"line 2, column 18: unknown key "onFailure" (did you mean on_failure?); taken as "on_failure": "block""#,
            ),
        ),
        (
            r#"{"command": "y", "on_failure": "pass", "on_failure": "block"}"#,
            "sh y block",
            Some(r#"line 2, column 40: "on_failure" appears twice: the first one counts"#),
        ),
    ] {
        let text = format!("{{\"version\": 1, \"hooks\": {{\"PreToolUse\": [\n{entry},\n{GOOD}]}}}}");
        let want = (
            vec![format!("hooks.json#PreToolUse[0] before_tool_call {hook}"), RUNS.to_owned()],
            fault.map(str::to_owned).into_iter().collect::<Vec<_>>(),
        );
        assert_eq!(hooks_json(&text), want, "{entry}");
    }
}

#[test]
fn a_part_that_is_left_out_is_one_problem_and_a_guard_in_it_fails_in_every_event() {
    const GUARD: &str = r#"[{"command": "x", "on_failure": "block"}]"#;
    let guard = |column: usize| {
        let what = "\"on_failure\" is in a part that is left out";
        vec![format!("hooks.json#file[left out] - BROKEN line 1, column {column}: {what} block")]
    };
    for (text, hooks, fault) in [
        ("", vec![], "line 1, column 1: is not JSON: it is empty"),
        (
            "[]",
            vec![],
            r#"line 1, column 1: hooks.json: expected an object such as {"version": 1, "hooks": {…}}, found an array"#,
        ),
        ("{}", vec![], r#"line 1, column 1: expected "hooks", found none"#),
        (
            r#"{"version": 1, "hooks": []}"#,
            vec![],
            "line 1, column 25: hooks: expected an object with a list for each event, found an array",
        ),
        (
            r#"{"version": 1, "hooks": {"PreToolUse": {"command": "x", "on_failure": "block"}}}"#,
            guard(40),
            "line 1, column 40: PreToolUse: expected a list of hooks, found an object; its hooks do not run",
        ),
        (
            &format!(r#"{{"version": 2, "hooks": {{"PreToolUse": {GUARD}}}}}"#),
            guard(1),
            "line 1, column 13: version: expected 1, found 2: none of its hooks run",
        ),
        (
            &format!(r#"{{"PreToolUse": {GUARD}}}"#),
            guard(16),
            "line 1, column 1: has events outside of \"hooks\": none of its hooks run",
        ),
        (
            &format!(r#"{{"version": 1, "hooks": {{"PreTolUse": {GUARD}}}}}"#),
            guard(39),
            r#"line 1, column 26: unknown event "PreTolUse" (did you mean PreToolUse?); its hooks do not run"#,
        ),
    ] {
        assert_eq!(hooks_json(text), (hooks, vec![fault.to_owned()]), "{text}");
    }
    let twice = format!(r#"{{"hooks": {{"PreToolUse": [{{"command": "y"}}], "PreToolUse": {GUARD}}}}}"#);
    let (hooks, faults) = hooks_json(&twice);
    assert_eq!(hooks, ["hooks.json#PreToolUse[0] before_tool_call sh y".to_owned(), guard(60).remove(0)]);
    assert_eq!(faults, ["line 1, column 46: \"PreToolUse\" appears twice: the first one counts"]);
    let hint = parse(r#"{"PreToolUse": []}"#, Source::HooksJson).unwrap().faults[0].hint.clone();
    assert_eq!(*hint.unwrap(), *r#"write {"version": 1, "hooks": {…}}"#);
}

#[test]
fn the_shape_of_claude_code_is_read_beside_the_other() {
    let (hooks, faults) = hooks_json(
        r#"{"hooks": {
          "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "a", "timeout": 20}, {"command": "b"}]},
            {"command": "c"}],
          "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "d", "on_failure": "block"}]}],
          "Stop": [{"command": "e"}],
          "OnBudgetExceeded": [{"hooks": [{"type": "command", "command": "f"}]}],
          "PostToolUse": [{"hooks": [{"type": "prompt", "prompt": "g"}, {"type": "command", "comand": "h"}]}]}}"#,
    );
    assert_eq!(
        hooks,
        [
            "hooks.json#PreToolUse[0] before_tool_call claude a",
            "hooks.json#PreToolUse[1] before_tool_call claude b",
            "hooks.json#PreToolUse[2] before_tool_call sh c",
            "hooks.json#UserPromptSubmit[0] user_message_send claude d block",
            "hooks.json#Stop[0] agent_stop BROKEN line 6, column 20: only Claude Code's shape has the event Stop: a group with \"hooks\" in it",
            "hooks.json#OnBudgetExceeded[0] on_budget_exceeded BROKEN line 7, column 43: Claude Code has no event \
             OnBudgetExceeded, so its shape cannot be used here",
            "hooks.json#PostToolUse[0] after_tool_call BROKEN line 8, column 47: type: expected \"command\" or \"http\", \
             the only types that are run, found \"prompt\"",
            "hooks.json#PostToolUse[1] after_tool_call BROKEN line 8, column 93: unknown key \"comand\" \
             (did you mean command?)",
        ]
    );
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn an_mcp_json_has_servers_and_sends_events_to_their_tools() {
    let text = r#"{"mcpServers": {"memory": {"command": "m"}, "errors": {"url": "http://x"}},
        "hooks": {"SessionStart": [{"tool": "memory.load", "priority": 10}, {"command": "x"}]}}"#;
    let contents = parse(text, Source::McpJson).unwrap();
    assert_eq!(contents.servers.keys().collect::<Vec<_>>(), ["errors", "memory"]);
    let (hooks, faults) = read(Source::McpJson, text);
    assert_eq!(
        hooks,
        [
            "mcp.json#SessionStart[0] session_start tool memory load",
            "mcp.json#SessionStart[1] session_start BROKEN line 2, column 77: mcp.json sends events to tools only: a command \
             or component belongs into hooks.json",
        ]
    );
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_full_file_is_read_in_no_time_and_its_faults_are_counted() {
    let many =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
    let keys = many(4_000, &|n| format!("\"a{n}\":1"));
    let events = many(4_000, &|n| format!("\"E{n}\":[]"));
    let same = vec!["\"a\":1"; 4_000].join(",");
    let groups = vec![r#"{"x":1,"hooks":[]}"#; 50_000].join(",");
    let commands = vec![r#"{"comand":"x"}"#; 60_000].join(",");
    let begin = crate::discovery::tests::processor_time();
    for (text, faults) in [
        (format!("{{{keys}}}"), 21),
        (format!("{{{same}}}"), 21),
        (format!("{{\"hooks\":{{{events}}}}}"), 21),
        (format!("{{\"hooks\":{{{same}}}}}"), 21),
        (format!("{{\"hooks\":{{\"Stop\":[{{{keys}}}]}}}}"), 21),
        (format!("{{\"hooks\":{{\"Stop\":[{{{same}}}]}}}}"), 21),
        (format!("{{\"hooks\":{{\"Stop\":[{groups}]}}}}"), 21),
        (format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{commands}]}}]}}}}"), 1),
        (format!("{{\"hooks\":[{same_list}]}}", same_list = vec!["1"; 500_000].join(",")), 1),
    ] {
        let contents = parse(&text, Source::HooksJson).unwrap();
        assert_eq!(contents.faults.len(), faults, "{}", &text[..60.min(text.len())]);
        assert!(contents.hooks.len() <= 257);
        assert!(contents.hooks.iter().all(|it| it.on_failure.is_none()));
        let said: usize = contents.hooks.iter().map(|it| it.text.len()).sum();
        assert!(said <= 5 << 20, "{said}");
    }
    // Each takes some hundredths of a second in a build that is not optimised, and took 9 to 21 seconds.
    let taken = crate::discovery::tests::processor_time() - begin;
    assert!(taken < std::time::Duration::from_secs(20), "{taken:?}");
}

#[test]
fn a_guard_guards_also_where_its_declaration_is_broken() {
    const G: &str = r#"{"command": "x", "on_failure": "block"}"#;
    let here = Some(EventName::BeforeToolCall);
    for (text, event) in [
        (r#"{"hook": {"PreToolUse": [G]}}"#, &None),
        (r#"{"Hooks": {"PreToolUse": [G]}}"#, &None),
        (r#"{"hooks": {}, "PreToolUse": [G]}"#, &None),
        (r#"{"hooks": {}, "hooks": {"PreToolUse": [G]}}"#, &None),
        (r#"{"hooks": [G]}"#, &None),
        (r#"{"hooks": [{"PreToolUse": [G]}]}"#, &None),
        (r#"[G]"#, &None),
        (r#"{"hooks": {}, "x": [G]}"#, &None),
        (r#"{"hooks": {"hooks": {"PreToolUse": [G]}}}"#, &None),
        (r#"{"hooks": {"PreToolUse": [[G]]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": {"a": G}}}"#, &None),
        (r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hook": [G]}]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}], "on_failure": "block"}]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}], "onFailure": "block"}]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": [{"hooks": [], "on_failure": "block"}]}}"#, &None),
        (r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}], "a": [G]}]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": [{"hooks": [], "hooks": G}]}}"#, &here),
        (r#"{"hooks": {"PreToolUse": [{"hooks": {"a": G}}]}}"#, &here),
        (
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"command": "x", "on_failure": "pass", "on_failure": "block"}]}]}}"#,
            &here,
        ),
    ] {
        let contents = parse(&text.replace('G', G), Source::HooksJson).unwrap();
        let guards = contents.hooks.iter().filter(|it| it.on_failure == Some(OnFailure::Block));
        assert_eq!(guards.map(|it| &it.event).collect::<Vec<_>>(), [event], "{text}");
    }
    // Behind many others, too.
    let many: String = (0..300).map(|n| format!("\"a{n}\": 1,")).collect();
    let entries = format!("{}{G}", r#"{"command": "x"},"#.repeat(300));
    for text in [
        format!(r#"{{{many} "hooks": {{"PreToolUse": [{G}]}}}}"#),
        format!(r#"{{"hooks": {{{many} "PreToolUse": [{G}]}}}}"#),
        format!(r#"{{"hooks": {{"PreToolUse": [{{{many} "on_failure": "block"}}]}}}}"#),
        format!(r#"{{"hooks": {{"PreToolUse": [{entries}]}}}}"#),
        format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{entries}]}}]}}}}"#),
    ] {
        let contents = parse(&text, Source::HooksJson).unwrap();
        let guards = contents.hooks.iter().filter(|it| it.on_failure == Some(OnFailure::Block));
        assert_eq!(guards.count(), 1, "{text}");
    }
}

#[test]
fn what_a_group_says_holds_for_commands_that_say_nothing() {
    let text = r#"{"hooks": {"PreToolUse": [{"on_failure": "block", "priority": 5.0, "observe": true,
        "hooks": [{"command": "x"}, {"command": "y", "on_failure": "pass", "priority": 2e1, "observe": false}]}]}}"#;
    // Some editors begin a file with a mark.
    let contents = parse(&format!("\u{feff}{text}"), Source::HooksJson).unwrap();
    assert_eq!(contents.faults, []);
    let said: Vec<_> = contents.hooks.iter().map(|it| (it.on_failure, it.priority, it.observe)).collect();
    assert_eq!(said, [(Some(OnFailure::Block), Some(5), true), (Some(OnFailure::Pass), Some(20), false)]);
}

#[test]
fn of_very_many_entries_the_first_are_taken() {
    let entries = vec![r#"{"command": "x"}"#; 300].join(",");
    let (hooks, faults) = hooks_json(&format!(r#"{{"version": 1, "hooks": {{"PreToolUse": [{entries}]}}}}"#));
    assert_eq!(hooks.len(), 256);
    assert_eq!(faults, ["has more than 256 hooks: only the first 256 are used, and 44 are left out"]);
    let bad = vec![r#"{"component": "x", "a": 1}"#; 100].join(",");
    let (_, faults) = hooks_json(&format!(r#"{{"version": 1, "hooks": {{"PreToolUse": [{bad}]}}}}"#));
    assert_eq!((faults.len(), faults[20].as_str()), (21, "and 80 more problems in this file"));
}

#[test]
fn two_entries_of_one_name_are_told_apart() {
    let (hooks, faults) = hooks_json(
        r#"{"version": 1, "hooks": {"PreToolUse": [{"command": "x", "name": "a"}, {"command": "y", "name": "a"}]}}"#,
    );
    assert_eq!(hooks, ["a before_tool_call sh x", "hooks.json#PreToolUse[1] before_tool_call sh y"]);
    assert_eq!(
        faults,
        [
            "PreToolUse[1] has the name \"a\" of another hook of this file: it is named hooks.json#PreToolUse[1]"
        ]
    );
}

fn found(line: &str, runs_in_plugin: bool) -> Vec<String> {
    let shown = |it: PluginFile| format!("{}{}", it.path.display(), if it.is_program { "*" } else { "" });
    plugin_files(&CommandLine::Shell(line.to_owned()), runs_in_plugin).into_iter().map(shown).collect()
}

#[test]
fn a_line_names_the_files_that_it_runs() {
    for (line, want) in [
        ("${CLAUDE_PLUGIN_ROOT}/a/x.sh", "a/x.sh*"),
        ("$CLAUDE_PLUGIN_ROOT/a/x.sh --now", "a/x.sh*"),
        ("\"${CLAUDE_PLUGIN_ROOT}/a b/x\"", "a b/x*"),
        ("\"${CLAUDE_PLUGIN_ROOT}\"/a\\ b/x", "a b/x*"),
        ("'${CLAUDE_PLUGIN_ROOT}/x'", "x*"),
        ("${CLAUDE_PLUGIN_ROOT}//x", "x*"),
        ("${CLAUDE_PLUGIN_ROOT}/../other/x", "../other/x*"),
        ("A=1 exec ${CLAUDE_PLUGIN_ROOT}/x", "x*"),
        ("PYTHONPATH=\"${CLAUDE_PLUGIN_ROOT}\" python3 \"${CLAUDE_PLUGIN_ROOT}/x\"", "x"),
        ("python3.12 -u ${CLAUDE_PLUGIN_ROOT}/hooks/x.py", "hooks/x.py"),
        ("bash \"${CLAUDE_PLUGIN_ROOT}/x\"", "x"),
        ("/usr/bin/env bash ${CLAUDE_PLUGIN_ROOT}/x.sh ${CLAUDE_PLUGIN_ROOT}/y.py", "x.sh y.py"),
        ("sh -c '\"${CLAUDE_PLUGIN_ROOT}/x\" | cat'", "x*"),
        ("cd /tmp && ${CLAUDE_PLUGIN_ROOT}/x || true", "x*"),
        ("source ${CLAUDE_PLUGIN_ROOT}/env", "env"),
        ("node --no-warnings ${CLAUDE_PLUGIN_ROOT}/x.mjs --data ${CLAUDE_PLUGIN_ROOT}/data", "x.mjs"),
        // Nothing runs these, or nobody knows them.
        ("[ -f ${CLAUDE_PLUGIN_ROOT}/x ] && cat ${CLAUDE_PLUGIN_ROOT}/x.sh", ""),
        ("mkdir -p ${CLAUDE_PLUGIN_ROOT}/data && echo > ${CLAUDE_PLUGIN_ROOT}/out.sh", ""),
        ("${CLAUDE_PLUGIN_ROOT}/bin/$(uname)/x", ""),
        ("bash ${CLAUDE_PLUGIN_ROOT}/$NAME.sh; bash ${CLAUDE_PLUGIN_ROOT}/*.sh", ""),
        ("${CLAUDE_PLUGIN_ROOTS}/x; $CLAUDE_PLUGIN_ROOT2/x", ""),
        ("cargo run --manifest-path ${CLAUDE_PLUGIN_ROOT}/Cargo.toml", ""),
        ("python3 -m json.tool", ""),
        ("./x; hooks/x; python3 hooks/x.py", ""),
        ("${CLAUDE_PLUGIN_ROOT}", ""),
    ] {
        assert_eq!(found(line, false).join(" "), want, "{line}");
    }
}

#[test]
fn a_command_that_runs_in_its_plugin_has_relative_paths() {
    for (line, want) in [
        ("hooks/x --now", "hooks/x*"),
        ("python hooks/x.py", "hooks/x.py"),
        ("python x.py --out made/y.py", "x.py"),
        ("python -c 'print(1)'", ""),
        ("jq -c . hooks/x.json", ""),
        ("/usr/bin/x; ~/bin/x; x", ""),
        ("cd hooks && ./x", ""),
        ("sh ../../../lib/x.sh", ""),
    ] {
        assert_eq!(found(line, true).join(" "), want, "{line}");
    }
}
