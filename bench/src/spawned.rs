//! A guard that is a process for each call, as a program or as a script of the usual languages.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookbox::manager::Manager;
use hookbox::native::NativeHook;
use hookbox::session::Session;
use hookbox::{Descriptor, Document, EventName, Kind};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Extent;
use crate::calls::{LINE, before_tool_call, check, input, one_thread, payload, session};
use crate::place::Place;
use crate::row::{Aim, Row, Runner, race, timed};

const BASH: &str = r#"#!/usr/bin/env bash
payload=$(cat)
case $payload in
    *'"command":"sudo '*) echo '{"blocked":true,"reason":"not allowed"}' ;;
esac
"#;

const SH: &str = r#"#!/bin/sh
payload=$(cat)
case $payload in
    *'"command":"sudo '*) echo '{"blocked":true,"reason":"not allowed"}' ;;
esac
"#;

const PYTHON: &str = r#"import json, sys
payload = json.load(sys.stdin)
if payload["tool_input"]["command"].startswith("sudo "):
    print(json.dumps({"blocked": True, "reason": "not allowed"}))
"#;

const NODE: &str = r#"const payload = JSON.parse(require("fs").readFileSync(0, "utf8"));
if (payload.tool_input.command.startsWith("sudo ")) {
    console.log(JSON.stringify({ blocked: true, reason: "not allowed" }));
}
"#;

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let tokio = one_thread();
    let dir = TempDir::with_prefix("hookbox-bench-").unwrap();
    let script = |name: &str, text: &str| script(dir.path(), name, text);
    let mut hooks = vec![
        ("native program", Some(30.0), place.hook("native/guardrail")),
        ("bash script", Some(100.0), script("bash", BASH)),
    ];
    // Version managers put a script before the interpreter, which is not theirs to pay for.
    if let Some(python) = interpreter("python3", &["-c", "import sys; print(sys.executable)"]) {
        let text = format!("#!{}\n{PYTHON}", python.display());
        hooks.push(("python3 script", Some(1000.0), script("python3", &text)));
    }
    if let Some(node) = interpreter("node", &["-p", "process.execPath"]) {
        hooks.push(("node script", Some(1.0), script("node", &format!("#!{}\n{NODE}", node.display()))));
    }
    let guard = tokio.block_on(session(&place.hook("guardrail.wasm"), 1, None));
    let peers: Vec<Session> = hooks.iter().map(|(_, _, path)| tokio.block_on(native(path))).collect();
    tokio.block_on(async {
        check(&guard).await;
        for peer in &peers {
            check(peer).await;
        }
    });
    let sh = script("sh", SH);
    assert!(
        run(&sh, &payload(&json!({"command": "sudo ls"}))) && !run(&sh, &payload(&json!({"command": LINE})))
    );

    let input = input(1 << 10);
    let (document, payload) = (Document::new(input.clone()), payload(&input));
    let mut sides: Vec<Runner<'_>> = vec![Box::new(|| tokio.block_on(before_tool_call(&guard, &document)))];
    for peer in &peers {
        sides.push(Box::new(|| tokio.block_on(before_tool_call(peer, &document))));
    }
    sides.push(Box::new(|| timed(|| run(&sh, &payload))));
    let times = race(extent.rounds(200), &mut sides);
    let peers = hooks
        .iter()
        .map(|(name, aim, _)| (*name, *aim))
        .chain([("sh script, as kodelet runs it", Some(1.0))]);
    peers
        .zip(&times[1..])
        .map(|((name, aim), theirs)| {
            Row::compare(&format!("guard, 1 KB: {name}"), "µs", &times[0], theirs, aim.map(Aim::TimesFaster))
        })
        .collect()
}

/// A session with one executable hook.
async fn native(path: &Path) -> Session {
    let descriptor = Descriptor::new("guard", Kind::Native).on(EventName::BeforeToolCall);
    let builder = Manager::builder().directories(false).builtins(false);
    builder.hook(NativeHook::new(descriptor, path.to_owned())).build().await.session("bench")
}

/// Writes an executable script, and returns its path.
pub(crate) fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns the file of an interpreter by asking it; `None` with a line on standard error if there is none.
pub(crate) fn interpreter(name: &str, args: &[&str]) -> Option<PathBuf> {
    let output = Command::new(name).args(args).output().ok().filter(|output| output.status.success());
    let path = output.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    if path.is_none() {
        eprintln!("   absent: {name}");
    }
    path
}

/// Runs an executable hook, and returns whether it blocks.
fn run(hook: &Path, payload: &str) -> bool {
    let mut command = Command::new(hook);
    let mut child = command.arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    answer["blocked"] == true
}
