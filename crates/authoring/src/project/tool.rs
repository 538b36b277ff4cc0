//! Running a tool of a language. Its output is shown only if it fails.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hookbox::Hint;
use tokio::process::Command;

use super::error::BuildError;

/// The part of a tool's output that is shown, in bytes: the end has the errors.
const MAX_SHOWN: u64 = 64 << 10;

/// A tool, and the command that installs it.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) hint: Hint,
}

impl Tool {
    /// Returns the tool, if it is a file in the project, such as `node_modules/.bin/esbuild`.
    pub(super) fn of_project(
        dir: &Path,
        path: &str,
        name: &'static str,
        install: &str,
    ) -> Result<Self, BuildError> {
        let hint = Hint::from(format!("in the directory of the project: {install}"));
        let path = dir.join(path);
        if path.is_file() {
            Ok(Self { name, path, hint })
        } else {
            Err(BuildError::Missing { tool: name, hint })
        }
    }

    /// Starts a command line of the tool.
    pub(super) fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(dir);
        command
    }

    /// Runs a command line of the tool, and returns its standard output, of at most `max` bytes. Output that is wanted is
    /// data, and not shown if the tool fails.
    pub(super) async fn run(&self, mut command: Command, max: u64) -> Result<Vec<u8>, BuildError> {
        let fail = |source| BuildError::File { path: self.path.clone(), source };
        // Files have room for any output, and no pipe that a descendant keeps open delays the end.
        let (mut printed, mut log) =
            (tempfile::tempfile().map_err(fail)?, tempfile::tempfile().map_err(fail)?);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(printed.try_clone().map_err(fail)?).stderr(log.try_clone().map_err(fail)?);
        let status = match command.status().await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BuildError::Missing { tool: self.name, hint: self.hint.clone() });
            }
            status => status.map_err(fail)?,
        };
        if !status.success() {
            let printed = if max == 0 { end(&mut printed).unwrap_or_default() } else { String::new() };
            let output = printed + &end(&mut log).unwrap_or_default();
            return Err(BuildError::Failed { tool: self.name, status: status.to_string(), output });
        }
        let mut bytes = Vec::new();
        printed.rewind().map_err(fail)?;
        printed.take(max).read_to_end(&mut bytes).map_err(fail)?;
        Ok(bytes)
    }
}

/// Returns the end of a file, as text.
fn end(file: &mut File) -> io::Result<String> {
    let start = file.seek(SeekFrom::End(0))?.saturating_sub(MAX_SHOWN);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_SHOWN).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
