//! The SDKs of Python and TypeScript: their types, their harnesses, and the examples of their READMEs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::environment::{language_tools, repository};

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

/// A directory with the project of a README: the hook, its test, and its cases.
fn project(language: &str, files: [(&str, &str); 2]) -> TempDir {
    let readme = sdk(language).join("README.md");
    let dir = TempDir::new().unwrap();
    let mut last = "";
    for (block, path) in files {
        let code = blocks(&readme, block);
        write(dir.path(), path, code.get(usize::from(block == last)).unwrap());
        last = block;
    }
    write(dir.path(), "cases/no-force-push.toml", &blocks(&readme, "toml").concat());
    dir
}

fn python_project() -> TempDir {
    project("python", [("python", "hook.py"), ("python", "test_hook.py")])
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
    copy(&repository().join("guest-sdk/tests-data"), &dir.path().join("tests-data"));
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
fn the_python_harness_passes_its_tests() {
    let venv = language_tools("venv");
    let output = run(python(&venv, &sdk("python")).args(["-m", "unittest", "discover", "tests"]));
    assert!(output.contains("\nOK\n"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_example_of_the_python_readme_passes_its_cases() {
    let venv = language_tools("venv");
    let dir = python_project();
    let output = run(python(&venv, dir.path()).args(["-m", "unittest"]));
    assert!(output.contains("2 passed, 0 failed") && output.contains("\nOK\n"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn an_end_of_the_program_in_a_python_hook_is_not_a_success() {
    let venv = language_tools("venv");
    let dir = python_project();
    let hook = fs::read_to_string(dir.path().join("hook.py")).unwrap();
    write(dir.path(), "hook.py", &hook.replace("    words =", "    raise SystemExit(0)\n    words ="));
    let output = python(&venv, dir.path()).args(["-m", "unittest"]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("trap: SystemExit: 0"), "{output:?}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_python_sdk_has_strict_types() {
    let (venv, modules) = (language_tools("venv"), language_tools("node_modules"));
    let dir = python_project();
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
fn the_typescript_harness_passes_its_tests() {
    let modules = language_tools("node_modules");
    let dir = typescript_package(&modules);
    let output = run(node(&dir.path().join("typescript")).args(["--test", "tests/testing.test.js"]));
    assert!(output.contains("pass 4\n"), "{output}");
}

#[test]
#[ignore = "needs the packages of `cargo xtask tools`: run `cargo xtask test-all`"]
fn the_example_of_the_typescript_readme_passes_its_cases() {
    let modules = language_tools("node_modules");
    let dir = project("typescript", [("ts", "src/hook.ts"), ("js", "test/hook.test.js")]);
    let own = dir.path().join("node_modules");
    fs::create_dir(&own).unwrap();
    for name in ["esbuild", "@esbuild", "smol-toml"] {
        symlink(modules.join(name), own.join(name)).unwrap();
    }
    copy(&sdk("typescript"), &dir.path().join("vendor/hookbox-sdk"));
    symlink(dir.path().join("vendor/hookbox-sdk"), own.join("hookbox-sdk")).unwrap();
    let output = run(node(dir.path()).arg("test/hook.test.js"));
    assert!(output.contains("2 passed, 0 failed"), "{output}");
    write(dir.path(), "cases/more.toml", "[[case]]\nname = 'x'\ncommand = 'ls'\nexpect.verdict = 'block'");
    let output = node(dir.path()).arg("test/hook.test.js").output().unwrap();
    assert!(!output.status.success(), "{output:?}");
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

/// Each harness knows the keys of the book, so that a case of `hookbox test` is never an error in one of them.
#[test]
fn every_harness_knows_every_key_of_a_case() {
    let book = fs::read_to_string(repository().join("docs/src/testing.md")).unwrap();
    let sources = ["guest-sdk/src/testing/case.rs", "guest-sdk/python/hookbox_sdk/testing/case.py"];
    for heading in ["\n## Keys of a case\n", "\n## Keys of an expected answer\n"] {
        let (_, section) = book.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
        let keys: Vec<&str> = cells.flat_map(|cell| cell.split('`')).filter(|it| it.len() > 2).collect();
        assert!(keys.len() >= 10, "{keys:?}");
        for source in sources {
            let text = fs::read_to_string(repository().join(source)).unwrap();
            for key in &keys {
                let is_known = [format!("\"{key}\""), format!(" {key}:")].iter().any(|it| text.contains(it));
                assert!(is_known, "{source} does not know the key {key} of docs/src/testing.md");
            }
        }
    }
}
