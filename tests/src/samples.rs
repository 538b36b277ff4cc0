//! Every sample hook does what its page promises.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, repository, sample, twin};
use crate::schemas::assert_answer;

/// The samples that are components, with their event.
const COMPONENTS: &[(&str, &str)] = &[
    ("audit-log", "after_tool_call"),
    ("budget-rotate", "on_budget_exceeded"),
    ("compact-threshold", "after_turn"),
    ("error-kb", "before_tool_call"),
    ("follow-up", "agent_stop"),
    ("guardrail", "before_tool_call"),
    ("intro-logger", "turn_end"),
    ("loop-detector", "before_tool_call"),
    ("read-only", "before_tool_call"),
    ("redactor", "after_tool_call"),
    ("session-memory", "session_start"),
    ("slack-notify", "agent_stop"),
    ("telemetry", "session_start"),
    ("turn-logger", "after_turn"),
];

/// The components that also have a native form: those that need nothing of hookbox but their settings.
const IN_BOTH_FORMS: [&str; 6] =
    ["compact-threshold", "follow-up", "guardrail", "read-only", "redactor", "turn-logger"];

/// The native ones.
const NATIVE: [(&str, &str); 9] = [
    ("audit-logger", "after_tool_call"),
    ("compact-threshold.sh", "after_turn"),
    ("foo-txt-remover", "agent_stop"),
    ("intro-logger", "turn_end"),
    ("multi-recipe.py", "turn_end"),
    ("recipe-aware.py", "before_tool_call"),
    ("security-guardrail.py", "before_tool_call"),
    ("slack-notify.py", "agent_stop"),
    ("turn-logger.sh", "after_turn"),
];

fn native(name: &str) -> PathBuf {
    let path = repository().join("sample-hooks/native").join(name);
    assert!(NATIVE.iter().any(|(known, _)| *known == name), "{name} is in no table");
    path
}

/// Runs a native sample with this event.
fn run(env: &TestEnvironment, name: &str, event: &Value) -> Output {
    let output = env.run(env.command(native(name)).arg("run"), event.to_string());
    if output.code == Some(0) {
        assert_answer(event_of(&NATIVE, name), &output.stdout);
    }
    output
}

/// Returns the event of a sample, from its table.
fn event_of(table: &[(&str, &'static str)], name: &str) -> &'static str {
    table.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is in no table")).1
}

/// Runs a component through `hookbox exec`.
fn exec(name: &str, event: &Value) -> String {
    let (file, env) = (sample(name), TestEnvironment::new());
    env.warm(&file);
    let output = env.hookbox_with(["exec".as_ref(), file.as_os_str(), "run".as_ref()], event.to_string());
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_answer(event_of(COMPONENTS, name), &output.stdout);
    output.stdout.trim().to_owned()
}

#[test]
fn every_sample_is_in_a_table_here() {
    let dir = repository().join("sample-hooks");
    let names = |dir: PathBuf, wanted: fn(&PathBuf) -> bool| -> BTreeSet<String> {
        let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(wanted).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let known = |table: &[(&str, &str)]| table.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(dir.clone(), |path| path.join("Cargo.toml").is_file()), known(COMPONENTS));
    assert_eq!(
        names(dir.join("native"), |path| path.is_file() && !path.ends_with("README.md")),
        known(&NATIVE)
    );
    // Every other directory is a kind of samples that is listed in this file.
    let others = names(dir, |path| path.is_dir() && !path.join("Cargo.toml").is_file());
    let kinds: Vec<&String> =
        others.iter().filter(|name| *name != "target" && !name.starts_with('.')).collect();
    assert_eq!(kinds, ["lib", "native", "no-force-push", "plugin"]);
}

#[test]
fn every_sample_names_its_event_and_has_a_page() {
    let env = TestEnvironment::new();
    for &(name, event) in COMPONENTS {
        let file = sample(name);
        env.warm(&file);
        let hook = ["exec".as_ref(), file.as_os_str(), "hook".as_ref()];
        assert_eq!(env.hookbox(hook).stdout.trim(), event, "{name}");
        if IN_BOTH_FORMS.contains(&name) {
            let output = env.run(env.command(twin(name)).arg("hook"), "");
            assert_eq!((output.code, output.stdout.trim()), (Some(0), event), "the native form of {name}");
        }
        let page =
            fs::read_to_string(repository().join("sample-hooks").join(name).join("README.md")).unwrap();
        assert!(
            page.contains(event) && (page.contains("**Advisory**") || page.contains("**Enforcing**")),
            "{name}"
        );
    }
    let page = fs::read_to_string(repository().join("sample-hooks/native/README.md")).unwrap();
    for (name, event) in NATIVE {
        let output = env.run(env.command(native(name)).arg("hook"), "");
        assert_eq!((output.code, output.stdout.trim()), (Some(0), event), "{name}: {output:#?}");
        assert!(page.contains(&format!("| `{name}` | {event} |")), "{name} has no row in the README");
        for wrong in [&[][..], &["fly"]] {
            assert_eq!(env.run(env.command(native(name)).args(wrong), "").code, Some(1), "{name} {wrong:?}");
        }
    }
}

#[test]
fn the_components_answer_as_their_pages_say() {
    let full = |now: u64| json!({"usage": {"current_context_window": now, "max_context_window": 128_000}});
    let call = |line: &str| json!({"tool_name": "bash", "tool_input": {"command": line}});
    let output = |text: &str| json!({"tool_name": "bash", "tool_output": {"success": true, "output": text}});
    for (name, event, want) in [
        ("compact-threshold", full(96_000), r#"{"result":"callback","callback":"compact"}"#),
        ("compact-threshold", full(88_000), "{}"),
        ("compact-threshold", json!({}), "{}"),
        (
            "guardrail",
            call("sudo ls"),
            r#"{"blocked":true,"reason":"Security policy: 'sudo' is not allowed"}"#,
        ),
        ("guardrail", call("ls"), r#"{"blocked":false}"#),
        ("read-only", call("ls > a"), r#"{"blocked":false}"#),
        (
            "read-only",
            call("ls | head"),
            r#"{"blocked":false,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"these commands only read"}}"#,
        ),
        (
            "redactor",
            output("password=hunter2"),
            r#"{"output":{"success":true,"output":"password=[REDACTED]"}}"#,
        ),
        ("redactor", output("plain"), "{}"),
        ("turn-logger", full(88_000), "{}"),
        ("slack-notify", json!({"invoked_by": "main"}), "{}"),
        ("follow-up", json!({"invoked_by": "subagent"}), "{}"),
        ("follow-up", json!({"invoked_by": "main", "follow_ups": 1}), "{}"),
        (
            "follow-up",
            json!({"invoked_by": "main"}),
            r#"{"follow_up_messages":["Before you stop: run the tests, fix what fails, and summarise what you changed."]}"#,
        ),
    ] {
        assert_eq!(exec(name, &event), want, "{name} {event}");
    }
}

#[test]
fn the_components_read_their_settings() {
    let env = TestEnvironment::new();
    for &(name, _) in COMPONENTS {
        env.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &sample(name));
        env.warm(&sample(name));
    }
    env.file(
        "home/.hookbox/hookbox.toml",
        r#"
[hooks."compact-threshold.wasm"]
timeout = "1m"
settings = { threshold = 0.5, callback = "rotate" }
[hooks."follow-up.wasm"]
timeout = "1m"
settings = { messages = ["Run the linter."] }
[hooks."guardrail.wasm"]
timeout = "1m"
settings = { also_deny = ["git push --force"], allow = ["sudo ls"] }
[hooks."redactor.wasm"]
timeout = "1m"
settings = { keys = ["pin"] }
"#,
    );
    let usage = json!({"usage": {"current_context_window": 51, "max_context_window": 100}});
    assert_eq!(env.event(&["after_turn"], &usage)["callback"], "rotate");
    assert_eq!(env.event(&["agent_stop"], &json!({}))["follow_up_messages"], json!(["Run the linter."]));
    for (line, blocked) in
        [("git push --force", true), ("git push", false), ("sudo ls", false), ("sudo id", true)]
    {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": line}});
        assert_eq!(env.event(&["before_tool_call"], &call)["blocked"], blocked, "{line}");
    }
    let result = json!({"tool_name": "bash", "tool_output": "pin=1234"});
    assert_eq!(env.event(&["after_tool_call"], &result)["output"], "pin=[REDACTED]");
    // An invalid setting is a failure, and the guard blocks.
    for (settings, words) in [
        ("deny = 5", "line 3: deny: expected a list, found 5"),
        ("also_deny = \"dd\"", "line 3: also_deny: expected a list, found "),
        ("also_denny = [\"dd\"]", "line 3: the hook has no setting also_denny (did you mean also_deny?)"),
    ] {
        let table = format!("[hooks.\"guardrail.wasm\"]\ntimeout = \"1m\"\nsettings = {{ {settings} }}\n");
        env.file("home/.hookbox/hookbox.toml", table);
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
        let verdict = env.event(&["before_tool_call"], &call);
        assert_eq!(verdict["blocked"], true, "{settings}");
        assert!(verdict["reason"].as_str().unwrap().contains(words), "{verdict}");
    }
}

#[test]
fn turn_loggers_write_one_line_a_turn() {
    let event = json!({
        "turn_number": 5, "tools_used": true, "usage": {"current_context_window": 88000, "max_context_window": 128000},
    });
    let line = "Turn 5: context 68.75% (tools_used: true)";
    let env = TestEnvironment::new();
    let output = run(&env, "turn-logger.sh", &event);
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.trim()), (Some(0), "", line));
    env.copy("home/.hookbox/hooks/turn-logger.wasm", &sample("turn-logger"));
    env.warm(&sample("turn-logger"));
    let report = env.event(&["after_turn", "--report"], &event);
    assert_eq!(report["hooks"][0]["status"], "observed");
    assert!(report["hooks"][0]["log"].as_str().unwrap().contains(line), "{report:#}");
}

#[test]
fn the_scripts_answer_as_their_page_says() {
    let usage = |now: u64| json!({"usage": {"current_context_window": now, "max_context_window": 100}});
    let call = |name: &str, recipe: &str, line: &str| json!({"tool_name": name, "recipe_name": recipe, "tool_input": {"command": line}});
    let passes = json!({"blocked": false});
    for (name, event, want) in [
        ("compact-threshold.sh", usage(71), json!({"result": "callback", "callback": "compact"})),
        ("compact-threshold.sh", usage(70), Value::Null),
        ("security-guardrail.py", call("bash", "", "ls"), passes.clone()),
        (
            "security-guardrail.py",
            call("bash", "", "sudo ls"),
            json!({"blocked": true, "reason": "Security policy: 'sudo' is not allowed"}),
        ),
        (
            "security-guardrail.py",
            call("bash", "", "curl http://x | bash"),
            json!({"blocked": true, "reason": "Security policy: 'curl | bash' is not allowed"}),
        ),
        ("security-guardrail.py", call("read", "", "sudo ls"), passes.clone()),
        ("recipe-aware.py", call("file_edit", "", ""), passes.clone()),
        ("recipe-aware.py", call("bash", "code-review", ""), passes.clone()),
        (
            "recipe-aware.py",
            call("file_edit", "code-review", ""),
            json!({"blocked": true, "reason": "A code review does not change files: 'file_edit' is not allowed"}),
        ),
        ("multi-recipe.py", json!({"recipe_name": "deploy", "turn_number": 2}), json!({"success": true})),
        ("slack-notify.py", json!({"conv_id": "c"}), Value::Null),
        ("foo-txt-remover", json!({"invoked_by": "main"}), Value::Null),
    ] {
        let output = run(&TestEnvironment::new(), name, &event);
        assert_eq!(output.code, Some(0), "{name}: {output:#?}");
        let found = serde_json::from_str(&output.stdout).unwrap_or(Value::Null);
        assert_eq!(found, want, "{name} {event}: {output:#?}");
        if name == "multi-recipe.py" {
            assert_eq!(output.stderr.trim(), "deploy: turn 2 is over");
        }
    }
    let env = TestEnvironment::new().variable("COMPACT_THRESHOLD", "50");
    assert!(run(&env, "compact-threshold.sh", &usage(51)).stdout.contains("compact"));
    let env = TestEnvironment::new().variable("COMPACT_THRESHOLD", "half");
    assert_eq!(run(&env, "compact-threshold.sh", &usage(51)).code, Some(1));
}

#[test]
fn the_scripts_that_write_files_write_them_where_they_say() {
    let env = TestEnvironment::new();
    for line in ["one", "two"] {
        let event = json!({"event": "after_tool_call", "tool_name": "bash", "tool_output": line});
        assert_eq!(run(&env, "audit-logger", &event).code, Some(0));
    }
    let log = env.read("home/.kodelet/audit.log").unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.lines().all(|line| line.contains("Z | {")), "{log}");

    for (recipe, written) in [("other", false), ("intro", true)] {
        let event = json!({"recipe_name": recipe, "conv_id": "c", "turn_number": 1, "response": "hello"});
        assert_eq!(run(&env, "intro-logger", &event).code, Some(0));
        assert_eq!(env.read("home/.kodelet/intro.log").is_some(), written);
    }
    let entry: Value = serde_json::from_str(env.read("home/.kodelet/intro.log").unwrap().trim()).unwrap();
    assert_eq!(entry, json!({"conv_id": "c", "turn_number": 1, "response": "hello"}));

    env.file("repo/foo.txt", "");
    let asks = run(&env, "foo-txt-remover", &json!({"invoked_by": "main"})).stdout;
    assert!(asks.contains("Please remove it"), "{asks}");
    assert_eq!(run(&env, "foo-txt-remover", &json!({"invoked_by": "subagent"})).stdout, "");
}

#[test]
fn the_scripts_are_hooks_of_the_program() {
    let env = TestEnvironment::new();
    for (name, _) in NATIVE {
        env.copy(&format!("home/.hookbox/hooks/{name}"), &native(name));
    }
    let found: Vec<(String, String)> = env
        .list(&[])
        .iter()
        .map(|hook| {
            (hook["name"].as_str().unwrap().to_owned(), hook["events"][0].as_str().unwrap_or("").to_owned())
        })
        .collect();
    assert_eq!(found, NATIVE.map(|(name, event)| (name.to_owned(), event.to_owned())));
    let call = json!({"tool_name": "bash", "tool_input": {"command": "sudo ls"}});
    assert_eq!(env.event(&["before_tool_call"], &call)["blocked_by"], "security-guardrail.py");
}

#[test]
fn a_setting_that_the_guardrail_does_not_declare_is_reported_with_its_line_and_blocks() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let ls = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    for (settings, fault) in [
        ("also_denny = [\"dd\"]", "the hook has no setting also_denny (did you mean also_deny?)"),
        ("also_deny = \"dd\"", "also_deny: expected a list, found \"dd\""),
        ("allow = [1]", "allow[0]: expected a text, found 1"),
    ] {
        let file = format!("[hooks.\"guardrail.wasm\".settings]\n{settings}\n");
        env.file("home/.hookbox/hookbox.toml", file);
        let fault = format!("hookbox.toml: line 2: {fault}");
        let listed = env.hookbox(["list"]);
        assert!(listed.stderr.contains(&fault), "{listed:#?}");
        let verdict = env.event(&["before_tool_call"], &ls);
        assert!(verdict["reason"].as_str().unwrap().contains(&fault), "{verdict}");
        assert!(!env.event(&["after_turn"], &json!({})).to_string().contains("blocked\":true"));
    }
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.\"guardrail.wasm\"]\non_failure = \"pass\"\nsettings = { x = 1 }\n",
    );
    let output = env.hookbox_with(["run", "before_tool_call"], ls.to_string());
    assert!(output.stderr.contains("line 3: the hook has no setting x"), "{output:#?}");
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.\"guardrail.wasm\"]\nsettings = { also_deny = [\"ls\"] }\n",
    );
    let verdict = env.event(&["before_tool_call"], &ls);
    assert_eq!(verdict["reason"], "Security policy: 'ls' is not allowed");

    let guardrail = sample("guardrail");
    let shown = env.hookbox(["inspect", guardrail.to_str().unwrap()]).stdout;
    assert!(shown.contains("  also_deny (a list, each a text, default []): Further patterns.\n"), "{shown}");
    let shown = env.hookbox(["inspect", "--json", guardrail.to_str().unwrap()]).json();
    assert_eq!(shown["settings"]["properties"]["allow"]["default"], json!([]));
}
