//! `examples/every-event/`: Python and TypeScript pass the strict checkers. Rust is a doctest of the SDK.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::example;
use crate::environment::{TestEnvironment, language_tools, repository};

#[track_caller]
fn assert_succeeds(env: &TestEnvironment, command: &mut Command) {
    let output = env.run(command, "");
    assert_eq!(output.code, Some(0), "{command:?}: {output:#?}");
}

/// A command in node, with the PATH of this test.
fn node(env: &TestEnvironment, script: &Path) -> Command {
    let mut command = env.command("node");
    command.env("PATH", std::env::var_os("PATH").unwrap()).arg(script);
    command
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_python_examples_run_and_pass_pyright() {
    let (venv, modules) = (language_tools("venv"), language_tools("node_modules"));
    let env = TestEnvironment::new();
    env.file("repo/hook.py", example("hook.py"));
    let python = venv.join("bin/python3");
    let sdk = repository().join("guest-sdk/python");
    // Each line of the example runs.
    let mut command = env.command(&python);
    assert_succeeds(&env, command.env("PYTHONPATH", &sdk).args(["-B", "hook.py"]));
    let settings =
        serde_json::json!({"typeCheckingMode": "strict", "extraPaths": [sdk], "include": ["hook.py"]});
    env.file("repo/pyrightconfig.json", settings.to_string());
    let mut command = node(&env, &modules.join("pyright/index.js"));
    assert_succeeds(&env, command.arg("--pythonpath").arg(&python));
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_typescript_examples_pass_tsc() {
    let modules = language_tools("node_modules");
    let env = TestEnvironment::new();
    env.file("repo/hook.ts", example("hook.ts"));
    let settings = fs::read_to_string(
        repository().join("crates/authoring/templates/typescript/common/tsconfig.json.in"),
    );
    let mut settings: serde_json::Value = serde_json::from_str(&settings.unwrap()).unwrap();
    settings["compilerOptions"]["paths"] =
        serde_json::json!({"hookbox-sdk": [repository().join("guest-sdk/typescript/src/index.ts")]});
    settings["include"] = serde_json::json!(["hook.ts"]);
    env.file("repo/tsconfig.json", settings.to_string());
    assert_succeeds(&env, &mut node(&env, &modules.join("typescript/bin/tsc")));
}
