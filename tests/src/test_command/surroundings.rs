//! Earlier events, the clock, and files of a case.

use serde_json::json;

use super::{environment, results, test};
use crate::environment::TestEnvironment;
use crate::schemas;

#[test]
fn events_come_before_that_of_the_case_in_the_same_session() {
    let env = environment(
        r#"
[[case]]
name = "files of earlier events"
command = "ls"
before = [{ command = "one" }, { event = "PreToolUse", data = { tool_name = "two", tool_input = {} } }]
[case.expect.files]
"calls.log" = { contains = ['"one"', '"two"', '"ls"'] }
[[case]]
name = "an answer to an earlier event does not count"
command = "ls"
before = [{ command = "make deploy" }]
expect = {}
[[case]]
name = "a failure before"
command = "ls"
before = [{ command = "ls" }, { command = "crash" }]
expect = {}
[[case]]
name = "an event that the hook is not for"
command = "ls"
before = [{ event = "agent_stop" }]
expect = {}
"#,
    );
    let output = test(&env, &["--json"]);
    let found = results(&output);
    assert_eq!(schemas::faults("test", None, &found), Vec::<String>::new());
    assert_eq!((&found["passed"], &found["failed"]), (&json!(2), &json!(2)), "{output:#?}");
    for (at, words) in [
        (2, "event 2 of `before`: the hook failed: exit: "),
        (3, "event 1 of `before`: the hook is for before_tool_call, not for agent_stop"),
    ] {
        let came = &found["cases"][at]["differences"][0];
        assert_eq!(came["what"], "hook");
        assert!(came["came"].as_str().unwrap().contains(words), "{came}");
    }
    let output = test(&env, &["--dialect", "claude", "--json"]);
    assert_eq!(results(&output)["cases"][0]["passed"], true, "{output:#?}");
}

#[test]
fn the_counters_of_rules_use_the_clock_of_the_case_also_through_a_wire() {
    let env = TestEnvironment::new();
    env.file(
        "repo/count.rules.toml",
        "[[rule]]\ncommand = 'ls'\ncount = { times = 3, within = '10m' }\nanswer = 'block'\nreason = 'three'\n",
    );
    let case = |every: &str, more: &str, verdict: &str| {
        format!(
            "[[case]]\nname = '{every} {more}'\ncommand = 'ls'\ntimes = 3\nevery = '{every}'\n{more}\n\
             expect = {{ verdict = '{verdict}' }}\n"
        )
    };
    let cases: String = ["", "clock = 2001-01-01T00:00:00Z"]
        .iter()
        .flat_map(|more| [case("299s", more, "block"), case("300s", more, "pass")])
        .collect();
    env.file("repo/cases/count.toml", cases);
    for args in [&[][..], &["--dialect", "claude"], &["--dialect", "copilot"]] {
        let output = test(&env, args);
        assert_eq!(output.code, Some(0), "{args:?} {output:#?}");
        assert!(output.stdout.contains("4 passed"), "{args:?} {output:#?}");
    }
}

#[test]
fn files_of_the_home_directory_are_put_and_compared() {
    let env = TestEnvironment::new();
    let script = "cat \"$HOME/.config/word\" >&2; echo new > \"$HOME/made\"; rm \"$HOME/old\"";
    env.native("repo/guard", "before_tool_call", script).file(
        "repo/cases/guard.toml",
        r#"
[[case]]
name = "home"
command = "ls"
files = { "$HOME/.config/word" = "secret", "$HOME/old" = "" }
[case.expect]
log = "secret"
files = { "$HOME/made" = "new\n", "$HOME/old" = false, "$HOME/.config/word" = "secret" }
"#,
    );
    let output = test(&env, &["--json"]);
    let found = results(&output);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(found["cases"][0]["came"]["files"], json!({"$HOME/made": "new\n", "$HOME/old": null}));
}
