//! `hookbox mcp`: the hooks as tools for an agent without hooks.

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, sample};

/// Sends these messages on one connection, and returns the answers by id.
fn answers(env: &TestEnvironment, messages: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let output = env.hookbox_with(["mcp"], lines.join("\n"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

#[test]
fn an_mcp_client_gets_the_verdict_of_hookbox_run() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let lines = ["sudo ls", "ls"].map(|line| json!({"tool_name": "bash", "tool_input": {"command": line}}));
    let [first, tools, blocked, passed] = answers(
        &env,
        &[
            request(1, "initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}})),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request(2, "tools/list", &json!({})),
            call(3, "before_tool_call", &lines[0]),
            call(4, "before_tool_call", &lines[1]),
        ],
    )
    .try_into()
    .unwrap();
    assert_eq!(first["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(first["result"]["serverInfo"]["name"], "hookbox");
    let listed: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(listed, hookbox::EventName::ALL.each_ref().map(|event| event.as_str()));
    let before = &tools["result"]["tools"][3]["inputSchema"];
    assert_eq!(before["required"], json!(["tool_name", "tool_input"]));
    assert!(before["properties"]["tool_input"].is_object() && before["properties"]["event"].is_null());
    for (answer, line) in [(&blocked, &lines[0]), (&passed, &lines[1])] {
        let verdict = env.event(&["before_tool_call"], line);
        assert_eq!(answer["result"]["structuredContent"], verdict);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), verdict);
        assert_eq!(answer["result"]["isError"], Value::Null);
    }
    assert_eq!(blocked["result"]["structuredContent"]["blocked"], true);
}

#[test]
fn a_call_for_which_no_hook_ran_is_an_error() {
    let env = TestEnvironment::new();
    let odd = [
        (call(1, "before_tool_call", &json!({"tool_name": 5})), "/result/isError", json!(true)),
        (call(1, "before_tool_call", &json!({})), "/result/isError", json!(true)),
        (call(1, "before_tool_call", &Value::Null), "/result/isError", json!(true)),
        (call(1, "after_tool_call", &json!({"tool_output": {}})), "/result/isError", json!(true)),
        (
            call(1, "before_tool_call", &json!({"tool_name": "bash", "input": {"command": "sudo ls"}})),
            "/result/content/0/text",
            json!("before_tool_call has no field \"input\" (did you mean tool_input?)"),
        ),
        (call(1, "no_such_event", &json!({})), "/error/code", json!(-32_602)),
        (call(1, "before_tool_call", &json!("text")), "/error/code", json!(-32_602)),
        (request(1, "resources/list", &json!({})), "/error/code", json!(-32_601)),
        (json!({"jsonrpc": "2.0", "id": 1}), "/error/code", json!(-32_600)),
        (request(1, "ping", &json!(null)), "/result", json!({})),
    ];
    for (message, pointer, expected) in odd {
        let answer = answers(&env, std::slice::from_ref(&message));
        assert_eq!(answer[0].pointer(pointer), Some(&expected), "{message}: {answer:?}");
    }
    let output = env.hookbox_with(["mcp"], "not JSON\n[]\n\n");
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| &line["error"]["code"]).collect::<Vec<_>>(), [-32_700, -32_700]);
}

#[test]
fn a_connection_is_one_session_with_the_hooks_that_are_there_at_each_event() {
    let env = TestEnvironment::new();
    let add = "printf '#!/bin/sh\\n[ $1 = hook ] && echo turn_end && exit; exit 1\\n' > ~/.hookbox/hooks/new; chmod +x ~/.hookbox/hooks/new";
    env.native("home/.hookbox/hooks/on", "agent_stop", r#"echo '{"follow_up_messages":["go on"]}'"#);
    env.native("home/.hookbox/hooks/add", "session_end", add);
    let mut messages: Vec<Value> = (0..9).map(|id| call(id, "agent_stop", &json!({}))).collect();
    messages.extend([call(9, "session_end", &json!({})), call(10, "turn_end", &json!({}))]);
    let answers = answers(&env, &messages);
    let follow_ups = answers
        .iter()
        .filter(|it| !it["result"]["structuredContent"]["follow_up_messages"].is_null())
        .count();
    assert_eq!(follow_ups, 8, "an agent goes on at most eight times in a row");
    let warnings = &answers[10]["result"]["structuredContent"]["warnings"];
    assert!(warnings[0].as_str().unwrap().starts_with("new failed"), "{warnings}");
}
