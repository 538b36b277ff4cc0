//! Files and directories by their name in a directory that is open. No name has a slash, and no symlink is followed:
//! what stands in a repository may be anybody's.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// How many names of a directory are looked at: there are at most some hundreds of plugins.
const MAX_NAMES: usize = 65_536;

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A directory, and its inode.
    Directory(u64),
    /// A regular file.
    File,
    /// A symlink.
    Symlink,
    /// A pipe, a socket, a device.
    Special,
}

impl Found {
    /// The word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Directory(_) => "a directory",
            Self::File => "a file",
            Self::Symlink => "a symlink",
            Self::Special => "neither a file nor a directory",
        }
    }
}

/// What stands under this name; `None` for nothing.
pub(super) fn look(dir: &Dir, name: &str) -> io::Result<Option<Found>> {
    let about = match dir.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about?,
    };
    Ok(Some(match about.file_type() {
        kind if kind.is_symlink() => Found::Symlink,
        kind if kind.is_dir() => Found::Directory(about.ino()),
        kind if kind.is_file() => Found::File,
        _ => Found::Special,
    }))
}

/// The names in a directory that are text, sorted: no other can be that of a plugin, or of something of hookbox. Of
/// very many only some are looked at.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in dir.entries()?.take(MAX_NAMES) {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Opens what stands under this name; no symlink is followed, and no pipe waited for. `CREATE` makes a file that the
/// user's umask lets others read, as a repository's files are.
pub(super) fn open(dir: &Dir, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(io::Error::new(io::ErrorKind::InvalidInput, "is a symlink: expected a file")),
        Err(error) => Err(error.into()),
    }
}

/// The bytes of a regular file, if it is there and has no more than `max` of them.
pub(super) fn read(dir: &Dir, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open(dir, name, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("has more than {max} bytes")));
    }
    Ok(Some(bytes))
}

/// Writes a file and puts it on the disk. What stood under this name, which only hookbox uses, is removed first; what
/// cannot be written whole is removed again.
pub(super) fn write(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    unlink(dir, name)?;
    let mut file = open(dir, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // The first error is the one to tell of.
        drop(unlink(dir, name));
    }
    written
}

/// Removes a file or a symlink. None is as good.
pub(super) fn unlink(dir: &Dir, name: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Puts the names of a directory on the disk.
pub(super) fn sync(dir: &Dir) -> io::Result<()> {
    // The handle itself may be one that only finds paths.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
    match rustix::fs::fsync(dir) {
        // Some file systems have nothing to put there.
        Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        Err(error) if error == Errno::NOTSUP || error == Errno::OPNOTSUPP => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Renames a file over what stands there.
pub(super) fn replace(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    Ok(rustix::fs::renameat(dir, from, dir, to)?)
}

/// A name in a directory.
pub(super) type At<'a> = (&'a Dir, &'a str);

/// Renames a directory to a name that nothing has.
pub(super) fn move_to(from: At<'_>, to: At<'_>) -> io::Result<()> {
    if rename(from, to, How::ToNothing)? {
        return Ok(());
    }
    // All that write here hold the lock, and what a rename could replace is at most an empty directory.
    if look(to.0, to.1)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(rustix::fs::renameat(from.0, from.1, to.0, to.1)?)
}

/// Exchanges two directories in one step; `false` where the file system cannot.
pub(super) fn exchange(one: At<'_>, other: At<'_>) -> io::Result<bool> {
    rename(one, other, How::Exchange)
}

/// What a rename does with what has the name.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Nothing has it.
    ToNothing,
    /// It gets the other name.
    Exchange,
}

/// A rename in one step; `false` where the file system knows no such one.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename(from: At<'_>, to: At<'_>, how: How) -> io::Result<bool> {
    use rustix::fs::RenameFlags;
    let flags = match how {
        How::ToNothing => RenameFlags::NOREPLACE,
        How::Exchange => RenameFlags::EXCHANGE,
    };
    match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, flags) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(error) if error == Errno::NOTSUP || error == Errno::OPNOTSUPP => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename(_: At<'_>, _: At<'_>, _: How) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn place() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        (temp, dir)
    }

    #[test]
    fn what_is_no_regular_file_is_neither_read_nor_waited_for() {
        let (temp, dir) = place();
        fs::write(temp.path().join("file"), "0123456789").unwrap();
        symlink("file", temp.path().join("link")).unwrap();
        assert!(Command::new("mkfifo").arg(temp.path().join("pipe")).status().unwrap().success());
        fs::create_dir(temp.path().join("dir")).unwrap();
        assert_eq!(read(&dir, "file", 10).unwrap().unwrap(), b"0123456789");
        assert_eq!(read(&dir, "nothing", 10).unwrap(), None);
        for (name, max, error) in [
            ("file", 9, "more than 9 bytes"),
            ("link", 10, "is a symlink"),
            ("pipe", 10, "is no regular file"),
            ("dir", 10, "is no regular file"),
        ] {
            assert!(read(&dir, name, max).unwrap_err().to_string().contains(error), "{name}");
        }
        let found = |name| look(&dir, name).unwrap();
        assert_eq!(found("nothing"), None);
        assert_eq!([found("file"), found("link")], [Some(Found::File), Some(Found::Symlink)]);
        assert_eq!(found("pipe"), Some(Found::Special));
        assert!(matches!(found("dir"), Some(Found::Directory(_))));
        assert_eq!(names(&dir).unwrap(), ["dir", "file", "link", "pipe"]);
    }

    #[test]
    fn a_file_is_written_beside_what_a_symlink_of_its_name_leads_to() {
        let (temp, dir) = place();
        fs::write(temp.path().join("victim"), "whole").unwrap();
        symlink("victim", temp.path().join("new")).unwrap();
        write(&dir, "new", b"text").unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("victim")).unwrap(), "whole");
        assert_eq!(read(&dir, "new", 9).unwrap().unwrap(), b"text");
        replace(&dir, "new", "victim").unwrap();
        sync(&dir).unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("victim")).unwrap(), "text");
    }

    #[test]
    fn a_directory_takes_no_name_that_something_has() {
        let (temp, dir) = place();
        for name in ["a/x", "b"] {
            fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        let error = move_to((&dir, "a"), (&dir, "b")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(exchange((&dir, "a"), (&dir, "b")).unwrap());
        assert!(temp.path().join("b/x").is_dir() && temp.path().join("a").is_dir());
        move_to((&dir, "b"), (&dir, "c")).unwrap();
        assert!(temp.path().join("c/x").is_dir());
    }
}
