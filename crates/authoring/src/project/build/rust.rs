//! Rust: cargo.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokio::process::Command;

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::super::tool::Tool;

/// The target of every component.
const TARGET: &str = "wasm32-wasip2";

/// The longest list of cargo's messages, in bytes.
const MAX_MESSAGES: u64 = 16 << 20;

/// The part of a message of cargo that names what it made.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Builds the component, and returns its path.
pub(super) async fn build(project: &Project) -> Result<PathBuf, BuildError> {
    let cargo = Tool {
        name: "cargo",
        path: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into(),
        hint: "install Rust: https://rustup.rs".into(),
    };
    require_target(project).await?;
    let mut command = cargo.command(&project.dir);
    command.args(["rustc", "--release", "--lib", "--crate-type", "cdylib", "--target", TARGET]);
    command.arg("--message-format=json-render-diagnostics");
    // The dependencies have the same flags in every project, so that projects can share what cargo made of them.
    let flags: Vec<String> = dirs_of_dependencies(project).iter().map(renamed).collect();
    command.args(["--config", &format!("target.{TARGET}.rustflags={}", serde_json::Value::from(flags))]);
    command.args(["--", &renamed(&(project.dir.clone(), "project"))]);
    let messages = cargo.run(command, MAX_MESSAGES).await?;
    let manifest = project.dir.join("Cargo.toml");
    let made =
        messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    let is_wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let of_project = made.filter(|it| it.manifest_path == manifest);
    of_project.flat_map(|it| it.filenames).find(is_wasm).ok_or_else(|| BuildError::Invalid {
        path: manifest,
        expected: "a library, in src/lib.rs".to_owned(),
    })
}

/// Returns the compiler's flag that gives a directory another name. Names of directories are in messages of panics, and
/// the same source has the same digest in any directory.
fn renamed((directory, name): &(PathBuf, &str)) -> String {
    format!("--remap-path-prefix={}={name}", directory.display())
}

/// Returns directories that differ from machine to machine, each with the name that takes its place: those with the
/// sources of dependencies, and with the code that their build scripts write.
fn dirs_of_dependencies(project: &Project) -> Vec<(PathBuf, &'static str)> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = std::env::home_dir();
    let cargo = variable("CARGO_HOME").or_else(|| Some(home?.join(".cargo")));
    let target = project.dir.join(variable("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    cargo.map(|it| (it, "cargo")).into_iter().chain([(target, "target")]).collect()
}

/// Checks that the compiler has the library of components.
async fn require_target(project: &Project) -> Result<(), BuildError> {
    let rustc = Tool {
        name: "rustc",
        path: std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()).into(),
        hint: "install Rust: https://rustup.rs".into(),
    };
    let mut command: Command = rustc.command(&project.dir);
    command.args(["--print", "target-libdir", "--target", TARGET]);
    let printed = rustc.run(command, 4096).await?;
    let dir = String::from_utf8_lossy(&printed);
    if Path::new(dir.trim()).is_dir() {
        return Ok(());
    }
    let hint = format!("rustup target add {TARGET}");
    Err(BuildError::Missing { tool: "the target wasm32-wasip2 of Rust", hint: hint.into() })
}
