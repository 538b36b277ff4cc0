//! Unpacking a tar archive into a stage, which checks the rules for plugins.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

use crate::{PluginError, PluginErrorKind, Stage};
use hookbox::escape;

/// The name of the archive in errors.
const ARCHIVE: &str = "the archive";

/// Writes the files of an archive into a stage. The archive may have `limit` bytes, unpacked.
pub(super) fn unpack(
    file: File,
    is_gzip: bool,
    limit: u64,
    stage: &mut Stage<'_>,
) -> Result<(), PluginError> {
    let file = io::BufReader::new(file);
    // A gzip file may have several members.
    let reader: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let what = format!("unpacks to more than {limit} bytes");
            PluginError::new(ARCHIVE, PluginErrorKind::TooLarge(what))
        }
        // The text may repeat bytes of the archive.
        _ => {
            let what = format!("is damaged: {}", escape(&error.to_string(), 200));
            PluginError::new(ARCHIVE, PluginErrorKind::Hostile(what))
        }
    };
    for entry in Archive::new(Bounded { reader, left: limit }).entries().map_err(damaged)? {
        write(entry.map_err(damaged)?, stage).map_err(|error| match error.kind {
            PluginErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => damaged(error),
            _ => error,
        })?;
    }
    Ok(())
}

/// Writes one entry.
fn write<R: Read>(mut entry: tar::Entry<'_, R>, stage: &mut Stage<'_>) -> Result<(), PluginError> {
    let name = entry.path_bytes().into_owned();
    let Some(plain) = plain(&name) else { return Ok(()) };
    let path = stage.path(plain)?;
    let Ok(mode) = entry.header().mode() else {
        return Err(stage.refuse(path.as_str(), "has a mode that is not a number"));
    };
    if mode & 0o7000 != 0 {
        let what = format!("has the mode {:o}: expected none of setuid, setgid and sticky", mode & 0o7777);
        return Err(stage.refuse(path.as_str(), what));
    }
    let size = entry.size();
    let what = match entry.header().entry_type() {
        // The oldest archives mark a directory only by the end of its name.
        EntryType::Regular if plain.ends_with(b"/") && size == 0 => return stage.directory(&path),
        EntryType::Regular if plain.ends_with(b"/") => "is a file with the name of a directory",
        EntryType::Regular => return stage.file(&path, mode & 0o111 != 0, Some(size), &mut entry),
        EntryType::Directory => return stage.directory(&path),
        EntryType::Symlink => {
            let target = entry.link_name_bytes().unwrap_or_default();
            return stage.symlink(&path, Path::new(OsStr::from_bytes(&target)));
        }
        EntryType::Link => "is a hard link",
        EntryType::Char | EntryType::Block => "is a device",
        EntryType::Fifo => "is a named pipe",
        EntryType::GNUSparse => "is a sparse file",
        _ => "is of an unknown kind",
    };
    Err(stage.refuse(path.as_str(), format!("{what}: expected files, directories and symlinks")))
}

/// Removes the `./` with which many archives begin their paths; `None` for the top directory.
fn plain(mut path: &[u8]) -> Option<&[u8]> {
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
    }
    (!path.is_empty() && path != b".").then_some(path)
}

/// A reader that fails beyond a limit.
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::new(io::ErrorKind::FileTooLarge, "unpacks to too much")),
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
