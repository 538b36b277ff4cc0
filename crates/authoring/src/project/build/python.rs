//! Python: componentize-py.

use std::path::{Path, PathBuf};

use super::super::error::BuildError;
use super::super::recognize::Project;
use super::super::tool::Tool;
use super::settings;

/// Builds the component in a directory, and returns its path, and the schema of its settings.
pub(super) async fn build(project: &Project, into: &Path) -> Result<(PathBuf, Vec<u8>), BuildError> {
    let install = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    let tool = |name, path| Tool::of_project(&project.dir, path, name, install);
    let componentize = tool("componentize-py", ".venv/bin/componentize-py")?;
    let python = tool("python", ".venv/bin/python")?;

    // First, because it takes a moment and finds most errors; componentize-py takes up to a minute.
    let mut command = python.command(&project.dir);
    command.args(["-B", "-X", "utf8", "-m", "hookbox_sdk.schema"]).env("PYTHONPATH", "vendor");
    let schema = python.run(command, settings::MAX).await?;

    let made = into.join("hook.wasm");
    let mut command = componentize.command(&project.dir);
    command.args(["--wit-path", "vendor/wit", "--world", "hook-plain", "componentize"]);
    command.args(["--python-path", "vendor", "--python-path", ".", "hookbox_sdk.component", "--output"]);
    command.arg(&made);
    componentize.run(command, 0).await?;
    Ok((made, schema))
}
