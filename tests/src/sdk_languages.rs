//! The SDKs of Python and TypeScript: their types, their tests, the examples of their READMEs, and a hook in each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::environment::{TestEnvironment, language_tools, program, repository};

fn sdk(language: &str) -> PathBuf {
    repository().join("guest-sdk").join(language)
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

/// Returns the code blocks of a language in a README.
fn blocks(readme: &Path, language: &str) -> Vec<String> {
    let text = fs::read_to_string(readme).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The places of the blocks of a README in a project, with their languages: the hook, and its tests.
const PYTHON: [(&str, &str); 2] = [("python", "hook.py"), ("python", "test_hook.py")];
const TYPESCRIPT: [(&str, &str); 2] = [("ts", "src/hook.ts"), ("js", "test/hook.test.js")];

/// Writes the files of a README into a directory: the hook, its tests, and its cases.
fn write_readme(dir: &Path, language: &str, files: [(&str, &str); 2]) {
    let readme = sdk(language).join("README.md");
    let mut last = "";
    for (block, path) in files {
        let code = blocks(&readme, block);
        write(dir, path, code.get(usize::from(block == last)).unwrap());
        last = block;
    }
    write(dir, "cases/first.toml", &blocks(&readme, "toml").concat());
}

/// An environment with a project of `hookbox new` that has the tools of its language, in `repo/guard`.
fn project(language: &str) -> (TestEnvironment, PathBuf) {
    let env = TestEnvironment::new()
        .variable("PATH", &std::env::var("PATH").unwrap())
        .variable("HOOKBOX", program().to_str().unwrap())
        .variable("PYTHONPATH", "vendor");
    let output = env.hookbox(["new", "guard", "--lang", language]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let dir = env.path("repo/guard");
    if language == "python" {
        symlink(language_tools("venv"), dir.join(".venv")).unwrap();
    } else {
        link_modules(&dir);
    }
    (env, dir)
}

/// Gives a project in TypeScript the packages of the tools, and the SDK as its own.
pub(crate) fn link_modules(dir: &Path) {
    let own = dir.join("node_modules");
    fs::create_dir(&own).unwrap();
    for entry in fs::read_dir(language_tools("node_modules")).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), own.join(entry.file_name())).unwrap();
    }
    symlink(dir.join("vendor/hookbox-sdk"), own.join("hookbox-sdk")).unwrap();
}

fn build(env: &TestEnvironment) {
    let output = env.hookbox(["build", "guard"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

/// Checks that the tests of a README's project pass, and that they fail for a case that fails, for a component that is older
/// than `source`, and without the program.
fn assert_tests_the_cases(language: &str, files: [(&str, &str); 2], arguments: &[&str], passed: &str) {
    let (env, dir) = project(language);
    write_readme(&dir, language, files);
    build(&env);
    let test = |program: Option<&str>| {
        let mut command = env.command(arguments[0]);
        command.current_dir(&dir).args(&arguments[1..]);
        program.map(|program| command.env("HOOKBOX", program));
        let output = env.run(&mut command, "");
        (output.code == Some(0), output.stdout + &output.stderr)
    };
    let (is_success, text) = test(None);
    assert!(is_success && text.contains(passed), "{text}");

    let case = "[[case]]\nname = 'a wrong case'\ncommand = 'ls'\nexpect.verdict = 'block'";
    write(&dir, "cases/more.toml", case);
    let (is_success, text) = test(None);
    assert!(!is_success && text.contains("more.toml, line 1: a wrong case"), "{text}");
    assert!(text.lines().any(|line| line.trim() == "- block"), "{text}");
    fs::remove_file(dir.join("cases/more.toml")).unwrap();

    let (is_success, text) = test(Some("/no/such/program"));
    assert!(!is_success && text.contains("hint: install hookbox"), "{text}");

    let source = dir.join(files[0].1);
    fs::write(&source, fs::read(&source).unwrap()).unwrap();
    let (is_success, text) = test(None);
    let words = format!("guard.wasm is older than {}; run `hookbox build`", files[0].1);
    assert!(!is_success && text.contains(&words), "{text}");

    fs::remove_dir_all(dir.join("cases")).unwrap();
    let (is_success, text) = test(None);
    assert!(!is_success && text.contains("hint: "), "{text}");
}

/// Checks that a hook that uses each part of the SDK passes its cases as a component.
fn assert_passes_the_tour(language: &str, from: &str, to: &str) {
    let (env, dir) = project(language);
    fs::copy(sdk(language).join("tests").join(from), dir.join(to)).unwrap();
    fs::copy(repository().join("guest-sdk/tests-data/cases/tour.toml"), dir.join("cases/first.toml"))
        .unwrap();
    build(&env);
    let output = env.hookbox(["test", "guard"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

/// Copies a directory, without what other tools have left in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if name == "node_modules" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// A directory with the package of TypeScript and its tools. Node looks for packages beside the real path of a file.
fn typescript_package(modules: &Path) -> TempDir {
    let dir = TempDir::new().unwrap();
    copy(&sdk("typescript"), &dir.path().join("typescript"));
    symlink(modules, dir.path().join("node_modules")).unwrap();
    dir
}

fn node(dir: &Path) -> Command {
    let mut command = Command::new("node");
    command.current_dir(dir);
    command
}

fn python(venv: &Path, dir: &Path) -> Command {
    let mut command = Command::new(venv.join("bin/python"));
    // Nothing compiled is left beside the sources, which hookbox carries.
    command.current_dir(dir).env("PYTHONPATH", sdk("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_tests_of_the_python_sdk_pass() {
    let venv = language_tools("venv");
    let output = run(python(&venv, &sdk("python")).args(["-m", "unittest", "discover", "tests"]));
    assert!(output.contains("\nOK\n"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_cases_of_a_python_hook_run_in_unittest() {
    let arguments = [".venv/bin/python", "-m", "unittest"];
    assert_tests_the_cases("python", PYTHON, &arguments, "Ran 3 tests");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn a_python_component_passes_the_cases_of_the_tour() {
    assert_passes_the_tour("python", "tour.py", "hook.py");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_python_sdk_has_strict_types() {
    let (venv, modules) = (language_tools("venv"), language_tools("node_modules"));
    let dir = TempDir::new().unwrap();
    write_readme(dir.path(), "python", PYTHON);
    symlink(sdk("python"), dir.path().join("sdk")).unwrap();
    let mut bindings = Command::new(venv.join("bin/componentize-py"));
    bindings.current_dir(dir.path()).arg("-d").arg(repository().join("wit"));
    run(bindings.args(["-w", "hook-plain", "bindings", "bindings"]));
    let configuration = r#"{
        "typeCheckingMode": "strict", "pythonVersion": "3.11", "include": ["sdk", "hook.py", "test_hook.py"],
        "extraPaths": ["sdk", "bindings", "."]
    }"#;
    write(dir.path(), "pyrightconfig.json", configuration);
    let mut pyright = Command::new("node");
    let output = run(pyright.arg(modules.join("pyright/index.js")).arg("--project").arg(dir.path()));
    assert!(output.contains("0 errors, 0 warnings"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_tests_of_the_typescript_sdk_pass() {
    let modules = language_tools("node_modules");
    let dir = typescript_package(&modules);
    let output = run(node(&dir.path().join("typescript")).args(["--test", "tests/testing.test.js"]));
    assert!(output.contains("pass 2\n"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_cases_of_a_typescript_hook_run_in_node() {
    // The test around the cases counts, too, in some versions of node.
    assert_tests_the_cases(
        "typescript",
        TYPESCRIPT,
        &["node", "--test"],
        "ok 2 - first.toml: another push passes",
    );
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn a_typescript_component_passes_the_cases_of_the_tour() {
    assert_passes_the_tour("typescript", "tour.ts", "src/hook.ts");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_typescript_sdk_has_strict_types() {
    let modules = language_tools("node_modules");
    let dir = typescript_package(&modules);
    let package = dir.path().join("typescript");
    // The example of the README is one of its files.
    write(&package, "tests/readme.ts", &blocks(&package.join("README.md"), "ts").concat());
    run(node(&package).arg(modules.join("typescript/bin/tsc")).args(["--project", "."]));
}

/// The projects above run the cases of two READMEs with their hooks. Here a script takes the place of each hook.
#[test]
fn the_cases_of_each_readme_pass() {
    for readme in ["README.md", "python/README.md", "typescript/README.md"] {
        let cases = blocks(&repository().join("guest-sdk").join(readme), "toml").concat();
        let env = TestEnvironment::new();
        let answer =
            r#"grep -q -- --force && echo '{"blocked":true,"reason":"Push without force."}' || true"#;
        env.native("repo/no-force-push", "before_tool_call", answer)
            .file("repo/cases/no-force-push.toml", cases);
        let output = env.hookbox(["test"]);
        assert!(output.stdout.ends_with("\n2 passed, 0 failed\n"), "{readme}: {output:#?}");
    }
}
