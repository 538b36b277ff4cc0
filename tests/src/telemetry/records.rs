//! Records of the journal, as a collector receives them.

use std::fs;
use std::process::Stdio;

use hookbox::ToolCall;
use hookbox_journal::journal::Journal;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use serde_json::{Value, json};

use super::collector::{Collector, attributes};
use super::{SECRET, subset};
use crate::environment::{TestEnvironment, program};
use crate::mcp::wait_until;

const JOURNAL: &str = "home/.local/share/hookbox/journal";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A place whose user records events, sends them to this collector, and blocks `rm`.
fn place(collector: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let rule = "[[rule]]\ncommand = \"rm\"\nanswer = \"block\"\nreason = \"no rm\"\n";
    env.file("home/.hookbox/hooks/guard.rules.toml", rule);
    names(&env, collector);
    env
}

fn names(env: &TestEnvironment, collector: &str) {
    env.file(
        "home/.hookbox/hookbox.toml",
        format!("[journal]\nenabled = true\ncollector = \"{collector}\"\n"),
    );
}

fn call(env: &TestEnvironment, command: &str) {
    env.event(
        &["before_tool_call"],
        &json!({"conv_id": "c", "tool_name": "bash", "tool_input": {"command": command}}),
    );
}

/// Lets no event start a sender of its own: there was an attempt just now.
fn by_hand(env: &TestEnvironment) {
    env.directory(JOURNAL).mode("home/.local/share/hookbox", 0o700).mode(JOURNAL, 0o700);
    env.file(&format!("{JOURNAL}/sending"), "").mode(&format!("{JOURNAL}/sending"), 0o600);
}

/// `hookbox log send`: the exit code, and what it said.
fn send(env: &TestEnvironment) -> (Option<i32>, String) {
    let output = env.hookbox(["log", "send"]);
    (output.code, format!("{}{}", output.stdout, output.stderr))
}

fn body(record: &LogRecord) -> Value {
    let Some(Any::StringValue(text)) = record.body.as_ref().and_then(|it| it.value.clone()) else {
        panic!("{record:?}")
    };
    serde_json::from_str(&text).unwrap()
}

/// The commands of these records, in their order.
fn commands(records: &[LogRecord]) -> Vec<String> {
    let command = |it: &LogRecord| body(it)["event"]["tool_input"]["command"].as_str().unwrap().to_owned();
    records.iter().map(command).collect()
}

#[test]
fn an_event_starts_the_sender_and_its_record_has_its_trace_and_no_secret() {
    let collector = Collector::start(Some(200));
    let env = place(&collector.url())
        .variable("TRACEPARENT", PARENT)
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
        .variable("OTEL_RESOURCE_ATTRIBUTES", "team=red");
    call(&env, &format!("rm {SECRET}"));
    let (requests, resource) = collector.logs();
    let [record] = &requests.concat()[..] else { panic!("{requests:#?}") };
    subset(&resource, &[("service.name", "hookbox"), ("team", "red")]);
    assert!(collector.requests()[0].head.to_ascii_lowercase().contains("x-key: a b\r\n"));
    let body = body(record);
    assert_eq!(commands(&requests.concat()), ["rm [REDACTED:github]"]);
    subset(
        &attributes(&record.attributes),
        &[
            ("log.record.uid", body["id"].as_str().unwrap()),
            ("hookbox.event", "before_tool_call"),
            ("hookbox.verdict", "blocked"),
            ("hookbox.verdict.by", "guard.rules.toml"),
            ("gen_ai.conversation.id", "c"),
        ],
    );
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (trace, span) = (hex(&record.trace_id), hex(&record.span_id));
    assert_eq!(format!("00-{trace}-{span}-01"), PARENT);
    assert_eq!(body["trace"], PARENT);
    assert_eq!((record.severity_text.as_str(), record.flags), ("WARN", 1));
    assert!(record.time_unix_nano > 0 && record.time_unix_nano <= record.observed_time_unix_nano);
    wait_until("the first sender has ended", || send(&env).1 == "sent 0 records\n");
    // The next one starts in a minute: by hand it is sooner.
    call(&env, "ls");
    assert_eq!(send(&env), (Some(0), "sent 1 records\n".to_owned()));
    assert_eq!(send(&env), (Some(0), "sent 0 records\n".to_owned()));
    assert_eq!(commands(&collector.logs().0.concat()), ["rm [REDACTED:github]", "ls"]);
}

#[test]
fn a_record_has_the_span_of_its_event() {
    let collector = Collector::start(Some(200));
    let env = place(&collector.url());
    by_hand(&env);
    let env = env.variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    call(&env, "ls");
    let (spans, _) = collector.spans();
    let event = spans.iter().find(|it| it.name == "hookbox.event before_tool_call").unwrap();
    assert_eq!(send(&env).0, Some(0));
    let records = collector.logs().0.concat();
    assert_eq!((&records[0].trace_id, &records[0].span_id), (&event.trace_id, &event.span_id));
}

#[test]
fn an_outage_and_a_kill_lose_no_record() {
    let (away, silent) = (Collector::start(Some(503)), Collector::start(None));
    let collector = Collector::start(Some(200));
    let env = place(&away.url());
    by_hand(&env);
    for number in 0..3 {
        call(&env, &format!("echo {number}"));
        let (code, said) = send(&env);
        assert!(code == Some(1) && said.contains("did not take the records: status 503"), "{said}");
    }
    names(&env, "http://127.0.0.1:1");
    assert_eq!(send(&env).0, Some(1), "nobody listens there");
    names(&env, &silent.url());
    let mut sender = env.command(program()).args(["log", "send"]).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the request is sent", || !silent.requests().is_empty());
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert!(!env.path(format!("{JOURNAL}/sent")).exists());
    names(&env, &collector.url());
    assert_eq!(send(&env), (Some(0), "sent 3 records\n".to_owned()));
    call(&env, "echo 3");
    assert_eq!(send(&env), (Some(0), "sent 1 records\n".to_owned()));
    let expected = ["echo 0", "echo 1", "echo 2", "echo 3"];
    assert_eq!(commands(&collector.logs().0.concat()), expected, "each once, in their order");
    // A position that cannot be read sends all of them again, and loses none.
    env.file(&format!("{JOURNAL}/sent"), "2026-99-99.jsonl x");
    assert_eq!(send(&env), (Some(0), "sent 4 records\n".to_owned()));
}

/// Records events in this process, each `rm` blocked; no event of it starts a sender.
async fn record(env: &TestEnvironment, commands: impl Iterator<Item = String>) {
    let data = env.path("home/.local/share/hookbox");
    let manager = env.builder().journal(Journal::new(&data, None)).build().await;
    let session = manager.session("c");
    for command in commands {
        drop(session.before_tool_call(ToolCall::new("bash", json!({ "command": command }))).await);
    }
}

#[tokio::test]
async fn the_records_of_a_day_wait_for_the_collector_and_arrive_once_in_their_order() {
    let collector = Collector::start(Some(200));
    let env = place("http://127.0.0.1:1");
    by_hand(&env);
    let commands = |of: std::ops::Range<usize>| of.map(|it| format!("echo {it}"));
    record(&env, commands(0..1000)).await;
    assert_eq!(send(&env).0, Some(1), "nobody listens there");
    // The rest comes after midnight.
    let all = fs::read_dir(env.path(JOURNAL)).unwrap().map(|it| it.unwrap().path());
    let [today] = &all.filter(|it| it.extension().is_some()).collect::<Vec<_>>()[..] else { panic!() };
    let day: jiff::civil::Date = today.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    fs::rename(today, today.with_file_name(format!("{}.jsonl", day.yesterday().unwrap()))).unwrap();
    record(&env, commands(1000..2000)).await;
    assert_eq!(send(&env).0, Some(1), "nobody listens there");
    names(&env, &collector.url());
    assert_eq!(send(&env), (Some(0), "sent 2000 records\n".to_owned()));
    record(&env, commands(2000..2001)).await;
    assert_eq!(send(&env), (Some(0), "sent 1 records\n".to_owned()));
    let (requests, _) = collector.logs();
    assert!(commands(0..2001).eq(self::commands(&requests.concat())));
    assert!(requests.len() < 20, "{} requests", requests.len());
}

#[tokio::test]
async fn of_more_records_than_the_journal_keeps_the_oldest_that_passed_are_lost_and_that_is_told() {
    let collector = Collector::start(Some(200));
    let env = place("http://127.0.0.1:1");
    by_hand(&env);
    let setting = |size: &str, collector: &str| {
        let toml = format!("[journal]\nenabled = true\nmax_size = \"{size}\"\ncollector = \"{collector}\"\n");
        env.file("home/.hookbox/hookbox.toml", toml);
    };
    setting("256KiB", "http://127.0.0.1:1");
    let all: Vec<String> =
        ["rm first".to_owned()].into_iter().chain((0..600).map(|it| format!("echo {it}"))).collect();
    record(&env, all.iter().cloned()).await;
    assert_eq!(send(&env).0, Some(1), "nobody listens there");
    setting("256KiB", &collector.url());
    let (code, told) = send(&env);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("warning: the journal has removed records that were not sent\nhint: "), "{told}");
    let taken = commands(&collector.logs().0.concat());
    assert_eq!(taken[0], "rm first", "a blocked event goes last");
    assert!(taken.len() > 100 && taken.len() < all.len(), "{}", taken.len());
    assert_eq!(taken[1..], all[all.len() + 1 - taken.len()..], "the newest, each once, in their order");
    record(&env, ["ls".to_owned()].into_iter()).await;
    assert_eq!(send(&env), (Some(0), "sent 1 records\n".to_owned()));
}

#[test]
fn a_record_that_is_refused_holds_up_no_other() {
    let has = |body: &[u8], text: &str| body.windows(text.len()).any(|it| it == text.as_bytes());
    let collector = Collector::judging(move |body| Some(if has(body, "poison") { 400 } else { 200 }));
    let env = place(&collector.url());
    by_hand(&env);
    for command in ["echo 0", "echo 1", "echo poison", "echo 3", "echo 4"] {
        call(&env, command);
    }
    let (code, said) = send(&env);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("sent 4 records") && said.contains("1 records were refused: "), "{said}");
    let mut taken = collector.logs().0;
    taken.retain(|it| !commands(it).contains(&"echo poison".to_owned()));
    assert_eq!(commands(&taken.concat()), ["echo 0", "echo 1", "echo 3", "echo 4"]);
    assert_eq!(send(&env), (Some(0), "sent 0 records\n".to_owned()));
}

#[test]
fn only_the_user_names_a_collector_and_a_wrong_one_is_told() {
    let collector = Collector::start(Some(200));
    let env = place("http://c");
    let toml = "home/.hookbox/hookbox.toml";
    by_hand(&env);
    env.file(toml, "[journal]\nenabled = true\n");
    env.file("repo/.hookbox/hookbox.toml", format!("[journal]\ncollector = \"{}\"\n", collector.url()));
    call(&env, "ls");
    let (code, said) = send(&env);
    assert!(code == Some(2) && said.contains("no collector is named"), "{code:?} {said}");
    for wrong in ["localhost:4318", "ftp://x", "http://a b", "http://a?b"] {
        env.file(toml, format!("[journal]\nenabled = true\ncollector = \"{wrong}\"\n"));
        let (code, said) = send(&env);
        assert!(
            code == Some(2) && said.contains("journal.collector: expected an address such as"),
            "{code:?} {said}"
        );
    }
    assert!(collector.requests().is_empty());
    env.file(toml, "[journal]\nenabled = true\n");
    let endpoint = format!("{}/v1/logs", collector.url());
    let env = env.variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    assert_eq!(send(&env).0, Some(2), "the variable for all signals is not meant");
    let env = env.variable("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &endpoint);
    assert_eq!(send(&env), (Some(0), "sent 1 records\n".to_owned()));
}

/// A process that cannot send must not be started again by each event.
#[test]
fn an_event_notes_the_attempt_to_send_before_a_process_that_fails_at_once() {
    let env = place("http://127.0.0.1:1").variable("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let attempt = || fs::metadata(env.path(JOURNAL).join("sending")).unwrap().modified().unwrap();
    call(&env, "ls");
    let first = attempt();
    call(&env, "ls");
    assert_eq!(attempt(), first);
}

#[test]
fn a_report_shows_the_records_of_many_machines() {
    let env = place("http://127.0.0.1:1");
    by_hand(&env);
    call(&env, "rm a");
    let mut names = std::fs::read_dir(env.path(JOURNAL))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap());
    let name = names.find(|it| it.ends_with(".jsonl")).unwrap();
    let text = env.read(&format!("{JOURNAL}/{name}")).unwrap();
    let changed = text.replace("rm a", "rm b");
    env.file("calls/red/one.jsonl", &text).file("calls/blue/two.jsonl", format!("{text}{changed}"));
    env.file("calls/notes.txt", "no records").directory("empty");
    let report = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|it| env.path(it).display().to_string()).collect();
        let args = ["report", "--json", "--records"].map(str::to_owned);
        env.hookbox(args.into_iter().chain(paths))
    };
    for (paths, events, unread) in
        [(&["calls"][..], 2, 1), (&["calls/red"], 1, 0), (&["calls/red/one.jsonl", "calls/blue"], 2, 1)]
    {
        let counts = report(paths).json();
        let found = (&counts["events"], &counts["blocked"], &counts["unread"]);
        assert_eq!(found, (&json!(events), &json!(events), &json!(unread)), "{paths:?}");
    }
    for (paths, says) in [(&["none"][..], "cannot be read"), (&["empty"], "has no files *.jsonl")] {
        let output = report(paths);
        assert!(output.code == Some(2) && output.stderr.contains(says), "{output:#?}");
    }
}
