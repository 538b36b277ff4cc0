//! Projects that a tool of their language builds.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{assert_guards, assert_passes_its_cases, build, call};
use crate::environment::{TestEnvironment, language_tools, program, repository, sample, target};
use crate::sdk_languages::link_modules;

/// An environment with the Rust of this test and no network.
pub(crate) fn with_rust() -> TestEnvironment {
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
        // The dependencies of all projects are those of the samples, which are compiled.
        .variable("CARGO_TARGET_DIR", target().join("guests").to_str().unwrap())
        .variable("CARGO_NET_OFFLINE", "true");
    match std::env::var("RUSTUP_TOOLCHAIN") {
        Ok(toolchain) => env.variable("RUSTUP_TOOLCHAIN", &toolchain),
        Err(_) => env,
    }
}

#[test]
fn a_rust_project_builds_guards_and_has_the_same_digest_in_every_directory_and_a_fault_is_shown() {
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
        assert_tests_its_cases_in_cargo(&env);
        assert_shows_a_fault_in_the_words_of_the_compiler(&env);
        built["digest"].as_str().unwrap().to_owned()
    });
    assert_eq!(digests[0], digests[1]);
}

/// Checks that the cases run in `cargo test`, and that it fails for a case that fails, and for an old component.
fn assert_tests_its_cases_in_cargo(env: &TestEnvironment) {
    let test = "#[test]\nfn the_cases_pass() -> Result<(), hookbox_sdk::Error> {\n    \
                hookbox_sdk::testing::run(\"cases\")\n}\n";
    env.file("repo/push-guard/tests/cases.rs", test);
    let test = || {
        let mut command = env.command("cargo");
        command.current_dir(env.path("repo/push-guard")).env("HOOKBOX", program());
        let output = env.run(command.args(["test", "--test", "cases"]), "");
        (output.code == Some(0), output.stdout + &output.stderr)
    };
    let (is_success, text) = test();
    assert!(is_success && text.contains("test the_cases_pass ... ok"), "{text}");
    let case = "[[case]]\nname = 'a wrong case'\ncommand = 'ls'\nexpect.verdict = 'block'";
    env.file("repo/push-guard/cases/more.toml", case);
    let (is_success, text) = test();
    let words = "cases/more.toml, line 1: a wrong case\n  verdict\n    - block\n    + pass\n";
    assert!(!is_success && text.contains(words), "{text}");
    fs::remove_file(env.path("repo/push-guard/cases/more.toml")).unwrap();
    env.file("repo/push-guard/src/lib.rs", env.read("repo/push-guard/src/lib.rs").unwrap());
    let (is_success, text) = test();
    assert!(!is_success && text.contains("is older than src/lib.rs; run `hookbox build`"), "{text}");
}

/// Checks the same project with a fault: its dependencies are compiled.
fn assert_shows_a_fault_in_the_words_of_the_compiler(env: &TestEnvironment) {
    replace(&env.path("repo/push-guard/src/lib.rs"), "Ok(Answer::pass())", "Ok(5)");
    let output = env.hookbox(["build", "push-guard"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    for words in
        ["error[E0308]: mismatched types", "--> src/lib.rs:", "error: cargo failed (exit status: 101)"]
    {
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
    }
    assert!(!output.stderr.contains("{\""), "{output:#?}");
}

/// Replaces a text, once.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from}: {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Checks that hookbox itself refuses a misspelled setting of the guard, and a wrong type.
fn assert_knows_its_settings(env: &TestEnvironment) {
    for (settings, words) in [
        ("denny = [\"dd\"]", "line 2: the hook has no setting denny (did you mean deny?)"),
        ("limit = \"high\"", "line 2: limit: expected a number, found \"high\""),
    ] {
        let table = format!("[hooks.\"push-guard.wasm\"]\nsettings = {{ {settings} }}\n");
        env.file("home/.hookbox/hookbox.toml", table);
        let verdict = env.event(&["before_tool_call"], &call("ls"));
        assert_eq!(verdict["blocked"], true, "{settings}: {verdict}");
        assert!(verdict["reason"].as_str().unwrap().contains(words), "{verdict}");
    }
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"push-guard.wasm\"]\nsettings = { limit = 1 }\n");
    assert_eq!(env.event(&["before_tool_call"], &call("ls"))["blocked"], false);
}

#[test]
fn a_fault_of_python_is_found_before_the_build() {
    let env = TestEnvironment::new();
    env.hookbox(["new", "guard", "--lang", "python"]);
    env.script("repo/guard/.venv/bin/componentize-py", "#!/bin/sh\ntouch started\n");
    env.script("repo/guard/.venv/bin/python", "#!/bin/sh\nexec python3 \"$@\"\n");
    let file = env.read("repo/guard/hook.py").unwrap();
    for (from, to, words) in [
        ("def guard(", "def guard((", "SyntaxError: "),
        ("hook = Hook(", "hook = Hok(", "NameError: name 'Hok' is not defined"),
        ("hook = Hook(", "other = hook = 5 #", "TypeError: hook.py: expected a variable `hook` with a Hook"),
        ("on_failure=\"block\"", "settings=ToolCall", "TypeError: ToolCall.id: expected str, bool, int"),
    ] {
        env.file("repo/guard/hook.py", file.replacen(from, to, 1).replace("@hook", "# @hook"));
        let output = env.hookbox(["build", "guard"]);
        assert_eq!(output.code, Some(1), "{to}: {output:#?}");
        assert!(output.stderr.contains(words), "{to}: {output:#?}");
        assert!(output.stderr.contains("error: python failed (exit status: 1)"), "{to}: {output:#?}");
        assert!(!output.stderr.contains("importlib"), "{to}: {output:#?}");
        let line = file.lines().position(|line| line.contains(from)).unwrap() + 1;
        let place = format!("hook.py\", line {line}");
        assert!(words.starts_with("TypeError") || output.stderr.contains(&place), "{to}: {output:#?}");
    }
    assert!(env.read("repo/guard/started").is_none());
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn a_python_project_guards() {
    let venv = language_tools("venv");
    let env = TestEnvironment::new();
    let built = build(&env, "push-guard", "python", |dir| {
        symlink(venv, dir.join(".venv")).unwrap();
        let class = "@dataclass\nclass Words:\n    deny: list[str] = field(default_factory=lambda: [\"dd\"])\n    \
                     \"\"\"The words.\"\"\"\n    limit: float = 0.5\n\n\n";
        let imports = "from dataclasses import dataclass, field\n\n";
        for (from, to) in [
            ("from hookbox_sdk", format!("{imports}from hookbox_sdk")),
            ("hook = Hook(", format!("{class}hook = Hook(")),
            ("on_failure=\"block\")", "on_failure=\"block\", settings=Words)".to_owned()),
        ] {
            replace(&dir.join("hook.py"), from, &to);
        }
    });
    assert_guards(&env, Path::new(built["path"].as_str().unwrap()));
    assert_passes_its_cases(&env, "push-guard");
    assert_eq!(
        built["settings"]["properties"],
        json!({
            "deny": {
                "type": "array", "items": {"type": "string"}, "default": ["dd"], "description": "The words.",
            },
            "limit": {"type": "number", "default": 0.5},
        })
    );
    assert_knows_its_settings(&env);
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn a_typescript_project_guards() {
    let env = TestEnvironment::new().variable("PATH", &std::env::var("PATH").unwrap());
    let built = build(&env, "push-guard", "typescript", |dir| {
        link_modules(dir);
        replace(
            &dir.join("src/hook.ts"),
            "  run(event) {",
            "  settings: { deny: [\"dd\"], limit: 0.5, more: [] as string[] },\n  run(event, _context, settings) {\n    \
             if (settings.more.includes(\"all\")) return block(\"All.\");",
        );
    });
    assert_guards(&env, Path::new(built["path"].as_str().unwrap()));
    assert_passes_its_cases(&env, "push-guard");
    assert_eq!(
        built["settings"]["properties"],
        json!({
            "deny": {"type": "array", "items": {"type": "string"}, "default": ["dd"]},
            "limit": {"type": "number", "default": 0.5},
            "more": {"type": "array", "default": []},
        })
    );
    assert_knows_its_settings(&env);
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.\"push-guard.wasm\"]\nsettings = { deny = [], more = [\"all\"] }\n",
    );
    assert_eq!(env.event(&["before_tool_call"], &call("ls"))["reason"], "All.");
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
    env.script("repo/guard/.venv/bin/python", "#!/bin/sh\n");
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
    assert_eq!(
        dependencies,
        ["hookbox-calls", "hookbox-redact", "hookbox-shell", "serde", "serde_json", "wit-bindgen"]
    );
    for name in dependencies.into_iter().skip(3) {
        let line = workspace.lines().find(|it| it.starts_with(&format!("{name} = "))).unwrap();
        assert!(carried.lines().any(|it| it == line), "{line}\n{carried}");
    }
}
