//! `hookbox backtest`: hooks tried on the session files of agents.

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, sample};

/// Returns lines of Claude Code for these commands; the first has this id, the next the next.
fn session(first: usize, commands: &[&str]) -> String {
    let line = |(at, command): (usize, &&str)| {
        let call = json!({
            "type": "assistant", "sessionId": "s", "cwd": "/p", "timestamp": format!("2026-01-0{}T00:00:00.000Z", at + 1),
            "message": {"content": [
                {"type": "tool_use", "id": format!("toolu_{}", first + at), "name": "Bash", "input": {"command": command}},
            ]},
        });
        format!("{call}\n")
    };
    commands.iter().enumerate().map(line).collect()
}

const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"await tools.exec_command({cmd: 'sudo id'})","call_id":"1"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\": ","call_id":"2"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"await tools.exec_command({cmd: line})","call_id":"3"}}
"#;

/// A home with sessions of two agents.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    let first = session(1, &["ls", "sudo ls", "make", "sudo ls", "sudo \u{1b}[2Jid"]);
    let hook = |uuid: &str| {
        format!(
            r#"{{"type":"attachment","uuid":"{uuid}","sessionId":"s","timestamp":"2026-01-02T00:00:00Z","attachment":{{"type":"hook_success","hookName":"Stop","command":"notify","durationMs":10}}}}
"#
        )
    };
    let first = format!("{first}{}{}", hook("u1"), hook("u2"));
    let resumed = format!("{}{}", session(1, &["ls", "sudo ls", "make"]), session(9, &["ls -l"]));
    let resumed = format!("{resumed}{}", hook("u1"));
    env.file("home/.claude/projects/-p/a.jsonl", first)
        .file("home/.claude/projects/-p/b.jsonl", resumed)
        .file("home/.codex/sessions/2026/01/01/rollout-1.jsonl", CODEX);
    env
}

fn run(env: &TestEnvironment, args: &[&str]) -> Output {
    let guard = sample("guardrail");
    env.warm(&guard);
    let output = env.hookbox(["backtest", "--hook", guard.to_str().unwrap()].iter().chain(args));
    assert_eq!(output.code, Some(0), "{output:#?}");
    output
}

#[test]
fn every_call_is_judged_once_and_what_cannot_be_read_has_no_verdict() {
    let env = place();
    let result = run(&env, &["--json"]).json();
    assert_eq!(
        result["sources"],
        json!({
            "claude": {"files": 2, "calls": 6, "shell_calls": 6, "not_read": 0, "unread_lines": 0},
            "codex": {"files": 1, "calls": 3, "shell_calls": 1, "not_read": 2, "unread_lines": 0},
        })
    );
    assert_eq!(result["verdicts"], json!({"pass": 3, "block": 4, "ask": 0, "modify": 0}));
    let hook = &result["hooks"]["guardrail.wasm"];
    assert_eq!((&hook["calls"], &hook["block"], &hook["failed"]), (&json!(7), &json!(4), &json!(0)));
    let first = &hook["commands"][0];
    assert_eq!(
        json!([first["tool"], first["command"], first["count"], first["answer"], first["next"]]),
        json!(["Bash", "sudo ls", 2, "block", {"tool": "Bash", "command": "make"}])
    );
    assert_eq!(
        result["agent_hooks"],
        json!([{"name": "Stop", "command": "notify", "runs": 2, "failed": 0, "total_ms": 20}])
    );
    assert_eq!(run(&env, &["--json", "--since", "2026-01-03"]).json()["agent_hooks"], json!([]));
    assert_eq!(result["tools"]["Bash"], json!({"pass": 3, "block": 3, "ask": 0, "modify": 0}));
    assert_eq!(result["days"]["2026-01-02"], json!({"pass": 0, "block": 1, "ask": 0, "modify": 0}));
}

#[test]
fn a_hook_in_shadow_mode_counts_by_what_it_would_have_done() {
    let env = place();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guardrail.wasm\"]\nmode = \"observe\"\n");
    env.warm(&sample("guardrail"));
    let result = env.hookbox(["backtest", "--json"]).json();
    assert_eq!(result["verdicts"]["block"], 0, "{result:#}");
    let hook = &result["hooks"]["guardrail.wasm"];
    assert_eq!((&hook["observes"], &hook["block"]), (&json!(true), &json!(4)), "{result:#}");
    assert_eq!((&hook["commands"][0]["answer"], &hook["commands"][0]["count"]), (&json!("block"), &json!(2)));
    let text = env.hookbox(["backtest"]).stdout;
    assert!(text.contains("guardrail.wasm (observes)"), "{text}");
}

#[test]
fn a_source_and_a_time_narrow_the_calls() {
    let env = place();
    let calls = |args: &[&str]| {
        let sources = run(&env, &[args, &["--json"]].concat()).json()["sources"].clone();
        let count = |name: &str| sources[name]["calls"].as_u64().unwrap_or_default();
        (count("claude"), count("codex"))
    };
    let file = env.path("home/.claude/projects/-p/a.jsonl");
    let directory = env.path("home/.codex");
    assert_eq!(calls(&["codex"]), (0, 3));
    assert_eq!(calls(&[file.to_str().unwrap(), file.to_str().unwrap()]), (5, 0));
    assert_eq!(calls(&["claude", directory.to_str().unwrap()]), (6, 3));
    assert_eq!(calls(&["claude", "--since", "2026-01-03"]), (3, 0));
    assert_eq!(calls(&["gemini"]), (0, 0));
}

#[test]
fn the_account_shows_commands_without_their_control_characters() {
    let account = run(&place(), &["--top", "1"]).stdout;
    for words in
        ["Calls: 3 would have passed, 4 blocked", "2 blocked Bash sudo ls", "next: Bash make", "2 more calls"]
    {
        assert!(account.contains(words), "{words}: {account}");
    }
    let all = run(&place(), &["--top", "0"]).stdout;
    assert!(all.contains("sudo") && !all.contains('\u{1b}'), "{all}");
}

#[test]
fn the_users_hooks_are_tried_except_programs() {
    let env = place();
    let rules = "[[rule]]\ncommand = \"make\"\nanswer = \"ask\"\nreason = \"Sure?\"\n";
    env.file("home/.hookbox/hooks/make.rules.toml", rules);
    env.script("home/.hookbox/hooks/program", "#!/bin/sh\ntouch \"$HOME/ran\"\necho before_tool_call\n");
    let output = env.hookbox(["backtest", "claude", "--json"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(output.json()["hooks"]["make.rules.toml"]["ask"], 1);
    assert_eq!(output.json()["verdicts"]["ask"], 1);
    assert_eq!(output.json()["hooks"].get("program"), None::<&Value>);
    assert!(output.stderr.contains("hooks that are programs, and were not tried: 1"), "{}", output.stderr);
}

#[test]
fn a_named_file_without_a_known_format_is_a_problem_and_not_zero_calls() {
    let env = place();
    env.file("other/notes.jsonl", "{\"a\": 1}\n").file("other/empty.jsonl", "");
    for (path, is_problem) in [("other/notes.jsonl", true), ("other/empty.jsonl", true), ("other", false)]
        .map(|(path, is)| (env.path(path), is))
    {
        let output = run(&env, &[path.to_str().unwrap(), "--json"]);
        let told = output.stderr.contains("it is not a session file of a known format");
        let problems = output.json()["problems"].as_array().unwrap().len();
        assert_eq!((told, problems), (is_problem, usize::from(is_problem)), "{output:#?}");
    }
}

#[test]
fn what_cannot_be_tried_is_refused() {
    let env = place();
    env.directory("empty");
    for (args, words) in [
        (["backtest", "nobody"].as_slice(), "nobody: expected an agent, `journal`, a file or a directory"),
        (&["backtest", "--since", "soon"], "expected a time such as 30d"),
        (&["backtest", "--hook", "none.wasm"], "none.wasm"),
        (
            &["backtest", "--hook", "../empty"],
            "expected components (.wasm) or rules (.rules.toml), found none",
        ),
    ] {
        let output = env.hookbox(args);
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains(words), "{output:#?}");
    }
}
