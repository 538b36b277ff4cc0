//! The sample hooks that need rights, with the real thing: a directory, a store that outlives the process.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, sample, twin};

/// Makes an environment with one component of the user, who granted its rights.
fn granted(name: &str) -> TestEnvironment {
    let env = installed(name);
    trust(&env, name);
    env
}

fn installed(name: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &sample(name));
    env
}

fn trust(env: &TestEnvironment, name: &str) {
    let output = env.hookbox(["trust", &format!("{name}.wasm"), "--yes"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

fn settings(env: &TestEnvironment, name: &str, table: &str) {
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{name}.wasm\"]\nsettings = {table}\n"));
}

/// Files of this name below a directory.
pub(crate) fn find(dir: &Path, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(find(&path, name));
        } else if path.file_name().is_some_and(|known| known == name) {
            found.push(path);
        }
    }
    found
}

/// The only hook of the report.
fn report(env: &TestEnvironment, event: &str, payload: &Value) -> Value {
    env.event(&[event, "--report"], payload)["hooks"][0].clone()
}

fn call(line: &str) -> Value {
    json!({
        "conv_id": "c", "cwd": "/w", "timestamp": 1_745_779_351_007_u64, "tool_name": "bash", "tool_input": {"command": line},
        "duration_ms": 12,
    })
}

fn result(line: &str, success: bool) -> Value {
    let mut event = call(line);
    event["tool_output"] = json!({"success": success});
    event
}

#[test]
fn the_audit_log_has_a_line_for_every_call() {
    let env = granted("audit-log");
    for (line, success) in [("ls", true), ("cat \"a\nb\"", false), (&"x".repeat(10_000), true)] {
        let hook = report(&env, "after_tool_call", &result(line, success));
        assert_eq!(hook["cause"], Value::Null, "{hook:#}");
    }
    let [file] = find(&env.path("home/.local/share"), "audit.jsonl").try_into().unwrap();
    let written = std::fs::read_to_string(file).unwrap();
    let [first, second, third] = written.lines().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        first,
        r#"{"time":"2025-04-27T18:42:31.007Z","conversation":"c","cwd":"/w","tool":"bash","kind":"shell","command":"ls","success":true,"duration_ms":12}"#
    );
    assert_eq!(serde_json::from_str::<Value>(second).unwrap()["command"], "cat \"a\nb\"");
    assert!(third.len() < 4096 && serde_json::from_str::<Value>(third).unwrap()["cut"] == true, "{third}");
}

#[test]
fn the_intro_logger_writes_the_answers_of_its_recipe() {
    let env = granted("intro-logger");
    for (recipe, response) in
        [("", "no"), ("other", "no"), ("intro", "hello \u{1b}[2J\nthere"), ("intro", "again")]
    {
        let event = json!({"conv_id": "c", "recipe_name": recipe, "turn_number": 1, "response": response});
        let verdict = env.event(&["turn_end"], &event);
        assert_eq!(verdict["warnings"], Value::Null, "{verdict}");
    }
    let [file] = find(&env.path("home/.local/share"), "intro.jsonl").try_into().unwrap();
    let written = std::fs::read_to_string(file).unwrap();
    let lines: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{written}");
    assert_eq!((&lines[0]["response"], &lines[0]["conv_id"]), (&json!("hello [2J there"), &json!("c")));
    assert_eq!(lines[1]["response"], "again");
    // Another recipe, and only the log: that needs no right.
    let env = installed("intro-logger");
    settings(&env, "intro-logger", r#"{ recipe = "deploy", file = "" }"#);
    let hook = report(&env, "turn_end", &json!({"recipe_name": "deploy", "response": "done"}));
    assert!(hook["cause"] == Value::Null && hook["log"].as_str().unwrap().contains("done"), "{hook:#}");
    settings(&env, "intro-logger", r#"{ recipe = "deploy" }"#);
    let hook = report(&env, "turn_end", &json!({"recipe_name": "deploy", "response": "done"}));
    assert!(hook["message"].as_str().unwrap().contains("read-write:$DATA"), "{hook:#}");
}

#[test]
fn lines_of_many_processes_do_not_mix() {
    let env = granted("audit-log");
    settings(&env, "audit-log", "{ file = \"calls\" }");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let env = &env;
            scope.spawn(move || env.event(&["after_tool_call"], &result(&format!("{n}").repeat(3000), true)));
        }
    });
    let [file] = find(&env.path("home/.local/share"), "calls").try_into().unwrap();
    let written = std::fs::read_to_string(file).unwrap();
    assert_eq!(written.lines().count(), 8);
    assert!(written.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{written}");
}

#[test]
fn without_its_right_the_audit_log_says_what_is_missing() {
    let env = installed("audit-log");
    let hook = report(&env, "after_tool_call", &result("ls", true));
    assert_ne!(hook["cause"], Value::Null, "{hook:#}");
    assert!(hook["message"].as_str().unwrap().contains("read-write:$DATA"), "{hook:#}");
    assert!(find(&env.path("home"), "audit.jsonl").is_empty());
    // A name with a path outside is not a valid name of a file, with or without the right.
    trust(&env, "audit-log");
    settings(&env, "audit-log", "{ file = \"../x\" }");
    let hook = report(&env, "after_tool_call", &result("ls", true));
    assert!(hook["message"].as_str().unwrap().contains("setting `file`"), "{hook:#}");
}

/// Every `hookbox run` is a process: later ones depend on state that outlived the earlier ones.
#[test]
fn the_third_failure_of_a_command_blocks_the_next_call_in_another_process() {
    let env = granted("loop-detector");
    let fire = |event: &str, payload: &Value| {
        let hook = report(&env, event, payload);
        assert_eq!(hook["cause"], Value::Null, "{hook:#}");
        env.event(&[event], payload)
    };
    // With `--report` an event of a component runs twice: failures are sent plainly.
    let fail = |line: &str, success: bool| env.event(&["after_tool_call"], &result(line, success));
    let blocked = |line: &str| fire("before_tool_call", &call(line));
    for _ in 0..2 {
        fail("make test", false);
        fail("make", false);
    }
    assert_eq!(blocked("make test")["blocked"], false);
    fail("make test", false);
    let verdict = blocked("make test");
    assert_eq!(verdict["blocked"], true, "{verdict}");
    assert!(
        verdict["reason"].as_str().unwrap().contains("failing command executed 3 times in 6 minutes"),
        "{verdict}"
    );
    for other in ["make", "make test2"] {
        assert_eq!(blocked(other)["blocked"], false, "{other}");
    }
    let mut later = call("make test");
    later["timestamp"] = json!(1_745_779_351_007_u64 + 360_000);
    assert_eq!(fire("before_tool_call", &later)["blocked"], false);
    fail("make test", true);
    assert_eq!(blocked("make test")["blocked"], false);
}

#[test]
fn without_its_right_the_loop_detector_says_so_and_passes() {
    let env = installed("loop-detector");
    let hook = report(&env, "before_tool_call", &call("make"));
    assert_ne!(hook["cause"], Value::Null, "{hook:#}");
    assert!(hook["message"].as_str().unwrap().contains("store"), "{hook:#}");
    assert_eq!(env.event(&["before_tool_call"], &call("make"))["blocked"], false);
}

#[test]
fn follow_up_looks_into_the_working_directory() {
    let table = r#"{ if_exists = ["foo.txt", "sub/b.txt"] }"#;
    let env = installed("follow-up");
    env.directory("repo/.git");
    settings(&env, "follow-up", table);
    let stop = json!({"invoked_by": "main"});
    let hook = report(&env, "agent_stop", &stop);
    assert!(hook["message"].as_str().unwrap().contains("read:$REPO"), "{hook:#}");
    trust(&env, "follow-up");
    let asked = |event: &Value| env.event(&["agent_stop"], event)["follow_up_messages"].clone();
    assert_eq!(asked(&stop), Value::Null);
    env.file("repo/sub/b.txt", "");
    assert!(asked(&stop)[0].as_str().unwrap().starts_with("sub/b.txt is still here."));
    env.file("repo/foo.txt", "");
    assert!(asked(&stop)[0].as_str().unwrap().starts_with("foo.txt is still here."));
    assert_eq!(asked(&json!({"invoked_by": "main", "follow_ups": 1})), Value::Null);
    // The working directory may be deeper than the granted one.
    let deeper = json!({"invoked_by": "main", "cwd": env.path("repo/sub")});
    assert_eq!(asked(&deeper), Value::Null);
    env.file("repo/sub/foo.txt", "");
    assert!(asked(&deeper)[0].as_str().unwrap().starts_with("foo.txt is still here."));

    let native = TestEnvironment::new().variable("HOOKBOX_SETTINGS", r#"{"if_exists":["foo.txt"]}"#);
    let run = || native.run(native.command(twin("follow-up")).arg("run"), stop.to_string()).stdout;
    assert_eq!(run(), "");
    native.file("repo/foo.txt", "");
    assert!(run().contains("foo.txt is still here."));
}

#[test]
fn slack_is_told_nothing_where_no_address_is_set() {
    let env = granted("slack-notify");
    let hook = report(&env, "agent_stop", &json!({"invoked_by": "main"}));
    assert_eq!(hook["cause"], Value::Null, "{hook:#}");
    // An address elsewhere is refused before anything is sent, and is in no message.
    let env = TestEnvironment::new().variable("SLACK_WEBHOOK_URL", "https://127.0.0.1:1/secret");
    env.copy("home/.hookbox/hooks/slack-notify.wasm", &sample("slack-notify"));
    trust(&env, "slack-notify");
    let hook = report(&env, "agent_stop", &json!({"invoked_by": "main"}));
    assert!(
        hook["message"].as_str().unwrap().contains("does not start with https://hooks.slack.com/"),
        "{hook:#}"
    );
    assert!(!hook.to_string().contains("secret"), "{hook:#}");
}

/// slack-notify with these rights, and a Slack of our own.
async fn slack(grants: &[&str], url: &str) -> (hookbox::session::Fired, usize) {
    use hookbox::Network;
    use hookbox::capability::{Capability, Rights};
    use hookbox::internal::chain;
    use hookbox::{Access, ComponentHook};
    use hookbox::{Context, Descriptor, Event, EventName, Hook, Kind, Settings};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    let authority = crate::network::Authority::new();
    let (port, requests) = authority.serve(&["hooks.slack.com"]).await;
    let network = Network::with_roots(authority.pem.as_bytes())
        .unwrap()
        .with_resolver(|_| async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
        .with_port(port);
    let bytes = std::fs::read(sample("slack-notify")).unwrap();
    let component = crate::environment::runtime().load(bytes).await.unwrap();
    let granted: Vec<Capability> = grants.iter().map(|right| right.parse().unwrap()).collect();
    let access = Access {
        rights: Rights::of(&component.manifest().capabilities, &granted),
        variables: vec![("SLACK_WEBHOOK_URL".to_owned(), url.to_owned())],
        network: Some(network),
        name: "slack-notify.wasm".to_owned(),
        ..Access::default()
    };
    let descriptor = Descriptor::new("slack-notify.wasm", Kind::Component).on(EventName::AgentStop);
    let hook = ComponentHook::new(component, descriptor, Settings::new()).with_access(access);
    let hooks: [Arc<dyn Hook>; 1] = [Arc::new(hook)];
    let data = hookbox::event::EventData::AgentStop(hookbox::event::AgentStop::default());
    let event = Event { context: Arc::new(Context::new("c", "/w")), data };
    let fired = chain::run(&hooks, event, &chain::ChainOptions::default()).await;
    (fired, requests.load(Ordering::Relaxed))
}

#[tokio::test]
async fn slack_is_told_over_tls_where_that_was_granted() {
    const URL: &str = "https://hooks.slack.com/services/x";
    let (env, origin, here) =
        ("env:SLACK_WEBHOOK_URL", "http:https://hooks.slack.com", "http:https://127.0.0.1");
    for (grants, url, cause, requests, words) in [
        (&[env, origin, here][..], URL, Value::Null, 1, ""),
        (&[env, origin, here], "", Value::Null, 0, ""),
        // The user did not allow Slack at an address of this machine.
        (
            &[env, origin],
            URL,
            json!("denied"),
            0,
            "'hookbox grants add slack-notify.wasm http:https://127.0.0.1'",
        ),
        (
            &[env, here],
            URL,
            json!("denied"),
            0,
            "hookbox grants add slack-notify.wasm http:https://hooks.slack.com",
        ),
        (&[env, origin, here], "https://elsewhere.example/x", json!("exit"), 0, "SLACK_WEBHOOK_URL"),
    ] {
        let (fired, asked) = slack(grants, url).await;
        let report = &fired.report.hooks[0];
        assert_eq!(json!(report.cause), cause, "{grants:?}: {report:#?}");
        assert_eq!(asked, requests, "{grants:?}");
        let told = fired.verdict.warnings.iter().any(|it| it.text.contains(words.trim_matches('\'')));
        assert!(words.is_empty() || told, "{grants:?}: {:?}", fired.verdict.warnings);
    }
}
