//! Hooks that are HTTP services (`"type": "http"`), with servers of this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookbox::hook::Cause;
use hookbox::manager::Manager;
use hookbox::report::HookReport;
use hookbox::{Network, ToolCall};
use serde_json::{Value, json};

use super::{bash, declare, problems, statuses, succeeds};
use crate::environment::{TestEnvironment, sample};
use crate::network::Authority;

const FILE: &str = "home/.hookbox/hooks.json";
const BLOCK: &str = r#"{"action":"block","reason":"policy"}"#;

/// The answer to a request.
#[derive(Clone)]
enum Reply {
    /// A status line and a body; the connection stays open.
    Status(&'static str, String),
    /// These bytes; the connection ends.
    Bytes(Vec<u8>),
    /// An answer, and then the connection ends without a word.
    Once(&'static str),
    /// The connection ends without an answer.
    Reset,
    /// No answer; the connection stays open.
    Hang,
}

fn ok(body: &str) -> Reply {
    Reply::Status("200 OK", body.to_owned())
}

/// A request as the service read it.
#[derive(Clone, Debug)]
struct Request {
    head: String,
    body: Value,
    /// The number of the connection, from 0.
    connection: usize,
}

/// A service, and the requests that it has read. It ends with the process of the tests.
struct Service {
    origin: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Service {
    /// Starts a service that answers the request of this number, from 0.
    fn new(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (requests, reply) = (Arc::clone(&seen), Arc::new(reply));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (requests, reply, stream) = (Arc::clone(&requests), Arc::clone(&reply), stream.unwrap());
                std::thread::spawn(move || serve(stream, number, &requests, &*reply));
            }
        });
        Self { origin, seen }
    }

    fn url(&self) -> String {
        format!("{}/hook", self.origin)
    }

    fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    stream: TcpStream,
    connection: usize,
    seen: &Mutex<Vec<Request>>,
    reply: &dyn Fn(usize) -> Reply,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok().filter(|n| *n > 0)?;
            if line.trim().is_empty() {
                break;
            }
            let line = line.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap();
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(Request { head, body, connection });
            seen.len() - 1
        };
        let whole = |status: &str, body: &str| {
            format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        };
        let stream = stream.get_mut();
        match reply(number) {
            Reply::Status(status, body) => stream.write_all(whole(status, &body).as_bytes()).ok()?,
            Reply::Once(body) => return stream.write_all(whole("200 OK", body).as_bytes()).ok(),
            Reply::Bytes(bytes) => return stream.write_all(&bytes).ok(),
            Reply::Reset => return None,
            Reply::Hang => loop {
                std::thread::park();
            },
        }
    }
}

/// An address at which nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/hook", listener.local_addr().unwrap())
}

async fn asked(manager: &Manager) -> HookReport {
    let call = ToolCall::new("bash", json!({"command": "ls"}));
    let report = manager.session("c").before_tool_call(call).await.report.clone();
    assert_eq!(report.hooks.len(), 1, "{report:#?}");
    report.hooks[0].clone()
}

#[test]
fn an_event_is_posted_in_the_form_of_its_entry_and_the_answer_counts() {
    let service = Service::new(|n| match n {
        0 => ok(BLOCK),
        1 => ok(
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"claude"}}"#,
        ),
        2 => ok(r#"{"action":"modify","modifiedInput":{"command":"ls -l"}}"#),
        3 => ok(
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls -a"}}}"#,
        ),
        4 => Reply::Status("204 No Content", String::new()),
        _ => ok("{}"),
    });
    let flat = json!({"type": "http", "url": service.url(), "headers": {"Authorization": "Bearer $TOKEN"}, "allowedEnvVars": ["TOKEN"]});
    let group = json!({"matcher": "Bash", "hooks": [flat]});
    let env = TestEnvironment::new().variable("TOKEN", "s3cr3t");
    for (entry, want) in [
        (&flat, json!({"blocked": true, "reason": "policy"})),
        (&group, json!({"blocked": true, "reason": "claude"})),
        (&flat, json!({"input": {"command": "ls -l"}})),
        (&group, json!({"input": {"command": "ls -a"}})),
        (&flat, json!({})),
        (&group, json!({})),
    ] {
        declare(&env, FILE, "PreToolUse", &json!([entry]));
        let found = env.event(&["before_tool_call"], &bash("ls"));
        for (key, value) in want.as_object().unwrap() {
            assert_eq!(&found[key], value, "{entry} {found:#}");
        }
        assert_eq!(found["blocked"].as_bool().unwrap_or_default(), want["blocked"] == true, "{found:#}");
    }
    let requests = service.requests();
    assert_eq!(requests.len(), 6);
    for Request { head, body, .. } in &requests {
        assert!(head.starts_with("post /hook http/1.1\r\n"), "{head}");
        for field in
            ["authorization: bearer s3cr3t", "content-type: application/json", "user-agent: hookbox/"]
        {
            assert!(head.contains(field), "{head}");
        }
        assert_eq!(
            body["tool_input"]["command"].as_str().or(body["tool"]["input"]["command"].as_str()),
            Some("ls")
        );
    }
    assert_eq!(
        (&requests[0].body["hook"], &requests[1].body["hook_event_name"]),
        (&json!("PreToolUse"), &json!("PreToolUse"))
    );
    let facts = &requests[0].body["facts"];
    assert_eq!(
        (&facts["cwd"], &facts["kind"], &facts["command"], &facts["paths"]),
        (&json!(env.path("repo")), &json!("shell"), &json!("ls"), &json!([])),
        "{facts:#}"
    );
    assert!(requests[1].body.get("facts").is_none(), "the payload of another agent has its own fields only");
}

#[test]
fn a_matcher_a_condition_and_another_event_send_nothing() {
    let service = Service::new(|_| ok(BLOCK));
    let env = TestEnvironment::new();
    let http = |more: Value| {
        let mut hook = json!({"type": "http", "url": service.url()});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let entries = json!([
        {"matcher": "Write", "hooks": [http(json!({}))]},
        {"matcher": "Bash", "hooks": [http(json!({"if": "Bash(git *)"}))]},
        http(json!({"matcher": "kind:edit"})),
    ]);
    declare(&env, FILE, "PreToolUse", &entries);
    assert_ne!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
    assert!(service.requests().is_empty());
    assert_eq!(env.event(&["before_tool_call"], &bash("git push"))["blocked"], true);
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn every_failure_of_a_service_has_its_cause_and_blocks_for_a_guard() {
    const LONG: &str = "600s";
    let other = Service::new(|_| ok(BLOCK));
    let to_other =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url());
    let huge = format!("{{\"reason\":\"{}\"}}", "x".repeat(5 << 20));
    let endless = |n: usize| Reply::Bytes([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &vec![b' '; n]].concat());
    let status = |status, body: &str| Reply::Status(status, body.to_owned());
    let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
    for (reply, timeout, cause, says) in [
        (status("500 Internal Server Error", BLOCK), LONG, Cause::Exit, "answered HTTP 500: {\"action\""),
        (status("401 Unauthorized", "who\u{1b}[2J"), LONG, Cause::Exit, "answered HTTP 401: who\\u{1b}[2J"),
        (bytes(&to_other), LONG, Cause::Exit, "answered HTTP 307"),
        (status("200 OK", "Noted."), LONG, Cause::MalformedOutput, "is not a JSON object: Noted."),
        (status("200 OK", "[]"), LONG, Cause::MalformedOutput, "is not a JSON object"),
        (status("200 OK", r#"{"action":"block""#), LONG, Cause::MalformedOutput, "is not a JSON object"),
        (status("200 OK", r#"{"action":"stop"}"#), LONG, Cause::MalformedOutput, "stop"),
        (status("200 OK", &huge), LONG, Cause::OutputLimit, "printed more than"),
        (endless(5 << 20), LONG, Cause::OutputLimit, "printed more than"),
        (Reply::Hang, "300ms", Cause::Timeout, "did not answer within 300ms"),
        (
            bytes("HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{\"action\":"),
            LONG,
            Cause::Exit,
            "the connection ended",
        ),
        (bytes("SSH-2.0-x\r\n"), LONG, Cause::MalformedOutput, "answered wrongly"),
        (Reply::Reset, LONG, Cause::Exit, "the connection ended"),
    ] {
        for policy in ["pass", "block"] {
            let answer = reply.clone();
            let service = Service::new(move |_| answer.clone());
            let env = TestEnvironment::new();
            let entry = json!({"url": service.url(), "timeout": timeout, "on_failure": policy});
            declare(&env, FILE, "PreToolUse", &json!([entry]));
            let report = asked(&env.builder().build().await).await;
            let message = report.message.clone().unwrap_or_default();
            assert!(report.cause == Some(cause) && message.contains(says), "{says}: {report:#?}");
            // Only a request of whose answer nothing came is sent again.
            let times = if matches!(reply, Reply::Reset) { 2 } else { 1 };
            assert_eq!(service.requests().len(), times, "{says}");
        }
    }
    assert!(other.requests().is_empty(), "a redirect is not followed");
    let env = TestEnvironment::new();
    declare(&env, FILE, "PreToolUse", &json!([{"url": nobody(), "on_failure": "block"}]));
    let report = asked(&env.builder().build().await).await;
    assert_eq!(
        (report.cause, report.message.as_deref().map(|it| it.contains("refused"))),
        (Some(Cause::Spawn), Some(true)),
        "{report:#?}"
    );
    let verdict = env.event(&["before_tool_call"], &bash("ls"));
    assert_eq!(verdict["blocked"], true, "{verdict:#}");
    declare(&env, FILE, "PreToolUse", &json!([{"url": nobody()}]));
    assert_ne!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
}

#[tokio::test]
async fn a_session_keeps_its_connection_and_a_closed_one_costs_no_answer() {
    let env = TestEnvironment::new();
    let kept = Service::new(|_| ok(BLOCK));
    let closing = Service::new(|_| Reply::Once(BLOCK));
    // The third request comes over a connection that ends without an answer.
    let restarted = Service::new(|n| if n == 2 { Reply::Reset } else { ok(BLOCK) });
    for (service, connections) in [(&kept, 1), (&closing, 4), (&restarted, 2)] {
        declare(&env, FILE, "PreToolUse", &json!([{"url": service.url(), "timeout": "60s"}]));
        let manager = env.builder().build().await;
        for _ in 0..4 {
            let report = asked(&manager).await;
            assert_eq!(report.message.as_deref(), Some("policy"), "{report:#?}");
        }
        let seen = service.requests();
        assert_eq!(seen.last().unwrap().connection + 1, connections, "{seen:#?}");
    }
    assert_eq!(restarted.requests().len(), 5);
    assert!(kept.requests().iter().all(|it| !it.head.contains("connection: close")));
}

#[tokio::test]
async fn a_certificate_and_a_private_address_are_checked() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (port, requests) = ours.serve(&["policy.test"]).await;
    let named = format!("https://policy.test:{port}/hook");
    let network = |authority: &Authority| {
        Network::with_roots(authority.pem.as_bytes())
            .unwrap()
            .with_resolver(|_| async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
    };
    let listed = json!(["127.0.0.1"]);
    for (url, addresses, network, cause, says) in [
        (
            named.clone(),
            &json!([]),
            network(&ours),
            Cause::Denied,
            "add \"addresses\": [\"127.0.0.1\"] to its entry",
        ),
        (named.clone(), &listed, network(&theirs), Cause::Spawn, "certificate is not accepted"),
        (
            format!("https://127.0.0.1:{port}"),
            &json!([]),
            network(&ours),
            Cause::Spawn,
            "certificate is not accepted",
        ),
        (
            format!("https://other.test:{port}"),
            &listed,
            network(&ours),
            Cause::Spawn,
            "certificate is not accepted",
        ),
        // The server answers with the head of the request.
        (named, &listed, network(&ours), Cause::MalformedOutput, "is not a JSON object: POST /hook HTTP/1.1"),
    ] {
        let env = TestEnvironment::new();
        let before = requests.load(std::sync::atomic::Ordering::Relaxed);
        declare(&env, FILE, "PreToolUse", &json!([{"url": url, "addresses": addresses, "timeout": "60s"}]));
        let report = asked(&env.builder().network(network).build().await).await;
        let message = report.message.clone().unwrap_or_default();
        assert!(report.cause == Some(cause) && message.contains(says), "{says}: {report:#?}");
        let sent = requests.load(std::sync::atomic::Ordering::Relaxed) - before;
        assert_eq!(sent, usize::from(cause == Cause::MalformedOutput));
    }
}

#[test]
fn a_service_that_cannot_be_asked_is_told_and_a_guard_of_it_blocks() {
    let service = Service::new(|_| ok("{}"));
    let url = service.url();
    let env = TestEnvironment::new();
    let token = json!({"Authorization": "Bearer ${TOKEN}"});
    for (entry, says) in [
        (
            json!({"url": url, "headers": token, "allowedEnvVars": ["TOKEN"]}),
            "needs the variable TOKEN, which is not set",
        ),
        (
            json!({"url": url, "headers": token}),
            "needs the variable TOKEN, which is not among its allowedEnvVars",
        ),
        (json!({"url": url, "header": token}), "unknown key \"header\" (did you mean headers?)"),
        (json!({"url": "https://user:word@a.org"}), "it names a user"),
        (json!({"url": "https://a b.org"}), "its address is not valid"),
        (json!({"url": url, "headers": {"X": "a\nb"}}), "its header \"X\" has no value of a header"),
        (
            json!({"url": url, "headers": {"content-length": "0"}}),
            "the length of the event is not its to set",
        ),
        (json!({"url": url, "command": "true"}), "found"),
        (json!({"hooks": [{"type": "http", "url": url, "command": "true"}]}), "unknown key \"command\""),
        (json!({"hooks": [{"type": "http", "uri": url}]}), "expected url, found none"),
        (json!({"hooks": [{"type": "http", "url": url, "async": true}]}), "unknown key \"async\""),
    ] {
        let mut entry = entry;
        let handler = if entry["hooks"].is_array() { &mut entry["hooks"][0] } else { &mut entry };
        handler["on_failure"] = json!("block");
        declare(&env, FILE, "PreToolUse", &json!([entry]));
        let told = problems(&env);
        assert!(told.iter().any(|it| it.contains(says)), "{entry}: {told:#?}");
        assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] invalid"], "{entry}");
        let verdict = env.event(&["before_tool_call"], &bash("ls"));
        assert_eq!(verdict["blocked"], true, "{entry}: {verdict:#}");
    }
    assert!(service.requests().is_empty());
}

#[test]
fn a_repositorys_service_gets_nothing_until_it_is_trusted_as_it_is() {
    let service = Service::new(|_| ok(BLOCK));
    let env = TestEnvironment::new().variable("TOKEN", "s3cr3t");
    let entry = |path: &str| json!({"url": format!("{}{path}", service.origin), "allowedEnvVars": ["TOKEN"], "headers": {"X": "$TOKEN"}});
    declare(&env, "repo/.hookbox/hooks.json", "PreToolUse", &json!([entry("/a")]));
    assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] untrusted"]);
    assert_ne!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
    assert!(service.requests().is_empty());
    let shown = env.hookbox(["trust", "hooks.json#PreToolUse[0]", "--yes"]);
    succeeds(&shown);
    let runs = format!("  runs    POST {}/a with $TOKEN", service.origin);
    assert!(shown.stderr.contains(&runs) && shown.stderr.contains("sends its events there"), "{shown:#?}");
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
    declare(&env, "repo/.hookbox/hooks.json", "PreToolUse", &json!([entry("/b")]));
    assert_eq!(statuses(&env), ["hooks.json#PreToolUse[0] untrusted"], "another address is another hook");
    assert_ne!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn the_program_shows_a_service_and_runs_that_of_claude_code_for_any_agent() {
    let service = Service::new(|_| {
        ok(
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
        )
    });
    let env = TestEnvironment::new();
    let hook = json!({"type": "http", "url": service.url(), "timeout": 20, "statusMessage": "Asking"});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    env.file("home/.claude/settings.json", settings.to_string());
    let row = &env.list(&["--from", "claude"])[0];
    let want = json!({"name": "~/.claude/settings.json#PreToolUse[0]", "kind": "http", "status": "active", "timeout": "20s"});
    for (key, value) in want.as_object().unwrap() {
        assert_eq!(&row[key], value, "{row:#}");
    }
    let verdict = env.event(&["before_tool_call", "--from", "claude"], &bash("ls"));
    assert_eq!((&verdict["blocked"], &verdict["reason"]), (&json!(true), &json!("no")), "{verdict:#}");
    let call = json!({"hook_event_name": "BeforeTool", "session_id": "s", "cwd": env.path("repo"), "tool_name": "run_shell_command", "tool_input": {"command": "ls"}});
    let output = env.hookbox_with(["bridge", "gemini", "--from", "claude"], call.to_string());
    assert!(output.stdout.contains("\"deny\""), "{output:#?}");
    assert!(service.requests().iter().all(|it| it.body["tool_name"] == "Bash"), "{:#?}", service.requests());
    let explained = env.hookbox(["explain", "ls", "--from", "claude"]);
    let rights = format!("none here: it gets its events by POST {}", service.url());
    assert!(explained.stdout.contains(&rights), "{explained:#?}");
}

#[tokio::test]
async fn a_hung_service_costs_its_own_time_and_no_more() {
    let service = Service::new(|_| Reply::Hang);
    let env = TestEnvironment::new();
    declare(
        &env,
        FILE,
        "PreToolUse",
        &json!([{"url": service.url(), "timeout": "100ms"}, {"command": "true"}]),
    );
    let manager = env.builder().build().await;
    let call = ToolCall::new("bash", json!({"command": "ls"}));
    let verdict = manager.session("c").before_tool_call(call).await;
    let causes: Vec<_> = verdict.report.hooks.iter().map(|it| it.cause).collect();
    assert_eq!(causes, [Some(Cause::Timeout), None]);
    assert!(verdict.report.hooks[0].duration >= Duration::from_millis(100));
}

#[test]
fn a_table_of_hookbox_toml_declares_a_service() {
    let service = Service::new(|_| ok(BLOCK));
    let env = TestEnvironment::new();
    let url = service.url();
    let table = |http: &str| {
        format!(
            "[hooks.policy]\nhttp = {{ {http} }}\ntimeout = \"2s\"\non_failure = \"block\"\npriority = 7\n"
        )
    };
    let file = "home/.hookbox/hookbox.toml";
    env.file(
        file,
        table(&format!("event = \"before_tool_call\", matcher = \"kind:shell\", url = \"{url}\"")),
    );
    let row = &env.list(&[])[0];
    let want = json!({"name": "policy", "kind": "http", "status": "active", "timeout": "2s", "priority": 7, "on_failure": "block", "events": ["before_tool_call"], "path": env.path(file)});
    for (key, value) in want.as_object().unwrap() {
        assert_eq!(&row[key], value, "{key}: {row:#}");
    }
    assert_eq!(problems(&env), Vec::<String>::new());
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["blocked_by"], "policy");
    let other = json!({"tool_name": "read", "tool_input": {"path": "/a"}});
    assert_ne!(env.event(&["before_tool_call"], &other)["blocked"], true);
    assert_eq!(service.requests().len(), 1);
    for (http, says) in [
        (format!("url = \"{url}\""), "line 1: http: expected event, found none"),
        (format!("event = \"before_tool\", url = \"{url}\""), "line 1: http: unknown event \"before_tool\""),
        ("event = \"PreToolUse\", url = \"ftp://x\"".to_owned(), "line 1: http: url: expected an address"),
        ("event = \"PreToolUse\", command = \"true\"".to_owned(), "is for an HTTP service only"),
        (format!("event = \"PreToolUse\", url = \"{url}\", header = {{}}"), "unknown key \"header\""),
    ] {
        env.file(file, table(&http));
        let told = problems(&env);
        assert!(told.iter().any(|it| it.contains(says)), "{http}: {told:#?}");
        let verdict = env.event(&["before_tool_call"], &bash("ls"));
        assert_eq!(verdict["blocked"], true, "{http}: a guard that is lost blocks: {verdict:#}");
    }
    assert_eq!(service.requests().len(), 1);
    env.file(file, "");
    env.file("repo/.hookbox/hookbox.toml", table(&format!("event = \"PreToolUse\", url = \"{url}\"")));
    assert_eq!(statuses(&env), ["policy untrusted"]);
    assert_eq!(service.requests().len(), 1);
    succeeds(&env.hookbox(["trust", "policy", "--yes"]));
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["blocked_by"], "policy");
}

#[test]
fn a_component_answers_if_the_service_does_not() {
    let service = Service::new(|_| ok(BLOCK));
    let broken = Service::new(|_| Reply::Status("503 Service Unavailable", "busy".to_owned()));
    let env = TestEnvironment::new();
    env.copy("home/guards/guardrail.wasm", &sample("guardrail"));
    env.warm(&sample("guardrail"));
    for (url, hangs, line, want) in [
        (service.url(), false, "ls", Some("policy")),
        (broken.url(), false, "rm -rf /", Some("rm")),
        (broken.url(), false, "ls", None),
        (nobody(), false, "rm -rf /", Some("rm")),
        (Service::new(|_| Reply::Hang).url(), true, "rm -rf /", Some("rm")),
    ] {
        let timeout = if hangs { "10s" } else { "600s" };
        let entry = json!({"url": url, "fallback": "guards/guardrail.wasm", "timeout": timeout});
        declare(&env, FILE, "PreToolUse", &json!([entry]));
        let row = &env.list(&[])[0];
        assert_eq!((&row["kind"], &row["status"]), (&json!("component"), &json!("active")), "{row:#}");
        let run = env.hookbox_with(["run", "before_tool_call", "--report"], bash(line).to_string());
        let found: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
        let verdict = found.get("verdict").unwrap_or(&found);
        let reason = verdict["reason"].as_str().unwrap_or_default();
        assert_eq!(
            verdict["blocked"].as_bool().unwrap_or_default(),
            want.is_some(),
            "{url} {line}: {run:#?}"
        );
        assert!(reason.contains(want.unwrap_or_default()), "{line}: {run:#?}");
        let is_told = run.stdout.contains("; its fallback answered");
        assert_eq!(is_told, url != service.url(), "{run:#?}");
    }
    // A repository's component runs before it is trusted; its service does not.
    let before = service.requests().len();
    env.file(FILE, "{\"hooks\": {}}").copy("repo/guards/guardrail.wasm", &sample("guardrail"));
    let entry = json!({"url": service.url(), "fallback": "guards/guardrail.wasm"});
    declare(&env, "repo/.hookbox/hooks.json", "PreToolUse", &json!([entry]));
    assert_ne!(env.event(&["before_tool_call"], &bash("ls"))["blocked"], true);
    assert_eq!(env.event(&["before_tool_call"], &bash("rm -rf /"))["blocked"], true);
    assert_eq!(service.requests().len(), before);
    succeeds(&env.hookbox(["trust", "hooks.json#PreToolUse[0]", "--yes"]));
    assert_eq!(env.event(&["before_tool_call"], &bash("ls"))["reason"], "policy");
}
