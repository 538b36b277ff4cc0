//! TypeScript: the compiler for its types, esbuild for one file of JavaScript, and componentize-qjs.

use std::path::{Path, PathBuf};

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::super::tool::Tool;

/// Builds the component in a directory, and returns its path.
pub(super) async fn build(project: &Project, into: &Path) -> Result<PathBuf, BuildError> {
    let tool = |name: &'static str, path| Tool::of_project(&project.dir, path, name, "npm install");
    let tsc = tool("tsc", "node_modules/.bin/tsc")?;
    let esbuild = tool("esbuild", "node_modules/.bin/esbuild")?;
    let componentize = tool("componentize-qjs", "node_modules/.bin/componentize-qjs")?;

    tsc.run(tsc.command(&project.dir), 0).await?;

    let (bundle, made) = (into.join("hook.js"), into.join("hook.wasm"));
    let mut command = esbuild.command(&project.dir);
    command.args(["src/hook.ts", "--bundle", "--format=esm", "--external:wasi:*", "--log-level=warning"]);
    command.arg(format!("--outfile={}", bundle.display()));
    esbuild.run(command, 0).await?;

    let mut command = componentize.command(&project.dir);
    command.args(["--wit", "vendor/wit", "--world", "hook-plain", "--sync", "--opt-size", "--js"]);
    command.arg(&bundle).arg("--output").arg(&made);
    componentize.run(command, 0).await?;
    Ok(made)
}
