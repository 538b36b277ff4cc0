//! `hookbox new` and `hookbox build`: the same guard in every language.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hookbox::EventName;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, program, repository, sample, target};

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
    let call = json!({"tool_name": "bash", "tool_input": {"command": "git push --force"}});
    let verdict = env.event(&["before_tool_call"], &call);
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

/// An environment with the Rust of this test and no network.
fn with_rust() -> TestEnvironment {
    // It downloads the crates that a project needs, because the samples need them too.
    sample("guardrail");
    let home = std::env::home_dir().unwrap();
    let of_home = |variable: &str, dir: &str| {
        std::env::var(variable).unwrap_or_else(|_| home.join(dir).to_str().unwrap().to_owned())
    };
    let env = TestEnvironment::new()
        .variable("PATH", &std::env::var("PATH").unwrap())
        .variable("CARGO_HOME", &of_home("CARGO_HOME", ".cargo"))
        .variable("RUSTUP_HOME", &of_home("RUSTUP_HOME", ".rustup"))
        // The macros for the host are compiled once for all projects.
        .variable("CARGO_TARGET_DIR", target().join("projects").to_str().unwrap())
        .variable("CARGO_NET_OFFLINE", "true");
    match std::env::var("RUSTUP_TOOLCHAIN") {
        Ok(toolchain) => env.variable("RUSTUP_TOOLCHAIN", &toolchain),
        Err(_) => env,
    }
}

#[test]
fn a_rust_project_builds_guards_and_has_the_same_digest_in_every_directory() {
    // The versions that the samples are built with are on this machine.
    let lock = repository().join("sample-hooks/Cargo.lock");
    let digests = [(); 2].map(|()| {
        let env = with_rust();
        let built = build(&env, "push-guard", "rust", |dir| {
            fs::copy(&lock, dir.join("Cargo.lock")).unwrap();
        });
        let file = PathBuf::from(built["path"].as_str().unwrap());
        assert_eq!(file, env.path("repo/push-guard/push-guard.wasm"));
        assert_guards(&env, &file);
        assert_passes_its_cases(&env, "push-guard");
        built["digest"].as_str().unwrap().to_owned()
    });
    assert_eq!(digests[0], digests[1]);
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
        let call = json!({"tool_name": "bash", "tool_input": {"command": line}});
        let verdict = env.event(&["before_tool_call"], &call);
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

/// Returns the directory of a tool that is not part of the tests; `None`, with a `skipped:` line, if it is missing.
fn tools(directory: &str, install: &str) -> Option<PathBuf> {
    let path = repository().join("target/tools").join(directory);
    if path.is_dir() {
        return Some(path);
    }
    let line = format!("skipped: target/tools/{directory} is missing; hint: {install}");
    let is_required = std::env::var_os("HOOKBOX_REQUIRE_TOOLS").is_some();
    assert!(!is_required, "{line}");
    println!("{line}");
    None
}

#[test]
fn a_python_project_guards() {
    let install =
        "python3 -m venv target/tools/venv && target/tools/venv/bin/pip install componentize-py==0.25.1";
    let Some(venv) = tools("venv", install) else { return };
    let env = TestEnvironment::new();
    let built = build(&env, "push-guard", "python", |dir| symlink(venv, dir.join(".venv")).unwrap());
    assert_guards(&env, Path::new(built["path"].as_str().unwrap()));
    assert_passes_its_cases(&env, "push-guard");
}

#[test]
fn a_typescript_project_guards() {
    let install = "npm install --prefix target/tools componentize-qjs@0.4.5 esbuild@0.28.2 typescript@7.0.2";
    let Some(modules) = tools("node_modules", install) else { return };
    let env = TestEnvironment::new().variable("PATH", &std::env::var("PATH").unwrap());
    let built = build(&env, "push-guard", "typescript", |dir| {
        let own = dir.join("node_modules");
        fs::create_dir(&own).unwrap();
        for entry in fs::read_dir(modules).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), own.join(entry.file_name())).unwrap();
        }
        symlink(dir.join("vendor/hookbox-sdk"), own.join("hookbox-sdk")).unwrap();
    });
    assert_guards(&env, Path::new(built["path"].as_str().unwrap()));
    assert_passes_its_cases(&env, "push-guard");
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
        (&["new", "guard", "--lang", "script", "--event", "after_trun"], 2, "did you mean `after_turn`?"),
        (&["new", "taken", "--lang", "script"], 2, "found a directory that is not empty"),
        (&["build"], 2, "expected the project of one hook"),
    ] {
        let output = env.hookbox(args);
        assert_eq!(output.code, Some(code), "{args:?}: {output:#?}");
        assert!(output.stderr.contains(words), "{args:?}: {output:#?}");
    }
    assert_eq!(fs::read_dir(env.path("repo")).unwrap().count(), 1);
}

#[test]
fn a_missing_tool_is_named_with_the_command_that_installs_it() {
    let env = TestEnvironment::new();
    for (language, words) in [
        (
            "python",
            "error: componentize-py is not installed\nhint: in the directory of the project: python3 -m venv",
        ),
        ("typescript", "error: tsc is not installed\nhint: in the directory of the project: npm install"),
    ] {
        env.hookbox(["new", language, "--lang", language]);
        let output = env.hookbox(["build", language]);
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stderr.contains(words), "{output:#?}");
    }
}

#[test]
fn the_output_of_a_failed_tool_is_shown() {
    let env = TestEnvironment::new();
    env.hookbox(["new", "guard", "--lang", "python"]);
    env.script(
        "repo/guard/.venv/bin/componentize-py",
        "#!/bin/sh\necho wrong line 3; echo fault >&2; exit 4\n",
    );
    let output = env.hookbox(["build", "guard"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    for words in ["wrong line 3", "fault", "error: componentize-py failed (exit status: 4)"] {
        assert!(output.stderr.contains(words), "{output:#?}");
    }
    assert_eq!(
        fs::read_dir(env.path("repo/guard"))
            .unwrap()
            .filter(|it| { it.as_ref().unwrap().file_name().to_str().unwrap().starts_with(".build-") })
            .count(),
        0
    );
}

/// The manifests of the SDK in a Rust project are written by hand, because those of the repository name its workspace.
#[test]
fn the_carried_manifests_have_the_dependencies_of_the_sdk() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let (workspace, sdk) = (read("Cargo.toml"), read("guest-sdk/Cargo.toml"));
    let carried = read("crates/authoring/templates/rust/common/vendor/hookbox-sdk/Cargo.toml.in");
    let dependencies = sdk.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
    let dependencies: Vec<&str> = dependencies
        .filter(|name| workspace.lines().any(|it| it.starts_with(&format!("{name} = {{"))))
        .collect();
    assert_eq!(dependencies, ["hookbox-redact", "serde", "serde_json", "wit-bindgen"]);
    for name in dependencies.into_iter().skip(1) {
        let line = workspace.lines().find(|it| it.starts_with(&format!("{name} = "))).unwrap();
        assert!(carried.lines().any(|it| it == line), "{line}\n{carried}");
    }
}
