//! The program: its output, its exit codes, and its errors for bad input.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::answers::{Backend, user};
use crate::environment::{Output, TestEnvironment, guest, program, sample};

const BEFORE: &hookbox::EventName = &hookbox::EventName::BeforeToolCall;

fn bash(command: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": command}})
}

/// A repository that brought the sample guardrail.
fn guarded() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy("repo/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env
}

#[test]
fn a_component_that_is_copied_into_a_directory_guards_it() {
    let env = guarded();
    let output = env.hookbox_with(["run", "before_tool_call"], bash("sudo rm -rf /").to_string());
    let verdict = output.json();
    assert_eq!((&verdict["blocked"], &verdict["blocked_by"]), (&json!(true), &json!("guardrail.wasm")));
    assert!(verdict["reason"].is_string());
    assert!(output.stderr.contains("Security policy: 'rm -rf' is not allowed"), "{output:#?}");
    assert_eq!(env.event(&["PreToolUse"], &bash("ls")), json!({"blocked": false}));
    let trusted = env.event(&["before_tool_call", "--trust", "all"], &bash("sudo ls"));
    assert_eq!(trusted["reason"], "Security policy: 'sudo' is not allowed");
}

#[test]
fn list_describes_what_was_found() {
    let env = guarded();
    let list = env.list(&[]);
    let [hook] = list.as_slice() else { panic!("{list:#?}") };
    let mut hook = hook.clone();
    let digest = hook["digest"].take();
    assert!(digest.as_str().unwrap().starts_with("sha256:") && digest.as_str().unwrap().len() == 71);
    let want = json!({
        "name": "guardrail.wasm", "path": env.path("repo/.hookbox/hooks/guardrail.wasm"), "kind": "component",
        "events": ["before_tool_call"], "priority": 90, "tier": "repo", "plugin": null, "trusted": false,
        "status": "active", "problem": null, "digest": null, "lacks": [], "on_failure": "block", "observe": false,
        "mode": "enforce", "timeout": "3s",
    });
    assert_eq!(hook, want);

    let table = env.hookbox(["list"]);
    assert_eq!(table.code, Some(0));
    for word in ["NAME", "guardrail.wasm", "component", "before_tool_call", "active"] {
        assert!(table.stdout.contains(word), "{table:#?}");
    }
}

#[test]
fn inspect_describes_a_component() {
    let env = guarded();
    let file = ".hookbox/hooks/guardrail.wasm";
    let found = env.hookbox(["inspect", "--json", file]).json();
    assert_eq!(found["name"], "guardrail");
    assert_eq!(found["wit_version"], "0.2.0");
    assert_eq!(found["size"], std::fs::metadata(sample("guardrail")).unwrap().len());
    assert_eq!(found["digest"], env.list(&[])[0]["digest"]);
    assert_eq!(found["subscriptions"][0]["event"], "before_tool_call");
    assert_eq!((&found["answers"], &found["capabilities"]), (&json!([]), &json!([])));
    let imports: Vec<&str> = found["imports"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(imports.iter().any(|name| name.starts_with("hookbox:hook/types@")), "{imports:?}");

    let text = env.hookbox(["inspect", file]);
    assert_eq!(text.code, Some(0));
    for word in ["guardrail 0.1.0", "sha256:", "before_tool_call", "asks for\n  nothing"] {
        assert!(text.stdout.contains(word), "{text:#?}");
    }
}

#[test]
fn a_native_hook_of_a_repository_runs_when_all_is_trusted_and_else_is_reported() {
    let env = guarded();
    let run = r#"touch ran; echo '{"input":{"command":"sudo ls"}}'"#;
    env.native("repo/.hookbox/hooks/a", "before_tool_call", run);
    env.file("repo/.hookbox/hookbox.toml", "[hooks.a]\npriority = 1\n");

    let output = env.hookbox_with(["run", "before_tool_call", "--report"], bash("ls").to_string());
    let found = output.json();
    assert_eq!(found["verdict"]["blocked"], false);
    assert_eq!(found["hooks"][0]["name"], "a");
    assert_eq!(found["hooks"][0]["status"], "untrusted");
    assert!(
        output.stderr.contains("skipped a: not trusted; review it with `hookbox trust a`"),
        "{output:#?}"
    );
    assert_eq!(env.read("repo/ran"), None);
    let entry = env.list(&[]).into_iter().find(|hook| hook["name"] == "a").unwrap();
    assert_eq!((&entry["status"], &entry["events"]), (&json!("untrusted"), &json!([])));

    let found = env.event(&["before_tool_call", "--report", "--trust", "all"], &bash("ls"));
    assert_eq!(found["verdict"]["blocked_by"], "guardrail.wasm", "{found:#}");
    let change = &found["hooks"][0]["changes"][0];
    assert_eq!(
        (&change["before"], &change["after"]),
        (&json!({"command": "ls"}), &json!({"command": "sudo ls"}))
    );
    assert!(env.read("repo/ran").is_some());
}

#[test]
fn a_report_says_what_each_hook_did() {
    let found = guarded().event(&["before_tool_call", "--report"], &bash("sudo ls"));
    assert_eq!(found["event"], "before_tool_call");
    let hook = &found["hooks"][0];
    for (field, want) in [("name", "guardrail.wasm"), ("kind", "component"), ("status", "blocked")] {
        assert_eq!(hook[field], want);
    }
    for field in ["duration_us", "fuel", "memory_peak_bytes"] {
        assert!(hook[field].as_u64().unwrap() > 0, "{field}: {hook:#}");
    }
    assert_eq!(
        (&hook["cause"], &hook["message"]),
        (&Value::Null, &json!("Security policy: 'sudo' is not allowed"))
    );
}

#[test]
fn exec_makes_a_component_an_executable_of_kodelets() {
    let env = TestEnvironment::new();
    let guardrail = sample("guardrail");
    let exec = |verb: &str| vec!["exec".into(), guardrail.clone().into_os_string(), verb.into()];
    let output = env.hookbox(exec("hook"));
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "before_tool_call\n"));
    for (command, want) in [
        ("ls", r#"{"blocked":false}"#),
        ("sudo ls", r#"{"blocked":true,"reason":"Security policy: 'sudo' is not allowed"}"#),
    ] {
        let output = env.hookbox_with(exec("run"), bash(command).to_string());
        assert_eq!((output.code, output.stdout.trim()), (Some(0), want), "{output:#?}");
    }
    // A guard that gives an answer which it does not declare has failed.
    let modifies = json!({"tool_name": "bash", "tool_input": {"answer": {"modify": "x"}}});
    let undeclared = guest("undeclared").into_os_string();
    let args = ["exec".into(), undeclared, "run".into(), "--event".into(), "before_tool_call".into()];
    let output = env.hookbox_with(args, modifies.to_string());
    assert_eq!(output.json()["blocked"], true, "{output:#?}");
    // A native hook that is nothing but this.
    let run = format!("exec {} exec {} run", program().display(), guardrail.display());
    env.native("home/.kodelet/hooks/guard", "before_tool_call", &run);
    assert_eq!(env.event(&["before_tool_call"], &bash("sudo ls"))["blocked_by"], "guard");

    env.native("repo/native", "agent_stop", r#"echo '{"follow_up_messages":["x"]}'"#);
    assert_eq!(env.hookbox(["exec", "./native", "hook"]).stdout, "agent_stop\n");
    assert_eq!(
        env.hookbox_with(["exec", "native", "run"], "{}").stdout.trim(),
        r#"{"follow_up_messages":["x"]}"#
    );

    // The program fails as a hook fails.
    env.native("repo/fails", "agent_stop", "echo sorry >&2; exit 3");
    let output = env.hookbox_with(["exec", "fails", "run"], "{}");
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    assert!(
        output.stderr.contains("error: fails failed (exit)") && output.stderr.contains("sorry"),
        "{output:#?}"
    );
}

#[track_caller]
fn refused(output: &Output, words: &str) {
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output:#?}");
    assert!(output.stderr.starts_with("error:"), "{output:#?}");
    assert_eq!(output.stderr.matches("error:").count(), 1, "{output:#?}");
    assert!(output.stderr.lines().any(|line| line.starts_with("hint:")), "{output:#?}");
    assert!(output.stderr.contains(words), "expected {words:?}: {output:#?}");
    assert!(!output.stderr.contains(['\u{1b}', '\u{202e}']), "{output:#?}");
}

#[test]
fn wrong_usage_is_an_error_line_a_hint_and_exit_code_2() {
    let env = guarded();
    env.directory("repo/folder").file("repo/file", "x");
    let guard = ".hookbox/hooks/guardrail.wasm";
    for (args, words) in [
        (&["fly"][..], "fly"),
        (&["list", "--fly"], "--fly"),
        (&["list", "surplus"], "surplus"),
        (&["list", "--cwd", "/no/such/directory"], "--cwd /no/such/directory: expected a directory"),
        (&["list", "--cwd", "file"], "expected a directory"),
        (&["list", "--root", "a/b"], "expected the name of a directory, found a path"),
        (&["list", "--root", ""], "--root"),
        (&["list", "--root", ".."], "--root"),
        (&["list", "--trust", "some"], "some"),
        (&["run"], "EVENT"),
        (&["run", "before_tool_cal"], "did you mean before_tool_call?"),
        (&["run", "PreTooluse"], "did you mean PreToolUse?"),
        (&["run", ""], "expected the name of an event"),
        (&["run", "\u{1b}[31m\u{202e}"], "expected the name of an event"),
        (&["run", "agent_stop", "--timeout", "fast"], "fast"),
        (&["run", "agent_stop", "--timeout", "-1s"], "-1"),
        (&["run", "agent_stop", "--timeout", "5"], "--timeout"),
        (&["run", "agent_stop", "--timeout", ""], "--timeout"),
        (&["run", "agent_stop", "--cwd", "missing"], "expected a directory"),
        (&["run", "agent_stop", "--root", "/"], "--root"),
        (&["exec"], "FILE"),
        (&["exec", guard], "VERB"),
        (&["exec", guard, "fly"], "fly"),
        (&["exec", "missing.wasm", "run"], "cannot read missing.wasm: no such file"),
        (&["exec", "missing", "hook"], "cannot read missing: no such file"),
        (&["exec", "folder", "run"], "found a directory"),
        (&["exec", guard, "run", "--event", "fly"], "expected the name of an event"),
        (&["exec", guard, "hook", "--event", "agent_stop"], "does not subscribe to agent_stop"),
        (&["inspect"], "FILE"),
        (&["inspect", "missing.wasm"], "cannot read missing.wasm: no such file"),
        (&["inspect", "--json", "folder"], "found a directory"),
        (&["completions"], "SHELL"),
        (&["completions", "cmd.exe"], "cmd.exe"),
    ] {
        let output = env.hookbox_with(args, "{}");
        eprintln!("{args:?}");
        refused(&output, words);
    }
}

#[test]
fn wrong_input_is_an_error_line_a_hint_and_exit_code_2() {
    let env = guarded();
    let guard = ".hookbox/hooks/guardrail.wasm";
    for (input, words) in [
        (&b"not JSON"[..], "expected JSON"),
        (b"{\"tool_name\":", "expected JSON"),
        (b"{} {}", "expected JSON"),
        (b"\xff\xfe", "expected JSON"),
        (b"[1]", "expected a JSON object, found an array"),
        (b"5", "expected a JSON object, found a number"),
        (b"\"x\"", "expected a JSON object, found a string"),
        (b"null", "expected a JSON object, found null"),
        (b"true", "expected a JSON object, found a boolean"),
        (b"{\"tool_name\":5}", "\"tool_name\" must be a string, found 5"),
        (b"{\"conv_id\":[]}", "\"conv_id\" must be a string, found an array"),
        (b"{\"cwd\":{}}", "\"cwd\" must be a string, found an object"),
        (b"{\"invoked_by\":\"nobody\"}", "\"invoked_by\" must be \"main\" or \"subagent\""),
        (b"{\"tool_name\":\"\\u001b[2J\",\"tool_user_id\":7}", "\"tool_user_id\" must be a string"),
    ] {
        for args in [&["run", "before_tool_call"][..], &["exec", guard, "run"]] {
            eprintln!("{args:?} {}", String::from_utf8_lossy(input));
            refused(&env.hookbox_with(args, input), words);
        }
    }
    refused(&env.hookbox_with(["run", "before_tool_call"], r#"{"event":"agent_stop"}"#), "\"event\" must be");
    for (event, input, words) in [
        ("agent_stop", r#"{"messages":"x"}"#, "\"messages\""),
        ("on_budget_exceeded", r#"{"threshold":80}"#, "\"threshold\" must be a number from 0 to 1, found 80"),
        (
            "on_budget_exceeded",
            r#"{"hook":"OnBudgetExceeded","threshold":-0.1}"#,
            "\"threshold\" must be a number from 0 to 1, found -0.1",
        ),
        ("on_error", r#"{"error":"m","attempt":0}"#, "\"attempt\" must be a whole number from 1, found 0"),
        ("after_turn", r#"{"usage":{"input_tokens":-1}}"#, "\"usage.input_tokens\""),
        ("after_turn", r#"{"usage":5}"#, "\"usage\" must be an object"),
        ("after_turn", r#"{"turn_number":"one"}"#, "\"turn_number\""),
        ("user_message_send", r#"{"message":1}"#, "\"message\" must be a string"),
        ("on_error", r#"{"source":"moon"}"#, "\"source\""),
    ] {
        refused(&env.hookbox_with(["run", event], input), words);
    }
}

#[test]
fn what_is_odd_but_no_error_is_a_warning_or_nothing() {
    let env = guarded();
    for input in ["", " \n", "{}"] {
        let output = env.hookbox_with(["run", "agent_stop"], input);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{input}");
    }
    let output =
        env.hookbox_with(["run", "before_tool_call"], r#"{"tool_name":"x","tool_input":"no {object"}"#);
    assert_eq!((output.json(), output.stderr.as_str()), (json!({"blocked": false}), ""));
    // A model's input that is not JSON reaches a guard as text.
    let text = json!({"tool_name": "bash", "tool_input": "sudo rm -rf"});
    assert_eq!(env.event(&["before_tool_call"], &text)["blocked"], true);
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let env = guarded();
    env.file("home/.hookbox/hooks/bad.wasm", "rubbish").file("home/.hookbox/hookbox.toml", "colour = 1\n");
    for (args, input) in [
        (&["list", "--json"][..], ""),
        (&["run", "agent_stop"], "{\"unknown\":1}"),
        (&["run", "agent_stop", "--report"], "{}"),
        (&["inspect", "--json", ".hookbox/hooks/guardrail.wasm"], ""),
    ] {
        let output = env.hookbox_with(args, input);
        output.json();
        assert_eq!(output.stderr.contains("warning:"), args[0] != "inspect", "{output:#?}");
    }
    let nothing = TestEnvironment::new();
    assert_eq!(nothing.hookbox(["list", "--json", "--no-hooks"]).stdout, "[]\n");
    assert_eq!(nothing.list(&[]), Vec::<Value>::new());
}

#[test]
fn nothing_is_coloured_in_a_pipe_or_where_nobody_wants_it() {
    let env = guarded().variable("NO_COLOR", "1").variable("TERM", "xterm-256color");
    for args in [&["list"][..], &["run", "fly"], &["--help"], &["inspect", ".hookbox/hooks/guardrail.wasm"]] {
        let output = env.hookbox(args);
        assert!(!format!("{}{}", output.stdout, output.stderr).contains('\u{1b}'), "{output:#?}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let env = guarded();
    for args in [
        &["list", "--json"][..],
        &["list"],
        &["run", "agent_stop", "--report"],
        &["completions", "bash"],
        &["inspect", ".hookbox/hooks/guardrail.wasm"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = env.command(program());
        let child = command.args(args).stdout(Stdio::from(writer)).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("panicked") && !said.contains("error:"), "{said}");
    }
}

#[test]
fn no_hooks_means_none() {
    let env = guarded();
    user(&env, Backend::Native, "guard", BEFORE, &json!({"block": "no"}));
    assert_eq!(env.event(&["before_tool_call", "--no-hooks"], &bash("sudo ls")), json!({"blocked": false}));
    assert_eq!(env.list(&["--no-hooks"]), Vec::<Value>::new());
}

#[test]
fn hooks_are_looked_for_in_the_roots_and_the_directory_that_were_named() {
    let env = guarded();
    env.native("home/.agent/hooks/mine", "before_tool_call", "pwd > $HOME/where; :");
    env.directory("elsewhere/.agent");
    let names = |args: &[&str]| -> Vec<String> {
        env.list(args).iter().map(|hook| hook["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["guardrail.wasm"]);
    assert_eq!(names(&["--root", ".agent"]), ["mine"]);
    assert_eq!(names(&["--root", ".agent", "--root", ".hookbox"]), ["guardrail.wasm", "mine"]);
    assert_eq!(names(&["--cwd", "../elsewhere"]), Vec::<String>::new());
    env.event(&["before_tool_call", "--root", ".agent", "--cwd", "../elsewhere"], &bash("ls"));
    assert_eq!(env.read("home/where").unwrap().trim(), env.path("elsewhere").to_str().unwrap());
}

#[test]
fn a_time_limit_of_the_command_line_goes_before_the_settings() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/slow", "before_tool_call", "sleep 1000");
    env.file("home/.hookbox/hookbox.toml", "[hooks.slow]\ntimeout = \"500s\"\non_failure = \"block\"\n");
    let found = env.event(&["before_tool_call", "--report", "--timeout", "300ms"], &bash("ls"));
    assert_eq!(
        (&found["verdict"]["blocked"], &found["hooks"][0]["cause"]),
        (&json!(true), &json!("timeout"))
    );
    assert_eq!(found["hooks"][0]["limit"]["limit"], 300);
}

#[test]
fn the_log_says_more_when_it_is_asked_to() {
    let quiet = guarded().hookbox_with(["run", "before_tool_call"], bash("ls").to_string());
    assert_eq!(quiet.stderr, "");
    let env = guarded().variable("HOOKBOX_LOG", "hookbox=debug");
    let output = env.hookbox_with(["run", "before_tool_call"], bash("ls").to_string());
    assert_eq!(output.json(), json!({"blocked": false}));
    assert!(output.stderr.contains("guardrail.wasm"), "{output:#?}");
    assert!(!output.stderr.contains('\u{1b}'), "no colour in a pipe: {output:#?}");
    // The log has the text that a native hook writes to standard error.
    env.native("home/.hookbox/hooks/turns", "after_turn", "echo \"Turn $(cat | wc -l): context 12%\" >&2");
    let output = env.hookbox_with(["run", "after_turn"], "{}");
    for part in ["hookbox::output", "context 12%", "turns"] {
        assert!(output.stderr.contains(part), "{part}: {output:#?}");
    }
    // An invalid filter does not stop a guard.
    let env = guarded().variable("HOOKBOX_LOG", "=!=,,[");
    assert_eq!(env.event(&["before_tool_call"], &bash("sudo ls"))["blocked"], true);
}

#[test]
fn help_and_completions_are_data() {
    let env = TestEnvironment::new();
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
    ] {
        let output = env.hookbox(args);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(output.stdout.contains("before_tool_call") || output.stdout.contains("inspect"), "{args:?}");
    }
}
