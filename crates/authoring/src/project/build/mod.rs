//! Building a hook with the tools of its language, and checking the result.

mod languages;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hookbox::rules::{self, Rules};
use hookbox::{Component, EventName, Hint, HookError, MAX_COMPONENT, Runtime, native};
use hookbox_system::files::FileAccess;
use tokio::process::Command;
use wasm_encoder::{ComponentSection as _, CustomSection};

use super::error::BuildError;
use super::recognize::{Language, Project};
use super::watch::WORK;

/// A hook that was built.
#[derive(Debug)]
pub struct Built {
    /// The file.
    pub path: PathBuf,
    /// The hook in it.
    pub hook: Hook,
}

/// The hook in a file.
#[derive(Debug)]
pub enum Hook {
    /// A component: its digest, size, events and rights.
    Component(Box<Component>),
    /// Rules whose examples hold.
    Rules(Box<Rules>),
    /// A script, with its event.
    Script(EventName),
}

impl Project {
    /// Builds the hook, and leaves it at [`output`](Self::output). A component is also compiled, so that no event waits
    /// for it. Rules and scripts are only checked.
    ///
    /// # Errors
    ///
    /// A tool is missing or fails, or its result is not a hook. An older result is unchanged then.
    pub async fn build(&self, runtime: &Runtime) -> Result<Built, BuildError> {
        let path = self.output();
        let not_a_hook = |source: HookError| BuildError::NotAHook { path: path.clone(), source };
        if self.language == Language::Script {
            let event = native::query(&path, None, &[], native::QUERY).await.map_err(not_a_hook)?;
            return Ok(Built { hook: Hook::Script(event), path });
        }
        let fail = |source| BuildError::File { path: path.clone(), source };
        if self.language == Language::Rules {
            let bytes = FileAccess::Anywhere.read(&path, rules::MAX_FILE).map_err(fail)?;
            let rules = Rules::read(&bytes);
            return match rules {
                Ok(rules) => Ok(Built { hook: Hook::Rules(Box::new(rules)), path }),
                Err(source) => Err(BuildError::Rules { path, source }),
            };
        }
        // Beside the result, so that it can be renamed; the tools of a project may write below its directory.
        let temporary = tempfile::Builder::new().prefix(WORK).tempdir_in(&self.dir).map_err(fail)?;
        let (made, schema) = match self.language {
            // The linker has put the schema into it.
            Language::Rust => (languages::rust(self).await?, Vec::new()),
            Language::Python => languages::python(self, temporary.path()).await?,
            _ => languages::typescript(self, temporary.path()).await?,
        };
        let mut bytes = FileAccess::Anywhere.read(&made, MAX_COMPONENT).map_err(fail)?;
        append_schema(&mut bytes, &schema);
        let new = temporary.path().join("hook.wasm.new");
        std::fs::write(&new, &bytes).map_err(fail)?;
        let component = runtime.load(bytes).await.map_err(not_a_hook)?;
        std::fs::rename(&new, &path).map_err(fail)?;
        Ok(Built { hook: Hook::Component(Box::new(component)), path })
    }
}

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

/// The custom section of a component that has the schema.
const SECTION: &str = "hookbox:settings";

/// Appends the section with this schema to a component; nothing if there is no schema.
fn append_schema(component: &mut Vec<u8>, schema: &[u8]) {
    let schema = schema.trim_ascii();
    if !schema.is_empty() {
        CustomSection { name: SECTION.into(), data: schema.into() }.append_to_component(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_a_section_at_the_end() {
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        let before = component.clone();
        append_schema(&mut component, b" \n");
        assert_eq!(component, before);
        append_schema(&mut component, b"{}\n");
        assert_eq!(component[before.len()..], *b"\0\x13\x10hookbox:settings{}");

        let mut long = Vec::new();
        append_schema(&mut long, &[b'x'; 300]);
        // 317 is 2 * 128 + 61.
        assert_eq!((&long[..3], long.len()), (&[0, 0x80 | 61, 2][..], 3 + 317));
    }
}
