//! The tools: a shell, files in the work directory, and sub-agents.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::{Value, json};

/// The longest time of a command.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest part of a command's output or of a file that the model gets, in bytes.
const MAX_OUTPUT: usize = 64 << 10;

/// The tools of one work directory.
pub struct Tools {
    path: PathBuf,
    dir: Dir,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The output, or the error.
    pub text: String,
    /// True if it succeeded.
    pub success: bool,
    /// The exit status of a command.
    pub exit_status: Option<i32>,
    /// The tokens that a sub-agent used.
    pub tokens: u64,
}

impl Ran {
    /// Makes a success with this output.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), success: true, exit_status: None, tokens: 0 }
    }

    /// Makes a failure with this reason.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { success: false, ..Self::ok(text) }
    }
}

impl Tools {
    /// Tools that work in this directory.
    pub fn new(path: &Path) -> Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .with_context(|| format!("cannot work in {}", path.display()))?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Their descriptions, for the model.
    pub fn schema(&self) -> Value {
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
            tool("agent", "Lets another agent work on a part of the task; its answer comes back.", &["task"]),
        ])
    }

    /// Runs one, but for `agent`.
    pub(crate) async fn run(&self, name: &str, input: &Value) -> Ran {
        let ran = match name {
            "bash" => self.bash(input).await,
            name => self.file(name, input).map(Ran::ok),
        };
        ran.unwrap_or_else(|error| Ran::failed(format!("{error:#}")))
    }

    fn file(&self, name: &str, input: &Value) -> Result<String> {
        match name {
            "read_file" => {
                let text = self.dir.read(field(input, "path")?)?;
                Ok(String::from_utf8_lossy(text.get(..MAX_OUTPUT).unwrap_or(&text)).into_owned())
            }
            "write_file" => {
                let (path, content) = (field(input, "path")?, field(input, "content")?);
                self.dir.write(path, content)?;
                Ok(format!("wrote {} bytes to {path}", content.len()))
            }
            other => bail!("there is no tool {other:?}"),
        }
    }

    async fn bash(&self, input: &Value) -> Result<Ran> {
        let mut command = tokio::process::Command::new("bash");
        command.args(["-c", field(input, "command")?]).current_dir(&self.path);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let done = tokio::time::timeout(TIMEOUT, command.output()).await;
        let Output { status, mut stdout, stderr } = done.context("the command took too long")??;
        stdout.extend(stderr);
        let mut text = String::from_utf8_lossy(&stdout).into_owned();
        text.truncate(hookbox::prefix(&text, MAX_OUTPUT).len());
        if !status.success() {
            text = format!("{status}: {}", text.trim());
        }
        Ok(Ran { text, success: status.success(), exit_status: status.code(), tokens: 0 })
    }
}

fn field<'a>(input: &'a Value, name: &str) -> Result<&'a str> {
    input[name].as_str().with_context(|| format!("expected the field {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tool_says_whether_it_worked_and_how_a_command_ended() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "content").unwrap();
        let tools = Tools::new(dir.path()).unwrap();
        let command = |line: &str| json!({"command": line});
        for (name, input, success, status, text) in [
            ("bash", command("echo hello"), true, Some(0), "hello"),
            ("bash", command("echo no >&2; exit 3"), false, Some(3), "no"),
            ("bash", command("kill -9 $$"), false, None, "signal"),
            ("bash", command("yes | head -c 300000"), true, Some(0), "y\ny"),
            ("bash", json!({}), false, None, "\"command\""),
            ("read_file", json!({"path": "file"}), true, None, "content"),
            ("read_file", json!({"path": "../file"}), false, None, ""),
            ("write_file", json!({"path": "new", "content": "x"}), true, None, "1 bytes"),
            ("fly", json!({}), false, None, "no tool"),
        ] {
            let ran = tools.run(name, &input).await;
            assert_eq!((ran.success, ran.exit_status), (success, status), "{name} {input}: {ran:?}");
            assert!(
                ran.text.contains(text) && ran.text.len() <= MAX_OUTPUT,
                "{name} {input}: {}",
                ran.text.len()
            );
        }
    }
}
