//! `hookbox replay`: recorded components run again, with the inputs that they had.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use hookbox::{Digest, Limits, Network, ToolCall};
use hookbox_guards::Guard;
use hookbox_journal::journal::Journal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::environment::{TestEnvironment, guest};
use crate::schemas::faults;

/// The guest as a hook of the user.
const HOOK: &str = "home/.hookbox/hooks/inputs.wasm";

/// The permissions of the guest.
const RIGHTS: [&str; 4] = ["store", "http:https://api.example.com", "read:$REPO", "read-write:$DATA"];

/// A server that answers with the path of the request, in two pieces. It cuts off every tenth connection.
fn network() -> Network {
    Network::new().with_peer(|_| {
        let (ours, theirs) = tokio::io::duplex(4096);
        tokio::spawn(answer(ours));
        theirs
    })
}

async fn answer(mut connection: DuplexStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if connection.read_buf(&mut request).await.unwrap_or_default() == 0 {
            return;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    if path.ends_with('3') {
        return;
    }
    let head =
        format!("HTTP/1.1 200 OK\r\nx-one: 1\r\nx-two: 2\r\ncontent-length: {}\r\n\r\n", path.len() + 3);
    let _ = connection.write_all(head.as_bytes()).await;
    let _ = connection.write_all(path.as_bytes()).await;
    tokio::task::yield_now().await;
    let _ = connection.write_all(b"\xff\x00!").await;
}

/// Returns limits for a busy machine.
fn patient() -> Limits {
    Limits { timeout: Some(Duration::from_secs(120)), ..Limits::default() }
}

/// Sends so many events to the guest, and returns the files of the journal.
async fn recorded(env: &TestEnvironment, events: u64) -> Vec<PathBuf> {
    env.directory("repo/.git").copy(HOOK, &guest("inputs")).file("repo/binary", [0xff; 700]);
    let grant = env.hookbox(["grants", "add", "--yes", "inputs.wasm"].iter().chain(&RIGHTS));
    assert_eq!(grant.code, Some(0), "{grant:#?}");
    let data = env.path("home/.local/share/hookbox");
    let manager = env
        .builder()
        .network(network())
        .limits(patient())
        .journal(Journal::new(&data, Some("claude")))
        .build()
        .await;
    let session = manager.session("c").cwd(env.path("repo").to_str().unwrap());
    for number in 0..events {
        env.file("repo/policy.txt", format!("policy {number}"));
        let (tool, input) = match number % 2 {
            0 => ("bash", json!({"command": "ls", "n": number})),
            _ => ("Read", json!({"file_path": "policy.txt", "n": number})),
        };
        let verdict = session.before_tool_call(ToolCall::new(tool, input)).await;
        assert!(verdict.notes.warnings.iter().all(|it| !it.text.contains("journal")), "{verdict:#?}");
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(data.join("journal")).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    files
}

/// Copies a journal to another machine: another home directory, another checkout, and no permissions.
fn elsewhere(files: &[PathBuf]) -> TestEnvironment {
    let env = TestEnvironment::new();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    env.file("repo/records.jsonl", text);
    env
}

fn replay(env: &TestEnvironment, args: &[&str]) -> (Option<i32>, Value) {
    let output = env.hookbox(["replay", "--json"].iter().chain(args));
    let value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"));
    (output.code, value)
}

/// Changes the records of a journal, and gives each its hash again.
fn change(env: &TestEnvironment, change: impl Fn(&str) -> String) {
    let text = env.read("repo/records.jsonl").unwrap();
    let line = |line: &str| {
        let (text, _) = line.split_once(",\"hash\":\"").unwrap();
        let text = change(text);
        format!("{text},\"hash\":\"{}\"}}\n", Digest::of(text.as_bytes()).hex())
    };
    env.file("repo/records.jsonl", text.lines().map(line).collect::<String>());
}

fn component() -> String {
    guest("inputs").to_str().unwrap().to_owned()
}

#[tokio::test]
async fn events_replay_bit_for_bit_with_another_home_and_another_checkout() {
    replay_elsewhere(100).await;
}

#[ignore = "takes 40 s of processor: cargo xtask test-all"]
#[tokio::test]
async fn a_thousand_events_replay_bit_for_bit_with_another_home_and_another_checkout() {
    replay_elsewhere(1_000).await;
}

async fn replay_elsewhere(events: u64) {
    const FIRST: usize = 20;
    let here = TestEnvironment::new();
    let files = recorded(&here, events).await;
    let first = fs::read_to_string(&files[0]).unwrap();
    let first: Value = serde_json::from_str(first.lines().nth(1).unwrap()).unwrap();
    assert_eq!(faults("record", None, &first), [""; 0]);
    let inputs = first["report"]["hooks"][0]["inputs"].as_array().unwrap();
    for wanted in ["clock.wall", "clock.monotonic", "random.seed", "store.get \"last\"", "paths", "poll"] {
        assert!(inputs.iter().any(|it| it["asked"] == wanted), "{wanted}: {inputs:#?}");
    }
    for wanted in ["http GET https://api.example.com/1", "file.read", "file.open_at \"policy.txt\""] {
        assert!(inputs.iter().any(|it| it["asked"].as_str().unwrap().starts_with(wanted)), "{wanted}");
    }

    let there = elsewhere(&files);
    // Nothing of the first machine is left.
    drop(here);
    let (code, found) = replay(&there, &["records.jsonl", "--hook", &component()]);
    assert_eq!((&found["same"], &found["not_run_again"]), (&json!(events), &json!({})), "{found:#}");
    assert_eq!((code, &found["records"], &found["different"]), (Some(0), &json!(events), &json!(0)));
    assert!(!there.path("home/.local/share/hookbox/state.db").exists(), "no store");

    // The first calls again, with another answer of the clock or another fuel.
    let text = there.read("repo/records.jsonl").unwrap();
    there.file(
        "repo/first.jsonl",
        text.lines().take(FIRST).map(|line| format!("{line}\n")).collect::<String>(),
    );
    for (key, changed) in [("fuel", "\"fuel\":1,"), ("message", "\"asked\":\"clock.wall\",\"got\":[1,1]")] {
        let other = elsewhere(&[there.path("repo/first.jsonl")]);
        change(&other, |text| match key {
            "fuel" => replaced(text, "\"fuel\":", ",", changed),
            _ => replaced(text, "\"asked\":\"clock.wall\",\"got\":", "]", changed),
        });
        let (code, found) = replay(&other, &["records.jsonl", "--hook", &component()]);
        assert_eq!((code, &found["different"]), (Some(1), &json!(FIRST)), "{key}: {found:#}");
        let keys: Vec<&Value> =
            found["differences"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
        assert!(keys.contains(&&json!(key)), "{key}: {keys:?}");
    }
}

/// Replaces the text from `from` to the next `to`.
fn replaced(text: &str, from: &str, to: &str, by: &str) -> String {
    let (before, rest) = text.split_once(from).unwrap();
    let (_, after) = rest.split_once(to).unwrap();
    format!("{before}{by}{after}")
}

#[tokio::test]
async fn a_changed_record_and_a_changed_component_are_found() {
    let here = TestEnvironment::new();
    let files = recorded(&here, 10).await;
    // Among the hooks that are here.
    let (code, found) = replay(&here, &[]);
    assert_eq!((code, &found["same"]), (Some(0), &json!(10)), "{found:#}");
    let text = fs::read_to_string(&files[0]).unwrap();
    let record: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let (code, found) = replay(&here, &[record["id"].as_str().unwrap()]);
    assert_eq!((code, &found["records"], &found["same"]), (Some(0), &json!(1), &json!(1)));

    let there = elsewhere(&files);
    there.file("repo/records.jsonl", text.replacen("policy 3", "policy X", 1));
    let (code, found) = replay(&there, &["records.jsonl", "--hook", &component()]);
    assert_eq!(
        (code, &found["changed_records"], &found["same"]),
        (Some(1), &json!(1), &json!(9)),
        "{found:#}"
    );
    let shown = there.hookbox(["replay", "records.jsonl", "--hook", &component()]);
    assert!(shown.stdout.contains("the record was changed: it does not have its hash"), "{shown:#?}");

    // A question that the record does not have next.
    let there = elsewhere(&files);
    change(&there, |text| text.replacen("store.get \\\"last\\\"", "store.get \\\"first\\\"", 1));
    let (code, found) = replay(&there, &["records.jsonl", "--hook", &component()]);
    assert_eq!((code, &found["different"]), (Some(1), &json!(10)), "{found:#}");
    let text = found["differences"][0]["text"].as_str().unwrap();
    assert_eq!(text, "asked for store.get \"last\"; the record has store.get \"first\"");

    for (file, reason) in [("inputs.wasm", "changed"), ("other.wasm", "not_here")] {
        let there = elsewhere(&files);
        there.copy(&format!("repo/{file}"), &guest("asks"));
        let (code, found) = replay(&there, &["records.jsonl", "--hook", file]);
        let left = json!({ reason: {"inputs.wasm": 10} });
        assert_eq!((code, &found["not_run_again"]), (Some(0), &left), "{found:#}");
    }
}

#[test]
fn what_is_not_a_record_is_an_error_with_a_hint() {
    let env = TestEnvironment::new();
    env.file("repo/empty.jsonl", "").file("repo/no.rules.toml", "").directory("repo/none");
    for (args, wanted) in [
        (&["abcdefghij"][..], "expected a file or the id of a record"),
        (&["--hook", "none"], "expected components (.wasm), found none"),
        (&["--hook", "no.rules.toml"], "expected a component (.wasm), found something else"),
        (&["--since", "soon"], "expected a time such as 30d"),
        (&["empty.jsonl"], "expected records of a journal, found none"),
    ] {
        let output = env.hookbox(["replay"].iter().chain(args));
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains(wanted), "{output:#?}");
    }
    let output = env.hookbox(["replay"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.contains("no records found"), "{output:#?}");
}

#[test]
fn a_record_that_cannot_be_exact_is_counted_with_its_reason() {
    let env = TestEnvironment::new();
    let hook = |more: Value| {
        let mut hook = json!({
            "name": "inputs.wasm", "kind": "component", "tier": "global", "trusted": true, "status": "passed",
            "cause": null, "fuel": 5, "digest": "sha256:0", "settings": {}, "rights": [], "inputs": [],
        });
        for (key, value) in more.as_object().unwrap() {
            hook[key] = value.clone();
        }
        hook
    };
    let event =
        json!({"event": "before_tool_call", "conv_id": "c", "cwd": "/", "tool_name": "ls", "tool_input": {}});
    let mut lines = String::new();
    for (more, of_hook) in [
        (json!({}), json!({"kind": "native", "inputs": null, "fuel": null})),
        (json!({"redacted": true}), json!({})),
        (json!({"cut": true}), json!({})),
        (json!({}), json!({"inputs": null})),
        (json!({}), json!({"cause": "timeout", "status": "failed"})),
        (json!({}), json!({"inputs": 5})),
        (json!({}), json!({})),
        (json!({}), json!({"status": "skipped"})),
    ] {
        let mut record = json!({"v": 1, "id": "0", "event": event, "report": {"hooks": [hook(of_hook)]}});
        for (key, value) in more.as_object().unwrap() {
            record[key] = value.clone();
        }
        let mut text = record.to_string();
        text.pop();
        text.push_str(&format!(",\"prev\":\"{}\"", "0".repeat(64)));
        let hash = Digest::of(text.as_bytes()).hex();
        lines.push_str(&format!("{text},\"hash\":\"{hash}\"}}\n"));
    }
    env.file("repo/records.jsonl", lines + "{\"torn");
    let (code, found) = replay(&env, &["records.jsonl"]);
    let one = json!({"inputs.wasm": 1});
    let left = json!({
        "not_here": one, "redacted": one, "cut": one, "not_recorded": one, "timed_out": one,
        "not_component": one, "unreadable": one,
    });
    assert_eq!((code, &found["not_run_again"]), (Some(0), &left), "{found:#}");
    let shown = env.hookbox(["replay", "records.jsonl"]);
    assert!(shown.stdout.contains("Records read: 8. Hook calls: 0 the same, 0 different, 7 not run again."));
}

#[test]
fn a_block_of_a_guard_runs_again() {
    let env = TestEnvironment::new();
    let guard = Guard::named("git").unwrap().component;
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n")
        .file("home/.hookbox/hooks/git.wasm", guard);
    env.warm(&env.path("home/.hookbox/hooks/git.wasm"));
    let long = json!({"tool_name": "bash", "tool_input": {"command": "git push --force"}});
    let event = long.to_string().replace("--force\"", "--force\",\"n\":12345678901234567890123");
    let output = env.hookbox_with(["run", "before_tool_call"], event);
    assert_eq!(output.json()["blocked"], true);
    let (code, found) = replay(&env, &[]);
    assert_eq!((code, &found["same"], &found["different"]), (Some(0), &json!(1), &json!(0)), "{found:#}");
}
