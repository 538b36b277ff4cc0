//! A `.wasm` file may have any bytes: each is one clear problem, and everything else works.

use std::collections::BTreeMap;
use std::fs;

use hookbox::manager::EntryStatus;
use hookbox::{Allocation, Runtime};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, guest, sample};

/// A component that imports and exports empty instances of these names, written by hand.
fn component(import: Option<&str>, export: Option<&str>) -> Vec<u8> {
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [&[id, u8::try_from(content.len()).unwrap()], content].concat()
    }
    let name = |name: &str| [&[0, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    if let Some(import) = import {
        // A type: an instance without members. An import of that type.
        bytes.extend(section(7, &[1, 0x42, 0]));
        bytes.extend(section(10, &[&[1][..], &name(import), &[5, 0]].concat()));
    }
    if let Some(export) = export {
        // An instance of no exports, and its export.
        let index = u8::from(import.is_some());
        bytes.extend(section(5, &[1, 1, 0]));
        bytes.extend(section(11, &[&[1][..], &name(export), &[5, index, 0]].concat()));
    }
    bytes
}

/// The bytes with this text in the place of that, which is as long.
fn patched(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, it)| *it == from.as_bytes())
        .map(|it| it.0)
        .collect();
    assert!(!places.is_empty(), "{from} stands nowhere");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

/// Returns the content of each file, and words of its problem.
fn cases() -> BTreeMap<&'static str, (Vec<u8>, &'static str)> {
    let good = fs::read(sample("turn-logger")).unwrap();
    BTreeMap::from([
        ("empty", (Vec::new(), "is empty")),
        ("text", (b"#!/bin/sh\necho before_tool_call\n".to_vec(), "is not WebAssembly")),
        ("escapes", (b"\x1b[2J\xe2\x80\xae\nsecond line".to_vec(), "is not WebAssembly")),
        ("zeroes", (vec![0; 4096], "is not WebAssembly")),
        ("elf", (fs::read("/bin/true").unwrap(), "machine code")),
        ("core-module", (b"\0asm\x01\0\0\0".to_vec(), "core WebAssembly module")),
        ("other-version", (b"\0asm\x0e\0\x01\0".to_vec(), "unknown version")),
        ("header-only", (component(None, None), "it exports nothing")),
        ("other-world", (component(None, Some("wasi:cli/run@0.2.0")), "it exports wasi:cli/run@0.2.0")),
        ("newer", (component(None, Some("hookbox:hook/hook@0.3.0")), "hookbox:hook/hook@0.3.0")),
        ("much-newer", (component(None, Some("hookbox:hook/hook@7.0.0")), "this hookbox serves 0.2.0")),
        ("older", (component(None, Some("hookbox:hook/hook@0.1.0")), "this hookbox serves 0.2.0")),
        ("hollow", (component(None, Some("hookbox:hook/hook@0.2.0")), "")),
        (
            "unknown-import",
            (
                component(Some("acme:thing/api@1.0.0"), Some("hookbox:hook/hook@0.2.0")),
                "acme:thing/api@1.0.0",
            ),
        ),
        (
            "newer-types",
            (
                component(Some("hookbox:hook/types@0.3.0"), Some("hookbox:hook/hook@0.2.0")),
                "hookbox:hook/types@0.3.0",
            ),
        ),
        // A canonical function of the asynchronous calls, `task.cancel`.
        ("asynchronous", ([component(None, None), vec![8, 2, 1, 5]].concat(), "build it without them")),
        ("half", (good[..good.len() / 2].to_vec(), "damaged")),
        ("twice", ([good.clone(), good.clone()].concat(), "damaged")),
        ("unknown-event", (patched(good, "after_turn", "after_tuna"), "did you mean after_turn?")),
        ("loops", (fs::read(guest("loops-in-describe")).unwrap(), "describe: ")),
        ("panics", (fs::read(guest("panics-in-describe")).unwrap(), "describe was asked to fail")),
    ])
}

#[test]
fn each_is_one_clear_problem_and_other_hooks_still_work() {
    let env = TestEnvironment::new();
    let cases = cases();
    for (name, (bytes, _)) in &cases {
        env.file(&format!("home/.hookbox/hooks/{name}.wasm"), bytes);
    }
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.native("home/.hookbox/hooks/native", "before_tool_call", ":");
    // Not a component either, whatever its name is.
    env.directory("home/.hookbox/hooks/directory.wasm");

    let listed = env.hookbox(["list", "--json"]);
    let entries = listed.json();
    let entry = |name: &str| {
        let found: Vec<&Value> =
            entries.as_array().unwrap().iter().filter(|entry| entry["name"] == name).collect();
        assert_eq!(found.len(), 1, "{name} in {entries:#}");
        found[0]
    };
    for (name, (_, words)) in &cases {
        let name = format!("{name}.wasm");
        let found = entry(&name);
        assert_eq!((&found["status"], &found["kind"]), (&json!("invalid"), &json!("component")), "{found:#}");
        assert_eq!(found["events"], json!([]));
        assert!(found["digest"].as_str().unwrap().starts_with("sha256:"));
        let problem = found["problem"].as_str().unwrap();
        assert!(problem.contains(words), "{name}: expected {words:?} in {problem:?}");
        assert!(!problem.contains(char::is_control) && problem.len() < 1000, "{name}: {problem:?}");
        let told = listed
            .stderr
            .lines()
            .filter(|line| line.starts_with("warning:") && line.contains(&format!("/{name}:")));
        assert_eq!(told.count(), 1, "{name} in {}", listed.stderr);
    }
    for good in ["guardrail.wasm", "native"] {
        assert_eq!(entry(good)["status"], "active");
    }
    assert_eq!(
        entries.as_array().unwrap().len(),
        cases.len() + 2 + hookbox::builtin::ALL.len(),
        "and the built-in hooks"
    );

    let event = json!({"tool_name": "bash", "tool_input": {"command": "sudo ls"}});
    assert_eq!(env.event(&["before_tool_call"], &event)["blocked_by"], "guardrail.wasm");
}

#[test]
fn inspect_and_exec_say_the_same_and_fail() {
    for (name, (bytes, words)) in cases() {
        let env = TestEnvironment::new();
        env.file("repo/bad.wasm", bytes);
        for args in
            [&["inspect", "bad.wasm"][..], &["inspect", "--json", "bad.wasm"], &["exec", "bad.wasm", "hook"]]
        {
            let output = env.hookbox(args);
            assert!(output.code == Some(2) && output.stdout.is_empty(), "{name}: {output:#?}");
            assert!(output.stderr.starts_with("error: bad.wasm: "), "{name}: {output:#?}");
            assert!(output.stderr.contains(words), "{name}: {output:#?}");
        }
    }
}

#[tokio::test]
async fn a_damaged_component_is_a_problem_or_a_hook_and_never_a_crash() {
    let env = TestEnvironment::new();
    let good = fs::read(sample("turn-logger")).unwrap();
    for cut in (0..100).map(|part| good.len() * part / 100) {
        env.file(&format!("home/.hookbox/hooks/cut-{cut:06}.wasm"), &good[..cut]);
    }
    for number in 0..16_usize {
        let mut flipped = good.clone();
        // Spread over the file by a stride that shares no factor with its length's powers of two.
        let bit = (number * 2_654_435_761) % (good.len() * 8);
        flipped[bit / 8] ^= 1 << (bit % 8);
        env.file(&format!("home/.hookbox/hooks/flip-{number:02}.wasm"), &flipped);
    }
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    // Nothing of this belongs into the cache that the tests share.
    let manager = env.builder().runtime(Runtime::new(Allocation::OnDemand, None)).build().await;
    assert_eq!(manager.entries().len(), 100 + 16 + 1);
    for entry in manager.entries().iter() {
        let problem = entry.problem.as_deref().unwrap_or_default();
        assert!(!problem.contains(char::is_control), "{}: {problem:?}", entry.name);
        let is_cut = entry.name.starts_with("cut-");
        assert!(!is_cut || entry.status == EntryStatus::Invalid, "{entry:?}");
        assert_eq!(entry.status == EntryStatus::Active, problem.is_empty(), "{entry:?}");
    }
    let call = hookbox::ToolCall::new("bash", json!({"command": "sudo ls"}));
    let verdict = manager.session("c").before_tool_call(call).await;
    assert_eq!(verdict.decision.blocked().unwrap().by, "guardrail.wasm");
    // A hook whose bits were flipped may do anything but harm.
    let fired = manager.session("c").after_turn(hookbox::event::AfterTurn::default()).await;
    assert!(fired.turn.is_none());
}

#[test]
fn a_broken_guard_still_guards() {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hooks/guard.wasm", "rubbish");
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guard.wasm\"]\non_failure = \"block\"\n");
    let verdict =
        env.event(&["before_tool_call"], &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}));
    assert_eq!((&verdict["blocked"], &verdict["blocked_by"]), (&json!(true), &json!("guard.wasm")));
}
