//! The tools: a shell, and files in the work directory.

#![allow(
    clippy::indexing_slicing,
    reason = "serde_json: a key that is missing reads as null and is made by writing"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::{Value, json};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a command's output or of a file the model is given, in bytes.
const MAX_OUTPUT: usize = 64 << 10;

/// The tools of one work directory.
pub struct Tools {
    path: PathBuf,
    dir: Dir,
}

impl Tools {
    /// Tools that work in this directory.
    pub fn new(path: &Path) -> Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .with_context(|| format!("cannot work in {}", path.display()))?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Their descriptions, for the model.
    pub fn schema() -> Value {
        let tool = |name: &str, description: &str, fields: &[&str]| {
            let properties: serde_json::Map<String, Value> =
                fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
            json!({"type": "function", "function": {
                "name": name, "description": description,
                "parameters": {"type": "object", "properties": properties, "required": fields},
            }})
        };
        json!([
            tool("bash", "Runs a command line.", &["command"]),
            tool("read_file", "Reads a file.", &["path"]),
            tool("write_file", "Writes a file.", &["path", "content"]),
        ])
    }

    /// Runs one.
    pub async fn run(&self, name: &str, input: &Value) -> Result<String> {
        let field = |name: &str| input[name].as_str().with_context(|| format!("expected the field {name:?}"));
        match name {
            "bash" => self.bash(field("command")?).await,
            "read_file" => {
                let text = self.dir.read(field("path")?)?;
                Ok(String::from_utf8_lossy(text.get(..MAX_OUTPUT).unwrap_or(&text)).into_owned())
            }
            "write_file" => {
                let (path, content) = (field("path")?, field("content")?);
                self.dir.write(path, content)?;
                Ok(format!("wrote {} bytes to {path}", content.len()))
            }
            other => bail!("there is no tool {other:?}"),
        }
    }

    async fn bash(&self, command: &str) -> Result<String> {
        let child = tokio::process::Command::new("bash")
            .args(["-c", command])
            .current_dir(&self.path)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(TIMEOUT, child).await.context("the command took too long")??;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        text.truncate(hookbox::text::prefix(&text, MAX_OUTPUT).len());
        if !output.status.success() {
            bail!("{}: {}", output.status, text.trim());
        }
        Ok(text)
    }
}
