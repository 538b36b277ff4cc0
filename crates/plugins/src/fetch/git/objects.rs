//! Reading the files of a commit, one by one, into the stage.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::listing::{Entry, Kind};
use super::repository::Repository;
use crate::blocking::blocking;
use crate::limits::MAX_TARGET;
use crate::{PluginError, Stage};
use hookbox::internal::text;

/// The start of a git-lfs pointer file, and the most bytes that it has (docs/spec.md of git-lfs).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const MAX_POINTER: u64 = 1024;

/// Writes these entries into the stage.
pub(super) async fn write(
    repository: &Repository<'_>,
    entries: &[Entry],
    stage: &mut Stage<'_>,
) -> Result<(), PluginError> {
    let failed = |failure| repository.failed(failure);
    let ids: String = entries.iter().map(|entry| format!("{}\n", entry.id)).collect();
    let input = repository.git.dir.with_extension("ids");
    std::fs::write(&input, ids).map_err(|error| failed(error.into()))?;
    let output = repository.git.output(["cat-file", "--batch"], &input, repository.git.file).await;
    let mut objects = Objects(BufReader::with_capacity(64 << 10, output.map_err(failed)?));
    blocking(|| entries.iter().try_for_each(|entry| objects.next(entry, stage)))
}

/// The output of `git cat-file --batch`.
struct Objects(BufReader<File>);

impl Objects {
    fn next(&mut self, entry: &Entry, stage: &mut Stage<'_>) -> Result<(), PluginError> {
        let wrong = |error: io::Error| PluginError::io(entry.path.as_path(), error);
        self.header(entry).map_err(wrong)?;
        let mut bytes = (&mut self.0).take(entry.len);
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
        self.0.read_exact(&mut end).map_err(wrong)
    }

    /// Reads the line before the bytes of an object.
    fn header(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = Vec::new();
        (&mut self.0).take(256).read_until(b'\n', &mut line)?;
        if line == format!("{} blob {}\n", entry.id, entry.len).as_bytes() {
            return Ok(());
        }
        let line = text::escape(String::from_utf8_lossy(&line).trim_end(), 256);
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("git does not have it: {line}")))
    }
}
