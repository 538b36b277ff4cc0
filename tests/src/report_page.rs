//! `hookbox report`: its file, and its page in a browser.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, language_tools, repository, sample};

const JOURNAL: &str = "home/.local/share/hookbox/journal/2026-11-21.jsonl";
const REPORT: &str = "home/.local/share/hookbox/reports/hookbox-report.html";

/// Text that would run, end the script of the data, or hide itself.
const HOSTILE: [&str; 4] = [
    "</script><img src=x onerror=\"globalThis.ran=1;alert(1);fetch('https://evil.example')\">",
    "<!--<script>globalThis.ran=1</script>",
    "echo \u{202e}gnp.ran\u{202c} \u{200b}\u{1b}[2J \u{2028}",
    "javascript:globalThis.ran=1",
];

fn hook(name: &str, status: &str, more: Value) -> Value {
    let mut hook = json!({
        "name": name, "kind": "component", "tier": "global", "trusted": true, "status": status, "cause": null,
        "duration_us": 80, "fuel": 50_000, "memory_peak_bytes": 1_114_112, "message": null, "limit": null, "denied": [],
        "changes": [], "log": "", "metadata": {}, "would": null, "digest": "sha256:ab", "settings": {}, "rights": ["store"],
    });
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

fn call(tool: &str, command: &str) -> Value {
    let input = json!({ "command": command });
    json!({"event": "before_tool_call", "conv_id": "c-1", "cwd": "/srv/p", "tool_name": tool, "tool_input": input})
}

fn record(id: &str, minute: usize, agent: &str, event: &Value, verdict: &Value, hooks: &[Value]) -> Value {
    json!({
        "v": 1, "id": id, "agent": agent, "conversation": "c-1", "cwd": "/srv/p", "event": event, "verdict": verdict,
        "time": format!("2026-11-{:02}T10:{:02}:00.000Z", 1 + minute / 60, minute % 60),
        "report": {"duration_us": 300, "hooks": hooks, "on_error": []},
    })
}

fn blocked(by: &str, reason: &str) -> Value {
    json!({"blocked": true, "reason": reason, "blocked_by": by})
}

/// The records that `tests/report/browser.js` knows.
fn records() -> Vec<Value> {
    let passed = json!({"blocked": false});
    let mut all: Vec<Value> = (0..118)
        .map(|at| {
            let hooks = [hook("git.wasm", "passed", json!({}))];
            record(&format!("passed{at:04}"), at * 10, "claude", &call("bash", "cargo test"), &passed, &hooks)
        })
        .collect();
    let why = "`git push --force` overwrites the branch at the remote. Instead: git push --force-with-lease";
    for (at, id) in ["blocked000", "blocked001"].into_iter().enumerate() {
        let hooks = [hook("git.wasm", "blocked", json!({ "message": why }))];
        let event = call("bash", "git push --force");
        all.push(record(id, 1200 + at, "claude", &event, &blocked("git.wasm", why), &hooks));
    }
    let ask = json!({"blocked": false, "ask": {"reason": "Really?", "by": "ask.wasm"}});
    let hooks = [hook("ask.wasm", "asked", json!({"message": "Really?"}))];
    all.push(record("asked00001", 1210, "codex", &call("bash", "terraform apply"), &ask, &hooks));
    let (before, after) = (json!({"command": "rm -r build"}), json!({"command": "trash build"}));
    let change = json!({"changes": [{"what": "input", "before": before, "after": after}]});
    let changed = json!({"blocked": false, "input": after});
    let hooks = [hook("trash.wasm", "changed", change)];
    all.push(record("changed001", 1220, "claude", &call("bash", "rm -r build"), &changed, &hooks));
    let lacks = json!([{"right": "http https://a.example", "fix": "hookbox grants add audit.wasm"}]);
    let failed = json!({"cause": "denied", "message": "audit.wasm failed", "denied": lacks});
    let mut event = call("bash", "make");
    event["tool_output"] = "a NEEDLE in the haystack".into();
    let hooks = [
        hook("audit.wasm", "failed", failed),
        hook("new.wasm", "observed", json!({"would": "blocked", "message": "`make` is new"})),
    ];
    all.push(record("failed0001", 1230, "claude", &event, &passed, &hooks));
    for (at, text) in HOSTILE.into_iter().enumerate() {
        let everywhere = json!({
            "message": text, "log": text, "kind": text, "tier": text, "rights": [text], "would": text,
            "settings": {text: text}, "seen": {text: text}, "denied": [{"right": text, "fix": text}],
            "changes": [{"what": text, "before": text, "after": format!("{text}x")}],
        });
        let mut event = call(if at % 2 == 0 { "bash" } else { text }, text);
        event[text] = text.into();
        event["conv_id"] = text.into();
        let (id, hooks) = (format!("hostile{at:03}"), [hook(text, "blocked", everywhere)]);
        all.push(record(&id, 1300 + at, text, &event, &blocked(text, text), &hooks));
    }
    all
}

fn recorded(lines: &[String]) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file(JOURNAL, lines.concat());
    env
}

/// Returns the line of a record, with its hash.
fn line(record: &Value) -> String {
    let record = record.to_string();
    let text = format!("{},\"prev\":\"{}\"", record.strip_suffix('}').unwrap(), "0".repeat(64));
    let hash = hookbox::Digest::of(text.as_bytes()).hex();
    format!("{text},\"hash\":\"{hash}\"}}\n")
}

fn mode(env: &TestEnvironment, path: &str) -> u32 {
    fs::metadata(env.path(path)).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_report_is_one_file_of_the_user_with_the_events_of_the_journal() {
    let mut lines: Vec<String> = records().iter().map(line).collect();
    lines.push("{\"v\":1,\"id\":\"to".to_owned());
    let env = recorded(&lines);
    let output = env.hookbox(["report"]);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), env.path(REPORT).to_str().unwrap()),
        "{output:#?}"
    );
    assert_eq!(output.stderr, "");
    assert_eq!((mode(&env, REPORT), mode(&env, "home/.local/share/hookbox/reports")), (0o600, 0o700));
    let page = env.read(REPORT).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    let counts = env.hookbox(["report", "--json", "--out", "other.html"]).json();
    assert_eq!(
        counts,
        json!({
            "path": env.path("repo/other.html"), "events": 127, "blocked": 6, "asked": 1, "changed": 1, "failed": 1,
            "unread": 1,
        })
    );
    assert_eq!(mode(&env, "repo/other.html"), 0o600);
    let since = env.hookbox(["report", "--json", "--since", "2026-11-21"]).json();
    assert_eq!(since["events"], 9, "{since}");
}

#[test]
fn a_report_that_cannot_be_written_leaves_what_was_there() {
    let env = recorded(&[]);
    env.file("repo/old.html", "old").directory("repo/dir");
    let cases = [("dir", "expected a file, found a directory"), ("none/a.html", "cannot be written")];
    for (out, expected) in cases {
        let output = env.hookbox(["report", "--out", out]);
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains(expected) && output.stderr.contains("hint: "), "{output:#?}");
    }
    // A directory in the place of the journal's file cannot be read.
    let env = TestEnvironment::new();
    env.directory(JOURNAL).file("repo/old.html", "old");
    let output = env.hookbox(["report", "--out", "old.html"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert_eq!(env.read("repo/old.html").unwrap(), "old");
    assert_eq!(fs::read_dir(env.path("repo")).unwrap().count(), 1, "no other file stays");
}

#[test]
fn without_a_journal_the_report_says_how_to_have_one() {
    let env = TestEnvironment::new();
    let output = env.hookbox(["report"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.contains("hint: no events were recorded"), "{output:#?}");
    assert!(env.path(REPORT).is_file());
}

#[test]
fn a_backtest_is_part_of_the_report() {
    let env = recorded(&[]);
    let call = json!({
        "type": "assistant", "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "sudo </script>"}}]},
    });
    env.file("home/.claude/projects/-p/a.jsonl", format!("{call}\n"));
    let guard = sample("guardrail");
    env.warm(&guard);
    let output = env.hookbox(["report", "--backtest", "claude", "--hook", guard.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let page = env.read(REPORT).unwrap();
    let verdicts = &tried(&page)["verdicts"];
    assert_eq!(*verdicts, json!({"pass": 0, "block": 1, "ask": 0, "modify": 0}), "{output:#?}");
    assert!(page.contains(r"sudo \u003c/script\u003e") && !page.contains("sudo </script>"));

    let result = env.hookbox(["backtest", "claude", "--json", "--hook", guard.to_str().unwrap()]);
    env.file("repo/results.json", &result.stdout);
    let output = env.hookbox(["report", "--results", "results.json"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{output:#?}");
    assert_eq!(tried(&env.read(REPORT).unwrap()), result.json());
    for (name, text) in
        [("none.json", None), ("text", Some("text")), ("other.json", Some(r#"{"hooks": {}}"#))]
    {
        text.map(|text| env.file(&format!("repo/{name}"), text));
        let output = env.hookbox(["report", "--results", name]);
        assert!(output.code == Some(2) && output.stderr.contains(name), "{output:#?}");
    }
}

/// Returns the result of the backtest on a page.
fn tried(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"summary-data\">").unwrap();
    let summary: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    summary["backtest"].clone()
}

#[test]
fn open_gives_the_file_to_the_browser() {
    let env = recorded(&[]);
    let opener = if cfg!(target_os = "macos") { "bin/open" } else { "bin/xdg-open" };
    let opened = env.path("opened");
    assert!(Command::new("mkfifo").arg(&opened).status().unwrap().success());
    env.script(opener, &format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display()));
    let output = env.hookbox(["report", "--open"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(fs::read_to_string(opened).unwrap(), env.path(REPORT).to_str().unwrap());
}

/// Returns Chromium.
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = |dir: PathBuf| ["chromium", "chromium-browser", "google-chrome"].map(|name| dir.join(name));
    let found = std::env::split_paths(&path).flat_map(named).find(|it| it.is_file());
    found.expect("the test of the report needs a browser; hint: apt-get install chromium")
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn a_browser_shows_filters_and_searches_the_report_and_runs_nothing_of_a_record() {
    let (modules, chromium) = (language_tools("node_modules"), chromium());
    let env = recorded(&records().iter().map(line).collect::<Vec<_>>());
    let output = env.hookbox(["report"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let mut node = Command::new("node");
    node.arg(repository().join("tests/report/browser.js")).arg(chromium).arg(modules).arg(env.path(REPORT));
    // Chromium keeps its profile there.
    let output = node.env("TMPDIR", env.path("tmp")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    assert!(output.status.success() && text.contains("passed: 7"), "{text}");
}
