use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::event::{Context, ToolCall};
use EventName::*;

fn read(event: &EventName, stdout: &str) -> Result<Outcome, HookError> {
    outcome(event, 0, stdout.as_bytes(), "noise")
}

fn other(name: &str) -> EventName {
    Other(name.to_owned())
}

fn go_on(message: &str) -> Outcome {
    Outcome::follow_up(message)
}

#[test]
fn exit_code_2_is_a_block_wherever_something_can_be_blocked() {
    for (event, stderr, want) in [
        (BeforeToolCall, "no\n", Outcome::block("no")),
        (BeforeToolCall, "", Outcome::block("")),
        (AfterToolCall, "lint fails", Outcome::block("lint fails")),
        (UserMessageSend, "no", Outcome::block("no")),
        (PreCompact, "not now", Outcome::block("not now")),
        (AgentStop, "run the tests", go_on("run the tests")),
        (AgentStop, " \n", go_on(GO_ON)),
        (OnError, "try -f", Outcome::inject("try -f")),
        (SessionStart, "broken", Outcome::pass().warn("broken")),
        (SessionEnd, "broken", Outcome::pass().warn("broken")),
        (PostCompact, "broken", Outcome::pass().warn("broken")),
        (other("permission_request"), "no", Outcome::block("no")),
        (other("notification"), "x", Outcome::pass().warn("x")),
    ] {
        // The output beside it does not count.
        let printed = br#"{"hookSpecificOutput":{"permissionDecision":"allow"}"#;
        assert_eq!(outcome(&event, 2, printed, stderr), Ok(want), "{event} {stderr:?}");
    }
    let silent = outcome(&SessionEnd, 2, b"", "").unwrap();
    assert_eq!(silent.noticed, ["there is nothing to block at session_end: not applied"]);
}

#[test]
fn any_other_exit_code_without_an_answer_is_a_failure() {
    for code in [1, 3, 127, -1] {
        let error =
            outcome(&BeforeToolCall, code, br#"{"decision":"approve"}"#, "a\n\nb\n\x1b[31mc\nd").unwrap_err();
        assert_eq!(error.cause, Cause::Exit);
        assert_eq!(error.message, format!("ended with status {code}: b | \\u{{1b}}[31mc | d"));
    }
    assert_eq!(outcome(&AgentStop, 1, b"", "").unwrap_err().message, "ended with status 1");
}

#[test]
fn an_answer_means_what_it_means_in_claude_code() {
    let hso = |event: &str, rest: Value| {
        let mut specific = rest;
        specific["hookEventName"] = json!(event);
        json!({ "hookSpecificOutput": specific })
    };
    let pre = |rest: Value| hso("PreToolUse", rest);
    for (event, answer, want) in [
        (BeforeToolCall, json!({}), Outcome::pass()),
        (BeforeToolCall, json!({"continue": true, "suppressOutput": true}), Outcome::pass()),
        (BeforeToolCall, json!({"systemMessage": "w"}), Outcome::pass().warn("w")),
        (BeforeToolCall, json!({"decision": "approve", "reason": "fine"}), Outcome::pass()),
        (BeforeToolCall, json!({"decision": "block", "reason": "no"}), Outcome::block("no")),
        (BeforeToolCall, json!({"decision": "deny", "reason": "no"}), Outcome::block("no")),
        (BeforeToolCall, json!({"continue": false, "stopReason": "enough"}), Outcome::block("enough")),
        (
            BeforeToolCall,
            pre(json!({"permissionDecision": "allow", "permissionDecisionReason": "r"})),
            Outcome::allow("r"),
        ),
        (
            BeforeToolCall,
            pre(json!({"permissionDecision": "deny", "permissionDecisionReason": "r"})),
            Outcome::block("r"),
        ),
        (
            BeforeToolCall,
            pre(json!({"permissionDecision": "ask", "permissionDecisionReason": "r"})),
            Outcome::ask("r"),
        ),
        (BeforeToolCall, pre(json!({"permissionDecision": "defer"})), Outcome::ask("")),
        (BeforeToolCall, pre(json!({"permissionDecision": "allow"})), Outcome::allow("")),
        (
            BeforeToolCall,
            pre(json!({"permissionDecision": "allow", "additionalContext": "c"})),
            Outcome { context: vec!["c".into()], ..Outcome::allow("") },
        ),
        (
            BeforeToolCall,
            pre(json!({"permissionDecision": "allow", "updatedInput": {"command": "ls"}})),
            Outcome::modify(json!({"command": "ls"})),
        ),
        (BeforeToolCall, pre(json!({"updatedInput": {}})), Outcome::modify(json!({}))),
        (BeforeToolCall, pre(json!({"additionalContext": "c"})), Outcome::inject("c")),
        (
            BeforeToolCall,
            pre(
                json!({"permissionDecision": "deny", "permissionDecisionReason": "r", "updatedInput": {"a": 1}}),
            ),
            Outcome::block("r"),
        ),
        (AfterToolCall, json!({"decision": "block", "reason": "r"}), Outcome::block("r")),
        (AfterToolCall, hso("PostToolUse", json!({"updatedToolOutput": {"stdout": ""}})), {
            Outcome::modify(json!({"stdout": ""}))
        }),
        (AfterToolCall, hso("PostToolUse", json!({"updatedMCPToolOutput": "x"})), Outcome::modify("x")),
        (AfterToolCall, json!({"continue": false, "stopReason": "s"}), Outcome::block("s")),
        (UserMessageSend, json!({"decision": "block", "reason": "r"}), Outcome::block("r")),
        (UserMessageSend, hso("UserPromptSubmit", json!({"additionalContext": "c"})), Outcome::inject("c")),
        (SessionStart, hso("SessionStart", json!({"additionalContext": "c"})), Outcome::inject("c")),
        (SessionStart, hso("SessionStart", json!({"additionalContext": "  "})), Outcome::pass()),
        (PreCompact, json!({"decision": "block", "reason": "r"}), Outcome::block("r")),
        (AgentStop, json!({"decision": "block", "reason": "go on"}), go_on("go on")),
        (AgentStop, json!({"decision": "block"}), go_on(GO_ON)),
        (AgentStop, json!({"decision": "block", "reason": "r", "continue": false}), Outcome::pass()),
        (AgentStop, json!({"continue": false, "stopReason": "done"}), Outcome::pass()),
        (OnError, hso("PostToolUseFailure", json!({"additionalContext": "c"})), Outcome::inject("c")),
        (
            other("permission_request"),
            hso("PermissionRequest", json!({"decision": {"behavior": "deny", "message": "m"}})),
            Outcome::block("m"),
        ),
        (
            other("permission_request"),
            hso("PermissionRequest", json!({"decision": {"behavior": "allow"}})),
            { Outcome::pass() },
        ),
    ] {
        assert_eq!(read(&event, &answer.to_string()), Ok(want), "{event} {answer}");
    }
}

#[test]
fn text_is_context_where_claude_code_takes_it_and_a_note_elsewhere() {
    for event in [UserMessageSend, SessionStart] {
        assert_eq!(read(&event, " Branch: main\n"), Ok(Outcome::inject("Branch: main")));
        assert_eq!(read(&event, "[1, 2]"), Ok(Outcome::inject("[1, 2]")));
        assert_eq!(read(&event, " \n\t"), Ok(Outcome::pass()));
    }
    for event in [BeforeToolCall, AfterToolCall, AgentStop, PreCompact] {
        assert_eq!(read(&event, ""), Ok(Outcome::pass()));
        let found = read(&event, "checked \x1b[1m").unwrap();
        let note = format!("printed text that is not an answer at {event}: ignored: checked \\u{{1b}}[1m");
        assert_eq!(found, Outcome { noticed: vec![note], ..Outcome::pass() });
    }
}

#[test]
fn a_block_is_not_lost_because_something_else_is_odd() {
    let deep = format!(
        r#"{{"hookSpecificOutput":{{"updatedInput":{}{},"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for (event, stdout, reason) in [
        (BeforeToolCall, r#"{"decision":"block","reason":5}"#, ""),
        (BeforeToolCall, r#"{"decision":"block","reason":"r","hookSpecificOutput":[]}"#, "r"),
        (
            BeforeToolCall,
            r#"{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"Stop"}}"#,
            "r",
        ),
        (BeforeToolCall, r#"{"decision":"block","decision":"approve"}"#, ""),
        (BeforeToolCall, r#"{"decision":"approve","decision":"block"}"#, ""),
        (BeforeToolCall, r#"{"decision":"block","n":1e999}"#, ""),
        (BeforeToolCall, r#"{"decision":"approve","continue":false}"#, ""),
        (
            BeforeToolCall,
            r#"{"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow","permissionDecisionReason":"r"}}"#,
            "r",
        ),
        (
            BeforeToolCall,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{"permissionDecision":"allow"}}"#,
            "",
        ),
        (BeforeToolCall, r#"{"hookSpecificOutput":{"permissionDecision":"deny","additionalContext":5}}"#, ""),
        (BeforeToolCall, r#"{"hookSpecificOutput":{"permissionDecision":"\u0064eny"},"continue":"yes"}"#, ""),
        (BeforeToolCall, &deep, "r"),
        (AfterToolCall, r#"{"decision":"block","hookSpecificOutput":{"updatedToolOutput":1}}"#, ""),
    ] {
        let found = read(&event, stdout).unwrap();
        assert_eq!(found.action, Action::Block(reason.to_owned()), "{stdout}");
        assert!(!found.noticed.is_empty() || stdout.contains("continue"), "{stdout}");
    }
    let odd = read(&AgentStop, r#"{"decision":"block","reason":"r","systemMessage":5}"#).unwrap();
    assert_eq!((odd.follow_ups, odd.noticed.len()), (vec!["r".to_owned()], 1));
}

#[test]
fn what_is_no_answer_is_malformed() {
    for (event, stdout) in [
        (BeforeToolCall, r#"{"decision":"block""#),
        (BeforeToolCall, "loading profile {\"decision\":\"block\"}"),
        (BeforeToolCall, "loading profile\n{\"decision\":\"approve\"}"),
        (UserMessageSend, "hello {\"continue\":false}"),
        (BeforeToolCall, r#"{"decision":"Block"}"#),
        (BeforeToolCall, r#"{"decision":5}"#),
        (BeforeToolCall, r#"{"continue":"false"}"#),
        (BeforeToolCall, r#"{"systemMessage":{}}"#),
        (BeforeToolCall, r#"{"hookSpecificOutput":"deny"}"#),
        (
            BeforeToolCall,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"maybe"}}"#,
        ),
        (BeforeToolCall, r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":"ls"}}"#),
        (BeforeToolCall, r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}"#),
        (
            SessionStart,
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":["c"]}}"#,
        ),
        (SessionStart, "{not json}"),
        (BeforeToolCall, r#"{"n":1e999}"#),
    ] {
        let error = read(&event, stdout).unwrap_err();
        assert_eq!(error.cause, Cause::MalformedOutput, "{stdout}");
    }
}

#[test]
fn a_block_or_a_question_among_other_text_counts_and_nothing_else() {
    let ask = r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"r"}}"#;
    let block = Action::Block("r".to_owned());
    for (stdout, want) in [
        ("loading profile\n{\"decision\":\"block\",\"reason\":\"r\"}".to_owned(), block.clone()),
        ("{\"decision\":\"block\",\"reason\":\"r\"}\n{}".to_owned(), block.clone()),
        ("{\"level\":\"info\"}{\"decision\":\"block\",\"reason\":\"r\"}".to_owned(), block.clone()),
        ("{not json\n{\n  \"decision\": \"block\",\n  \"reason\": \"r\"\n}\ndone".to_owned(), block.clone()),
        ("{\"a\":\n\u{feff}{\"decision\":\"block\",\"reason\":\"r\"}".to_owned(), block.clone()),
        (format!("{ask}\n{{\"decision\":\"block\",\"reason\":\"r\",\"systemMessage\":\"m\"}}"), block),
        (format!("hello\n{ask}"), Action::Ask("r".to_owned())),
    ] {
        let found = read(&BeforeToolCall, &stdout).unwrap();
        assert_eq!(found.action, want, "{stdout}");
        let warning = "printed its answer among other text: only its block or question counts";
        assert_eq!((found.warnings, found.context), (vec![warning.to_owned()], vec![]), "{stdout}");
    }
    let goes_on = read(&AgentStop, "hello\n{\"decision\":\"block\",\"reason\":\"r\"}").unwrap();
    assert_eq!(goes_on.follow_ups, ["r"]);
    let other = "hello\n{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{}}}";
    assert!(read(&BeforeToolCall, other).is_err());
    // No object begins in another one.
    let nested = "{\"x\":\n{\"decision\":\"block\"}\n}";
    assert_eq!(read(&BeforeToolCall, nested).unwrap().action, Action::Pass);
    // Objects that never end block nothing.
    for hostile in ["{\"a\":\n", "{\"a\":[\n", "{\n", "{}\n", "{\"a\":1,\n"] {
        let found = read(&BeforeToolCall, &hostile.repeat(20_000)).map(|it| it.action);
        assert!(!matches!(found, Ok(Action::Block(_))), "{hostile}");
    }
}

#[test]
fn an_answer_counts_at_every_exit_code() {
    let block = r#"{"decision":"block","reason":"r"}"#;
    let tells = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"c"}}"#;
    let ask = r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"r"}}"#;
    let allow = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    for (code, stdout, stderr, want) in [
        (1, block, "", "block r"),
        (127, block, "boom", "block r"),
        (3, "\u{feff}{\"decision\":\"block\",\"reason\":\"r\"}", "", "block r"),
        (1, "hello\n{\"decision\":\"block\",\"reason\":\"r\"}", "", "block r"),
        (2, block, "", "block r"),
        (2, block, "why", "block why"),
        (2, tells, "", "block "),
        (2, ask, "", "block "),
        (1, ask, "", "Ask(\"r\")"),
        (2, "", "", "block "),
        (1, tells, "", "context c"),
        (1, allow, "", "exit"),
        (1, "hello", "", "exit"),
        (1, "{not json}", "", "exit"),
    ] {
        let found = match outcome(&BeforeToolCall, code, stdout.as_bytes(), stderr) {
            Ok(Outcome { action: Action::Block(reason), .. }) => format!("block {reason}"),
            Ok(Outcome { action: Action::Pass, context, .. }) => format!("context {}", context.concat()),
            Ok(other) => format!("{:?}", other.action),
            Err(error) => error.cause.to_string(),
        };
        assert_eq!(found, want, "{code} {stdout}");
    }
    let found = outcome(&BeforeToolCall, 3, block.as_bytes(), "boom").unwrap();
    assert_eq!(found.warnings, ["ended with status 3: boom"]);
    let text = outcome(&SessionStart, 1, b"hello", "").unwrap_err();
    assert_eq!(text.cause, Cause::Exit);
}

#[test]
fn what_has_no_effect_is_a_note() {
    for (event, stdout, want) in [
        (BeforeToolCall, r#"{"Decision":"block"}"#, vec!["unknown key \"Decision\""]),
        (
            BeforeToolCall,
            r#"{"hookSpecificOutput":{"x":1,"updatedToolOutput":1}}"#,
            vec![
                "\"hookSpecificOutput\" does not say its \"hookEventName\"",
                "unknown key \"hookSpecificOutput.x\"",
                "\"hookSpecificOutput.updatedToolOutput\" has no effect at before_tool_call",
            ],
        ),
        (
            SessionEnd,
            r#"{"decision":"block"}"#,
            vec!["there is nothing to block at session_end: not applied"],
        ),
        (
            SessionStart,
            r#"{"continue":false}"#,
            vec!["\"continue\": false has no effect at session_start: not applied"],
        ),
    ] {
        let found = read(&event, stdout).unwrap();
        assert_eq!(
            (found.action, found.noticed),
            (Action::Pass, want.into_iter().map(str::to_owned).collect())
        );
    }
    let asked = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","updatedInput":{}}}"#;
    let found = read(&BeforeToolCall, asked).unwrap();
    assert_eq!(found.noticed, ["\"hookSpecificOutput.updatedInput\" is not applied beside a question"]);
}

#[test]
fn a_changed_input_comes_back_in_the_agents_own_fields() {
    let call = ToolCall::new("exec_command", json!({"cmd": "ls", "workdir": "/"}));
    let event = Event { context: Arc::new(Context::new("s", "/w")), data: EventData::BeforeToolCall(call) };
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"command": "ls -a", "workdir": "/"},
    }});
    let found = outcome_of(&event, 0, answer.to_string().as_bytes(), "").unwrap();
    assert_eq!(found, Outcome::modify(json!({"workdir": "/", "cmd": "ls -a"})));
}
