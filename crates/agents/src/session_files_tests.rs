//! The session files of every agent.

use std::collections::HashSet;
use std::io::Read as _;

use hookbox_journal::session_files::{Found, MAX_LINE, PastCall, PastHook, Summary, read};
use serde_json::{Value, json};

use crate::Agent;

/// Reads lines, and returns the calls with another id each.
fn calls(lines: &str) -> (Summary, Vec<PastCall>, Vec<PastHook>) {
    let (mut ids, mut calls, mut hooks) = (HashSet::new(), Vec::new(), Vec::new());
    let summary = read(lines.as_bytes(), &Agent::session_formats(), |_, found| match found {
        Found::Call(call) if ids.insert(call.id.clone()) => calls.push(call),
        Found::Call(_) => {}
        Found::Hook(hook) => hooks.push(hook),
    });
    (summary.unwrap(), calls, hooks)
}

/// The tool, the directory, and the inputs to judge.
fn short(call: &PastCall) -> Value {
    json!([call.tool, call.directory, call.judged])
}

const CLAUDE: &str = r#"
{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}
{"type":"assistant","sessionId":"s","cwd":"/p","timestamp":"2026-01-01T00:00:00.000Z","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"assistant","sessionId":"s","cwd":"/p","message":{"content":[{"type":"text","text":"Bash"}]}}
{"type":"progress","sessionId":"s","data":{"type":"agent_progress","message":{"message":{"content":[{"type":"tool_use","id":"toolu_9","name":"Bash","input":{"command":"ls"}}]}}}}
{"type":"assistant","sessionId":"s","cwd":"/p/src","isSidechain":true,"message":{"content":[{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"a"}}]}}
{"type":"attachment","uuid":"u","sessionId":"s","attachment":{"type":"hook_non_blocking_error","hookName":"PostToolUse:Bash","command":"curl","exitCode":7,"durationMs":21}}
{"type":"assistant","sessionId":"s","cwd":"/p","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}
"#;

const QODER: &str = r#"
{"type":"workspace-directories","sessionId":"s","directories":["/p"]}
{"type":"assistant","sessionId":"s","cwd":"/p","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}
"#;

const CODEX: &str = r#"
{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"1"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\",\"workdir\":\"src\"}","call_id":"2"}}
{"type":"turn_context","payload":{"cwd":"/q","approval_policy":"never"}}
{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"zsh\",\"-lc\",\"ls\"]","call_id":"3"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"await tools.exec_command({cmd: 'ls', workdir: '/r'})","call_id":"4"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"await tools.exec_command({cmd: line})","call_id":"5"}}
{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"6"}}
{"type":"event_msg","payload":{"type":"exec_command_end","call_id":"1","command":["ls"]}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"1","output":"a"}}
"#;

const OLD_CODEX: &str = r#"
{"id":"s","timestamp":"2025-01-01T00:00:00Z","instructions":null}
{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"zsh\",\"-lc\",\"ls\"],\"workdir\":\"/p\"}","call_id":"1"}
{"type":"local_shell_call","id":"lsh_1","call_id":"2","action":{"type":"exec","command":["ls"],"working_directory":"/q"}}
{"type":"function_call_output","call_id":"1","output":"a"}
"#;

const COPILOT: &str = r#"
{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/p"}},"id":"1","parentId":null}
{"type":"tool.execution_start","data":{"toolCallId":"1","toolName":"bash","arguments":{"command":"ls"}},"id":"2","parentId":"1"}
{"type":"tool.execution_complete","data":{"toolCallId":"1","success":true},"id":"3","parentId":"2"}
"#;

const GEMINI: &str = r#"
{"sessionId":"s","projectHash":"x","startTime":"2026-01-01T00:00:00Z","kind":"main"}
{"id":"m","type":"gemini","toolCalls":[{"id":"1","name":"run_shell_command","args":{"command":"ls"}}]}
{"$set":{"messages":[{"id":"m","type":"gemini","toolCalls":[{"id":"1","name":"run_shell_command","args":{"command":"ls"}},{"id":"2","name":"glob","args":{}}]}]}}
{"$rewindTo":"m"}
"#;

const PI: &str = r#"
{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}
{"type":"model_change","id":"1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"mock","modelId":"m"}
{"type":"message","id":"2","parentId":"1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}
{"type":"message","id":"3","parentId":"2","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_0","name":"bash","arguments":{"command":"ls"}},{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a"}}]}}
{"type":"message","id":"4","parentId":"3","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"toolResult","toolCallId":"call_0","toolName":"bash","content":[{"type":"text","text":"a"}],"isError":false}}
{"type":"message","id":"5","parentId":"4","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0}}
"#;

#[test]
fn the_calls_of_each_agent_are_found_once() {
    let ls = json!({"command": "ls"});
    for (lines, format, expected) in [
        (
            CLAUDE,
            "claude",
            json!([["Bash", "/p", [["Bash", ls]]], ["Read", "/p/src", [["Read", {"file_path": "a"}]]]]),
        ),
        (QODER, "qoder", json!([["Bash", "/p", [["Bash", ls]]]])),
        (
            CODEX,
            "codex",
            json!([
                ["exec_command", "/p", [["exec_command", {"cmd": "ls"}]]],
                ["exec_command", "/p/src", [["exec_command", {"cmd": "ls", "workdir": "src"}]]],
                ["shell", "/q", null],
                ["exec", "/r", [["exec_command", {"cmd": "ls", "workdir": "/r"}]]],
                ["exec", "/q", null],
                ["apply_patch", "/q", [["apply_patch", "*** Begin Patch"]]],
            ]),
        ),
        (
            OLD_CODEX,
            "codex",
            json!([
                ["shell", "/p", [["shell", {"command": ["zsh", "-lc", "ls"], "workdir": "/p"}]]],
                ["shell", "/q", [["shell", {"command": ["ls"], "workdir": "/q"}]]],
            ]),
        ),
        (
            PI,
            "pi",
            json!([["bash", "/p", [["bash", ls]]], ["read", "/p", [["read", {"path": "a"}]]], ["bash", "/p", [["bash", ls]]]]),
        ),
        (COPILOT, "copilot", json!([["bash", "/p", [["bash", ls]]]])),
        (
            GEMINI,
            "gemini",
            json!([["run_shell_command", null, [["run_shell_command", ls]]], ["glob", null, [["glob", {}]]]]),
        ),
    ] {
        let (summary, calls, _) = calls(lines);
        assert_eq!(summary, Summary { format: Some(format), unread_lines: 0 });
        assert_eq!(json!(calls.iter().map(short).collect::<Vec<_>>()), expected, "{format:?}");
        assert!(calls.iter().all(|it| it.session.as_deref() == Some("s")), "{calls:?}");
    }
}

#[test]
fn the_mode_the_time_and_the_hooks_of_the_agent_are_kept() {
    let (_, found, hooks) = calls(CLAUDE);
    assert_eq!(found[0].mode.as_deref(), Some("plan"));
    assert_eq!(found[0].time.as_deref(), Some("2026-01-01T00:00:00.000Z"));
    let hook = PastHook {
        id: Some("u".to_owned()),
        time: None,
        name: "PostToolUse:Bash".to_owned(),
        command: "curl".to_owned(),
        failed: true,
        duration_ms: Some(21),
    };
    assert_eq!(hooks, [hook]);
    assert_eq!(calls(CODEX).1[2].mode.as_deref(), Some("never"));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_rest_is_read() {
    let torn = CLAUDE.replace(r#"{"type":"progress""#, r#"{"type":"progr"#);
    let (summary, calls, _) = calls(&torn);
    assert_eq!((summary.unread_lines, calls.len()), (1, 2));
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let long = std::io::Read::take(std::io::repeat(b'x'), MAX_LINE + 10);
    let input = long.chain("\n".as_bytes()).chain(COPILOT.as_bytes());
    let mut calls = 0;
    let summary = read(std::io::BufReader::new(input), &Agent::session_formats(), |_, _| calls += 1).unwrap();
    assert_eq!((summary.unread_lines, summary.format, calls), (1, Some("copilot"), 1));
}

#[test]
fn other_files_have_no_calls() {
    for lines in ["", "{}", "[1, 2]\nnull\n\"text\"", r#"{"name":"x","version":1}"#, "# Markdown"] {
        let (summary, calls, hooks) = calls(lines);
        assert_eq!((summary.format, calls.len(), hooks.len()), (None, 0, 0), "{lines}");
    }
}
