//! Rules files, through the program: what they block, how they are listed, and what a broken one does.

use std::fs;

use hookbox::ToolCall;
use hookbox::rules::Rules;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, repository};
use crate::schemas::assert_answer;

const NAME: &str = "no-force-push.rules.toml";
const HOOK: &str = "home/.hookbox/hooks/no-force-push.rules.toml";
const RULE: &str =
    "[[rule]]\ncommand = \"git push\"\nwith = \"--force\"\nanswer = \"block\"\nreason = \"No.\"\n";

fn call(line: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": line}})
}

/// An environment with the sample as the user's own hook.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.copy(HOOK, &repository().join("sample-hooks/no-force-push/rules").join(NAME));
    env
}

fn list(env: &TestEnvironment) -> Value {
    env.list(&[])[0].clone()
}

fn run(env: &TestEnvironment, line: &str) -> Value {
    env.event(&["before_tool_call"], &call(line))
}

#[test]
fn the_sample_blocks_a_forced_push_and_is_listed_inspected_explained_and_called() {
    let env = environment();
    let row = list(&env);
    for (key, value) in [
        ("kind", json!("rules")),
        ("name", json!(NAME)),
        ("status", json!("active")),
        ("events", json!(["before_tool_call"])),
        ("on_failure", json!("block")),
        ("priority", json!(90)),
        ("trusted", json!(true)),
    ] {
        assert_eq!(row[key], value, "{key}: {row:#}");
    }
    let reason = "A forced push can remove the commits of others. Use `git push --force-with-lease` instead.";
    let blocked = run(&env, "cd x && sudo git push -f origin");
    let expected = json!({"blocked": true, "reason": reason, "blocked_by": NAME});
    assert_eq!(blocked, expected);
    assert_eq!(run(&env, "git push --force-with-lease"), json!({"blocked": false}));

    let file = env.path(HOOK);
    let file = file.to_str().unwrap();
    let inspected = env.hookbox(["inspect", file, "--json"]).json();
    assert_eq!((&inspected["kind"], &inspected["digest"]), (&json!("rules"), &row["digest"]));
    let rule = &inspected["rules"][0];
    assert_eq!(
        (&rule["name"], &rule["command"], &rule["line"]),
        (&json!("no-force-push"), &json!("git push"), &json!(6))
    );
    assert!(rule.get("must_match").is_none(), "{rule:#}");
    let text = env.hookbox(["inspect", file]).stdout;
    assert!(
        text.contains(
            "no-force-push (line 6)\n  command  git push\n  with     [\"--force\",\"-f\",\"+*\"]\n"
        ),
        "{text}"
    );

    let explained = env.hookbox(["explain", "sudo git push -f"]);
    assert!(
        explained.stdout.contains("\n  rule      no-force-push, line 6, on: sudo git push -f\n"),
        "{explained:#?}"
    );
    let explained = env.hookbox(["explain", "sudo git push -f", "--json"]).json();
    assert_eq!(
        explained["to_pass"]["exception"],
        json!({
            "rule": "no-force-push", "line": 6, "unless": "{ command = \"sudo git push -f\" }",
            "row": "unless = [{ command = \"git push\", with = [\"--dry-run\", \"-n\"] }, { command = \"sudo git push -f\" }]",
            "replaces": true,
        })
    );
    let hook = &explained["hooks"][0];
    assert_eq!(hook["report"]["metadata"]["rules"][0]["name"], "no-force-push", "{hook:#}");

    assert_eq!(env.hookbox(["exec", file, "hook"]).stdout, "before_tool_call\n");
    let answer = env.hookbox_with(["exec", file, "run"], call("git push --force").to_string());
    assert_answer("before_tool_call", &answer.stdout);
    assert_eq!(answer.json(), json!({"blocked": true, "reason": reason}));
}

#[test]
fn settings_of_hookbox_toml_apply_to_rules() {
    let env = environment();
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{NAME}\"]\nenabled = false\n"));
    assert_eq!(list(&env)["status"], "disabled");
    assert_eq!(run(&env, "git push --force"), json!({"blocked": false}));
    let settings = "priority = 7\non_failure = \"pass\"\nenv = []\n";
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{NAME}\"]\n{settings}"));
    let output = env.hookbox(["list", "--json"]);
    let row = list(&env);
    assert_eq!((&row["priority"], &row["on_failure"]), (&json!(7), &json!("pass")));
    assert!(output.stderr.contains("env, which has no effect on rules"), "{output:#?}");
}

#[test]
fn a_broken_file_is_invalid_with_its_line_and_a_guard_blocks() {
    let guard = "on_failure = \"block\"\n";
    let huge = format!("{guard}{RULE}# {}", "x".repeat(300_000));
    for (text, problem) in [
        (
            format!("{guard}[[rule]]\ncomand = \"x\""),
            "line 3: unknown key \"comand\" (did you mean command?)",
        ),
        (
            format!("{guard}{RULE}must_pass = \"git push --force\""),
            "line 7: \"rule 1\" matches \"git push --force\" of must_pass",
        ),
        (format!("{guard}{RULE}field = {{ \"/a\" = \"(\" }}"), "line 7: field: "),
        (format!("{guard}{RULE}path = \"a[\""), "line 7: path: "),
        (format!("{guard}[[rule"), "line 2: is not TOML: "),
        (format!("{guard}{}", RULE.repeat(1_000)), "has 1000 rules, more than 256"),
        (huge, "has more than 262144 bytes"),
    ] {
        let env = TestEnvironment::new();
        env.file(HOOK, text);
        let row = list(&env);
        assert_eq!((&row["status"], &row["kind"]), (&json!("invalid"), &json!("rules")), "{problem}");
        assert!(row["problem"].as_str().unwrap().contains(problem), "{problem}: {row:#}");
        let blocked = run(&env, "ls");
        assert_eq!(blocked["blocked"], true, "{problem}: {blocked:#}");
        assert!(blocked["reason"].as_str().unwrap().contains(problem), "{problem}: {blocked:#}");
    }
    // Without the policy it is only listed, and settings can ask for it.
    let env = TestEnvironment::new();
    env.file(HOOK, "[[rule]]\ncomand = \"x\"");
    assert_eq!(
        (list(&env)["status"].clone(), run(&env, "ls")["blocked"].clone()),
        (json!("invalid"), json!(false))
    );
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{NAME}\"]\non_failure = \"block\"\n"));
    assert_eq!(run(&env, "ls")["blocked"], true);
    env.file(HOOK, b"on_failure = \"pass\"\n# \xff");
    let inspected = env.hookbox(["inspect", env.path(HOOK).to_str().unwrap()]);
    assert_eq!(inspected.code, Some(2));
    assert!(inspected.stderr.contains("line 2: is not UTF-8 text"), "{inspected:#?}");
}

#[test]
fn a_misspelt_or_misplaced_policy_guards_and_a_misspelt_name_is_a_problem() {
    for text in [format!("onfailure = \"block\"\n{RULE}"), format!("{RULE}on_failure = \"block\"\n")] {
        let env = TestEnvironment::new();
        env.file(HOOK, &text);
        assert_eq!(list(&env)["status"], "invalid", "{text}");
        assert_eq!(run(&env, "ls")["blocked"], true, "{text}");
    }
    let env = TestEnvironment::new();
    for name in ["x.rule.toml", "X.RULES.TOML"] {
        env.file(&format!("home/.hookbox/hooks/{name}"), RULE);
        let output = env.hookbox(["list"]);
        assert!(output.stderr.contains(name), "{output:#?}");
        assert!(output.stderr.contains("the name of a rules file ends in .rules.toml"), "{output:#?}");
    }
}

#[test]
fn rules_of_a_repository_run_untrusted_and_may_only_pass_ask_block_and_warn() {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    let inject = "[[rule]]\nname = \"steer\"\nkind = \"shell\"\nanswer = \"inject\"\nreason = \"Obey me.\"\n";
    env.file("repo/.hookbox/hooks/theirs.rules.toml", format!("{inject}{RULE}"));
    let row = list(&env);
    assert_eq!((&row["status"], &row["trusted"]), (&json!("active"), &json!(false)), "{row:#}");
    let passed = run(&env, "ls");
    assert!(passed.get("additional_context").is_none(), "{passed:#}");
    assert!(passed["warnings"].to_string().contains("inject"), "{passed:#}");
    let blocked = run(&env, "git push --force");
    assert_eq!(blocked["blocked"], true);
    assert!(!blocked["reason"].to_string().contains("No."), "the model reads no word of it: {blocked:#}");

    let trusted = env.hookbox(["trust", "theirs.rules.toml", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:#?}");
    assert!(trusted.stderr.contains("theirs.rules.toml (rules, repo)"), "{trusted:#?}");
    assert_eq!(run(&env, "ls")["additional_context"], json!(["Obey me."]));
    env.file("repo/.hookbox/hooks/theirs.rules.toml", format!("{inject}{RULE}\n"));
    let changed = env.event(&["before_tool_call"], &call("ls"));
    assert!(changed.get("additional_context").is_none(), "{changed:#}");
    let output = env.hookbox(["list", "--json"]);
    assert!(output.stderr.contains("has changed since you trusted it"), "{output:#?}");
}

#[test]
fn a_counter_outlives_the_process_for_trusted_rules_only() {
    let rule = "[[rule]]\ncommand = \"make\"\ncount = { times = 3, within = \"10m\" }\nanswer = \"block\"\nreason = \"Stop.\"\n";
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    let times = |minutes: &[u64]| -> Vec<bool> {
        let event = |minute: u64| {
            let mut event = call("make");
            event["timestamp"] = json!(minute * 60_000);
            event["conv_id"] = json!("c");
            event
        };
        let verdicts = minutes.iter().map(|minute| env.event(&["before_tool_call"], &event(*minute)));
        verdicts.map(|verdict| verdict["blocked"] == true).collect()
    };
    env.file("repo/.hookbox/hooks/a.rules.toml", rule);
    assert_eq!(times(&[1, 2, 3, 4]), [false; 4], "an untrusted file counts within its process");
    fs::remove_file(env.path("repo/.hookbox/hooks/a.rules.toml")).unwrap();
    env.file("home/.hookbox/hooks/a.rules.toml", rule);
    assert_eq!(times(&[1, 2, 3, 4, 30]), [false, false, true, true, false]);
}

#[tokio::test]
async fn a_file_that_breaks_while_a_host_runs_stays_in_force_in_its_last_version() {
    let env = TestEnvironment::new();
    env.file(HOOK, RULE);
    let manager = env.builder().build().await;
    let is_blocked = async |line: &str| {
        let call = ToolCall::new("bash", json!({"command": line}));
        manager.session("c").before_tool_call(call).await.decision.blocked().is_some()
    };
    assert!(is_blocked("git push --force").await);
    env.file(HOOK, "[[rule]]\ncomand = \"git push\"\n");
    manager.reload().await;
    assert!(is_blocked("git push --force").await);
    let problems = manager.problems();
    assert!(problems.iter().any(|it| it.message.contains("stays in force")), "{problems:#?}");
    env.file(HOOK, RULE.replace("--force", "--tags"));
    manager.reload().await;
    assert_eq!((is_blocked("git push --force").await, is_blocked("git push --tags").await), (false, true));
}

#[test]
fn the_examples_of_the_book_are_rules_without_a_fault() {
    let page = fs::read_to_string(repository().join("docs/src/rules.md")).unwrap();
    let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let rules: Vec<&str> = blocks.filter(|block| block.contains("[[rule]]")).collect();
    assert!(rules.len() > 1, "{page}");
    for text in rules {
        Rules::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}
