//! Settings of the user's hooks that a repository makes stricter.

use std::fs;
use std::time::Duration;

use hookbox::manager::{Builder, Manager};
use hookbox::session::ToolDecision;
use hookbox::{Limits, ToolCall};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, guest};

/// The answers of the hook from the loosest to the strictest. Its setting `answer` is its preset here.
const PRESETS: [&str; 3] = ["{}", r#"{"ask":"sure?"}"#, r#"{"block":"strict"}"#];

const THEIRS: &str = "repo/.hookbox/hookbox.toml";

/// Puts the guest `answers` there, with a schema in which a repository may tighten `answer`.
fn guard(env: &TestEnvironment, path: &str) {
    let values: Vec<Value> = PRESETS.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "answer": {"enum": values, "default": {}, "x-hookbox-tighten": true},
        "tell": {"type": "boolean", "default": false},
    }})
    .to_string();
    let section = [&[16], b"hookbox:settings".as_slice(), schema.as_bytes()].concat();
    let mut bytes = fs::read(guest("answers")).unwrap();
    bytes.push(0);
    let mut length = section.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7F).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(section);
    env.file(path, bytes);
}

/// A table of settings with this preset.
fn table(name: &str, preset: &str) -> String {
    format!("[hooks.\"{name}\".settings]\nanswer = '{preset}'\n")
}

/// A user's guard with this preset, if there is one.
fn with_guard(preset: Option<&str>) -> TestEnvironment {
    let env = TestEnvironment::new();
    guard(&env, "home/.hookbox/hooks/guard.wasm");
    if let Some(preset) = preset {
        env.file("home/.hookbox/hookbox.toml", table("guard.wasm", preset));
    }
    env
}

/// A busy machine gets its time.
fn builder(env: &TestEnvironment) -> Builder {
    let timeout = Some(Duration::from_secs(60));
    env.builder().limits(Limits { timeout, ..Limits::default() })
}

/// The preset with which the guard answers a call.
async fn preset(manager: &Manager) -> usize {
    let verdict =
        manager.session("c").before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
    match verdict.decision {
        ToolDecision::Block(_) => 2,
        ToolDecision::Ask { .. } => 1,
        _ => 0,
    }
}

fn said(manager: &Manager) -> String {
    manager.problems().iter().map(|it| format!("{it}\n")).collect()
}

#[tokio::test]
async fn a_repository_raises_a_marked_setting_and_never_lowers_it() {
    let loose = "a repository can only make it stricter";
    for (users, theirs, want, problem) in [
        (None, PRESETS[2], 2, ""),
        (None, PRESETS[1], 1, ""),
        (None, PRESETS[0], 0, ""),
        (Some(0), PRESETS[1], 1, ""),
        (Some(1), PRESETS[1], 1, ""),
        (Some(2), PRESETS[0], 2, loose),
        (Some(1), PRESETS[0], 1, loose),
        (Some(1), "{\"pass\":true}", 1, "answer: expected one of"),
        (Some(1), "", 1, "answer: expected one of"),
    ] {
        let env = with_guard(users.map(|at: usize| PRESETS[at]));
        let before = builder(&env).build().await.hook("guard.wasm").unwrap().descriptor().digest.clone();
        env.file(THEIRS, table("guard.wasm", theirs));
        let manager = builder(&env).build().await;
        assert_eq!(preset(&manager).await, want, "{users:?} {theirs}");
        let said = said(&manager);
        assert!(
            said.contains(problem) && (said.is_empty() == problem.is_empty()),
            "{users:?} {theirs}: {said}"
        );
        assert!(problem.is_empty() || said.contains("line 2"), "{said}");
        // Trust and allowances are for this digest.
        assert_eq!(manager.hook("guard.wasm").unwrap().descriptor().digest, before);
    }
}

#[tokio::test]
async fn the_strictest_of_all_repositories_counts_and_a_change_applies_at_once() {
    let env = with_guard(None);
    env.directory("repo/.git").directory("repo/inner/.git");
    env.file(THEIRS, table("guard.wasm", PRESETS[2]));
    env.file("repo/inner/.hookbox/hookbox.toml", table("guard.wasm", PRESETS[1]));
    let inner = || builder(&env).cwd(env.path("repo/inner"));
    let manager = inner().build().await;
    assert_eq!((preset(&manager).await, said(&manager).as_str()), (2, ""));
    env.file(THEIRS, "");
    assert!(!manager.reload().await.is_empty());
    assert_eq!(preset(&manager).await, 1);
    fs::remove_file(env.path("repo/inner/.hookbox/hookbox.toml")).unwrap();
    manager.reload().await;
    assert_eq!(preset(&manager).await, 0);
}

#[tokio::test]
async fn nothing_else_of_a_users_hook_is_for_a_repository_to_set() {
    for (toml, problem, guards) in [
        (
            table("guard.wasm", PRESETS[2]) + "tell = true\n",
            "line 3: tell is not a setting that a repository",
            true,
        ),
        (
            table("guard.wasm", PRESETS[2]) + "x = 1\ny = 1\nz = 1\n",
            "and 2 more of its settings have no effect",
            true,
        ),
        (
            format!("[hooks.\"guard.wasm\"]\nenabled = false\n{}", table("guard.wasm", PRESETS[2])),
            "is not a hook of",
            true,
        ),
        ("[hooks.\"guard.wasm\"]\n".to_owned(), "is not a hook of this root", false),
        ("[hooks.\"guard.wasm\"]\nenabled = false\n".to_owned(), "is not a hook of this root", false),
        // A script has no schema.
        (table("script", PRESETS[2]), "is not a hook of this root", false),
        (table("builtin:self-protection", PRESETS[2]), "", false),
    ] {
        let env = with_guard(None);
        env.native("home/.hookbox/hooks/script", "before_tool_call", "cat >/dev/null");
        env.file(THEIRS, &toml);
        let manager = builder(&env).build().await;
        assert_eq!(preset(&manager).await, if guards { 2 } else { 0 }, "{toml}");
        let said = said(&manager);
        assert!(said.contains(problem) && said.lines().count() <= 1, "{toml}\n{said}");
    }
}

#[tokio::test]
async fn a_table_of_the_repositorys_own_hook_leaves_the_users_hook_of_that_name_alone() {
    let env = with_guard(None);
    guard(&env, "repo/.hookbox/hooks/guard.wasm");
    env.file(THEIRS, table("guard.wasm", PRESETS[1]));
    let manager = builder(&env).build().await;
    assert!(manager.entries().iter().all(|it| it.tightened.is_empty()));
}

#[test]
fn the_stricter_value_and_who_set_it_are_shown() {
    let env = with_guard(None);
    env.file(THEIRS, table("guard.wasm", PRESETS[2]));
    let file = env.path(THEIRS).to_string_lossy().into_owned();
    let want = json!([{
        "setting": "answer", "value": PRESETS[2], "instead_of": "{}", "file": file, "line": 2,
    }]);
    assert_eq!(env.list(&[])[0]["tightened"], want);
    let text = format!("answer = {} instead of {{}}, set by the repository ({file}, line 2)", PRESETS[2]);
    let list = env.hookbox(["list"]);
    assert!(list.stderr.contains(&format!("guard.wasm has {text}")), "{list:#?}");
    let explained = env.hookbox(["explain", "ls -l", "--verbose"]);
    assert!(explained.stdout.contains(&text), "{explained:#?}");
    let explained = env.hookbox(["explain", "ls -l", "--json"]).json();
    assert_eq!(explained["hooks"][0]["tightened"], want);
    assert_eq!(explained["hooks"][0]["settings"]["answer"], PRESETS[2]);

    env.file(THEIRS, table("guard.wasm", "{\"pass\":true}"));
    for args in [&["list"][..], &["run", "agent_stop"], &["doctor", "claude"]] {
        let output = env.hookbox_with(args, "{}");
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert!(
            shown.split_whitespace().collect::<Vec<_>>().join(" ").contains("answer: expected one of"),
            "{shown}"
        );
    }
}
