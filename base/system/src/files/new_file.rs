//! Files that replace another one in one step.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

/// The number of temporary names that are tried: a killed process of the same number may have left some.
const MAX_TRIES: u32 = 16;

/// The number of directory entries that are searched for the temporary files of killed processes.
const MAX_ENTRIES: usize = 4096;

/// Replaces a file of a private directory. The file has mode 0600 and is on the disk when this returns. Another process
/// reads the old bytes or the new ones.
///
/// # Errors
///
/// The system's own; the old file is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, |new| new.replace())
}

/// Replaces a file as [`write_atomic`] does, but does not wait until it is on the disk. For a file that a crash of the
/// system makes worthless, or that is made again.
///
/// # Errors
///
/// The system's own; the old file is unchanged then.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, |new| new.rename())
}

fn write(path: &Path, bytes: &[u8], put: fn(NewFile<'_>) -> io::Result<()>) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let dir = Dir::open_ambient_dir(parent, ambient_authority())?;
    let new = NewFile::create(&dir, Path::new(name), 0o600)?;
    new.file().write_all(bytes)?;
    put(new)
}

/// A temporary file beside the file that it replaces. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile<'a> {
    dir: &'a Dir,
    temporary: PathBuf,
    name: PathBuf,
    file: File,
}

impl<'a> NewFile<'a> {
    /// Creates the temporary file in an open directory: `.NAME.hookbox-PROCESS-NUMBER`. The umask limits `mode`.
    ///
    /// # Errors
    ///
    /// The system's own.
    pub fn create(dir: &'a Dir, name: &Path, mode: u32) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let prefix = prefix(name);
        for _ in 0..MAX_TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let temporary = PathBuf::from(format!("{prefix}{}-{number}", std::process::id()));
            match rustix::fs::openat(dir, &temporary, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok(Self { dir, temporary, name: name.to_owned(), file: file.into() }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("every name for a temporary file is taken"))
    }

    /// Returns the temporary file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file on the disk, in place of the file that has its name.
    ///
    /// # Errors
    ///
    /// The system's own.
    pub fn replace(self) -> io::Result<()> {
        self.file.sync_all()?;
        self.rename()?;
        sync_directory(self.dir)
    }

    fn rename(&self) -> io::Result<()> {
        self.dir.rename(&self.temporary, self.dir, &self.name)
    }

    /// Puts the file on the disk, if no file has its name.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if a file has its name; the system's own.
    pub fn place(self) -> io::Result<()> {
        self.file.sync_all()?;
        match self.dir.hard_link(&self.temporary, self.dir, &self.name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // Some file systems have no hard links.
            Err(_) if self.dir.symlink_metadata(&self.name).is_err() => {
                self.rename()?;
            }
            linked => linked?,
        }
        sync_directory(self.dir)
    }

    /// Removes the temporary files of this name that killed processes have left.
    pub fn sweep(dir: &Dir, name: &Path) {
        let prefix = prefix(name);
        let Ok(entries) = dir.entries() else { return };
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let file_name = entry.file_name();
            let rest = file_name.to_str().and_then(|it| it.strip_prefix(&prefix));
            let Some((process, number)) = rest.and_then(|it| it.split_once('-')) else { continue };
            let process = process.parse().ok().and_then(Pid::from_raw);
            let is_gone =
                process.is_some_and(|it| rustix::process::test_kill_process(it) == Err(Errno::SRCH));
            if is_gone && number.parse::<u32>().is_ok() && entry.file_type().is_ok_and(|it| it.is_file()) {
                // Another process may have removed it.
                let _ = dir.remove_file(&file_name);
            }
        }
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        // A renamed file has no temporary name any more.
        let _ = self.dir.remove_file(&self.temporary);
    }
}

fn prefix(name: &Path) -> String {
    format!(".{}.hookbox-", name.to_string_lossy())
}

/// Puts the names of a directory on the disk.
///
/// # Errors
///
/// If the system cannot. A file system that cannot sync a directory is no error.
pub fn sync_directory(dir: &Dir) -> io::Result<()> {
    // The handle of a `Dir` may be one that can only look up paths.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
    match rustix::fs::fsync(dir) {
        // Some file systems cannot sync a directory.
        Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(error) if error == Errno::NOTSUP || error == Errno::OPNOTSUPP => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_is_the_users_alone() {
        let temp = tempfile::tempdir().unwrap();
        let (file, victim) = (temp.path().join("file"), temp.path().join("victim"));
        fs::write(&victim, "whole").unwrap();
        symlink(&victim, &file).unwrap();
        for write in [write_atomic, write_unsynced] {
            for text in ["one", "two"] {
                write(&file, text.as_bytes()).unwrap();
                assert_eq!(fs::read_to_string(&file).unwrap(), text);
                assert_eq!(fs::symlink_metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
            }
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "whole", "no symlink is followed");
        assert_eq!(names(temp.path()), ["file", "victim"], "no temporary file stays");
        write_atomic(&temp.path().join("missing/file"), b"").unwrap_err();
    }

    #[test]
    fn a_new_file_takes_a_free_name_or_none() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let create = || NewFile::create(&dir, Path::new("file"), 0o666).unwrap();
        drop(create());
        assert_eq!(names(temp.path()), [""; 0]);
        create().place().unwrap();
        assert_eq!(create().place().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(temp.path()), ["file"]);
    }

    #[test]
    fn files_of_killed_processes_are_swept_and_no_others() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let kept =
            [format!(".file.hookbox-{}-0", std::process::id()), ".file.hookbox-x-0".into(), "file".into()];
        for name in kept.iter().chain([&format!(".file.hookbox-{}-0", gone.id())]) {
            fs::write(temp.path().join(name), "").unwrap();
        }
        NewFile::sweep(&dir, Path::new("file"));
        assert_eq!(names(temp.path()).len(), kept.len());
        assert!(kept.iter().all(|name| temp.path().join(name).exists()));
    }
}
