//! The tools of the languages: cargo; componentize-py; and for TypeScript the compiler for its types, esbuild for one file
//! of JavaScript, and componentize-qjs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::Tool;
use hookbox_system::limits;

/// The imports of the world `hook-plain`.
const IMPORTS: [&str; 5] = [
    "hookbox:hook/facts@0.2.0",
    "wasi:config/store@0.2.0-rc.1",
    "wasi:keyvalue/atomics@0.2.0-draft",
    "wasi:keyvalue/store@0.2.0-draft",
    "wasi:logging/logging@0.1.0-draft",
];

/// A module in the place of those.
const STUB: &str = "const none = () => undefined;
export { none as get, none as getAll, none as increment, none as log, none as open, none as readCall };
";

/// Prints the schema of the settings of the hook in `hook.mjs`. What the hook itself prints is not the schema.
const PRINT_SCHEMA: &str = "console.log = console.info = console.debug = console.error;
const { hook } = await import(\"./hook.mjs\");
if (hook?.settingsSchema) process.stdout.write(JSON.stringify(hook.settingsSchema));
";

/// Builds a component of TypeScript in a directory, and returns its path, and the schema of its settings.
pub(super) async fn typescript(project: &Project, into: &Path) -> Result<(PathBuf, Vec<u8>), BuildError> {
    let tool = |name: &'static str, path| Tool::of_project(&project.dir, path, name, "npm install");
    let tsc = tool("tsc", "node_modules/.bin/tsc")?;
    let esbuild = tool("esbuild", "node_modules/.bin/esbuild")?;
    let componentize = tool("componentize-qjs", "node_modules/.bin/componentize-qjs")?;

    tsc.run(tsc.command(&project.dir), 0).await?;

    let bundle = async |to: &Path, more: Vec<OsString>| {
        let mut command = esbuild.command(&project.dir);
        command.args(["src/hook.ts", "--bundle", "--format=esm", "--log-level=warning"]).args(more);
        command.arg(joined("--outfile=", to));
        esbuild.run(command, 0).await
    };
    let schema = schema(project, into, &bundle).await?;

    let (script, made) = (into.join("hook.js"), into.join("hook.wasm"));
    bundle(&script, vec!["--external:wasi:*".into(), "--external:hookbox:*".into()]).await?;
    let mut command = componentize.command(&project.dir);
    command.args(["--wit", "vendor/wit", "--world", "hook-plain", "--sync", "--opt-size", "--js"]);
    command.arg(&script).arg("--output").arg(&made);
    componentize.run(command, 0).await?;
    Ok((made, schema))
}

/// Loads the hook in node, without hookbox, and returns the schema of its settings.
async fn schema(
    project: &Project,
    into: &Path,
    bundle: &impl AsyncFn(&Path, Vec<OsString>) -> Result<Vec<u8>, BuildError>,
) -> Result<Vec<u8>, BuildError> {
    let write = |name: &str, text: &str| {
        let path = into.join(name);
        let written = fs::write(&path, text);
        written.map_err(|source| BuildError::File { path: path.clone(), source }).map(|()| path)
    };
    let stub = write("imports.mjs", STUB)?;
    let print = write("schema.mjs", PRINT_SCHEMA)?;
    let aliases = IMPORTS.map(|import| joined(&format!("--alias:{import}="), &stub));
    bundle(&into.join("hook.mjs"), aliases.to_vec()).await?;
    let node = Tool { name: "node", path: "node".into(), hint: "install Node.js: https://nodejs.org".into() };
    let mut command = node.command(&project.dir);
    command.arg(&print);
    node.run(command, limits::FILE).await
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(path);
    joined
}

/// Builds a component of Python in a directory, and returns its path, and the schema of its settings.
pub(super) async fn python(project: &Project, into: &Path) -> Result<(PathBuf, Vec<u8>), BuildError> {
    let install = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    let tool = |name, path| Tool::of_project(&project.dir, path, name, install);
    let componentize = tool("componentize-py", ".venv/bin/componentize-py")?;
    let python = tool("python", ".venv/bin/python")?;

    // First, because it takes a moment and finds most errors; componentize-py takes up to a minute.
    let mut command = python.command(&project.dir);
    command.args(["-B", "-X", "utf8", "-m", "hookbox_sdk.schema"]).env("PYTHONPATH", "vendor");
    let schema = python.run(command, limits::FILE).await?;

    let made = into.join("hook.wasm");
    let mut command = componentize.command(&project.dir);
    command.args(["--wit-path", "vendor/wit", "--world", "hook-plain", "componentize"]);
    command.args(["--python-path", "vendor", "--python-path", ".", "hookbox_sdk.component", "--output"]);
    command.arg(&made);
    componentize.run(command, 0).await?;
    Ok((made, schema))
}

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

/// Builds a component of Rust, and returns its path.
pub(super) async fn rust(project: &Project) -> Result<PathBuf, BuildError> {
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
    let mut command = rustc.command(&project.dir);
    command.args(["--print", "target-libdir", "--target", TARGET]);
    let printed = rustc.run(command, 4096).await?;
    let dir = String::from_utf8_lossy(&printed);
    if Path::new(dir.trim()).is_dir() {
        return Ok(());
    }
    let hint = format!("rustup target add {TARGET}");
    Err(BuildError::Missing { tool: "the target wasm32-wasip2 of Rust", hint: hint.into() })
}
