//! The clients in Python, TypeScript and Go: `clients/`.

mod cases;
mod same_verdicts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::environment::{language_tools, program, repository};

fn client(language: &str) -> PathBuf {
    repository().join("clients").join(language)
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.env("HOOKBOX_PROGRAM", program()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

/// Copies a client, because a compiler writes beside its source, and returns the copy. It finds the cases as in the repository.
fn copy(language: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for name in [language, "cases"] {
        run(Command::new("cp").arg("-R").arg(client(name)).arg(dir.path()));
    }
    let path = dir.path().join(language);
    (dir, path)
}

/// Compiles the client in TypeScript with its tests, and returns its copy.
fn typescript() -> (TempDir, PathBuf) {
    let (dir, path) = copy("typescript");
    let modules = language_tools("node_modules");
    std::os::unix::fs::symlink(&modules, path.join("node_modules")).unwrap();
    run(Command::new("node").arg(modules.join("typescript/bin/tsc")).current_dir(&path));
    (dir, path)
}

/// Returns a command of Go that downloads nothing.
fn go() -> Command {
    let mut go = Command::new(language_tools("clients").join("bin/go"));
    go.env("GOPROXY", "off").env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    go
}

/// Returns a command of Python with the frameworks that the adapters are for.
fn python() -> Command {
    let mut python = Command::new(language_tools("clients").join("bin/python"));
    python.current_dir(client("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// Returns the files of a directory with this ending.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path());
    all.filter(|it| it.to_str().unwrap().ends_with(ending)).collect()
}

#[test]
fn the_book_shows_the_agents_that_the_tests_run() {
    let page = fs::read_to_string(repository().join("docs/src/clients.md")).unwrap();
    for (path, fence) in [
        ("python/examples/agent.py", "python"),
        ("typescript/examples/agent.ts", "ts"),
        ("go/examples/agent.go", "go"),
    ] {
        let code = fs::read_to_string(client(path)).unwrap();
        let shown =
            page.split(&format!("```{fence}\n")).nth(1).and_then(|it| it.split("```\n").next()).unwrap();
        assert!(
            code.contains(shown) && shown.lines().count() > 10,
            "docs/src/clients.md does not show {path}"
        );
        assert!(page.contains(&format!("/clients/{path})")), "docs/src/clients.md does not link {path}");
    }
}

#[test]
#[ignore = "needs packages of PyPI: `cargo xtask tools`"]
fn the_client_in_python_passes_the_cases_and_its_tests() {
    let text = run(python().args(["-W", "error::ResourceWarning", "-m", "unittest", "discover"]));
    assert!(text.contains("OK") && !text.contains("skipped"), "{text}");
}

#[test]
#[ignore = "needs packages of PyPI: `cargo xtask tools`"]
fn the_interceptor_passes_the_vectors_of_agent_hooks() {
    let text = run(python().args(["-m", "tests.agent_hooks.kit"]));
    assert!(text.contains("reference host: 75 vectors: 68 passed, 0 failed"), "{text}");
}

#[test]
#[ignore = "needs packages of npm: `cargo xtask tools`"]
fn the_client_in_typescript_passes_the_cases_and_its_tests() {
    let (_dir, path) = typescript();
    let text = run(Command::new("node")
        .arg("--test")
        .args(files(&path.join("dist/tests"), ".test.js"))
        .current_dir(&path));
    assert!(text.contains("# fail 0") && text.contains("# skipped 0"), "{text}");
}

#[test]
#[ignore = "needs packages of npm: `cargo xtask tools`"]
fn the_adapters_in_typescript_guard_real_frameworks() {
    let (_dir, path) = typescript();
    let adapters = path.join("adapters");
    let modules = adapters.join("node_modules");
    fs::create_dir(&modules).unwrap();
    for entry in fs::read_dir(language_tools("adapters/node_modules")).unwrap().map(Result::unwrap) {
        std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).unwrap();
    }
    std::os::unix::fs::symlink(&path, modules.join("hookbox")).unwrap();
    run(Command::new("node").arg(modules.join("typescript/bin/tsc")).current_dir(&adapters));
    let text = run(Command::new("node")
        .arg("--preserve-symlinks")
        .arg("--test")
        .args(files(&adapters.join("dist"), ".test.js"))
        .current_dir(&adapters));
    assert!(text.contains("# fail 0") && text.contains("# skipped 0"), "{text}");
}

#[test]
#[ignore = "needs Go from PyPI: `cargo xtask tools`"]
fn the_client_in_go_passes_the_cases_and_its_tests() {
    let (_dir, path) = copy("go");
    run(go().args(["vet", "./..."]).current_dir(&path));
    run(go().args(["test", "./..."]).current_dir(&path));
}
