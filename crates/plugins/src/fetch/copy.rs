//! A local directory as a source.
//!
//! It is read beneath the directory that was opened once, part by part, and no symlink is followed: what stands under a
//! name is looked at first, and what was opened has to be the same thing.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileTypeExt as _, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::{EntryPath, INSTALLED, PluginError, PluginErrorKind, Stage};

/// The bits of a file's mode that give rights to who runs it: set-user-ID, set-group-ID, and the sticky bit. Those of a
/// directory do something else, and are not copied.
const SPECIAL_BITS: u32 = 0o7000;

/// Copies what is installed of a directory.
pub(super) fn copy(path: &Path, stage: &mut Stage<'_>) -> Result<(), PluginError> {
    let wrong = |error: io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => PluginErrorKind::Fetch("is not there".to_owned()),
            io::ErrorKind::NotADirectory => PluginErrorKind::Fetch("is no directory".to_owned()),
            _ => error.into(),
        };
        PluginError::new(path.to_string_lossy(), kind)
            .hint("expected a directory that holds skills/, recipes/ or hooks/")
    };
    let top = Dir::open_ambient_dir(path, ambient_authority()).map_err(wrong)?;
    let own = stage.scratch().parent().and_then(|plugins| fs::metadata(plugins).ok());
    let mut copy = Copy { stage, own: own.map(|it| (it.dev(), it.ino())) };
    for name in INSTALLED {
        match top.symlink_metadata(name) {
            Ok(about) => {
                let path = copy.stage.path(name.as_bytes())?;
                copy.entry(&top, &name.into(), &path, &about)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(PluginError::io(name, error)),
        }
    }
    Ok(())
}

/// A copy under way.
struct Copy<'a, 'b> {
    stage: &'a mut Stage<'b>,
    /// Device and number of the plugins directory, which may stand in what is copied.
    own: Option<(u64, u64)>,
}

impl Copy<'_, '_> {
    fn entry(
        &mut self,
        dir: &Dir,
        name: &OsString,
        path: &EntryPath,
        about: &Metadata,
    ) -> Result<(), PluginError> {
        let kind = about.file_type();
        if kind.is_symlink() {
            let target = dir.read_link_contents(name).map_err(|error| unreadable(path, error))?;
            self.stage.symlink(path, &target)
        } else if kind.is_dir() {
            self.directory(dir, name, path, about)
        } else if kind.is_file() {
            self.file(dir, name, path, about)
        } else {
            let what = if kind.is_fifo() {
                "a named pipe"
            } else if kind.is_socket() {
                "a socket"
            } else {
                "a device"
            };
            let why = format!("is {what}: expected files, directories and symlinks");
            Err(self.stage.refuse(path.as_str(), why))
        }
    }

    /// How deep this goes is bounded by what a path may have.
    fn directory(
        &mut self,
        above: &Dir,
        name: &OsString,
        path: &EntryPath,
        about: &Metadata,
    ) -> Result<(), PluginError> {
        let wrong = |error| unreadable(path, error);
        if self.own == Some((about.dev(), about.ino())) {
            return Ok(());
        }
        let dir = above.open_dir(name).map_err(wrong)?;
        if !is_same(about, &dir.dir_metadata().map_err(wrong)?) {
            return Err(changed(path));
        }
        self.stage.directory(path)?;
        let most = self.stage.limits().entries;
        let mut names = Vec::new();
        for entry in dir.entries().map_err(wrong)?.take(most.saturating_add(1)) {
            names.push(entry.map_err(wrong)?.file_name());
        }
        if names.len() > most {
            let what = format!("has too many entries: a plugin may have {most} files and directories");
            return Err(PluginError::new(path.as_str(), PluginErrorKind::TooLarge(what)));
        }
        names.sort();
        for name in names {
            let below = [path.as_str().as_bytes(), b"/", name.as_bytes()].concat();
            let below = self.stage.path(&below)?;
            let about = dir.symlink_metadata(&name).map_err(|error| unreadable(&below, error))?;
            self.entry(&dir, &name, &below, &about)?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        dir: &Dir,
        name: &OsString,
        path: &EntryPath,
        about: &Metadata,
    ) -> Result<(), PluginError> {
        let wrong = |error| unreadable(path, error);
        if about.mode() & SPECIAL_BITS != 0 {
            let why = format!(
                "has the mode {:04o}: expected no set-user-ID, set-group-ID and sticky bit",
                about.mode() & 0o7777
            );
            return Err(self.stage.refuse(path.as_str(), why));
        }
        self.stage.room(path, about.len())?;
        let mut options = OpenOptions::new();
        // A pipe that was put there after the look must not make the open wait.
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let file = dir.open_with(name, &options).map_err(wrong)?;
        let opened = file.metadata().map_err(wrong)?;
        if !is_same(about, &opened) || !opened.is_file() {
            return Err(changed(path));
        }
        let written = self.stage.file(path, about.mode() & 0o111 != 0, Some(about.len()), &file);
        let now = file.metadata().map_err(wrong)?;
        if !is_same(about, &now)
            || now.len() != about.len()
            || (now.mtime(), now.mtime_nsec()) != (about.mtime(), about.mtime_nsec())
        {
            return Err(changed(path));
        }
        written
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino(), one.mode()) == (other.dev(), other.ino(), other.mode())
}

/// What was there a moment ago, and is not what it was.
fn changed(path: &EntryPath) -> PluginError {
    PluginError::new(path.as_str(), PluginErrorKind::Fetch("changed while it was copied".to_owned()))
        .hint("try again when nothing writes there")
}

fn unreadable(path: &EntryPath, error: io::Error) -> PluginError {
    match error.kind() {
        io::ErrorKind::NotFound => changed(path),
        _ => PluginError::io(path.as_path(), error),
    }
}
