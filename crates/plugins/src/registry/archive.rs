//! Tar archives, entry by entry into a stage. The rules of what a plugin may have are the stage's; here an archive is
//! understood in one way only, and what two readers could understand in two ways is refused.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType, PaxExtensions};

use crate::limits::{MAX_PATH, MAX_TARGET};
use crate::{EntryPath, PluginError, PluginErrorKind, Stage};
use hookbox::escape;

/// How large what stands before an entry and belongs to it may be, in bytes: a long name, or extended attributes.
const MAX_EXTENDED: u64 = 64 << 10;

/// What an archive is called in errors.
const ARCHIVE: &str = "the archive";

/// Writes what an archive holds of a plugin into a stage; the rest is skipped. It may have `limit` bytes, unpacked.
pub(super) fn unpack(
    file: File,
    is_gzip: bool,
    limit: u64,
    stage: &mut Stage<'_>,
) -> Result<(), PluginError> {
    let file = io::BufReader::new(file);
    // A layer may be compressed in several pieces.
    let reader: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let reader = Bounded { reader, left: limit };
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let what = format!("unpacks to more than {limit} bytes");
            PluginError::new(ARCHIVE, PluginErrorKind::TooLarge(what))
        }
        // The text may repeat what stands in the archive.
        _ => odd(&format!("is damaged: {}", escape(&error.to_string(), 200))),
    };
    let mut archive = Archive::new(reader);
    let mut extended = Extended::default();
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let mut of_next = || {
            let mut bytes = Vec::new();
            entry.by_ref().take(MAX_EXTENDED + 1).read_to_end(&mut bytes).map_err(damaged)?;
            if bytes.len() as u64 > MAX_EXTENDED {
                let what = format!("has an entry with more than {MAX_EXTENDED} bytes beside its content");
                return Err(PluginError::new(ARCHIVE, PluginErrorKind::Hostile(what)));
            }
            Ok(bytes)
        };
        match kind {
            EntryType::GNULongName => extended.path(without_end(of_next()?))?,
            EntryType::GNULongLink => extended.target(without_end(of_next()?))?,
            EntryType::XHeader => extended.read(&of_next()?)?,
            // Of the whole archive: git writes the commit there. What every entry would have there is ambiguous.
            EntryType::XGlobalHeader => {
                let mut global = Extended::default();
                global.read(&of_next()?)?;
                if global != Extended::default() {
                    return Err(odd("has one name, target or size for all of its entries"));
                }
            }
            _ => {
                let extended = std::mem::take(&mut extended);
                one(&mut entry, extended, stage).map_err(|error| match error.kind {
                    PluginErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        damaged(error)
                    }
                    _ => error,
                })?;
            }
        }
    }
    if extended != Extended::default() {
        return Err(odd("ends before an entry that it announces"));
    }
    Ok(())
}

/// One entry.
fn one<R: Read>(
    entry: &mut tar::Entry<'_, R>,
    extended: Extended,
    stage: &mut Stage<'_>,
) -> Result<(), PluginError> {
    let path = extended.path.unwrap_or_else(|| entry.path_bytes().into_owned());
    let Some(plain) = plain(&path) else { return Ok(()) };
    let path: EntryPath = stage.path(plain)?;
    let kind = entry.header().entry_type();
    let size = entry.size();
    if extended.size.is_some_and(|said| said != size) {
        return Err(stage.refuse(path.as_str(), "has two sizes in the archive"));
    }
    if !path.is_installed() {
        return Ok(());
    }
    let mode =
        entry.header().mode().map_err(|_| stage.refuse(path.as_str(), "has a mode that is no number"))?;
    if mode & 0o7000 != 0 {
        let what = format!("has the mode {:o}: expected none of setuid, setgid and sticky", mode & 0o7777);
        return Err(stage.refuse(path.as_str(), what));
    }
    let what = match kind {
        // The oldest archives know directories by the end of their name only.
        EntryType::Regular if plain.ends_with(b"/") && size == 0 => return stage.directory(&path),
        EntryType::Regular if plain.ends_with(b"/") => "is a file with the name of a directory",
        EntryType::Regular => {
            stage.room(&path, size)?;
            return stage.file(&path, mode & 0o111 != 0, Some(size), entry);
        }
        EntryType::Directory => return stage.directory(&path),
        EntryType::Symlink => {
            let target = extended.target.or_else(|| entry.link_name_bytes().map(|it| it.into_owned()));
            let target = target.unwrap_or_default();
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

/// A path without the `./` that many archives begin their paths with; `None` for the top itself.
fn plain(path: &[u8]) -> Option<&[u8]> {
    let mut path = path;
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
    }
    (!path.is_empty() && path != b".").then_some(path)
}

/// A name that ends with a zero byte.
fn without_end(mut name: Vec<u8>) -> Vec<u8> {
    if name.last() == Some(&0) {
        name.pop();
    }
    name
}

/// What stands before an entry, for what does not fit into its header.
#[derive(Debug, Default, PartialEq, Eq)]
struct Extended {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    fn path(&mut self, path: Vec<u8>) -> Result<(), PluginError> {
        once(&mut self.path, path, MAX_PATH)
    }

    fn target(&mut self, target: Vec<u8>) -> Result<(), PluginError> {
        once(&mut self.target, target, MAX_TARGET)
    }

    /// Reads the records of POSIX.1-2001 ("pax").
    fn read(&mut self, records: &[u8]) -> Result<(), PluginError> {
        for record in PaxExtensions::new(records) {
            let record = record.map_err(|_| odd("has a record that cannot be read"))?;
            let value = record.value_bytes();
            match record.key_bytes() {
                b"path" => self.path(value.to_owned())?,
                b"linkpath" => self.target(value.to_owned())?,
                b"size" => {
                    let size = str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                    let size = size.ok_or_else(|| odd("has a size that is no number"))?;
                    if self.size.replace(size).is_some() {
                        return Err(odd("has an entry with two sizes"));
                    }
                }
                key if key.starts_with(b"GNU.sparse.") => return Err(odd("has a sparse file")),
                _ => {}
            }
        }
        Ok(())
    }
}

fn once(place: &mut Option<Vec<u8>>, value: Vec<u8>, max: usize) -> Result<(), PluginError> {
    if value.len() > max {
        return Err(odd(&format!("has a name of {} bytes: expected at most {max}", value.len())));
    }
    if place.replace(value).is_some() {
        return Err(odd("has an entry with two names or targets"));
    }
    Ok(())
}

fn odd(what: &str) -> PluginError {
    PluginError::new(ARCHIVE, PluginErrorKind::Hostile(what.to_owned()))
}

/// A reader that fails where more comes than is allowed.
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
