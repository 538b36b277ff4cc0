//! Starting a process, and saying in words why it could not be started.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::hook::{Cause, HookError};
use crate::native::group::{Group, Leash};
use hookbox_system::text;

/// Tells a process how deep in hooks it runs: 1 for a hook, 2 for a hook of an agent that a hook started.
pub const DEPTH_VARIABLE: &str = "HOOKBOX_DEPTH";

/// Returns the depth in hooks of this process: the value of [`DEPTH_VARIABLE`], and 0 if it is not set or
/// blank. Any other text counts as 1, so that a process below a hook cannot hide that by writing garbage
/// there.
pub fn depth() -> u32 {
    std::env::var_os(DEPTH_VARIABLE).map_or(0, |value| depth_of(&value))
}

fn depth_of(value: &OsStr) -> u32 {
    match value.to_str().map(str::trim) {
        Some("") => 0,
        Some(text) => text.parse().unwrap_or(1),
        None => 1,
    }
}

/// Pauses before another try when the file is still open for writing somewhere (`ETXTBSY`): an editor or an
/// installer is just about to close it, or a process forked in this moment holds a copy of our own handle.
const BUSY_PAUSES: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// Starts the command in a process group of its own, which does not outlive this process.
pub(crate) async fn start(
    command: &mut Command,
    program: &Path,
    directory: Option<&Path>,
) -> Result<(Child, Group), HookError> {
    let mut pauses = BUSY_PAUSES.iter();
    loop {
        let leash = Leash::new();
        match command.process_group(0).spawn() {
            Ok(child) => {
                let group = Group::of(&child, leash);
                return Ok((child, group));
            }
            Err(error) if errno(&error) == Some(Errno::TXTBSY) => match pauses.next() {
                Some(pause) => sleep(Duration::from_millis(*pause)).await,
                None => return Err(failure(&error, program, directory)),
            },
            Err(error) => return Err(failure(&error, program, directory)),
        }
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

/// Returns the reason why a program could not be started.
fn failure(error: &io::Error, program: &Path, directory: Option<&Path>) -> HookError {
    let spawn = |message: String| HookError::new(Cause::Spawn, message);
    match errno(error) {
        Some(Errno::NOENT | Errno::NOTDIR) => {
            if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
                let shown = text::escape(&directory.to_string_lossy(), 256);
                return spawn(format!("could not be started: its directory {shown} does not exist"));
            }
            let program = &directory.map_or_else(|| program.to_owned(), |directory| directory.join(program));
            if !program.exists() {
                let shown = text::escape(&program.to_string_lossy(), 256);
                return HookError::new(Cause::NotFound, format!("does not exist: {shown}"));
            }
            spawn(missing_interpreter(program))
        }
        Some(Errno::NOEXEC) => spawn(
            "could not be started: no shebang line (such as #!/bin/sh) and no format that this system runs"
                .to_owned(),
        ),
        Some(Errno::ACCESS | Errno::PERM) => spawn(
            "could not be started: permission denied; has it, and the interpreter of its shebang, an execute \
             bit?"
                .to_owned(),
        ),
        Some(Errno::TXTBSY) => {
            spawn("could not be started: the file is still open for writing somewhere".to_owned())
        }
        Some(Errno::TOOBIG) => {
            spawn("could not be started: the environment is too large to pass on".to_owned())
        }
        _ => spawn(format!("could not be started: {error}")),
    }
}

/// Explains a file that exists and cannot be started because another file is missing.
fn missing_interpreter(program: &Path) -> String {
    let mut line = Vec::new();
    // Best effort: without a readable first line the message is less exact.
    let _ = File::open(program).and_then(|file| file.take(256).read_to_end(&mut line));
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(interpreter) = line.strip_prefix(b"#!") else {
        return "could not be started: the loader or interpreter that it needs is missing".to_owned();
    };
    let hint = if interpreter.ends_with(b"\r") { "; the line ends with a carriage return" } else { "" };
    let interpreter = String::from_utf8_lossy(interpreter);
    let interpreter = text::escape(interpreter.trim_start_matches([' ', '\t']), 128);
    format!("could not be started: the interpreter of its shebang is missing: {interpreter}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn a_depth_that_is_no_number_is_a_depth_all_the_same() {
        for (value, want) in [
            (&b""[..], 0),
            (b" ", 0),
            (b"0", 0),
            (b" 2\n", 2),
            (b"4294967295", u32::MAX),
            (b"4294967296", 1),
            (b"-1", 1),
            (b"1.5", 1),
            (b"no", 1),
            (b"\xff", 1),
        ] {
            assert_eq!(depth_of(OsStr::from_bytes(value)), want, "{value:?}");
        }
    }
}
