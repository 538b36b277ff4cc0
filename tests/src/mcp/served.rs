//! `hookbox mcp`: the hooks as tools, in one process for many sessions.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, program, sample};

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
fn an_mcp_client_gets_a_typed_verdict_and_that_of_hookbox_run_as_text() {
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
    let schema = jsonschema::validator_for(&tools["result"]["tools"][3]["outputSchema"]).unwrap();
    for (answer, line) in [(&blocked, &lines[0]), (&passed, &lines[1])] {
        let verdict = env.event(&["before_tool_call"], line);
        assert!(schema.is_valid(&answer["result"]["structuredContent"]));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), verdict);
        assert_eq!(answer["result"]["isError"], Value::Null);
    }
    let decision = &blocked["result"]["structuredContent"]["decision"];
    assert_eq!((&decision["action"], &decision["cause"]), (&json!("block"), &json!("decision")));
    assert!(decision["input"].is_null() && decision["by"] == "guardrail.wasm", "{decision}");
    let decision = &passed["result"]["structuredContent"]["decision"];
    assert_eq!(*decision, json!({"action": "run", "input": lines[1]["tool_input"]}));
    assert_eq!(passed["result"]["structuredContent"]["version"], 1);
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
    assert_eq!(lines.iter().map(|line| &line["error"]["code"]).collect::<Vec<_>>(), [-32_700, -32_600]);
}

#[test]
fn each_field_of_a_tools_schema_is_data_of_its_event() {
    let env = TestEnvironment::new();
    let listed = answers(&env, &[request(1, "tools/list", &json!({}))]);
    let tools = listed[0]["result"]["tools"].as_array().unwrap();
    let given = json!({
        "success": true, "error": null, "duration_ms": 5, "exit_status": 0, "cost_tokens": 7,
        "tool_name": "bash", "tool_input": {"command": "ls"}, "tool_output": "x", "follow_ups": 1, "messages": [],
    });
    let mut fields = 0;
    for (tool, event) in tools.iter().zip(hookbox::EventName::ALL) {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let data: serde_json::Map<_, _> = given.as_object().unwrap().clone().into_iter().collect();
        let data: serde_json::Map<_, _> =
            data.into_iter().filter(|(name, _)| properties.contains_key(name)).collect();
        if !["before_tool_call", "after_tool_call", "agent_stop", "after_turn"].contains(&event.as_str()) {
            continue;
        }
        fields += data.len();
        let answer = &answers(&env, &[call(1, event.as_str(), &Value::Object(data))])[0];
        assert_eq!(answer["result"]["structuredContent"]["warnings"], Value::Null, "{event}: {answer}");
        assert_eq!(answer["result"]["isError"], Value::Null, "{event}: {answer}");
    }
    assert_eq!(fields, 13);
}

#[test]
fn a_connection_is_one_session_with_the_hooks_that_are_there_at_each_event() {
    let env = TestEnvironment::new();
    let add = "printf '#!/bin/sh\\n[ $1 = hook ] && echo turn_end && exit; exit 1\\n' > ~/.hookbox/hooks/new; chmod +x ~/.hookbox/hooks/new";
    env.native("home/.hookbox/hooks/on", "agent_stop", r#"echo '{"follow_up_messages":["go on"]}'"#);
    env.native("home/.hookbox/hooks/add", "session_end", add);
    let mut messages: Vec<Value> = (0..9).map(|id| call(id, "agent_stop", &json!({}))).collect();
    let say = json!({"message": "go"});
    messages.extend([call(11, "user_message_send", &say), call(12, "agent_stop", &json!({}))]);
    messages.extend([call(9, "session_end", &json!({})), call(10, "turn_end", &json!({}))]);
    let answers = answers(&env, &messages);
    let follow_ups =
        answers.iter().filter(|it| !it["result"]["structuredContent"]["follow_ups"].is_null()).count();
    assert_eq!(follow_ups, 9, "at most eight times in a row, and again after a message of the user");
    let warnings = &answers[12]["result"]["structuredContent"]["warnings"];
    assert!(warnings[0].as_str().unwrap().starts_with("new failed"), "{warnings}");
}

/// A connection to a server that answers while its input is open.
struct Running {
    /// The server; `None` if it serves a socket.
    child: Option<Child>,
    input: Box<dyn Write>,
    output: Lines<Box<dyn BufRead>>,
}

impl Running {
    fn new(env: &TestEnvironment) -> Self {
        let mut command = env.command(program());
        let mut child = command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let output: Box<dyn BufRead> = Box::new(BufReader::new(output));
        Self { child: Some(child), input: Box::new(input), output: output.lines() }
    }

    /// Connects to a socket as soon as a process serves it.
    fn on(env: &TestEnvironment, path: &str) -> Self {
        let path = env.path(path);
        let stream = std::iter::repeat_with(|| UnixStream::connect(&path)).find_map(Result::ok).unwrap();
        let output: Box<dyn BufRead> = Box::new(BufReader::new(stream.try_clone().unwrap()));
        Self { child: None, input: Box::new(stream), output: output.lines() }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    /// Returns the next answer, and passes over notifications.
    fn answer(&mut self) -> Value {
        std::iter::repeat_with(|| self.next()).find(|it| !it["id"].is_null()).unwrap()
    }

    fn ends_well(mut self) {
        drop(self.input);
        assert!(self.child.take().unwrap().wait().unwrap().success());
    }
}

fn of(session: &str, id: u64, event: &str) -> Value {
    call(id, event, &json!({"conv_id": session, "tool_name": "bash", "tool_input": {"command": "ls"}}))
}

fn with_meta(mut message: Value, name: &str, value: Value) -> Value {
    message["params"]["_meta"] = json!({ name: value });
    message
}

/// A hook that waits in its own session until the file `go` is there, and then blocks in session `a`.
const WAITS: &str = r#"read -r event
case "$event" in *'"conv_id":"a"'*)
    touch ~/waits
    while [ ! -e ~/go ]; do sleep 0.02; done
    echo '{"blocked":true,"reason":"late"}' ;;
esac"#;

#[test]
fn a_session_does_not_wait_for_another_and_its_own_events_keep_their_order() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut server = Running::new(&env);
    server.send(&of("a", 1, "before_tool_call"));
    server.send(&of("a", 2, "before_tool_call"));
    server.send(&of("b", 3, "before_tool_call"));
    let first = server.answer();
    assert_eq!(
        (&first["id"], &first["result"]["structuredContent"]["decision"]["action"]),
        (&json!(3), &json!("run"))
    );
    env.file("home/go", "");
    for id in [1, 2] {
        let answer = server.answer();
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["structuredContent"]["decision"]["reason"], "late");
    }
    server.ends_well();
}

#[test]
fn a_call_beyond_the_limit_is_told_to_come_again() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut server = Running::new(&env);
    // One session has a part of the places, and others have the rest.
    for id in 0..=64 {
        server.send(&of("a", id, "before_tool_call"));
    }
    let answer = server.answer();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(64), &json!(-32_000)));
    server.send(&of("b", 65, "before_tool_call"));
    assert_eq!(server.answer()["result"]["structuredContent"]["decision"]["action"], "run");
    env.file("home/go", "");
    assert!((0..64).all(|id| server.answer()["id"] == id));
    server.ends_well();
}

#[test]
fn calls_beyond_the_limit_of_all_sessions_are_told_to_come_again() {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/waits",
        "before_tool_call",
        &WAITS.replace(r#""conv_id":"a""#, r#""conv_id":"a"#),
    );
    let mut server = Running::new(&env);
    for id in 0..=256 {
        server.send(&of(&format!("a{}", id % 5), id, "before_tool_call"));
    }
    let answer = server.answer();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(256), &json!(-32_000)));
    env.file("home/go", "");
    assert_eq!((0..256).filter(|_| server.answer()["error"].is_null()).count(), 256);
    server.ends_well();
}

#[test]
fn a_cancelled_call_ends_its_hook_and_gets_no_answer() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut server = Running::new(&env);
    server.send(&of("a", 1, "before_tool_call"));
    while !env.path("home/waits").exists() {
        std::thread::yield_now();
    }
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    // The next event of the session does not wait for the hook that was ended.
    server.send(&of("a", 2, "turn_end"));
    assert_eq!(server.answer()["id"], 2);
    server.ends_well();
}

#[test]
fn a_call_that_was_cancelled_while_it_waited_lets_no_later_one_pass_the_one_before() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut server = Running::new(&env);
    for id in 1..=3 {
        server.send(&of("a", id, if id == 3 { "turn_end" } else { "before_tool_call" }));
    }
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    // The answer of another session comes after the cancellation.
    server.send(&of("b", 4, "turn_end"));
    assert_eq!(server.answer()["id"], 4);
    env.file("home/go", "");
    assert_eq!([server.answer(), server.answer()].map(|it| it["id"].clone()), [1, 3]);
    server.ends_well();
}

#[test]
fn the_deadline_of_a_call_goes_on_while_it_waits_for_its_turn() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut server = Running::new(&env);
    server.send(&of("a", 1, "before_tool_call"));
    server.send(&with_meta(of("a", 2, "before_tool_call"), "hookbox/deadline_ms", json!(50)));
    let late = server.answer();
    assert_eq!((&late["id"], &late["error"]["code"]), (&json!(2), &json!(-32_001)), "{late}");
    env.file("home/go", "");
    assert_eq!(server.answer()["id"], 1);
    server.ends_well();
}

#[test]
fn a_deadline_of_a_call_is_that_of_its_hooks_and_the_verdict_says_why() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    env.file("home/.hookbox/hookbox.toml", "[hooks.waits]\non_failure = \"block\"\n");
    let [late, odd, none] = answers(
        &env,
        &[
            with_meta(of("a", 1, "before_tool_call"), "hookbox/deadline_ms", json!(300)),
            with_meta(of("a", 2, "before_tool_call"), "hookbox/deadline_ms", json!(0)),
            with_meta(of("c", 3, "session_start"), "hookbox/parent", json!(7)),
        ],
    )
    .into_iter()
    .map(|it| (it["id"].as_u64().unwrap(), it))
    .collect::<std::collections::BTreeMap<_, _>>()
    .into_values()
    .collect::<Vec<_>>()
    .try_into()
    .unwrap();
    let decision = &late["result"]["structuredContent"]["decision"];
    assert_eq!((&decision["action"], &decision["cause"]), (&json!("block"), &json!("timeout")), "{late}");
    assert_eq!(odd["error"]["code"], -32_602);
    assert_eq!(none["error"]["code"], -32_602);
}

#[test]
fn a_subagent_has_its_parents_name_for_its_hooks() {
    let env = TestEnvironment::new();
    let tells = r#"read -r event; case "$event" in *'"invoked_by":"subagent"'*) echo '{"blocked":true,"reason":"sub"}' ;; esac"#;
    env.native("home/.hookbox/hooks/tells", "before_tool_call", tells);
    let messages = [
        // The parent is not open yet, as after a new start of the process.
        with_meta(of("sub", 2, "before_tool_call"), "hookbox/parent", json!("main")),
        of("main", 3, "before_tool_call"),
    ];
    let found = answers(&env, &messages);
    let reason = |id: u64| {
        let answer = found.iter().find(|it| it["id"] == id).unwrap();
        answer["result"]["structuredContent"]["decision"]["reason"].clone()
    };
    assert_eq!((reason(2), reason(3)), (json!("sub"), Value::Null));
}

#[test]
fn a_client_learns_of_limits_and_of_hooks_that_change() {
    let env = TestEnvironment::new();
    env.directory("home/.hookbox/hooks");
    let mut server = Running::new(&env);
    server.send(&request(
        1,
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "me"}}),
    ));
    let about = &server.answer()["result"]["capabilities"]["experimental"]["hookbox"];
    assert_eq!(about["verdict_version"], 1);
    assert!(about["limits"]["calls"].as_u64().unwrap() > 100 && about["hooks"].is_u64(), "{about}");
    env.native("home/.hookbox/hooks/new", "before_tool_call", "true");
    let told = server.next();
    assert_eq!(told["method"], "notifications/message");
    assert_eq!(told["params"]["data"], "added new");
    server.send(&request(2, "logging/setLevel", &json!({"level": "error"})));
    assert_eq!(server.answer()["result"], json!({}));
    server.ends_well();
}

fn on_a_socket(env: &TestEnvironment) -> Child {
    let mut command = env.command(program());
    command.args(["mcp", "--socket"]).arg(env.path("home/socket")).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn agents_on_one_socket_have_sessions_of_their_own_and_do_not_wait_for_each_other() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/waits", "before_tool_call", WAITS);
    let mut process = on_a_socket(&env);
    let (mut first, mut second) = (Running::on(&env, "home/socket"), Running::on(&env, "home/socket"));
    assert_eq!(std::fs::metadata(env.path("home/socket")).unwrap().permissions().mode() & 0o777, 0o600);
    first.send(&of("a", 1, "before_tool_call"));
    while !env.path("home/waits").exists() {
        std::thread::yield_now();
    }
    // The session of this name is another one, and the number is free.
    second.send(&of("a", 1, "turn_end"));
    assert_eq!(second.answer()["id"], 1);
    drop(second);
    env.file("home/go", "");
    assert_eq!(first.answer()["result"]["structuredContent"]["decision"]["reason"], "late");

    let other = env.hookbox(["mcp", "--socket", env.path("home/socket").to_str().unwrap()]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("cannot serve on") && other.stderr.contains("hint: "), "{}", other.stderr);
    assert!(Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap().success());
    process.wait().unwrap();
    assert!(!env.path("home/socket").exists());
}

#[test]
fn the_socket_of_a_killed_process_is_replaced_and_another_file_is_not() {
    let env = TestEnvironment::new();
    let mut killed = on_a_socket(&env);
    drop(Running::on(&env, "home/socket"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut process = on_a_socket(&env);
    let mut client = Running::on(&env, "home/socket");
    client.send(&of("a", 1, "turn_end"));
    assert_eq!(client.answer()["id"], 1);
    process.kill().unwrap();
    process.wait().unwrap();

    env.file("home/text", "mine");
    let other = env.hookbox(["mcp", "--socket", env.path("home/text").to_str().unwrap()]);
    assert_eq!((other.code, env.read("home/text").unwrap().as_str()), (Some(2), "mine"), "{}", other.stderr);
}

/// A socket that everybody may open, as between its making and the setting of its mode.
#[test]
fn a_connection_of_another_user_is_refused() {
    let env = TestEnvironment::new();
    let can_be_another = env.command("setpriv").args(["--reuid", "65534", "true"]).status();
    if !can_be_another.is_ok_and(|it| it.success()) {
        println!("skipped: only root can be another user");
        return;
    }
    let mut process = on_a_socket(&env);
    drop(Running::on(&env, "home/socket"));
    for (path, mode) in [(".", 0o755), ("home", 0o755), ("home/socket", 0o666)] {
        env.mode(path, mode);
    }
    let client = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  try: s.send(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n'); print(s.recv(99))\n\
                  except OSError: print(b'')\n";
    for (user, is_answered) in [(Some("65534"), false), (None, true)] {
        let mut command = env.command(if user.is_some() { "setpriv" } else { "env" });
        command
            .args(user.iter().flat_map(|it| ["--reuid", it]))
            .args(["python3", "-c", client])
            .arg(env.path("home/socket"));
        let output = command.output().unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answer.contains("result"), is_answered, "{answer} {:?}", output.stderr);
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn the_verdict_names_the_rule_and_the_code_that_allows_the_call() {
    let env = TestEnvironment::new();
    env.file(
        "home/.hookbox/hooks/mine.rules.toml",
        "[[rule]]\nname = \"no-root\"\ncommand = \"sudo\"\nanswer = \"block\"\nreason = \"No.\"\n",
    );
    let line = json!({"conv_id": "a", "tool_name": "bash", "tool_input": {"command": "sudo ls"}});
    let [answer] = answers(&env, &[call(1, "before_tool_call", &line)]).try_into().unwrap();
    let decision = &answer["result"]["structuredContent"]["decision"];
    assert_eq!((&decision["rule"], &decision["reason"]), (&json!("no-root"), &json!("No.")), "{answer}");
    assert_eq!(decision["code"].as_str().unwrap().len(), 8, "{answer}");
}
