//! Integers of any size reach hooks of every kind digit for digit, and the agent after them.

use crate::environment::{TestEnvironment, guest};

/// Changes the command, and passes on everything else. Python reads integers of any size.
const CHANGES: &str = r#"#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "hook":
    print("before_tool_call")
else:
    given = json.load(sys.stdin)["tool_input"]
    given["command"] = "pwd"
    print(json.dumps({"input": given}))
"#;

/// A tool's input with this integer in several places.
fn input(command: &str, number: &str) -> String {
    format!(r#"{{"command":"{command}","n":{number},"in":{{"list":[1.5,{number},"{number}"]}}}}"#)
}

/// Removes the spaces that Python writes.
fn compact(text: &str) -> String {
    text.replace(' ', "")
}

#[test]
fn integers_of_any_size_reach_every_hook_and_the_verdict_digit_for_digit() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/1-sees", "before_tool_call", "cat > \"$HOME/first\"");
    env.script("home/.hookbox/hooks/2-changes", CHANGES);
    env.native("home/.hookbox/hooks/3-sees", "before_tool_call", "cat > \"$HOME/second\"");
    env.copy("home/.hookbox/hooks/4-tells.wasm", &guest("answers"));
    env.file(
        "home/.hookbox/hooks.json",
        r#"{"hooks":{"PreToolUse":[{"command":"cat > \"$HOME/envelope\""}]}}"#,
    );
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"4-tells.wasm\"]\nsettings = { tell = true }\n");
    for number in [
        "9007199254740993",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "1234567890123456789012345678901234567890",
        "-9223372036854775809",
        "-1234567890123456789012345678901234567890",
    ] {
        let payload = format!(r#"{{"tool_name":"bash","tool_input":{}}}"#, input("ls", number));
        let output = env.hookbox_with(["run", "before_tool_call"], &payload);
        let seen = |file: &str| env.read(&format!("home/{file}")).unwrap();
        let (before, after) = (input("ls", number), input("pwd", number));
        assert!(seen("first").contains(&format!("\"tool_input\":{before}")), "{}", seen("first"));
        assert!(seen("second").contains(&format!("\"tool_input\":{after}")), "{}", seen("second"));
        assert!(seen("envelope").contains(&format!("\"input\":{after}")), "{}", seen("envelope"));
        let told = serde_json::to_string(&after).unwrap();
        assert!(output.stdout.contains(&format!("\"input\":{after}")), "{output:#?}");
        assert!(output.stdout.contains(&format!("\"additional_context\":[{told}]")), "{output:#?}");
        let report = env.hookbox_with(["run", "before_tool_call", "--report"], &payload);
        assert!(report.stdout.contains(&format!("\"input\":{after}")), "{report:#?}");
    }
}

#[test]
fn an_output_and_an_envelope_keep_their_digits_and_two_documents_are_not_mixed_up() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/sees", "after_tool_call", "cat > \"$HOME/seen\"");
    let (one, two) = ("18446744073709551616", "18446744073709551617");
    for payload in [
        format!(r#"{{"tool_name":"t","tool_input":{{"n":{one}}},"tool_output":{{"n":{two}}}}}"#),
        // Of a name that is there twice the last one counts, as for every reader of JSON.
        format!(
            r#"{{"tool_name":"t","tool_input":{{"n":{two}}},"tool_input":{{"n":{two},"n":{one}}},"tool_output":{{"n":{two}}}}}"#
        ),
        format!(
            r#"{{"hook":"PostToolUse","tool":{{"name":"t","input":{{"n":{one}}},"output":{{"n":{two}}}}}}}"#
        ),
        format!(r#"{{"tool_output":{{"n":{two}}},"tool_name":"t","tool_input":{{"n":{one}}}}}"#),
    ] {
        let output = env.hookbox_with(["run", "after_tool_call"], &payload);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let seen = env.read("home/seen").unwrap();
        let want = format!(r#""tool_input":{{"n":{one}}},"tool_output":{{"n":{two}}}"#);
        assert!(seen.contains(&want), "{payload}: {seen}");
    }
}

#[test]
fn a_hook_of_an_agent_gets_the_digits_that_the_agent_sent() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/sees", "before_tool_call", "cat > \"$HOME/seen\"");
    let number = "-1234567890123456789012345678901234567890";
    let payload = format!(
        r#"{{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{}}}"#,
        input("ls", number)
    );
    let output = env.hookbox_with(["bridge", "claude"], &payload);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let seen = env.read("home/seen").unwrap();
    assert!(compact(&seen).contains(&input("ls", number)), "{seen}");
}
