//! `hookbox test`: cases beside a hook.

mod guards;
mod samples;
mod surroundings;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, guest, sample};
use crate::schemas;

/// A guard that blocks deployments, counts its calls in a file, and asks before a release.
const GUARD: &str = r#"input=$(cat)
echo "$input" >> calls.log
case "$input" in
*deploy*) echo '{"blocked":true,"reason":"deployments are made by CI"}' ;;
*rewrite*) echo '{"input":{"command":"ls --safe"}}' ;;
*crash*) echo oh no >&2; exit 3 ;;
*whereami*) echo "{\"blocked\":true,\"reason\":\"$HOME|$COLOR|$(pwd)|$SECRET.\"}" ;;
esac"#;

fn environment(cases: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.native("repo/guard", "before_tool_call", GUARD).file("repo/cases/guard.toml", cases);
    env
}

fn test(env: &TestEnvironment, args: &[&str]) -> Output {
    env.hookbox([&["test"], args].concat())
}

fn results(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"))
}

#[test]
fn cases_that_pass_end_with_0_and_others_with_1() {
    let env = environment(
        r#"
[[case]]
name = "a deployment is blocked"
command = "make deploy"
expect = { verdict = "block", reason = "by CI" }
[[case]]
name = "the input is replaced"
command = "rewrite"
expect = { input = { command = "ls --safe" }, changed = true }
[[case]]
name = "a crash is a failure"
command = "crash"
on_failure = "block"
expect = { verdict = "block", failure = "exit", log = "oh no" }
[[case]]
name = "nothing of the user's is there"
command = "whereami"
environment = { COLOR = "blue" }
expect = { verdict = "block", reason = "$HOME|blue|$REPO|." }
[[case]]
name = "files are compared"
event = "before_tool_call"
data = { tool_name = "read", tool_input = {} }
files = { "calls.log" = "before\n", "sub/old.txt" = "old" }
expect = { files = { "sub/old.txt" = "old", "new.txt" = false } }
"#,
    )
    .variable("SECRET", "of the user");
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stdout.ends_with("5 passed, 0 failed\n"), "{output:#?}");
    for place in ["cases/guard.toml", "cases", "guard", "."] {
        assert_eq!(test(&env, &[place]).code, Some(0), "{place}");
    }
    assert!(env.read("repo/calls.log").is_none(), "the hook ran in a directory of its own");

    env.file("repo/cases/guard.toml", "[[case]]\nname = 'wrong'\ncommand = 'make deploy'\nexpect = {}\n");
    let output = test(&env, &["--json"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let results = results(&output);
    assert_eq!(schemas::faults("test", None, &results), Vec::<String>::new());
    let case = &results["cases"][0];
    assert_eq!((&results["failed"], &case["line"], &case["passed"]), (&json!(1), &json!(1), &json!(false)));
    let want = json!([{"what": "verdict", "expected": "pass", "came": "block"}]);
    assert_eq!(case["differences"], want);
    assert_eq!(case["text"], "cases/guard.toml, line 1: wrong\n  verdict\n    - pass\n    + block");
    assert_eq!(results["outdated"], json!([]));
    assert_eq!(case["came"]["reason"], "deployments are made by CI");
}

#[test]
fn a_failing_case_shows_the_difference_within_80_columns() {
    let env = environment(
        "[[case]]\nname = 'a rewrite'\ncommand = 'rewrite'\nexpect = { input = { command = 'ls' } }\n",
    );
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(1));
    let want = "\
CASE       STATUS  FILE
a rewrite  failed  guard.toml

- is expected, + is what came

cases/guard.toml, line 1: a rewrite
  input
      {
    -   \"command\": \"ls\"
    +   \"command\": \"ls --safe\"
      }

0 passed, 1 failed
";
    assert_eq!(output.stdout, want);
}

#[test]
fn a_failure_that_is_not_expected_fails_a_case_also_if_the_verdict_is_right() {
    let env = environment("[[case]]\nname = 'crash'\ncommand = 'crash'\nexpect = { verdict = 'pass' }\n");
    let results = results(&test(&env, &["--json"]));
    assert_eq!(results["cases"][0]["differences"][0]["what"], "failure");
}

#[test]
fn a_failure_of_a_component_has_the_cause_that_the_host_found() {
    let env = TestEnvironment::new();
    let case = |name: &str, input: &str, more: &str, expect: &str| {
        format!(
            "[[case]]\nname = '{name}'\nevent = 'before_tool_call'\n\
             data = {{ tool_name = 'bash', tool_input = {input} }}\n{more}\nexpect = {{ {expect} }}\n"
        )
    };
    let cases = [
        case("an error", "{ do = 'err' }", "", "failure = 'exit', warnings = ['asked to fail']"),
        case("a block", "{ do = 'err' }", "on_failure = 'block'", "verdict = 'block', failure = 'exit'"),
        case("a panic", "{ do = 'trap' }", "", "failure = 'trap'"),
        case("an end", "{ do = 'exit-0' }", "", "failure = 'exit'"),
        case("too much memory", "{ do = 'alloc' }", "", "failure = 'memory'"),
        case("another cause", "{ do = 'err' }", "", "failure = 'trap'"),
        case("no failure", "{}", "", "failure = 'exit'"),
        case("a right that it does not ask for", "{}", "grants = ['store']", ""),
    ];
    env.copy("repo/hostile.wasm", &guest("hostile")).file("repo/cases/hostile.toml", cases.concat());
    let results = results(&test(&env, &["--json"]));
    let texts: Vec<&str> =
        results["cases"].as_array().unwrap().iter().filter_map(|case| case["text"].as_str()).collect();
    assert_eq!(
        texts,
        [
            "cases/hostile.toml, line 31: another cause\n  failure\n    - trap\n    + exit: asked to fail",
            "cases/hostile.toml, line 37: no failure\n  failure\n    - exit",
            "cases/hostile.toml, line 43: a right that it does not ask for\n  hook\n    \
             + the case grants store, and the hook does not ask for it",
        ]
    );
}

#[test]
fn a_hook_for_another_event_fails_the_case() {
    let env = environment("[[case]]\nname = 'stop'\nevent = 'agent_stop'\nexpect = {}\n");
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("is for before_tool_call, not for agent_stop"), "{output:#?}");
}

#[test]
fn a_broken_case_file_is_wrong_input_with_its_line() {
    for (text, words) in [
        (
            "[[case]]\nname = 'x'\ncomand = 'ls'\n",
            "line 3: there is no key \"comand\" here\nhint: did you mean command?",
        ),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nexpect.verdickt = 'pass'\n", "did you mean verdict?"),
        ("[[cases]]\nname = 'x'\n", "did you mean case?"),
        ("[[case]]\nname = 'x'\n", "a case needs an event"),
        ("[[case]]\nname = 'x'\nevent = 'before_tol_call'\n", "did you mean before_tool_call?"),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nexpect.verdict = 'stop'\n", "line 4"),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\n[[case]]\nname = 'x'\ncommand = 'ls'\n",
            "a second case has the name",
        ),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nfiles = { '../up' = '' }\nexpect = {}\n", "line 4"),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nfiles = { '$HOME/../up' = '' }\nexpect = {}\n", "without .."),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = { files = { '$DATA/../up' = '' } }\n", "without .."),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\ntimes = 0\nexpect = {}\n",
            "line 4: times is a number from 1 to 100",
        ),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\ntimes = -1\nexpect = {}\n", "line 4"),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nevry = '1s'\nexpect = {}\n", "did you mean every?"),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nevery = '1s'\nexpect = {}\n", "hint: add `times = 2`"),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\ntimes = 2\nevery = '1 second'\nexpect = {}\n",
            "line 5: every: expected a time such as",
        ),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\nbefore = [{ comand = 'ls' }]\nexpect = {}\n",
            "line 4: there is no key \"comand\" here\nhint: did you mean command?",
        ),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\nbefore = [{}]\nexpect = {}\n",
            "line 4: a case needs an event",
        ),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\nbefore = [{ event = 'agent_stopp' }]\nexpect = {}\n",
            "line 4: \"agent_stopp\" is not the name of an event\nhint: did you mean agent_stop?",
        ),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\ngrants = ['all']\nexpect = {}\n", "is not a right"),
        (
            "[[case]]\nname = 'x'\ncommand = 'ls'\n",
            "does not have the answer that must come\nhint: add [case.expect], or let --update",
        ),
        (
            "[[case]]\nname = 'x'\nevent = 'agent_stop'\ndata = { tool = 1 }\nexpect = {}\n",
            "has no field \"tool\"",
        ),
        ("[[case\n", "line 1"),
        ("# nothing\n", "has no cases"),
    ] {
        let output = test(&environment(text), &[]);
        assert_eq!(output.code, Some(2), "{text} {output:#?}");
        assert!(output.stderr.contains(words), "{text} {output:#?}");
        assert!(output.stderr.contains("hint: "), "{output:#?}");
    }
}

#[test]
fn a_file_that_cannot_be_a_case_file_is_wrong_input() {
    let long = format!("# {}\n", "x".repeat(1 << 10)).repeat(10 << 10);
    for (content, words) in [
        (long.as_bytes(), "cases/guard.toml: has more than 4194304 bytes"),
        (b"[[case]]\nname = '\xff'\n", "cases/guard.toml: is not UTF-8"),
    ] {
        let env = environment("");
        env.file("repo/cases/guard.toml", content);
        for place in [".", "guard"] {
            let output = test(&env, &[place]);
            assert_eq!(output.code, Some(2), "{output:#?}");
            assert!(output.stderr.contains(words), "{output:#?}");
        }
    }
    // A pipe, which is not opened, and a link that leads nowhere.
    let case = "[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = {}\n";
    let env = environment(case);
    let made = env.run(env.command("mkfifo").arg(env.path("repo/cases/x.toml")), "");
    assert_eq!(made.code, Some(0), "{made:#?}");
    for place in [".", "cases/x.toml", "guard"] {
        let output = test(&env, &[place]);
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(output.stderr.contains("cases/x.toml: is not a file"), "{output:#?}");
    }
    let env = environment(case);
    env.symlink("repo/cases/.#guard.toml", "ada@nowhere");
    assert_eq!(test(&env, &[]).code, Some(0), "an editor's lock is left out");
    env.symlink("repo/cases/x.toml", "nowhere");
    assert_eq!(test(&env, &[]).code, Some(2));
}

#[test]
fn a_component_that_is_older_than_its_sources_is_a_warning() {
    let env = TestEnvironment::new();
    env.copy("repo/guard.wasm", &sample("guardrail"))
        .file("repo/Cargo.toml", "")
        .file("repo/cases/guard.toml", "[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = {}\n");
    let set = |path: &str, seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
        fs::File::options().write(true).open(env.path(path)).unwrap().set_modified(time).unwrap();
    };
    for (built, is_old) in [(1, true), (3, false)] {
        set("repo/Cargo.toml", 2);
        set("repo/guard.wasm", built);
        let output = test(&env, &["--json"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let words = "guard.wasm is older than Cargo.toml; run `hookbox build`";
        assert_eq!(output.stderr.contains(&format!("warning: {words}")), is_old, "{output:#?}");
        let outdated = if is_old { json!([words]) } else { json!([]) };
        assert_eq!(results(&output)["outdated"], outdated);
    }
}

#[test]
fn a_directory_without_cases_or_hook_is_wrong_input() {
    let env = TestEnvironment::new();
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("hint: write a case into cases/NAME.toml"), "{output:#?}");
    env.file("repo/cases/x.toml", "[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = {}\n");
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("--hook FILE"), "{output:#?}");
    env.native("repo/a", "agent_stop", "").native("repo/b", "agent_stop", "");
    let output = test(&env, &[]);
    assert!(output.stderr.contains("several hooks are beside these cases: a, b"), "{output:#?}");
}

#[test]
fn an_update_writes_what_came_and_keeps_comments() {
    let env = environment(
        "# The guard of the team.\n[[case]]\nname = 'deploy' # by hand\ncommand = 'make deploy'\n\n[[case]]\nname = 'rewrite'\n\
         command = 'rewrite'\n[case.expect]\n# Always.\nverdict = 'block' # for now\n",
    );
    env.mode("repo/cases/guard.toml", 0o640);
    let output = test(&env, &["--update"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let mode = env.path("repo/cases/guard.toml").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(output.stdout.contains("0 passed, 0 failed, 2 updated"), "{output:#?}");
    let text = env.read("repo/cases/guard.toml").unwrap();
    for kept in
        ["# The guard of the team.", "name = 'deploy' # by hand", "# Always.", "verdict = \"pass\" # for now"]
    {
        assert!(text.contains(kept), "{text}");
    }
    assert!(text.contains("reason = \"deployments are made by CI\""), "{text}");
    assert!(text.contains("\"cwd\":\"$REPO\"") && !text.contains("hookbox-case-"), "{text}");
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(0), "{output:#?}\n{text}");
    assert!(output.stdout.contains("2 passed, 0 failed"), "{output:#?}");
}

#[test]
fn commands_of_a_hooks_json_are_tested_like_a_hook() {
    let env = TestEnvironment::new();
    env.file(
        "repo/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"command": ["./check.sh"], "matcher": "kind:shell"}]}}"#,
    )
    .script("repo/check.sh", "#!/bin/sh\necho '{\"blocked\":true,\"reason\":\"checked\"}'\n")
    .file(
        "repo/cases/all.toml",
        "hook = 'hooks.json'\n[[case]]\nname = 'shell'\ncommand = 'ls'\nexpect = { verdict = 'block', reason = 'checked' }\n\
         [[case]]\nname = 'other tools'\nevent = 'PreToolUse'\ndata = { tool_name = 'read', tool_input = {} }\nexpect = {}\n",
    );
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn commands_of_a_plugin_and_tools_of_a_server_are_tested_like_a_hook() {
    let env = TestEnvironment::new();
    env.file(
        "repo/plugin/hooks/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh"}]}]}}"#,
    )
    .script("repo/plugin/check.sh", "#!/bin/sh\necho 'not here' >&2\nexit 2\n")
    .file(
        "repo/server/mcp.json",
        r#"{"mcpServers": {"tools": {"command": "./tools.sh", "env": {"RECORDS": "."}}}, "hooks": {"PreToolUse": [{"tool": "tools.block"}]}}"#,
    )
    .script("repo/server/tools.sh", include_str!("../../servers/tools.sh"))
    .file(
        "repo/server/cases/all.toml",
        "hook = 'mcp.json'\n[[case]]\nname = 'any call'\ncommand = 'ls'\nexpect = { verdict = 'block', reason = 'not today' }\n",
    );
    env.file(
        "repo/plugin/cases/all.toml",
        "hook = 'hooks/hooks.json'\n[[case]]\nname = 'shell'\ncommand = 'ls'\nexpect = { verdict = 'block', reason = 'not here' }\n",
    );
    let output = test(&env, &["plugin", "server"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn a_case_sets_the_time_of_its_event() {
    let env = TestEnvironment::new();
    env.file("repo/hooks.json", r#"{"hooks": {"before_tool_call": [{"command": "cat >&2"}]}}"#).file(
        "repo/cases/all.toml",
        "[[case]]\nname = 'new year'\ncommand = 'ls'\nclock = 2026-01-01T00:00:00Z\nexpect = { log = '2026-01-01T00:00:00Z' }\n",
    );
    let output = test(&env, &[]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn the_results_are_written_for_junit() {
    let env = environment(
        "[[case]]\nname = 'good'\ncommand = 'ls'\nexpect = {}\n[[case]]\nname = 'bad <&>'\ncommand = 'deploy'\nexpect = {}\n",
    );
    let output = test(&env, &["--junit", "out.xml"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    let xml = env.read("repo/out.xml").unwrap();
    assert!(
        xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("bad &lt;&amp;&gt;"),
        "{xml}"
    );
    env.symlink("repo/link.xml", "../home/out.xml");
    let output = test(&env, &["--junit", "link.xml"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("link.xml is a symlink\nhint: "), "{output:#?}");
    assert!(env.read("home/out.xml").is_none());

    // A run with an error leaves no results of an earlier one.
    env.file("repo/cases/guard.toml", "[[case]]\nnam = 'x'\n");
    let output = test(&env, &["--junit", "out.xml"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(env.read("repo/out.xml").is_none());
}

#[test]
fn an_event_that_an_agent_does_not_send_is_skipped_and_an_answer_that_it_cannot_take_fails() {
    let env = environment(
        "[[case]]\nname = 'an input'\ncommand = 'rewrite'\nexpect = { input = { command = 'ls --safe' } }\n",
    );
    let output = test(&env, &["--dialect", "claude"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    env.native("repo/turns", "turn_end", "cat >&2").file(
        "repo/cases/turns.toml",
        "[[case]]\nname = 'a turn'\nevent = 'turn_end'\ndata = { turn_number = 1 }\nexpect = {}\n",
    );
    let output = test(&env, &["cases/turns.toml", "--dialect", "claude", "--json", "--junit", "out.xml"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let results = results(&output);
    assert_eq!((&results["skipped"], &results["passed"]), (&json!(1), &json!(0)));
    assert_eq!(schemas::faults("test", None, &results), Vec::<String>::new());
    assert!(env.read("repo/out.xml").unwrap().contains("<skipped message="));
    let output = test(&env, &["--dialect", "cline"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
}
