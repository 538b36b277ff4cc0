//! hooks.json and mcp.json, through the real program.

mod interpreters;
mod of_a_repository;
mod service;

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, sample};

fn bash(command: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": command}})
}

/// The declaration of one event in a file of this name.
fn declare(env: &TestEnvironment, path: &str, event: &str, entries: &Value) {
    env.file(path, json!({"version": 1, "hooks": {event: entries}}).to_string());
}

/// `NAME STATUS` of every hook, in run order.
fn statuses(env: &TestEnvironment) -> Vec<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    env.list(&[]).iter().map(|row| format!("{} {}", text(row, "name"), text(row, "status"))).collect()
}

/// Returns the warnings of `hookbox list`, without the directory of the test.
fn problems(env: &TestEnvironment) -> Vec<String> {
    let output = env.hookbox(["list", "--json"]);
    let base = format!("{}/", env.path("").display()).replace("//", "/");
    let warnings = output.stderr.lines().filter(|line| !line.starts_with("hint: "));
    warnings.map(|line| line.replace(&base, "")).collect()
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

/// A server of MCP whose tool `load` answers what stands beside it, in `answer`.
const SERVER: &str = r#"#!/bin/bash
echo started >> "$HOME/started"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
  case "$line" in
  *'"initialize"'*) result='{"protocolVersion":"'$version'","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"tools/list"'*) result='{"tools":[{"name":"load","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) result='{"content":[{"type":"text","text":"{\"action\":\"injectContext\",\"additionalContext\":[\"'$TOLD'\"]}"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn a_project_with_all_patterns_is_listed_in_run_order() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/file", "before_tool_call", "true");
    env.copy("home/guards/guardrail.wasm", &sample("guardrail"));
    declare(
        &env,
        "home/.hookbox/hooks.json",
        "PreToolUse",
        &json!([{"command": "true"}, {"component": "guards/guardrail.wasm", "priority": 50}, {"tool": "memory.load"},
            {"command": ["true"], "name": "early", "priority": 10, "observe": true, "timeout": 1.5}]),
    );
    env.script("bin/server", SERVER);
    let mcp = json!({"mcpServers": {"memory": {"command": "server"}}, "hooks": {"PreToolUse": [{"tool": "memory.load"}]}});
    env.file("home/.hookbox/mcp.json", mcp.to_string());
    env.native("home/.kodelet/hooks/later", "before_tool_call", "true");
    let plugin = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}});
    env.file("home/.hookbox/plugins/o@r/hooks/hooks.json", plugin.to_string());

    let rows: Vec<String> = env
        .list(&[])
        .iter()
        .map(|row| {
            format!("{} {} {} {}", row["name"], row["kind"], row["status"], row["timeout"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "early command active 1500ms",
            "file native active 30s",
            "hooks.json#PreToolUse[0] command active 3s",
            "hooks.json#PreToolUse[1] component active 3s",
            "hooks.json#PreToolUse[2] tool active 3s",
            "mcp.json#PreToolUse[0] tool active 3s",
            "later native active 30s",
            "o/r/hooks.json#PreToolUse[0] command active 600s",
        ]
    );
    let early = &env.list(&[])[0];
    assert_eq!(early["path"], json!(env.path("home/.hookbox/hooks.json")));
    assert_eq!((&early["observe"], &early["events"]), (&json!(true), &json!(["before_tool_call"])));
    assert_eq!(problems(&env), Vec::<String>::new());
    assert_eq!(env.read("home/started"), None, "a server is started by an event, not by a look");
}

#[test]
fn commands_block_change_observe_and_inject_in_the_order_of_their_priorities() {
    let env = TestEnvironment::new();
    let answer = |answer: &Value| json!(["printf", "%s", answer.to_string()]);
    declare(
        &env,
        "home/.hookbox/hooks.json",
        "PreToolUse",
        &json!([
            {"command": "cat > \"$HOME/observed\"; echo '{\"action\": \"block\"}'", "observe": true, "priority": 90},
            {"command": answer(&json!({"action": "injectContext", "additionalContext": ["c"]})), "priority": 5},
            {"command": "sed 's/.*\"command\":\"\\([^\"]*\\)\".*/{\"action\":\"modify\",\"modifiedInput\":{\"command\":\"\\1 b\"}}/'", "priority": 10},
            {"command": "sed 's/.*\"command\":\"\\([^\"]*\\)\".*/{\"input\":{\"command\":\"\\1 c\"}}/'", "priority": 20},
            {"command": "grep -q 'a b c' && echo '{\"blocked\": true, \"reason\": \"seen\"}'", "priority": 30, "matcher": "kind:shell"},
            {"command": "touch \"$HOME/never\"", "priority": 40},
            {"command": "touch \"$HOME/other\"", "priority": 1, "matcher": "edit|write"},
        ]),
    );
    let verdict = env.event(&["before_tool_call"], &bash("a"));
    assert_eq!((&verdict["blocked"], &verdict["reason"]), (&json!(true), &json!("seen")), "{verdict:#}");
    assert_eq!(verdict["blocked_by"], "hooks.json#PreToolUse[4]");
    assert_eq!((env.read("home/never"), env.read("home/other")), (None, None));
    let seen: Value = serde_json::from_str(&env.read("home/observed").unwrap()).unwrap();
    assert_eq!((&seen["hook"], &seen["tool"]["input"]["command"]), (&json!("PreToolUse"), &json!("a b c")));
    let verdict =
        env.event(&["before_tool_call"], &json!({"tool_name": "read", "tool_input": {"command": "a"}}));
    assert_eq!(
        (&verdict["input"], &verdict["additional_context"]),
        (&json!({"command": "a b c"}), &json!(["c"]))
    );
}

#[test]
fn a_command_runs_where_its_root_stands_with_its_settings_and_reads_events_that_base_coat_has_not() {
    let env = TestEnvironment::new();
    env.script("home/tools/x", "#!/bin/bash\n{ pwd; echo \"$HOOKBOX_SETTINGS\"; cat; } > \"$HOME/seen\"\n");
    declare(&env, "home/.hookbox/hooks.json", "turn_end", &json!([{"command": ["tools/x"], "name": "x"}]));
    env.file("home/.hookbox/hookbox.toml", "[hooks.x]\nsettings = { a = 1 }\n");
    env.event(&["turn_end"], &json!({"response": "r"}));
    let seen = env.read("home/seen").unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[..2], [env.path("home").to_str().unwrap(), "{\"a\":1}"]);
    let event: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!((&event["event"], &event["response"]), (&json!("turn_end"), &json!("r")));
}

#[test]
fn a_hook_of_claude_code_is_spoken_to_as_claude_code_does() {
    let env = TestEnvironment::new();
    let command =
        "cat > \"$HOME/seen\"; echo \"$CLAUDE_PROJECT_DIR\" > \"$HOME/project\"; echo no way >&2; exit 2";
    let group = |matcher: &str, command: &str| json!({"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 20}]});
    let hooks = json!({"hooks": {
        "PreToolUse": [group("Edit|Write", "touch \"$HOME/other\""), group("^Ba", command)],
        "UserPromptSubmit": [group("", "echo remember")],
    }});
    env.file("home/.hookbox/hooks.json", hooks.to_string());
    let verdict = env.event(&["before_tool_call"], &bash("ls"));
    assert_eq!((&verdict["blocked"], &verdict["reason"]), (&json!(true), &json!("no way")), "{verdict:#}");
    let seen: Value = serde_json::from_str(&env.read("home/seen").unwrap()).unwrap();
    assert_eq!((&seen["hook_event_name"], &seen["tool_name"]), (&json!("PreToolUse"), &json!("Bash")));
    assert_eq!(env.read("home/project").unwrap().trim(), env.path("repo").to_str().unwrap());
    assert_eq!(env.read("home/other"), None);
    let verdict = env.event(&["user_message_send"], &json!({"message": "hi"}));
    assert_eq!(verdict["additional_context"], json!(["remember"]));
}

#[test]
fn an_event_reaches_the_tool_of_a_server_with_its_variables() {
    let env = TestEnvironment::new().variable("SECRET", "facts");
    env.script("home/servers/memory", SERVER);
    let server = json!({"type": "stdio", "command": "servers/memory", "env": {"TOLD": "${SECRET}"}});
    let hooks = json!({"SessionStart": [{"tool": "memory.load", "priority": 10, "timeout": 30}]});
    env.file("home/.hookbox/mcp.json", json!({"mcpServers": {"memory": server}, "hooks": hooks}).to_string());
    let verdict = env.event(&["session_start"], &json!({"source": "startup"}));
    assert_eq!(verdict["additional_context"], json!(["facts"]), "{verdict:#}");
    assert_eq!(env.read("home/started").unwrap(), "started\n");
}

#[test]
fn each_broken_declaration_is_one_problem_and_the_rest_runs() {
    let good = json!({"command": "echo '{\"action\": \"injectContext\", \"additionalContext\": [\"ran\"]}'"});
    for (entry, want) in [
        (json!({"comand": "x"}), "unknown key \"comand\" (did you mean command?)"),
        (json!({"command": 5}), "command: expected a shell line"),
        (json!({"command": ["./gone"]}), "its command does not exist: "),
        (
            json!({"command": "no-such-program --x"}),
            "its command does not exist: \"no-such-program\" is not a program on PATH",
        ),
        (json!({"component": "gone.wasm"}), "leads nowhere"),
        (json!({"tool": "gone.load"}), "mcp.json has no server \"gone\""),
        (
            json!({"command": "x", "tool": "a.b"}),
            "expected one of command, component, tool and url, found command and tool",
        ),
    ] {
        let env = TestEnvironment::new();
        declare(&env, "home/.hookbox/hooks.json", "PreToolUse", &json!([entry, good]));
        let problems = problems(&env);
        assert!(matches!(&problems[..], [one] if one.contains(want)), "{want}: {problems:?}");
        assert_eq!(
            statuses(&env),
            ["hooks.json#PreToolUse[0] invalid", "hooks.json#PreToolUse[1] active"],
            "{want}"
        );
        assert_eq!(
            env.event(&["before_tool_call"], &bash("ls"))["additional_context"],
            json!(["ran"]),
            "{want}"
        );
    }
    let env = TestEnvironment::new();
    let hooks = json!({"version": 1, "hooks": {"PreToolUs": [good], "PreToolUse": [good]}});
    env.file("home/.hookbox/hooks.json", hooks.to_string());
    let problems = problems(&env);
    assert!(
        matches!(&problems[..], [one] if one.contains("unknown event \"PreToolUs\" (did you mean PreToolUse?)")),
        "{problems:?}"
    );
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["additional_context"], json!(["ran"]));
}

#[test]
fn a_broken_guard_keeps_guarding_where_it_was_declared() {
    for (event, entry) in [
        ("PreToolUse", json!({"command": 5, "on_failure": "block"})),
        ("PreToolUse", json!({"command": ["./gone"], "on_failure": "block"})),
        ("PreToolUs", json!({"command": "true", "on_failure": "block"})),
        ("PreToolUse", json!({"command": "exit 3", "on_failure": "anything"})),
        ("PreToolUse", json!({"command": "true && no-such-program", "on_failure": "block"})),
    ] {
        let env = TestEnvironment::new();
        declare(&env, "home/.hookbox/hooks.json", event, &json!([entry]));
        let verdict = env.event(&["before_tool_call"], &bash("ls"));
        assert_eq!(verdict["blocked"], true, "{entry}: {verdict:#}");
    }
    let env = TestEnvironment::new();
    declare(&env, "home/.hookbox/hooks.json", "PostToolUse", &json!([{"command": 5, "on_failure": "block"}]));
    assert_eq!(env.event(&["before_tool_call"], &bash("ls")), json!({"blocked": false}));
}

/// A group of Claude Code's shape, for every tool, with these commands.
fn group(commands: &Value) -> Value {
    json!([{"matcher": "*", "hooks": commands}])
}

#[test]
fn a_command_in_the_background_is_not_waited_for_and_never_blocks() {
    let env = TestEnvironment::new();
    let line = "cat > ~/got; until [ -e ~/go ]; do sleep 0.02; done; touch ~/done; exit 2";
    let commands = json!([{"type": "command", "command": line, "async": true, "on_failure": "block"}]);
    declare(&env, "home/.hookbox/hooks.json", "PreToolUse", &group(&commands));
    let large = "x".repeat(1 << 20);
    let event = json!({"tool_name": "bash", "tool_input": {"command": "ls", "description": large}});
    let printed = env.event(&["before_tool_call", "--report"], &event);
    assert_eq!(
        (&printed["verdict"]["blocked"], &printed["hooks"][0]["cause"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(env.read("home/done"), None);
    env.file("home/go", "");
    while env.read("home/done").is_none() {
        std::thread::yield_now();
    }
    let got: Value = serde_json::from_str(&env.read("home/got").unwrap()).unwrap();
    assert_eq!(got["tool_input"]["description"].as_str().map(str::len), Some(1 << 20));
    let problems = problems(&env);
    assert!(problems[0].contains("cannot block"), "{problems:?}");
}

#[test]
fn keys_of_claude_code_choose_the_shell_and_the_calls_of_a_command() {
    let env = TestEnvironment::new();
    let command =
        |line: &str, key: &str, value: Value| json!({"type": "command", "command": line, key: value});
    let commands = json!([
        command("echo git >> ~/ran", "if", json!("Bash(git *)")),
        command("[[ -n $BASH_VERSION ]] && echo bash >> ~/ran", "shell", json!("bash")),
        command("echo once >> ~/ran", "once", json!(true)),
        command("Write-Host x", "shell", json!("powershell")),
        command("echo odd >> ~/ran", "if", json!("Bash(git")),
    ]);
    declare(&env, "home/.hookbox/hooks.json", "PreToolUse", &group(&commands));
    for (line, ran) in [("git status", "git\nbash\nonce\nodd\n"), ("ls", "bash\nonce\nodd\n")] {
        env.event(&["before_tool_call"], &bash(line));
        assert_eq!(env.read("home/ran").as_deref(), Some(ran), "{line}");
        std::fs::remove_file(env.path("home/ran")).unwrap();
    }
    let problems = problems(&env);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().any(|it| it.contains("PowerShell")), "{problems:?}");
    assert!(problems.iter().any(|it| it.contains("Bash(git *)")), "{problems:?}");
}
