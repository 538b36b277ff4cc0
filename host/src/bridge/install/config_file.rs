//! The file that is changed: found without being led out of a project, written whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{Mode, OFlags};

use super::error::InstallError;
use super::outcome::InstallFailure;
use crate::bridge::config::{Level, MAX_BYTES, Surroundings};
use crate::dialect::agent::Agent;
use crate::text;

/// How often a temporary name is looked for that nobody has.
const MAX_NAMES: u32 = 16;

/// How many entries of its directory are looked at for such names of processes that are gone.
const MAX_ENTRIES: usize = 4096;

/// A configuration file, there or not.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// As the user knows it.
    path: PathBuf,
    level: Level,
    /// What the rest is looked for beneath.
    base: Dir,
    base_path: PathBuf,
    /// The directory of the file, beneath that, with every symlink followed.
    parent: PathBuf,
    name: PathBuf,
}

/// What stands there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    mode: u32,
    owner: (u32, u32),
}

impl ConfigFile {
    /// The file at this path. A symlink of the user's own is followed wherever it leads; one in a project only within it.
    pub(super) fn new(level: Level, path: &Path, project: &Path) -> Result<Self, InstallError> {
        let wrong = |error: io::Error| InstallError::io(path, &error);
        let (base_path, rest) = match level {
            Level::User => {
                let absolute = std::path::absolute(path).map_err(wrong)?;
                let (real, rest) =
                    split(&absolute, |it| it.canonicalize(), |it| it.symlink_metadata().is_ok());
                let real = real.map_err(|error| dangling(path, &error))?;
                match (rest.components().next(), real.parent()) {
                    // The file itself is there.
                    (None, Some(parent)) => {
                        (parent.to_owned(), real.file_name().map(PathBuf::from).unwrap_or_default())
                    }
                    _ => (real, rest),
                }
            }
            Level::Project | Level::Local => {
                let rest = path.strip_prefix(project).map_err(|_| {
                    InstallError::new(path, "is not in the project", "work in the project's directory")
                })?;
                (project.canonicalize().map_err(wrong)?, rest.to_owned())
            }
        };
        let base = Dir::open_ambient_dir(&base_path, ambient_authority()).map_err(wrong)?;
        let (real, missing) = split(&rest, |it| real_in(&base, it), |it| base.symlink_metadata(it).is_ok());
        let real = real.map_err(|error| {
            if level != Level::User && crate::files::is_escape(&error) {
                let what = "a symlink there leads out of the project";
                return InstallError::new(path, what, "look at who put it there; nothing was changed");
            }
            dangling(path, &error)
        })?;
        let whole = real.join(missing);
        let name = whole.file_name().map(PathBuf::from).unwrap_or_default();
        let parent = whole.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { path: path.to_owned(), level, base, base_path, parent, name })
    }

    fn wrong(&self, error: &io::Error) -> InstallError {
        InstallError::io(&self.path, error)
    }

    fn directory(&self) -> io::Result<Dir> {
        if self.parent.as_os_str().is_empty() {
            self.base.try_clone()
        } else {
            self.base.open_dir(&self.parent)
        }
    }

    /// What stands there now. `None` is nothing.
    pub(super) fn read(&self) -> Result<Option<Found>, InstallError> {
        self.try_read().map_err(|error| self.wrong(&error))
    }

    fn try_read(&self) -> io::Result<Option<Found>> {
        let directory = match self.directory() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            directory => directory?,
        };
        // A pipe is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&directory, &self.name, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            file => File::from(file?),
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("expected a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > MAX_BYTES {
            return Err(io::Error::other(format!("expected at most {MAX_BYTES} bytes")));
        }
        let owner = (about.uid(), about.gid());
        Ok(Some(Found { bytes, mode: about.mode() & 0o7777, owner }))
    }

    /// The directories that have to be made, the outermost first.
    pub(super) fn missing_directories(&self) -> Vec<PathBuf> {
        let mut made = Vec::new();
        let mut at = PathBuf::new();
        for part in self.parent.components() {
            at.push(part);
            if !self.base.is_dir(&at) {
                made.push(self.base_path.join(&at));
            }
        }
        made
    }

    /// Writes these bytes where `before` still stands.
    pub(super) fn write(&self, before: Option<&Found>, bytes: &[u8]) -> Result<(), InstallError> {
        self.may_write(before)?;
        let private = self.level == Level::User;
        if !self.parent.as_os_str().is_empty() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(if private { 0o700 } else { 0o777 });
            self.base.create_dir_with(&self.parent, &builder).map_err(|error| self.wrong(&error))?;
        }
        let directory = self.directory().map_err(|error| self.wrong(&error))?;
        self.sweep(&directory);
        let (temporary, file) = self
            .temporary(&directory, if private { 0o600 } else { 0o666 })
            .map_err(|error| self.wrong(&error))?;
        let result = self.fill(&directory, file, &temporary, before, bytes);
        if result.is_err() {
            // Nothing of it stays. Where it is gone already there is nothing to do.
            let _ = directory.remove_file(&temporary);
        }
        result
    }

    fn fill(
        &self,
        directory: &Dir,
        mut file: File,
        temporary: &Path,
        before: Option<&Found>,
        bytes: &[u8],
    ) -> Result<(), InstallError> {
        let wrong = |error: io::Error| self.wrong(&error);
        file.write_all(bytes).map_err(wrong)?;
        if let Some(before) = before {
            let own = file.metadata().map_err(wrong)?;
            if (own.uid(), own.gid()) != before.owner {
                std::os::unix::fs::fchown(&file, Some(before.owner.0), Some(before.owner.1)).map_err(
                    |error| {
                        let what = format!(
                            "belongs to user {} and group {}, which cannot be kept: {error}",
                            before.owner.0, before.owner.1
                        );
                        InstallError::new(&self.path, what, "run this command as the file's owner")
                    },
                )?;
            }
            // After the owner: a change of that takes bits away.
            file.set_permissions(Permissions::from_mode(before.mode)).map_err(wrong)?;
        }
        file.sync_all().map_err(wrong)?;
        self.is_still(before)?;
        let placed = match before {
            Some(_) => directory.rename(temporary, directory, &self.name),
            // A file that somebody made in the meantime is not replaced.
            None => match directory.hard_link(temporary, directory, &self.name) {
                Ok(()) => directory.remove_file(temporary),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.changed()),
                Err(_) => directory.rename(temporary, directory, &self.name),
            },
        };
        placed.map_err(wrong)?;
        sync(directory).map_err(wrong)
    }

    /// Removes the file, where `before` still stands, and these directories, where they are empty.
    pub(super) fn delete(&self, before: &Found, made: &[PathBuf]) -> Result<(), InstallError> {
        self.may_write(Some(before))?;
        self.is_still(Some(before))?;
        let directory = self.directory().map_err(|error| self.wrong(&error))?;
        directory.remove_file(&self.name).map_err(|error| self.wrong(&error))?;
        sync(&directory).map_err(|error| self.wrong(&error))?;
        for made in made.iter().rev() {
            // One that is used by now stays.
            let _ = match (self.level, made.strip_prefix(&self.base_path)) {
                (Level::User, _) => std::fs::remove_dir(made),
                (_, Ok(made)) => self.base.remove_dir(made),
                _ => Ok(()),
            };
        }
        Ok(())
    }

    /// A file that its owner has made read-only is not replaced behind his back.
    fn may_write(&self, before: Option<&Found>) -> Result<(), InstallError> {
        if before.is_some_and(|it| it.mode & 0o222 == 0) {
            let hint = "another program may manage it: let that one write the entries that --dry-run shows";
            return Err(InstallError::new(&self.path, "is read-only", hint));
        }
        Ok(())
    }

    fn is_still(&self, before: Option<&Found>) -> Result<(), InstallError> {
        let now = self.read()?;
        if now.as_ref().map(|it| &it.bytes) == before.map(|it| &it.bytes) {
            Ok(())
        } else {
            Err(self.changed())
        }
    }

    fn changed(&self) -> InstallError {
        InstallError::new(
            &self.path,
            "somebody else changed it just now",
            "run the command again; nothing was changed",
        )
    }

    /// Removes what processes that were killed have left of this file.
    fn sweep(&self, directory: &Dir) {
        let head = format!(".{}.hookbox-", self.name.to_string_lossy());
        let Ok(entries) = directory.entries() else { return };
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name();
            let Some((process, number)) =
                name.to_str().and_then(|it| it.strip_prefix(&head)).and_then(|it| it.split_once('-'))
            else {
                continue;
            };
            let process = process.parse().ok().and_then(rustix::process::Pid::from_raw);
            let is_gone = process
                .is_some_and(|it| rustix::process::test_kill_process(it) == Err(rustix::io::Errno::SRCH));
            if is_gone && number.parse::<u32>().is_ok() && entry.file_type().is_ok_and(|it| it.is_file()) {
                // Another run may have been faster.
                let _ = directory.remove_file(&name);
            }
        }
    }

    fn temporary(&self, directory: &Dir, mode: u32) -> io::Result<(PathBuf, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let stem = self.name.to_string_lossy();
        let mut last = io::Error::other("no name is free for a temporary file");
        for number in 0..MAX_NAMES {
            let name = PathBuf::from(format!(".{stem}.hookbox-{}-{number}", std::process::id()));
            match rustix::fs::openat(directory, &name, flags, Mode::from_bits_truncate(mode)) {
                Ok(file) => return Ok((name, File::from(file))),
                Err(rustix::io::Errno::EXIST) => last = rustix::io::Errno::EXIST.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(last)
    }
}

/// That an agent's own variable names one directory, wherever the agent starts.
pub(super) fn moved(agent: Agent, surroundings: &Surroundings) -> Result<(), InstallFailure> {
    let Some((variable, value)) = surroundings.unsettled(agent) else { return Ok(()) };
    let value = text::escape(&value.to_string_lossy(), 200);
    Err(InstallFailure::Variable { variable, value })
}

fn dangling(path: &Path, error: &io::Error) -> InstallError {
    if error.kind() == io::ErrorKind::NotFound {
        return InstallError::new(
            path,
            "a symlink there leads nowhere",
            "make what it leads to, or remove it",
        );
    }
    InstallError::io(path, error)
}

/// The nearest part of a path that is there, with its symlinks followed, and the rest. What is there and leads nowhere is
/// an error.
fn split(
    path: &Path,
    real: impl Fn(&Path) -> io::Result<PathBuf>,
    is_there: impl Fn(&Path) -> bool,
) -> (io::Result<PathBuf>, PathBuf) {
    let mut at = path;
    let mut rest = PathBuf::new();
    loop {
        match real(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_there(at) => {}
            found => return (found, rest),
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return (Ok(PathBuf::new()), path.to_owned());
        };
        rest = if rest.as_os_str().is_empty() { name.into() } else { Path::new(name).join(rest) };
        at = parent;
    }
}

fn real_in(base: &Dir, path: &Path) -> io::Result<PathBuf> {
    if path.components().all(|it| matches!(it, Component::CurDir)) {
        return Ok(PathBuf::new());
    }
    base.canonicalize(path)
}

fn sync(directory: &Dir) -> io::Result<()> {
    let here = rustix::fs::openat(
        directory,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    Ok(rustix::fs::fsync(here)?)
}
