use hookbox::internal::tool_result;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::agent::EventKind;
use crate::event::ToolCall;
use crate::event::{AgentStop, Context, Document, InvokedBy};
use crate::hook::Cause;

fn hook(agent: Agent, name: &str) -> AgentHook {
    AgentHook::new(agent, name).unwrap()
}

fn event(data: EventData) -> Event {
    Event { context: Arc::new(Context::new("s", "/w")), data }
}

fn before(name: &str, input: Value) -> Event {
    event(EventData::BeforeToolCall(ToolCall::new(name, input)))
}

fn of(name: &str) -> Event {
    event(match name {
        "before_tool_call" => return before("bash", json!({"command": "ls"})),
        "after_tool_call" => EventData::AfterToolCall(tool_result(
            ToolCall::new("bash", json!({"command": "ls"})),
            json!("out"),
        )),
        "user_message_send" => EventData::UserMessageSend { message: Some("hi".into()) },
        "session_start" => EventData::SessionStart { source: None },
        "agent_stop" => EventData::AgentStop(AgentStop::default()),
        "pre_compact" => EventData::PreCompact { trigger: None, usage: None, messages: Document::absent() },
        other => panic!("{other}"),
    })
}

/// The translated answer, in a few words.
fn told(result: Result<Outcome, HookError>) -> String {
    match result {
        Err(error) => format!("{}: {}", error.cause.as_str(), error.message),
        Ok(outcome) => {
            let action = match &outcome.action {
                Action::Pass => "pass".to_owned(),
                Action::Block(reason) => format!("block {reason}"),
                Action::Ask(reason) => format!("ask {reason}"),
                Action::Allow(reason) => format!("allow {reason}"),
                Action::Modify(value) => format!("modify {value}"),
                other => format!("{other:?}"),
            };
            let mut all = vec![action];
            all.extend(outcome.context.iter().map(|it| format!("inject {it}")));
            all.extend(outcome.follow_ups.iter().map(|it| format!("go on {it}")));
            all.extend(outcome.warnings.iter().map(|it| format!("warn {it}")));
            all.join(", ")
        }
    }
}

const HSO_DENY: &str = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}"#;
const HSO_ASK: &str = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "sure?"}}"#;
const HSO_ALLOW: &str = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "r"}}"#;
const HSO_INPUT: &str = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "pwd"}}}"#;

#[test]
fn before_a_tool_call_each_agents_answer_means_what_it_means_there() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let table: &[(Agent, &str, i32, &str, &str, &str)] = &[
        // In Claude Code's shape.
        (Claude, "PreToolUse", 2, "", "why\n", "block why"),
        (Claude, "PreToolUse", 0, HSO_DENY, "", "block no"),
        (Claude, "PreToolUse", 0, HSO_ALLOW, "", "allow r"),
        (Codex, "PreToolUse", 0, HSO_ALLOW, "", "pass"),
        (Codex, "PreToolUse", 0, HSO_DENY, "", "block no"),
        (Codex, "PreToolUse", 2, "", "why\n", "block why"),
        (Codex, "PreToolUse", 2, "", "", "block "),
        (Codex, "PreToolUse", 0, HSO_ASK, "", "ask sure?"),
        (Codex, "PreToolUse", 0, HSO_INPUT, "", r#"modify {"command":"pwd"}"#),
        (
            Codex,
            "PreToolUse",
            0,
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "pwd"}}}"#,
            "",
            "malformed_output: answered wrongly: \"updatedInput\" comes without \"permissionDecision\": \"allow\"",
        ),
        (Codex, "PreToolUse", 0, r#"{"decision": "block", "reason": "r", "continue": 5}"#, "", "block r"),
        (
            Codex,
            "PreToolUse",
            0,
            r#"{"decision": "maybe"}"#,
            "",
            "malformed_output: answered wrongly: \"decision\" must be \"block\" or \"approve\", found \"maybe\"",
        ),
        (Codex, "PreToolUse", 1, "", "boom", "exit: ended with status 1: boom"),
        (Codex, "PreToolUse", 0, "text", "", "pass"),
        (
            Codex,
            "PreToolUse",
            0,
            "hi {\"decision\": \"block\"}",
            "",
            "malformed_output: printed an answer with text before it, which hides it: hi {\"decision\": \"block\"}",
        ),
        (Qwen, "PreToolUse", 0, HSO_DENY, "", "block no"),
        (Qwen, "PreToolUse", 0, r#"{"decision": "deny", "reason": "r"}"#, "", "block r"),
        (Qwen, "PreToolUse", 0, r#"{"decision": "ask", "reason": "r"}"#, "", "ask r"),
        (Qwen, "PreToolUse", 0, r#"{"decision": "allow"}"#, "", "pass"),
        (Qwen, "PreToolUse", 0, HSO_ALLOW, "", "pass"),
        (Qwen, "PreToolUse", 2, "", "why", "block why"),
        (Qwen, "PreToolUse", 2, "", r#"{"decision": "block", "reason": "json"}"#, "block json"),
        (Qwen, "PreToolUse", 0, r#"{"continue": false, "stopReason": "halt"}"#, "", "block halt"),
        (Qwen, "PreToolUse", 1, "", "x", "exit: ended with status 1: x"),
        (Qwen, "PreToolUse", 1, HSO_DENY, "", "block no, warn ended with status 1"),
        (Qwen, "PreToolUse", 2, HSO_DENY, "", "block no"),
        (Codex, "PreToolUse", 1, HSO_DENY, "", "exit: ended with status 1"),
        (Qwen, "PreToolUse", 0, "{broken", "", "malformed_output: "),
        // Gemini CLI.
        (Gemini, "BeforeTool", 0, r#"{"decision": "deny", "reason": "r"}"#, "", "block r"),
        (Gemini, "BeforeTool", 0, r#"{"decision": "block", "reason": 5}"#, "", "block "),
        (Gemini, "BeforeTool", 0, r#"{"decision": "ask", "reason": "r"}"#, "", "ask r"),
        (Gemini, "BeforeTool", 0, r#"{"decision": "allow", "systemMessage": "m"}"#, "", "pass, warn m"),
        (
            Gemini,
            "BeforeTool",
            0,
            r#"{"hookSpecificOutput": {"tool_input": {"command": "pwd"}}}"#,
            "",
            r#"modify {"command":"pwd"}"#,
        ),
        (Gemini, "BeforeTool", 0, HSO_DENY, "", "block no"),
        (Gemini, "BeforeTool", 0, "plain", "", "pass, warn plain"),
        (Gemini, "BeforeTool", 0, "", r#"{"decision": "deny", "reason": "r"}"#, "block r"),
        (Gemini, "BeforeTool", 0, r#""{\"decision\": \"deny\", \"reason\": \"r\"}""#, "", "block r"),
        (Gemini, "BeforeTool", 1, r#"{"decision": "deny", "reason": "r"}"#, "", "block r"),
        (Gemini, "BeforeTool", 1, "", "boom", "exit: ended with status 1: boom"),
        (Gemini, "BeforeTool", 2, "", "why", "block why"),
        (Gemini, "BeforeTool", 2, "", "", "block "),
        (Gemini, "BeforeTool", 3, "", "why", "block why"),
        (Gemini, "BeforeTool", 3, "", "", "exit: ended with status 3"),
        // Copilot CLI.
        (
            Copilot,
            "preToolUse",
            0,
            r#"{"permissionDecision": "deny", "permissionDecisionReason": "no"}"#,
            "",
            "block no",
        ),
        (
            Copilot,
            "PreToolUse",
            0,
            r#"{"permissionDecision": "deny", "permissionDecisionReason": "no"}"#,
            "",
            "block no",
        ),
        (Copilot, "preToolUse", 0, r#"{"permissionDecision": "allow"}"#, "", "allow "),
        (Copilot, "PreToolUse", 0, HSO_ALLOW, "", "allow r"),
        (Copilot, "preToolUse", 0, HSO_DENY, "", "block no"),
        (Copilot, "PreToolUse", 0, HSO_DENY, "", "block no"),
        (
            Copilot,
            "preToolUse",
            0,
            r#"{"permissionDecision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}"#,
            "",
            "block ",
        ),
        (
            Copilot,
            "preToolUse",
            0,
            r#"{"permissionDecision": "ask", "permissionDecisionReason": "sure?"}"#,
            "",
            "ask sure?",
        ),
        (
            Copilot,
            "preToolUse",
            0,
            r#"{"modifiedArgs": {"command": "pwd"}, "additionalContext": "c"}"#,
            "",
            r#"modify {"command":"pwd"}, inject c"#,
        ),
        (Copilot, "PreToolUse", 0, HSO_INPUT, "", r#"modify {"command":"pwd"}"#),
        (Copilot, "preToolUse", 1, "", "boom", "block boom"),
        (Copilot, "preToolUse", 7, "", "", "block the hook ended with status 7"),
        (
            Copilot,
            "preToolUse",
            0,
            r#"{"permissionDecision": 5}"#,
            "",
            "malformed_output: answered wrongly: \"permissionDecision\" must be \"allow\", \"deny\", \"ask\" or \"defer\", found 5",
        ),
        // Cursor.
        (
            Cursor,
            "preToolUse",
            0,
            r#"{"permission": "deny", "user_message": "u", "agent_message": "a"}"#,
            "",
            "block a, warn u",
        ),
        (Cursor, "beforeShellExecution", 0, r#"{"permission": "deny", "userMessage": "u"}"#, "", "block u"),
        (Cursor, "preToolUse", 0, r#"{"permission": "ask", "user_message": "u"}"#, "", "ask u"),
        (Cursor, "preToolUse", 0, r#"{"permission": "allow", "user_message": "u"}"#, "", "allow u"),
        (Cursor, "preToolUse", 0, r#"{"permission": "deny", "continue": "no"}"#, "", "block "),
        (
            Cursor,
            "preToolUse",
            0,
            r#"{"permission": "allow", "updated_input": {"command": "pwd"}}"#,
            "",
            r#"modify {"command":"pwd"}"#,
        ),
        (
            Cursor,
            "preToolUse",
            0,
            r#"{"permission": "alow"}"#,
            "",
            "malformed_output: answered wrongly: \"permission\" must be \"allow\", \"deny\" or \"ask\", found \"alow\"",
        ),
        (Cursor, "preToolUse", 0, "{}", "", "pass"),
        (Cursor, "preToolUse", 0, "", "", "pass"),
        (Cursor, "preToolUse", 0, "text", "", "malformed_output: "),
        (Cursor, "preToolUse", 2, "", "why", "block why"),
        (Cursor, "preToolUse", 1, "", "boom", "exit: ended with status 1: boom"),
    ];
    let call = of("before_tool_call");
    for (agent, name, code, stdout, stderr, want) in table {
        let found = told(hook(*agent, name).outcome(&call, *code, stdout.as_bytes(), stderr));
        let fits = if want.ends_with(": ") { found.starts_with(want) } else { found == *want };
        assert!(fits, "{agent} {name} {code} {stdout:?} {stderr:?}: {found}");
    }
}

#[test]
fn at_other_events_each_agents_answer_means_what_it_means_there() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let block = r#"{"decision": "block", "reason": "r"}"#;
    let context = |name: &str| {
        format!(r#"{{"hookSpecificOutput": {{"hookEventName": "{name}", "additionalContext": "c"}}}}"#)
    };
    let (start, after, agent_start) =
        (context("SessionStart"), context("PostToolUse"), context("BeforeAgent"));
    let table: &[(Agent, &str, &str, i32, &str, &str, &str)] = &[
        (Claude, "Stop", "agent_stop", 0, block, "", "pass, go on r"),
        (Codex, "Stop", "agent_stop", 2, "", "more", "pass, go on more"),
        (Codex, "SessionStart", "session_start", 0, "text", "", "pass, inject text"),
        (Codex, "SessionStart", "session_start", 0, &start, "", "pass, inject c"),
        (Codex, "PostToolUse", "after_tool_call", 0, block, "", "block r"),
        (Codex, "UserPromptSubmit", "user_message_send", 0, block, "", "block r"),
        (Qwen, "UserPromptSubmit", "user_message_send", 0, "text", "", "pass, inject text"),
        (Qwen, "PostToolUse", "after_tool_call", 0, &after, "", "pass, inject c"),
        (
            Qwen,
            "PostToolUse",
            "after_tool_call",
            0,
            r#"{"continue": false, "stopReason": "s"}"#,
            "",
            "block s",
        ),
        (Qwen, "Stop", "agent_stop", 0, block, "", "pass, go on r"),
        (
            Gemini,
            "AfterAgent",
            "agent_stop",
            0,
            r#"{"decision": "deny", "reason": "r"}"#,
            "",
            "pass, go on r",
        ),
        (Gemini, "AfterAgent", "agent_stop", 2, "", "more", "pass, go on more"),
        (Gemini, "BeforeAgent", "user_message_send", 0, &agent_start, "", "pass, inject c"),
        (Gemini, "BeforeAgent", "user_message_send", 0, "text", "", "pass, warn text"),
        (Gemini, "AfterTool", "after_tool_call", 0, r#"{"decision": "deny", "reason": "r"}"#, "", "block r"),
        (Gemini, "SessionStart", "session_start", 1, "", "x", "exit: ended with status 1: x"),
        (Copilot, "sessionStart", "session_start", 0, r#"{"additionalContext": "c"}"#, "", "pass, inject c"),
        (Copilot, "agentStop", "agent_stop", 0, block, "", "pass, go on r"),
        (Copilot, "Stop", "agent_stop", 2, "", "more", "pass, go on more"),
        (Copilot, "userPromptSubmitted", "user_message_send", 0, block, "", "block r"),
        (Copilot, "postToolUse", "after_tool_call", 1, "", "x", "exit: ended with status 1: x"),
        (
            Copilot,
            "postToolUse",
            "after_tool_call",
            0,
            r#"{"modifiedResult": {"resultType": "success", "textResultForLlm": "clean"}}"#,
            "",
            "modify \"clean\"",
        ),
        (Cursor, "stop", "agent_stop", 0, r#"{"followup_message": "more"}"#, "", "pass, go on more"),
        (
            Cursor,
            "beforeSubmitPrompt",
            "user_message_send",
            0,
            r#"{"continue": false, "user_message": "u"}"#,
            "",
            "block u",
        ),
        (Cursor, "sessionStart", "session_start", 0, r#"{"additional_context": "c"}"#, "", "pass, inject c"),
        (
            Cursor,
            "postToolUse",
            "after_tool_call",
            0,
            r#"{"additional_context": "c", "updated_mcp_tool_output": "o"}"#,
            "",
            "modify \"o\", inject c",
        ),
        (Cursor, "postToolUse", "after_tool_call", 0, "done", "", "pass"),
        (Cursor, "preCompact", "pre_compact", 0, r#"{"user_message": "u"}"#, "", "pass, warn u"),
    ];
    for (agent, name, at, code, stdout, stderr, want) in table {
        let found = told(hook(*agent, name).outcome(&of(at), *code, stdout.as_bytes(), stderr));
        assert_eq!(found, *want, "{agent} {name} {code} {stdout:?} {stderr:?}");
    }
}

#[test]
fn a_hook_of_cursor_that_must_answer_fails_where_it_prints_nothing() {
    let strict = hook(Agent::Cursor, "preToolUse").must_answer(true);
    let error = strict.outcome(&of("before_tool_call"), 0, b" \n", "").unwrap_err();
    assert_eq!(error.cause, Cause::MalformedOutput);
    assert!(strict.outcome(&of("after_tool_call"), 0, b"", "").is_ok());
}

#[test]
fn a_tool_is_called_what_the_hooks_agent_calls_it_and_a_change_comes_back() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let line = json!({"command": "ls"});
    for (agent, event, called, input, name, shown) in [
        (Claude, "PreToolUse", "exec_command", json!({"cmd": "ls"}), "Bash", line.clone()),
        (Codex, "PreToolUse", "run_shell_command", line.clone(), "Bash", line.clone()),
        (Gemini, "BeforeTool", "Bash", line.clone(), "run_shell_command", line.clone()),
        (Gemini, "BeforeTool", "exec_command", json!({"cmd": "ls"}), "run_shell_command", line.clone()),
        (Gemini, "BeforeTool", "mcp__t__echo", json!({"a": 1}), "mcp_t_echo", json!({"a": 1})),
        (Qwen, "PreToolUse", "mcp_t_echo", json!({"a": 1}), "mcp__t__echo", json!({"a": 1})),
        (Qwen, "PreToolUse", "replace", json!({"file_path": "/a"}), "edit", json!({"file_path": "/a"})),
        (Copilot, "preToolUse", "Bash", line.clone(), "bash", line.clone()),
        (Copilot, "PreToolUse", "bash", line.clone(), "Bash", line.clone()),
        (
            Copilot,
            "preToolUse",
            "Write",
            json!({"file_path": "/a", "content": "x"}),
            "create",
            json!({"path": "/a", "file_text": "x"}),
        ),
        (
            Copilot,
            "PreToolUse",
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
            "Write",
            json!({"path": "/a", "file_text": "x"}),
        ),
        (Cursor, "preToolUse", "run_shell_command", line.clone(), "Shell", line.clone()),
        (Cursor, "preToolUse", "mcp__t__echo", json!({"a": 1}), "MCP:echo", json!({"a": 1})),
        (Gemini, "BeforeTool", "nobody_knows", json!({"a": 1}), "nobody_knows", json!({"a": 1})),
        (Codex, "PreToolUse", "bash", json!("no json"), "Bash", json!({"command": "no json"})),
    ] {
        let call = before(called, input.clone());
        let hook = hook(agent, event);
        assert_eq!(
            Some(tools::call(hook.spec, &hook.name, &call, call.tool_call().unwrap())),
            Some((name.to_owned(), shown.clone())),
            "{agent} {called}"
        );
        let tool = call.tool_call().unwrap();
        assert_eq!(tools::restore(agent.spec(), &call, tool, shown), input, "{agent} {called}");
    }
    let call = before("exec_command", json!({"cmd": "ls", "x": 1}));
    let answer = br#"{"hookSpecificOutput": {"tool_input": {"command": "pwd"}}}"#;
    let outcome = hook(Agent::Gemini, "BeforeTool").outcome(&call, 0, answer, "").unwrap();
    assert_eq!(outcome.action, Action::Modify(json!({"cmd": "pwd", "x": 1})), "what it leaves alone stays");
}

#[test]
fn each_agents_matcher_names_what_it_names_there() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let table: &[(Agent, &str, &str, &str, bool)] = &[
        (Claude, "PreToolUse", "mcp__git_hub__.*", "MCP:create_issue", true),
        (Claude, "PreToolUse", "mcp__git_hub__.*", "git-hub-create_issue", true),
        (Claude, "PreToolUse", "mcp__git_hub__.*", "git_hub_create_issue", true),
        (Claude, "PreToolUse", "mcp__.*", "git-hub-create_issue", true),
        (Claude, "PreToolUse", "mcp__other__.*", "git-hub-create_issue", false),
        (Claude, "PreToolUse", "Bash", "git-hub-create_issue", false),
        // Seen in the real client, as for Copilot CLI below.
        (Codex, "PreToolUse", "Bash", "exec_command", true),
        (Codex, "PreToolUse", "Bash|Edit", "Bash", true),
        (Codex, "PreToolUse", "Ba.*", "Bash", true),
        (Codex, "PreToolUse", "Ba", "Bash", false),
        (Codex, "PreToolUse", "Bash, Edit", "Bash", false),
        (Codex, "PreToolUse", "Edit|Write", "apply_patch", true),
        (Codex, "PreToolUse", "mcp__t__.*", "mcp_t_echo", true),
        (Gemini, "BeforeTool", "run_shell", "Bash", true),
        (Gemini, "BeforeTool", "write_file|replace", "Edit", true),
        (Gemini, "BeforeTool", "^run_shell_command$", "exec_command", true),
        (Gemini, "BeforeTool", "write_file", "Bash", false),
        (Gemini, "BeforeTool", "mcp_t_.*", "mcp__t__echo", true),
        (Qwen, "PreToolUse", "run_shell_command", "Bash", true),
        (Qwen, "PreToolUse", "shell", "Bash", true),
        (Qwen, "PreToolUse", "edit | write_file", "write_file", true),
        (Qwen, "PreToolUse", "write_file", "Bash", false),
        (Qwen, "PreToolUse", ".*", "x", true),
        (Qwen, "PreToolUse", "Bash", "run_shell_command", true),
        (Qwen, "PreToolUse", "Shell", "run_shell_command", true),
        (Qwen, "PreToolUse", "ShellTool", "run_shell_command", true),
        (Qwen, "PreToolUse", "Bash", "exec_command", true),
        (Qwen, "PreToolUse", "WriteFile | ShellTool", "run_shell_command", true),
        (Qwen, "PreToolUse", "TodoWrite", "todo_write", true),
        (Qwen, "PreToolUse", "WriteFile|Edit", "run_shell_command", false),
        (Qwen, "PreToolUse", "bash", "run_shell_command", false),
        // An expression is for the name of the tool, not for its others.
        (Qwen, "PreToolUse", "^Bash$", "run_shell_command", false),
        (Qwen, "PreToolUse", "^Shell", "Bash", false),
        (Qwen, "PreToolUse", "^run_", "Bash", true),
        (Qwen, "PreToolUse", "mcp__t__.*", "mcp_t_echo", true),
        (Copilot, "preToolUse", "bash", "Bash", true),
        (Copilot, "preToolUse", "ba.*", "exec_command", true),
        (Copilot, "preToolUse", "ba", "bash", false),
        (Copilot, "preToolUse", "bash|edit", "bash", true),
        (Copilot, "PreToolUse", "Bash", "bash", true),
        (Copilot, "PreToolUse", "bash", "bash", true),
        (Copilot, "PreToolUse", "Ba.*", "bash", true),
        (Copilot, "PreToolUse", "ba", "bash", false),
        (Cursor, "preToolUse", "Shell|Write", "Bash", true),
        (Cursor, "preToolUse", "Write", "Edit", true),
        (Cursor, "preToolUse", "Read", "Bash", false),
        (Cursor, "preToolUse", "MCP:echo", "mcp__t__echo", true),
        (Cursor, "beforeShellExecution", "^l", "Bash", true),
        (Cursor, "beforeShellExecution", "rm", "Bash", false),
    ];
    for (agent, name, pattern, called, want) in table {
        let hook = hook(*agent, name).matching(pattern).unwrap();
        let call = before(called, json!({"command": "ls"}));
        assert_eq!(hook.is_for(&call), *want, "{agent} {name} {pattern:?} {called}");
    }
    for pattern in ["", "*", " "] {
        for agent in Agent::with_commands() {
            let name = agent.names_of(EventKind::BeforeToolCall).next().unwrap();
            let hook = hook(agent, name).matching(pattern).unwrap();
            assert!(hook.is_for(&before("Bash", json!({}))), "{agent} {pattern:?}");
        }
    }
    assert!(hook(Gemini, "BeforeTool").matching("B(ash").is_err());
    assert!(hook(Cursor, "preToolUse").matching(&"x".repeat(5000)).is_err());
}

#[test]
fn at_other_events_a_matcher_looks_at_the_source_or_the_trigger() {
    use Agent::{Claude, Codex, Copilot, Cursor, Gemini, Qwen};
    let start = event(EventData::SessionStart { source: Some("resume".into()) });
    let stop = of("agent_stop");
    for (agent, name, pattern, event, want) in [
        (Claude, "SessionStart", "resume|clear", &start, true),
        (Codex, "SessionStart", "resume", &start, true),
        (Codex, "SessionStart", "res", &start, false),
        (Gemini, "SessionStart", "resume", &start, true),
        (Gemini, "SessionStart", "res.*", &start, false),
        (Qwen, "SessionStart", "res.*", &start, true),
        (Copilot, "sessionStart", "nothing", &start, true),
        (Cursor, "stop", "Stop", &stop, true),
        (Cursor, "stop", "Sub", &stop, false),
        (Codex, "Stop", "nothing", &stop, true),
    ] {
        let hook = hook(agent, name).matching(pattern).unwrap();
        assert_eq!(hook.is_for(event), want, "{agent} {name} {pattern}");
    }
}

#[test]
fn a_hook_is_for_the_one_of_its_agents_events_that_an_event_is() {
    let mut inner = of("agent_stop");
    Arc::make_mut(&mut inner.context).invoked_by = InvokedBy::Subagent;
    let failed = {
        let mut result = tool_result(ToolCall::new("bash", json!({})), json!("out"));
        result.success = Some(false);
        event(EventData::AfterToolCall(result))
    };
    for (agent, name, event, want) in [
        (Agent::Codex, "Stop", &inner, false),
        (Agent::Codex, "SubagentStop", &inner, true),
        (Agent::Cursor, "subagentStop", &inner, true),
        (Agent::Codex, "PostToolUse", &failed, true),
        (Agent::Gemini, "AfterTool", &failed, true),
        (Agent::Qwen, "PostToolUse", &failed, false),
        (Agent::Claude, "PostToolUse", &failed, false),
        (Agent::Cursor, "beforeMCPExecution", &of("before_tool_call"), false),
        (Agent::Cursor, "beforeShellExecution", &of("before_tool_call"), true),
        (Agent::Gemini, "BeforeAgent", &of("before_tool_call"), false),
    ] {
        let hook = hook(agent, name);
        assert_eq!(hook.is_for(event), want, "{agent} {name}");
        assert_eq!(hook.encode(event, &Session::default()).is_some(), want, "{agent} {name}");
    }
}

#[test]
fn the_dialect_and_the_table_of_claude_code_have_the_same_other_events() {
    for event in Agent::Claude.spec().other_events {
        assert_eq!(
            crate::dialect::claude::event_name(event.name),
            Some(event.event.event_name()),
            "{}",
            event.name
        );
    }
}

#[test]
fn an_event_that_cannot_be_sent_says_whose_it_is_or_which_is_the_nearest() {
    for (agent, name, want) in [
        (
            Agent::Claude,
            "PreToolUsed",
            "unknown event \"PreToolUsed\" of Claude Code (did you mean PreToolUse?)",
        ),
        (Agent::Claude, "PostToolBatch", "hookbox has no event for Claude Code's PostToolBatch"),
        (Agent::Gemini, "PreToolUse", "unknown event \"PreToolUse\" of Gemini CLI"),
        (Agent::Gemini, "BeforeModel", "hookbox has no event for Gemini CLI's BeforeModel"),
        (Agent::Cursor, "beforeReadFile", "hookbox has no event for Cursor's beforeReadFile"),
        (
            Agent::Cursor,
            "beforeShelExecution",
            "unknown event \"beforeShelExecution\" of Cursor (did you mean beforeShellExecution?)",
        ),
        (Agent::Codex, "\u{1b}[", "unknown event \"\\u{1b}[\" of Codex"),
    ] {
        let error = event_name(agent, name).unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
    for agent in Agent::with_commands() {
        for known in agent.events().iter().filter(|it| it.event != EventKind::AfterTurn) {
            assert_eq!(event_name(agent, known.name), Ok(known.event.event_name()), "{agent} {}", known.name);
        }
    }
}

#[test]
fn a_hook_of_one_agent_blocks_in_the_words_of_every_other_one() {
    let call = EventData::BeforeToolCall(ToolCall::new("Bash", json!({"command": "ls"})));
    let event = Event { context: std::sync::Arc::new(Context::new("c", "/w")), data: call };
    for agent in Agent::with_commands() {
        let name = agent.names_of(EventKind::BeforeToolCall).next().unwrap();
        let hook = AgentHook::new(agent, name).unwrap();
        for answer in [
            json!({"decision": "block", "reason": "r"}),
            json!({"decision": "deny", "reason": "r"}),
            json!({"decision": {"behavior": "deny", "message": "r"}}),
            json!({"behavior": "deny", "message": "r"}),
            json!({"permission": "deny", "agent_message": "r", "user_message": "u"}),
            json!({"permissionDecision": "deny", "permissionDecisionReason": "r"}),
            json!({"hookSpecificOutput": {"permissionDecision": "deny"}, "reason": "r"}),
            json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "r"}}}),
            json!({"continue": false, "stopReason": "r", "reason": "less"}),
            json!({"decision": "approve", "permission": "deny", "reason": "r"}),
            json!({"permissionDecision": "ask", "decision": "deny", "reason": "r"}),
            json!({"blocked": true, "reason": "r"}),
            json!({"action": "block"}),
        ] {
            let found = hook.outcome(&event, 0, answer.to_string().as_bytes(), "").map(|found| found.action);
            assert!(matches!(found, Ok(Action::Block(_))), "{agent} {answer}: {found:?}");
        }
    }
}
