//! Reading files out of the repository, one by one, into the stage.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};

use super::listing::{Entry, Kind};
use super::repository::Repository;
use crate::limits::MAX_TARGET;
use crate::{PluginError, Stage};

/// How a file begins whose bytes are kept elsewhere (git-lfs, docs/spec.md), and how long such a file is at most.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const MAX_POINTER: u64 = 1024;

/// Writes all of these into the stage.
pub(super) fn write(
    repository: &Repository<'_>,
    entries: &[Entry],
    stage: &mut Stage<'_>,
) -> Result<(), PluginError> {
    let failed = |failed| repository.failed(failed);
    let (mut running, stdin, stdout) = repository.program.talk(["cat-file", "--batch"]).map_err(failed)?;
    let mut objects = Objects { ask: stdin, from: BufReader::with_capacity(64 << 10, stdout) };
    for entry in entries {
        // Where git was ended, the reason counts, and not that its pipe broke.
        objects
            .next(entry, stage)
            .map_err(|error| running.stopped().map_or(error, |why| failed(why.into())))?;
    }
    drop(objects);
    let status = running.end(&mut |_| ()).map_err(failed)?;
    running.finish(status).map_err(failed)
}

/// Git, asked for one object after another.
struct Objects {
    ask: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Objects {
    fn next(&mut self, entry: &Entry, stage: &mut Stage<'_>) -> Result<(), PluginError> {
        let wrong = |error: io::Error| PluginError::io(entry.path.as_path(), error);
        self.request(entry).map_err(wrong)?;
        let mut bytes = (&mut self.from).take(entry.len);
        match entry.kind {
            Kind::Symlink => {
                let mut target = Vec::new();
                if entry.len <= MAX_TARGET as u64 {
                    bytes.read_to_end(&mut target).map_err(wrong)?;
                }
                if target.is_empty() {
                    return Err(
                        stage.refuse(entry.path.as_str(), "is a symlink whose target is empty or too long")
                    );
                }
                stage.symlink(&entry.path, Path::new(OsStr::from_bytes(&target)))?;
            }
            Kind::File { executable } => {
                let mut head = Vec::new();
                if entry.len <= MAX_POINTER {
                    bytes.read_to_end(&mut head).map_err(wrong)?;
                }
                if head.starts_with(POINTER) {
                    let error = stage
                        .refuse(entry.path.as_str(), "is kept by git-lfs, and only a pointer to it is there");
                    return Err(error.hint("keep it in git itself, or publish the plugin to a registry"));
                }
                stage.file(&entry.path, executable, Some(entry.len), head.as_slice().chain(bytes))?;
            }
        }
        let mut end = [0];
        self.from.read_exact(&mut end).map_err(wrong)
    }

    /// Asks for an object; what follows are its bytes.
    fn request(&mut self, entry: &Entry) -> io::Result<()> {
        writeln!(self.ask, "{}", entry.id)?;
        self.ask.flush()?;
        let mut answer = Vec::new();
        (&mut self.from).take(256).read_until(b'\n', &mut answer)?;
        if answer == format!("{} blob {}\n", entry.id, entry.len).as_bytes() {
            return Ok(());
        }
        let answer = hookbox::internal::text::escape(String::from_utf8_lossy(&answer).trim_end(), 256);
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("git does not give it: {answer}")))
    }
}
