//! The file that is changed: it is found within the project, and replaced whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{Mode, OFlags};

use super::outcome::InstallError;
use crate::config::Level;
use crate::files::{NewFile, is_escape};
use hookbox_system::limits;

/// A configuration file, which need not exist.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The path as the user knows it.
    path: PathBuf,
    level: Level,
    /// The directory that the file never leaves: the project, or `/` for the user's own file and the
    /// system's.
    base: Dir,
    /// The directory of the file beneath the base, without symlinks.
    parent: PathBuf,
    name: PathBuf,
}

/// The contents of a configuration file, with its mode and owner.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    mode: u32,
    owner: (u32, u32),
}

impl ConfigFile {
    /// Finds the file. A symlink of the user's own may lead anywhere; one in a project must stay within it.
    pub(super) fn new(level: Level, path: &Path, project: &Path) -> Result<Self, InstallError> {
        let wrong = |error| InstallError::io(path, &error);
        let open = |path: &Path| Dir::open_ambient_dir(path, ambient_authority()).map_err(wrong);
        let (base, real) = if !level.is_in_project() {
            let root = Path::new("/");
            let absolute = std::path::absolute(path).map_err(wrong)?;
            let real = resolve(&absolute, |it| it.canonicalize(), |it| it.symlink_metadata().is_ok());
            let real =
                real.and_then(|it| it.strip_prefix(root).map(Path::to_owned).map_err(io::Error::other));
            (open(root)?, real)
        } else {
            let rest = path.strip_prefix(project).map_err(|_| {
                InstallError::new(path, "is not in the project", "work in the project's directory")
            })?;
            let base = open(project)?;
            let real = resolve(rest, |it| real_in(&base, it), |it| base.symlink_metadata(it).is_ok());
            (base, real)
        };
        let real = real.map_err(|error| match error.kind() {
            _ if level.is_in_project() && is_escape(&error) => {
                let what = "a symlink there leads out of the project";
                InstallError::new(path, what, "look at who put it there; nothing was changed")
            }
            io::ErrorKind::NotFound => {
                let what = "a symlink there leads nowhere";
                InstallError::new(path, what, "create the file that it leads to, or remove it")
            }
            _ => wrong(error),
        })?;
        let name = real.file_name().map(PathBuf::from).unwrap_or_default();
        let parent = real.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { path: path.to_owned(), level, base, parent, name })
    }

    fn directory(&self) -> io::Result<Dir> {
        if self.parent.as_os_str().is_empty() {
            self.base.try_clone()
        } else {
            self.base.open_dir(&self.parent)
        }
    }

    fn wrong(&self, error: io::Error) -> InstallError {
        InstallError::io(&self.path, &error)
    }

    /// Reads the file; `None` if it does not exist.
    pub(super) fn read(&self) -> Result<Option<Contents>, InstallError> {
        match self.try_read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|error| self.wrong(error)),
        }
    }

    fn try_read(&self) -> io::Result<Contents> {
        // A pipe is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(self.directory()?, &self.name, flags, Mode::empty())?);
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("expected a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(limits::FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limits::FILE {
            return Err(io::Error::other(format!("expected at most {} bytes", limits::FILE)));
        }
        Ok(Contents { bytes, mode: about.mode() & 0o7777, owner: (about.uid(), about.gid()) })
    }

    /// Returns the directories above the file, within the base, the innermost first.
    fn directories(&self) -> impl Iterator<Item = &Path> {
        self.parent.ancestors().filter(|it| !it.as_os_str().is_empty())
    }

    /// Returns the number of directories that have to be created for the file.
    pub(super) fn missing_directories(&self) -> usize {
        self.directories().take_while(|it| !self.base.is_dir(it)).count()
    }

    /// Writes these bytes, if the file still has the contents `before`.
    pub(super) fn write(&self, before: Option<&Contents>, bytes: &[u8]) -> Result<(), InstallError> {
        self.check_writable(before)?;
        let (file_mode, directory_mode) = match self.level {
            Level::User => (0o600, 0o700),
            Level::Project | Level::Local => (0o666, 0o777),
            Level::System => (0o644, 0o755),
        };
        let missing = self.missing_directories();
        let wrong = |error| self.wrong(error);
        if !self.parent.as_os_str().is_empty() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(directory_mode);
            self.base.create_dir_with(&self.parent, &builder).map_err(wrong)?;
        }
        let directory = self.directory().map_err(wrong)?;
        NewFile::sweep(&directory, &self.name);
        let new = NewFile::create(&directory, &self.name, file_mode).map_err(wrong)?;
        new.file().write_all(bytes).map_err(wrong)?;
        match before {
            Some(before) => self.keep_owner(new.file(), before)?,
            // A narrower umask would hide the hooks from the other users, whose agents then run none.
            None if self.level == Level::System => {
                let readable = |mode| Permissions::from_mode(mode);
                new.file().set_permissions(readable(file_mode)).map_err(wrong)?;
                for made in self.directories().take(missing) {
                    let mode = cap_std::fs::Permissions::from_std(readable(directory_mode));
                    self.base.set_permissions(made, mode).map_err(wrong)?;
                }
            }
            None => {}
        }
        self.check_unchanged(before)?;
        match before {
            Some(_) => new.replace().map_err(wrong),
            None => new.place().map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => self.changed(),
                _ => wrong(error),
            }),
        }
    }

    /// Gives a new file the owner and the mode of the old one.
    fn keep_owner(&self, file: &File, before: &Contents) -> Result<(), InstallError> {
        let wrong = |error| self.wrong(error);
        let own = file.metadata().map_err(wrong)?;
        let (user, group) = before.owner;
        if (own.uid(), own.gid()) != before.owner {
            std::os::unix::fs::fchown(file, Some(user), Some(group)).map_err(|source| {
                let what =
                    format!("belongs to user {user} and group {group}, which cannot be kept: {source}");
                InstallError::new(&self.path, what, "run this command as the file's owner")
            })?;
        }
        // After the owner: a change of the owner clears some bits of the mode.
        file.set_permissions(Permissions::from_mode(before.mode)).map_err(wrong)
    }

    /// Deletes the file, if it still has the contents `before`, and of so many directories above it those that
    /// are empty then.
    pub(super) fn delete(&self, before: &Contents, made: usize) -> Result<(), InstallError> {
        self.check_writable(Some(before))?;
        self.check_unchanged(Some(before))?;
        let removed = self.directory().and_then(|it| it.remove_file(&self.name));
        removed.map_err(|error| self.wrong(error))?;
        // One that is in use by now stays.
        self.directories().take(made).for_each(|it| drop(self.base.remove_dir(it)));
        Ok(())
    }

    /// Refuses to replace a file that its owner has made read-only.
    fn check_writable(&self, before: Option<&Contents>) -> Result<(), InstallError> {
        if before.is_some_and(|it| it.mode & 0o222 == 0) {
            let hint = "another program may manage it: let that one write the entries that --dry-run shows";
            return Err(InstallError::new(&self.path, "is read-only", hint));
        }
        Ok(())
    }

    fn check_unchanged(&self, before: Option<&Contents>) -> Result<(), InstallError> {
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
}

/// Returns the path without symlinks, as far as it exists. A symlink that leads nowhere is `NotFound`.
fn resolve(
    path: &Path,
    canonicalize: impl Fn(&Path) -> io::Result<PathBuf>,
    exists: impl Fn(&Path) -> bool,
) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    for at in path.ancestors() {
        match canonicalize(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !exists(at) => {
                missing.extend(at.file_name());
            }
            real => return real.map(|real| missing.iter().rev().fold(real, |path, name| path.join(name))),
        }
    }
    Ok(path.to_owned())
}

fn real_in(base: &Dir, path: &Path) -> io::Result<PathBuf> {
    if path.components().all(|it| matches!(it, Component::CurDir)) {
        return Ok(PathBuf::new());
    }
    base.canonicalize(path)
}
