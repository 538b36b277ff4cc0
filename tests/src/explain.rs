//! `hookbox explain`: which hooks an event meets, which not, why, and what they answer.

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, sample};

const SETTINGS: &str = "[hooks.\"guardrail.wasm\"]\npriority = 10\nsettings = { also_deny = [\"git push --force\"], \
     allow = [\"sudo ls\"] }\n[hooks.old]\nenabled = false\n";

/// A guard and others of the user's, and a repository with hooks that nobody trusts.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.copy("home/.hookbox/hooks/turn-logger.wasm", &sample("turn-logger"));
    env.native("home/.hookbox/hooks/old", "before_tool_call", "true");
    env.native("home/.hookbox/hooks/late", "before_tool_call", "echo '{}'");
    env.native("home/.hookbox/plugins/o@r/hooks/late", "before_tool_call", "true");
    env.file("home/.hookbox/hookbox.toml", SETTINGS);
    let hooks = json!({"version": 1, "hooks": {"PreToolUse": [
        {"matcher": "Write", "hooks": [{"type": "command", "command": "exit 2"}]},
    ]}});
    env.file("home/.hookbox/hooks.json", serde_json::to_string_pretty(&hooks).unwrap());
    env.directory("repo/.git");
    env.native("repo/.hookbox/hooks/theirs", "before_tool_call", "true");
    env
}

fn explain(env: &TestEnvironment, words: &[&str]) -> Output {
    let output = env.hookbox([&["explain"], words].concat());
    assert_eq!(output.code, Some(0), "{output:#?}");
    output
}

fn hook<'a>(explanation: &'a Value, name: &str) -> &'a Value {
    let hooks = explanation["hooks"].as_array().unwrap();
    hooks.iter().find(|hook| hook["name"] == name).unwrap_or_else(|| panic!("{name}: {explanation:#}"))
}

#[test]
fn each_hook_is_there_with_the_reason_why_it_was_asked_or_not() {
    let env = environment();
    let blocked = explain(&env, &["git push --force", "--json"]).json();
    assert_eq!(blocked["verdict"]["blocked_by"], "guardrail.wasm");
    assert_eq!(
        (&blocked["event"], &blocked["tool_kind"], &blocked["command"]),
        (&json!("before_tool_call"), &json!("shell"), &json!("git push --force"))
    );
    let declared = blocked["hooks"].as_array().unwrap().iter().find(|it| it["kind"] == "command").unwrap();
    let (late, plugin) = ("late", "o/r/late");
    for (name, why, explanation) in [
        ("guardrail.wasm", json!(null), ""),
        ("theirs", json!("untrusted"), "trust"),
        (late, json!("after_block"), "guardrail.wasm had blocked before its turn"),
        (plugin, json!("after_block"), "guardrail.wasm"),
        (declared["name"].as_str().unwrap(), json!("after_block"), "guardrail.wasm"),
        ("old", json!("disabled"), "hookbox.toml, line 4"),
        ("turn-logger.wasm", json!("other_event"), "it is for after_turn"),
    ] {
        let hook = hook(&blocked, name);
        assert_eq!((&hook["why"], &hook["asked"]), (&why, &json!(why.is_null())), "{name}: {hook:#}");
        assert!(hook["explanation"].as_str().unwrap_or_default().contains(explanation), "{name}: {hook:#}");
    }
    let guard = hook(&blocked, "guardrail.wasm");
    assert_eq!((&guard["settings_line"], &guard["subscription"]["priority"]), (&json!(1), &json!(10)));
    assert_eq!(guard["settings"]["also_deny"], r#"["git push --force"]"#);
    assert_eq!(guard["report"]["status"], "blocked");
    assert_eq!(guard["limits"]["wall_ms"], 3000);
    assert!(declared["declared_at"].as_str().unwrap().starts_with("line "), "{declared:#}");

    let passed = explain(&env, &["git push", "--json"]).json();
    assert_eq!((&passed["verdict"]["blocked"], &passed["to_pass"]), (&json!(false), &json!(null)));
    assert_eq!(hook(&passed, late)["report"]["status"], "passed");
    let declared = hook(&passed, declared["name"].as_str().unwrap());
    assert_eq!((&declared["why"], &declared["matcher"]), (&json!("passed_over"), &json!("Write")));
}

#[test]
fn the_advice_for_a_blocked_command_lets_it_pass_and_nothing_else() {
    let env = environment();
    let blocked = explain(&env, &["git push --force", "--json"]).json();
    let advice = blocked["to_pass"].clone();
    assert_eq!(advice["hook"], "guardrail.wasm");
    assert_eq!(advice["file"], json!(env.path("home/.hookbox/hookbox.toml")));
    let settings = advice["settings"].as_str().unwrap();
    assert_eq!(settings, r#"allow = ["sudo ls", "git push --force"]"#);
    env.file(
        "home/.hookbox/hookbox.toml",
        format!(
            "[hooks.\"guardrail.wasm\"]\nsettings = {{ also_deny = [\"git push --force\"], {settings} }}\n"
        ),
    );
    let is_blocked = |line: &str| explain(&env, &[line, "--json"]).json()["verdict"]["blocked"].clone();
    for (line, blocked) in
        [("git push --force", false), ("sudo ls", false), ("git push --force origin", true)]
    {
        assert_eq!(is_blocked(line), blocked, "{line}");
    }
    // A guard that names no setting can be switched off.
    env.native("home/.hookbox/hooks/guard", "before_tool_call", r#"echo '{"blocked":true,"reason":"no"}'"#);
    let output = explain(&env, &["ls"]);
    assert!(output.stdout.ends_with("  [hooks.\"guard\"]\n  enabled = false\n"), "{}", output.stdout);
}

/// The parts are in the text, in this order.
#[track_caller]
fn has_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} in {text}"));
        rest = &rest[at..];
    }
}

#[test]
fn a_person_reads_the_decision_first_then_who_decided_and_the_others_in_a_line_each() {
    let env = environment();
    let decision = "Blocked by guardrail.wasm: Security policy: 'git push --force' is not allowed\n\n\
                    before_tool_call, tool bash (shell)\n  command   git push --force\n\n";
    let limits = "\n  limits    3s, 64.00 MiB, 1000000000 fuel; on failure: block\n";
    for cwd in ["repo", "home", "/"] {
        let cwd = env.path(cwd);
        let words = ["git push --force", "-C", cwd.to_str().unwrap()];
        let text = explain(&env, &words).stdout;
        assert!(text.starts_with(decision), "{text}");
        let parts = [
            "guardrail.wasm: blocked\n  from ",
            "\n  runs at   before_tool_call, priority 10\n",
            limits,
            "\n\nOther hooks (--verbose shows more):\n  ",
            "late: not asked: guardrail.wasm had blocked before its turn\n",
            "\n\nNot for this event:\n",
            "\n\nTo let this one pass, set in ",
            "\n  [hooks.\"guardrail.wasm\"]\n  settings = { allow = [\"sudo ls\", \"git push --force\"] }\n",
            "\nKeep its other settings: also_deny\n",
        ];
        has_in_order(&text, &parts);
        assert_eq!(text.matches("Security policy").count(), 1, "{text}");
        assert_eq!(text.matches("  limits ").count(), 1, "{text}");
        let verbose = explain(&env, &[&words[..], &["--verbose"]].concat());
        assert!(verbose.stdout.starts_with(decision), "{verbose:#?}");
        has_in_order(&verbose.stdout, &[limits, "late: not asked: ", "\n  from ", "\n    limits "]);
        assert!(!verbose.stderr.contains("DEBUG"), "{verbose:#?}");
    }
    assert!(explain(&env, &["ls", "-vv"]).stderr.contains("DEBUG"));
}

#[test]
fn an_event_comes_from_a_file_or_standard_input() {
    let env = environment();
    let event = json!({"tool_name": "write", "tool_input": {"path": "a", "content": "b"}}).to_string();
    env.file("repo/event.json", &event);
    let from_file = explain(&env, &["PreToolUse", "event.json", "--json"]).json();
    let from_stdin = env.hookbox_with(["explain", "before_tool_call", "--json"], &event).json();
    for explanation in [from_file, from_stdin] {
        assert_eq!(explanation["tool"], "write");
        // The matcher of the declaration has this tool, so that its command blocks.
        assert_eq!(explanation["verdict"]["blocked"], true, "{explanation:#}");
        assert_eq!(hook(&explanation, "guardrail.wasm")["report"]["status"], "passed");
    }
    for (words, said) in [
        (&["before_tool_cal"][..], "did you mean before_tool_call?"),
        (&["git push", "event.json"], "expected one argument for a command"),
        (&["before_tool_call", "missing.json"], "missing.json"),
    ] {
        let output = env.hookbox([&["explain"], words].concat());
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains(said), "{output:#?}");
    }
}

#[test]
fn a_hook_that_is_shadowed_names_the_one_that_runs() {
    let env = environment();
    env.native("repo/.hookbox/hooks/late", "before_tool_call", "true");
    let explanation = explain(&env, &["ls", "--trust", "all", "--json"]).json();
    let rows = explanation["hooks"].as_array().unwrap().iter();
    let shadowed = rows.clone().find(|hook| hook["why"] == "shadowed").unwrap();
    assert_eq!(shadowed["path"], json!(env.path("home/.hookbox/hooks/late")));
    assert!(shadowed["explanation"].as_str().unwrap().contains("/repo/.hookbox/hooks/late"), "{shadowed:#}");
}

#[test]
fn a_hook_of_the_same_name_that_nobody_trusts_gives_no_advice() {
    let env = TestEnvironment::new();
    // Rules need no compilation.
    let (name, rule) = ("hooks/guard.rules.toml", "[[rule]]\ncommand = \"sudo ls\"\nreason = \"No.\"\n");
    env.file(&format!("home/.hookbox/{name}"), format!("{rule}answer = \"block\"\n"));
    env.directory("repo/.git");
    env.file(&format!("repo/.hookbox/{name}"), format!("\n{rule}answer = \"ask\"\n"));
    let blocked = explain(&env, &["sudo ls", "--json"]).json();
    assert_eq!(blocked["hooks"][0]["report"]["status"], "asked", "{blocked:#}");
    assert_eq!(blocked["hooks"][0]["trusted"], false, "{blocked:#}");
    assert_eq!(blocked["to_pass"]["exception"]["line"], 1);
    assert_eq!(blocked["to_pass"]["file"], json!(env.path(format!("home/.hookbox/{name}"))));
    // Alone, it gives none.
    std::fs::remove_file(env.path(format!("home/.hookbox/{name}"))).unwrap();
    let asked = explain(&env, &["sudo ls", "--json"]).json();
    assert_eq!((asked["verdict"]["ask"].is_object(), &asked["to_pass"]), (true, &json!(null)), "{asked:#}");
}

#[test]
fn a_condition_is_judged_by_what_earlier_hooks_made_of_the_call() {
    let env = TestEnvironment::new();
    let hooks = json!({"version": 1, "hooks": {"PreToolUse": [
        {"matcher": "*", "hooks": [{"type": "command", "if": "Bash(git push:*)", "command": "exit 2"}]},
    ]}});
    env.file("home/.hookbox/hooks.json", hooks.to_string());
    env.file("home/.hookbox/hookbox.toml", "[hooks.first]\npriority = 1\n");
    for (asked, becomes, why) in [("ls", "git push", json!(null)), ("git push", "ls", json!("passed_over"))] {
        let run = format!("echo '{{\"input\":{{\"command\":\"{becomes}\"}}}}'");
        env.native("home/.hookbox/hooks/first", "before_tool_call", &run);
        let event = json!({"tool_name": "Bash", "tool_input": {"command": asked}}).to_string();
        let explanation = env.hookbox_with(["explain", "before_tool_call", "--json"], event).json();
        let declared = explanation["hooks"].as_array().unwrap().iter().find(|it| it["kind"] == "command");
        assert_eq!(declared.unwrap()["why"], why, "{asked}: {explanation:#}");
        assert_eq!(explanation["verdict"]["blocked"], why.is_null(), "{asked}");
    }
}

#[test]
fn an_exception_joins_those_of_the_rule_and_lets_this_command_pass_and_no_other() {
    let env = TestEnvironment::new();
    let file = |unless: &str| {
        format!(
            "on_failure = \"block\"\n[[rule]]\ncommand = \"git push\"\nwith = \"--force\"\nanswer = \"block\"\n\
             reason = \"No.\"\n{unless}\n"
        )
    };
    let path = "home/.hookbox/hooks/push.rules.toml";
    env.file(path, file("unless = { command = \"git push --force fork\" }"));
    let advice = explain(&env, &["git push --force origin", "--json"]).json()["to_pass"].clone();
    assert_eq!(advice["exception"]["unless"], "{ command = \"git push --force origin\" }", "{advice:#}");
    assert_eq!(advice["exception"]["replaces"], true);
    let text = explain(&env, &["git push --force origin"]).stdout;
    let row = advice["exception"]["row"].as_str().unwrap();
    assert!(
        text.contains("To let this one pass, replace the exceptions of the rule \"rule 1\" in "),
        "{text}"
    );
    assert!(text.ends_with(&format!(", line 2:\n  {row}\n")), "{text}");
    env.file(path, file(row));
    for (line, blocked) in [
        ("git push --force origin", false),
        ("git push --force fork", false),
        ("git push --force origin main", true),
        ("git push --force origin && git push --force", true),
    ] {
        let verdict = explain(&env, &[line, "--json"]).json()["verdict"]["blocked"].clone();
        assert_eq!(verdict, blocked, "{line}");
    }
    // With the exception an example of the file would fail, and the file would block everything.
    env.file(path, file("must_match = \"git push --force\""));
    let blocked = explain(&env, &["git push --force", "--json"]).json();
    assert_eq!((&blocked["verdict"]["blocked"], &blocked["to_pass"]), (&json!(true), &json!(null)));
}

#[test]
fn a_setting_that_does_not_help_is_no_advice() {
    let env = TestEnvironment::new();
    let answer = r#"{"action":"block","reason":"no","metadata":{"settings_to_pass":{"allow":["ls"]}}}"#;
    for (run, advice) in [
        (format!("echo '{answer}'"), json!(null)),
        (format!("[ -n \"$HOOKBOX_SETTINGS\" ] || echo '{answer}'"), json!("allow = [\"ls\"]")),
    ] {
        env.native("home/.hookbox/hooks/guard", "before_tool_call", &run);
        let blocked = explain(&env, &["ls", "--json"]).json();
        assert_eq!(blocked["verdict"]["blocked"], true, "{blocked:#}");
        assert_eq!(blocked["to_pass"]["settings"], advice, "{run}: {blocked:#}");
        assert_eq!(blocked["to_pass"].is_null(), advice.is_null(), "{run}");
    }
}

#[test]
fn every_hook_has_its_place_rights_and_policy() {
    let env = environment();
    env.native("home/.hookbox/hooks/broken", "before_tool_call", "echo oops >&2; exit 3");
    env.file(
        "home/.hookbox/hooks/x.rules.toml",
        "[[rule]]\nanswer = \"warn\"\nreason = \"r\"\ntool = \"x\"\n",
    );
    let text = explain(&env, &["ls", "--verbose"]).stdout;
    let (asked, others) = text.split_once("\n\nNot for this event:").unwrap();
    let others = others.replace("\n    ", "\n\t");
    let parts: Vec<&str> = asked.split("\n\n").chain(others.split("\n  ")).collect();
    for (name, wanted) in [
        ("broken", &["failed    exit: ", "rights    all of yours: it is not in a sandbox"][..]),
        ("x.rules.toml", &["rights    none"]),
        (
            "guardrail.wasm",
            &["rights    none", "settings  allow = [\"sudo ls\"], also_deny", "hookbox.toml, line 1)"],
        ),
        ("theirs", &["rights    none: it does not run", "(native, repo, not trusted)"]),
        ("hooks.json#PreToolUse[0]", &["hooks.json, line 8, column", "rights    all of yours"]),
        ("old", &["switched off in ", "hookbox.toml, line 4", "; on failure: "]),
        ("turn-logger.wasm", &["it is for after_turn", "rights    none"]),
        ("builtin:budget", &["hookbox itself", "rights    none"]),
    ] {
        let part = parts.iter().find(|it| it.contains(&format!("{name}: ")));
        let part = part.unwrap_or_else(|| panic!("{name}: {text}"));
        for wanted in wanted {
            assert!(part.contains(wanted), "{name}: {wanted}: {part}");
        }
    }
}

#[test]
fn a_change_is_shown_with_its_hook_before_and_after() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/first", "before_tool_call", r#"echo '{"input":{"command":"ls -l"}}'"#);
    let text = explain(&env, &["ls"]).stdout;
    assert!(text.contains(r#"  changed   input: {"command":"ls"} to {"command":"ls -l"}"#), "{text}");
    assert!(text.starts_with("Passes, changed by first.\n\n"), "{text}");
}
