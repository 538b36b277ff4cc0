//! Python: componentize-py.

use std::path::{Path, PathBuf};

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::super::tool::Tool;

/// Builds the component in a directory, and returns its path.
pub(super) async fn build(project: &Project, into: &Path) -> Result<PathBuf, BuildError> {
    let install = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    let path = ".venv/bin/componentize-py";
    let tool = Tool::of_project(&project.dir, path, "componentize-py", install)?;
    let made = into.join("hook.wasm");
    let mut command = tool.command(&project.dir);
    command.args(["--wit-path", "vendor/wit", "--world", "hook-plain", "componentize"]);
    command.args(["--python-path", "vendor", "--python-path", ".", "hookbox_sdk.component", "--output"]);
    command.arg(&made);
    tool.run(command, 0).await?;
    Ok(made)
}
