//! TypeScript: the compiler for its types, esbuild for one file of JavaScript, and componentize-qjs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::super::tool::Tool;
use super::settings;

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

/// Builds the component in a directory, and returns its path, and the schema of its settings.
pub(super) async fn build(project: &Project, into: &Path) -> Result<(PathBuf, Vec<u8>), BuildError> {
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
    node.run(command, settings::MAX).await
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(path);
    joined
}
