//! Servers over standard input and output: their input, their answers, their failures.

use hookbox::event::EventData;
use hookbox::outcome::Ruling;
use hookbox::report::Status;

use super::*;

#[tokio::test]
async fn the_answers_of_tools_are_acted_on() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = env
        .builder()
        .directories(false)
        .hook(hook(&servers, "inject", EventName::SessionStart, LONG))
        .hook(hook(&servers, "modify", EventName::BeforeToolCall, LONG))
        .hook(hook(&servers, "block", EventName::BeforeToolCall, LONG))
        .hook(hook(&servers, "pass", EventName::TurnEnd, LONG))
        .build()
        .await;
    let session = manager.session("sess_1").agent("dev");
    assert_eq!(session.session_start("startup").await.notes.context, ["remember the milk"]);
    let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
    let changed = verdict.report.hooks.iter().flat_map(|hook| &hook.changes).map(|change| &change.after);
    assert_eq!(changed.collect::<Vec<_>>(), [&json!({"command": "ls -l"})]);
    assert_eq!(verdict.decision.blocked().map(Ruling::for_user), Some("not today"));
    let _ = session.turn_end("Done.", 3).await;

    let seen = arguments(&env);
    assert_eq!(
        (&seen[0]["hook"], &seen[0]["sessionId"], &seen[0]["source"]),
        (&json!("SessionStart"), &json!("sess_1"), &json!("startup"))
    );
    assert_eq!(
        seen[2]["tool"],
        json!({"name": "bash", "input": {"command": "ls -l"}}),
        "as the hook before left it"
    );
    assert_eq!(
        (&seen[3]["event"], &seen[3]["response"]),
        (&json!("turn_end"), &json!("Done.")),
        "Base Coat has no turn_end"
    );
    assert_eq!(record(&env, "starts").len(), 1);
}

#[tokio::test]
async fn a_server_runs_in_its_directory_with_its_variables_and_knows_that_it_is_a_hook() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[("KEY", "k"), ("HOOKBOX_DEPTH", "0")]);
    let manager = env
        .builder()
        .directories(false)
        .hook(hook(&servers, "where", EventName::SessionStart, LONG))
        .build()
        .await;
    let noted = manager.session("c").session_start("startup").await;
    let depth = hookbox::native::depth() + 1;
    assert_eq!(
        noted.notes.context,
        [format!("{depth} k {} home", env.path("").display().to_string().trim_end_matches('/'))]
    );
}

#[tokio::test]
async fn every_failure_has_its_cause() {
    let short = Duration::from_millis(700);
    for (tool, wall, cause, says) in [
        ("never", short, Cause::Timeout, "did not answer within 700ms"),
        ("exit", LONG, Cause::Exit, "ended with status 3 before it answered: no disk"),
        ("signal", LONG, Cause::Signal, "was ended by signal 9 (SIGKILL)"),
        ("close", LONG, Cause::Exit, "closed its standard output before it answered"),
        ("line_flood", LONG, Cause::OutputLimit, "printed more than 4194304 bytes"),
        ("flood", LONG, Cause::OutputLimit, "printed more than 4194304 bytes"),
        (
            "garbage",
            LONG,
            Cause::Exit,
            "it printed 2 lines that are not JSON-RPC messages, the first: Listening!",
        ),
        (
            "wrong_type",
            LONG,
            Cause::MalformedOutput,
            "answered with something other than the result of a tool",
        ),
        ("prose", LONG, Cause::MalformedOutput, "I have noted that."),
        ("image", LONG, Cause::MalformedOutput, "answered with an image"),
        ("fail", LONG, Cause::Exit, "said that it failed: out of paper"),
        ("loadMemory", LONG, Cause::NotFound, "has no tool \"loadMemory\" (did you mean load_memory?)"),
        ("load_memory", LONG, Cause::Exit, "answered with error -32602: what?"),
        ("error", LONG, Cause::NotFound, "has no tool \"error\""),
    ] {
        let env = TestEnvironment::new();
        let servers = tools(&env, &[]);
        let report = call(&guards(&env, &servers, &[(tool, wall)]).await).await;
        let hook = only(&report);
        let message = hook.message.clone().unwrap_or_default();
        assert!(hook.cause == Some(cause) && message.contains(says), "{tool}: {:?} {message}", hook.cause);
    }
}

#[tokio::test]
async fn a_server_that_does_not_come_up_is_one_clear_failure() {
    let rpc =
        r#"message "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"go away\"}}""#;
    for (told, cause, says) in [
        (
            ("AT_START", "echo 'no module named memory' >&2; exit 1"),
            Cause::Exit,
            "ended with status 1 before it answered: no module named memory",
        ),
        (("AT_START", "exec yes"), Cause::OutputLimit, "printed more than"),
        (("HANDSHAKE", "answer 5"), Cause::Incompatible, "answered the handshake"),
        (("HANDSHAKE", "answer '{\"tools\":[]}'"), Cause::Incompatible, "answered the handshake"),
        (("HANDSHAKE", rpc), Cause::Exit, "refused the handshake: it answered with error -32000: go away"),
    ] {
        let env = TestEnvironment::new();
        let servers = tools(&env, &[told]);
        let report = call(&guards(&env, &servers, &[("pass", LONG)]).await).await;
        let message = only(&report).message.clone().unwrap_or_default();
        assert!(only(&report).cause == Some(cause) && message.contains(says), "{told:?}: {message}");
    }
    for (command, cause, says) in [
        ("no-such-server", Cause::NotFound, "no program \"no-such-server\" on PATH"),
        ("./none.sh", Cause::NotFound, "does not exist"),
        ("./plain.txt", Cause::Spawn, "permission denied"),
    ] {
        let env = TestEnvironment::new();
        env.file("plain.txt", "").mode("plain.txt", 0o644);
        let transport = Transport::Stdio {
            command: command.to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            directory: env.path("."),
        };
        let servers = Servers::new(vec![ServerConfig { name: "s".to_owned(), transport }]);
        let report = call(&guards(&env, &servers, &[("pass", LONG)]).await).await;
        let message = only(&report).message.clone().unwrap_or_default();
        assert!(only(&report).cause == Some(cause) && message.contains(says), "{command}: {message}");
    }
}

#[tokio::test]
async fn what_a_server_says_beside_its_answers_does_no_harm() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = guards(&env, &servers, &[("chatty", LONG), ("pass", LONG)]).await;
    assert_eq!(causes(&call(&manager).await), [None, None]);
    let refused = record(&env, "refused");
    assert!(refused.iter().all(|line| line.contains("\"error\"")), "{refused:?}");
    assert!(refused.len() <= 128, "{}", refused.len());
}

#[tokio::test]
async fn what_a_server_writes_to_standard_error_is_the_log_of_the_call() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = guards(&env, &servers, &[("speak", LONG), ("pass", LONG)]).await;
    let report = call(&manager).await;
    assert_eq!((report.hooks[0].log.as_str(), report.hooks[1].log.as_str()), ("a note\n", ""));

    let servers = tools(&env, &[("AT_START", "head -c 300000 /dev/zero | tr '\\0' x >&2")]);
    let report = call(&guards(&env, &servers, &[("pass", LONG)]).await).await;
    assert_eq!((only(&report).status, only(&report).log.len()), (Status::Passed, 64 << 10));
}

#[tokio::test]
async fn sessions_call_a_server_at_once_and_get_their_own_answers() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = guards(&env, &servers, &[("who", LONG)]).await;
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let session = manager.session(format!("c{number}"));
            tokio::spawn(async move {
                let fired = session.fire(EventData::BeforeToolCall(ToolCall::new("bash", json!({})))).await;
                (
                    session.context().conversation_id.clone(),
                    fired.verdict.block.unwrap().for_user().to_owned(),
                )
            })
        })
        .collect();
    for call in calls {
        let (conversation, reason) = call.await.unwrap();
        assert_eq!(conversation, reason);
    }
    assert_eq!(record(&env, "starts").len(), 1);
}
