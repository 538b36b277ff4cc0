//! `hookbox new` and `hookbox build`: the same guard in every language.

mod languages;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use languages::with_rust;

use hookbox::EventName;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, program, repository, sample};

/// Checks that a hook passes the table of the sample guard, and that it blocks as a hook of the user.
fn assert_guards(env: &TestEnvironment, hook: &Path) {
    let table = repository().join("sample-hooks/no-force-push");
    let output = env.hookbox([
        "test".as_ref(),
        table.as_os_str(),
        "--hook".as_ref(),
        hook.as_os_str(),
        "--json".as_ref(),
    ]);
    let failed = |results: Value| -> Vec<Value> {
        let cases = results["cases"].as_array().unwrap().clone();
        cases.into_iter().filter(|case| case["passed"] != true).collect()
    };
    let results: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:#?}"));
    let passed = results["passed"].as_u64().unwrap();
    assert_eq!(failed(results), Vec::<Value>::new(), "{}", hook.display());
    assert!(passed >= 60, "{passed}");

    let name = hook.file_name().unwrap().to_str().unwrap();
    env.copy(&format!("home/.hookbox/hooks/{name}"), hook);
    let verdict = env.event(&["before_tool_call"], &call("git push --force"));
    assert_eq!((&verdict["blocked"], &verdict["blocked_by"]), (&json!(true), &json!(name)), "{verdict}");
    assert_eq!(verdict["reason"], REASON);
}

/// The reason of the sample guard, in every language.
const REASON: &str =
    "A forced push can remove the commits of others. Use `git push --force-with-lease` instead.";

/// Makes a project in `repo/NAME`, with the tools that `prepare` puts into it, and returns what `build` prints.
fn build(env: &TestEnvironment, name: &str, language: &str, prepare: impl FnOnce(&Path)) -> Value {
    let output = env.hookbox(["new", name, "--lang", language]);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), &*format!("created {name}/")), "{output:#?}");
    prepare(&env.path("repo").join(name));
    let built = env.hookbox(["build", name, "--json"]).json();
    assert_eq!(built["subscriptions"][0]["event"], "before_tool_call", "{built}");
    built
}

fn assert_passes_its_cases(env: &TestEnvironment, dir: &str) {
    let output = env.hookbox(["test", dir]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn the_sample_guard_blocks_as_rules_and_in_rust() {
    assert_guards(
        &TestEnvironment::new(),
        &repository().join("sample-hooks/no-force-push/rules/no-force-push.rules.toml"),
    );
    assert_guards(&TestEnvironment::new(), &sample("no-force-push"));
}

#[test]
fn a_script_is_a_guard_at_once() {
    let env = TestEnvironment::new();
    let built = build(&env, "push-guard", "script", |_| {});
    assert_passes_its_cases(&env, "push-guard");
    env.copy("home/.hookbox/hooks/push-guard", Path::new(built["path"].as_str().unwrap()));
    for (line, blocked) in [
        ("git push --force", true),
        ("git push -f", true),
        ("git -C x push origin +main", true),
        ("git push --force-with-lease", false),
        ("git push && rm -f x", false),
        ("", false),
    ] {
        let verdict = env.event(&["before_tool_call"], &call(line));
        assert_eq!(verdict["blocked"], blocked, "{line}: {verdict}");
        assert!(!blocked || verdict["reason"] == REASON, "{verdict}");
    }
    let output = env.hookbox(["new", "ender", "--lang", "script", "--event", "agent_stop"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(env.hookbox(["build", "ender"]).stdout.contains("runs at  agent_stop"));
}

#[test]
fn rules_are_a_guard_at_once_by_any_name() {
    for name in ["push-guard", "no-force-push", "my-no-force-push", "guard"] {
        let env = TestEnvironment::new();
        let built = build(&env, name, "rules", |_| {});
        assert_eq!(built["path"], json!(env.path(format!("repo/{name}/{name}.rules.toml"))));
        assert_guards(&env, Path::new(built["path"].as_str().unwrap()));
        assert_passes_its_cases(&env, name);
    }
}

#[test]
fn rules_for_every_event_build_and_pass_their_cases() {
    let env = TestEnvironment::new();
    for event in EventName::ALL {
        let name = event.as_str().replace('_', "-");
        let output = env.hookbox(["new", &name, "--lang", "rules", "--event", event.as_str()]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        let built = env.hookbox(["build", &name]);
        assert_eq!(built.code, Some(0), "{built:#?}");
        assert!(built.stdout.contains(&format!("runs at\n  {event} (priority ")), "{built:#?}");
        assert_passes_its_cases(&env, &name);
    }
}

#[test]
fn rules_whose_example_fails_are_an_error_with_its_line() {
    let env = TestEnvironment::new();
    env.hookbox(["new", "guard", "--lang", "rules"]);
    let file = env.read("repo/guard/guard.rules.toml").unwrap();
    let wrong = file.replace("must_pass = [\n", "must_pass = [\n    \"git push -f\",\n");
    let line = wrong.lines().position(|line| line == "    \"git push -f\",").unwrap() + 1;
    env.file("repo/guard/guard.rules.toml", &wrong);
    let output = env.hookbox(["build", "guard"]);
    let words =
        format!("guard.rules.toml: line {line}: \"guard\" matches \"git push -f\" of must_pass\nhint: ");
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output:#?}");
    assert!(output.stderr.contains(&words), "{output:#?}");
}

#[test]
fn a_watched_project_is_built_after_each_change() {
    let env = TestEnvironment::new();
    env.hookbox(["new", "guard", "--lang", "rules"]);
    let good = env.read("repo/guard/guard.rules.toml").unwrap();
    let mut child =
        env.command(program()).args(["build", "guard", "--watch", "--json"]).spawn().map(Ended).unwrap();
    let stdout = child.0.stdout.take().unwrap();
    let (tell, builds) = mpsc::channel();
    // It ends with the program.
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            tell.send(serde_json::from_str::<Value>(&line.unwrap()).unwrap()).ok();
        }
    });
    // A change may take more than one build, if the system reports it in pieces.
    let wait_for = |what: &str, wanted: &dyn Fn(&Value) -> bool| {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let build = builds.recv_timeout(left).unwrap_or_else(|error| panic!("{what}: {error}"));
            if wanted(&build) {
                break;
            }
        }
    };
    wait_for("the first build", &|build| build["rules"][0]["name"] == "guard");
    env.file("repo/guard/guard.rules.toml", "[[rule]]\ncomand = \"x\"\n");
    wait_for("a fault ends nothing", &|build| {
        build["error"].as_str().is_some_and(|it| it.contains("line 2: unknown key \"comand\""))
    });
    env.file("repo/guard/guard.rules.toml", good.replace("priority = 90", "priority = 7"));
    wait_for("the fault is mended", &|build| build["subscriptions"][0]["priority"] == 7);
}

/// A program that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The data of an event before a call of a shell.
fn call(line: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": line}})
}

#[test]
fn a_wrong_command_line_writes_nothing() {
    let env = TestEnvironment::new();
    env.file("repo/taken/file", "mine");
    for (args, code, words) in [
        (&["new"][..], 2, "error: expected a name, found none\nhint: hookbox new NAME --lang"),
        (&["new", "guard"], 2, "error: expected a language, found none"),
        (&["new", "../guard", "--lang", "script"], 2, "expected lower-case letters"),
        (&["new", "guard", "--lang", "perl"], 2, "expected a language: rust, python"),
        (&["new", "guard", "--lang", "script", "--event", "after_trun"], 2, "did you mean after_turn?"),
        (&["new", "taken", "--lang", "script"], 2, "found a directory that is not empty"),
        (&["build"], 2, "expected the project of one hook"),
    ] {
        let output = env.hookbox(args);
        assert_eq!(output.code, Some(code), "{args:?}: {output:#?}");
        assert!(output.stderr.contains(words), "{args:?}: {output:#?}");
    }
    assert_eq!(fs::read_dir(env.path("repo")).unwrap().count(), 1);
}
