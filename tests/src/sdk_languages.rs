//! The SDKs of Python and TypeScript: their types, their harnesses, and the examples of their READMEs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::environment::repository;

/// Returns a directory of `target/tools`; `None`, with a `skipped:` line, if it is missing.
fn tools(directory: &str) -> Option<PathBuf> {
    let path = repository().join("target/tools").join(directory);
    if path.is_dir() {
        return Some(path);
    }
    let line = format!("skipped: target/tools/{directory} is missing; hint: cargo xtask tools");
    assert!(std::env::var_os("HOOKBOX_REQUIRE_TOOLS").is_none(), "{line}");
    println!("{line}");
    None
}

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
fn project(language: &str, block: &str, paths: [&str; 2]) -> TempDir {
    let readme = sdk(language).join("README.md");
    let dir = TempDir::new().unwrap();
    let code = blocks(&readme, block);
    assert_eq!(code.len(), 2, "{code:?}");
    for (path, text) in paths.iter().zip(&code) {
        write(dir.path(), path, text);
    }
    write(dir.path(), "cases/no-force-push.toml", &blocks(&readme, "toml").concat());
    dir
}

fn python(venv: &Path, dir: &Path) -> Command {
    let mut command = Command::new(venv.join("bin/python"));
    // Nothing compiled is left beside the sources, which hookbox carries.
    command.current_dir(dir).env("PYTHONPATH", sdk("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[test]
fn the_python_harness_passes_its_tests() {
    let Some(venv) = tools("venv") else { return };
    let output = run(python(&venv, &sdk("python")).args(["-m", "unittest", "discover", "tests"]));
    assert!(output.contains("\nOK\n"), "{output}");
}

#[test]
fn the_example_of_the_python_readme_passes_its_cases() {
    let Some(venv) = tools("venv") else { return };
    let dir = project("python", "python", ["hook.py", "test_hook.py"]);
    let output = run(python(&venv, dir.path()).args(["-m", "unittest"]));
    assert!(output.contains("2 passed, 0 failed") && output.contains("\nOK\n"), "{output}");
}

#[test]
fn an_end_of_the_program_in_a_python_hook_is_not_a_success() {
    let Some(venv) = tools("venv") else { return };
    let dir = project("python", "python", ["hook.py", "test_hook.py"]);
    let hook = fs::read_to_string(dir.path().join("hook.py")).unwrap();
    write(dir.path(), "hook.py", &hook.replace("    words =", "    raise SystemExit(0)\n    words ="));
    let output = python(&venv, dir.path()).args(["-m", "unittest"]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("trap: SystemExit: 0"), "{output:?}");
}

#[test]
fn the_python_sdk_has_strict_types() {
    let (Some(venv), Some(modules)) = (tools("venv"), tools("node_modules")) else { return };
    let dir = project("python", "python", ["hook.py", "test_hook.py"]);
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
