//! Operations on the entries of an open directory. No name has a slash and no symlink is followed, because
//! anybody may have written the files of a repository.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use cap_std::fs::Dir;
use hookbox_system::files;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symlink.
    Symlink,
    /// A pipe, a socket, a device.
    Special,
}

impl EntryKind {
    /// Returns the words for an error message.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Directory => "a directory",
            Self::File => "a file",
            Self::Symlink => "a symlink",
            Self::Special => "neither a file nor a directory",
        }
    }
}

/// Returns the kind of the entry of this name, or `None` if there is none.
pub(super) fn entry_kind(dir: &Dir, name: &str) -> io::Result<Option<EntryKind>> {
    let kind = match dir.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?.file_type(),
    };
    Ok(Some(match kind {
        kind if kind.is_symlink() => EntryKind::Symlink,
        kind if kind.is_dir() => EntryKind::Directory,
        kind if kind.is_file() => EntryKind::File,
        _ => EntryKind::Special,
    }))
}

/// Returns true if the entry of this name is a directory.
pub(super) fn is_directory(dir: &Dir, name: &str) -> io::Result<bool> {
    Ok(entry_kind(dir, name)? == Some(EntryKind::Directory))
}

/// Returns the names in a directory, sorted, without those that are not UTF-8: neither a plugin nor hookbox
/// uses such a name. Of more than [`files::MAX_NAMES`] only some are returned.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in dir.entries()?.take(files::MAX_NAMES) {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Opens a file; follows no symlink and waits for no pipe. With `CREATE` the new file gets the mode 0666 less
/// the umask, like the other files of a repository.
pub(super) fn open(dir: &Dir, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(io::Error::new(io::ErrorKind::InvalidInput, "is a symlink: expected a file")),
        Err(error) => Err(error.into()),
    }
}

/// Reads a regular file of at most `max` bytes; returns `None` if it does not exist.
pub(super) fn read(dir: &Dir, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open(dir, name, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("has more than {max} bytes")));
    }
    Ok(Some(bytes))
}

/// Writes and syncs a file under a name that only hookbox uses: an older file is removed first. After an
/// error there is no such file.
pub(super) fn write(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    unlink(dir, name)?;
    let mut file = open(dir, name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // The first error is the one to report.
        drop(unlink(dir, name));
    }
    written
}

/// Removes a file or a symlink, if there is one.
pub(super) fn unlink(dir: &Dir, name: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Renames a file over another one.
pub(super) fn replace(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    Ok(rustix::fs::renameat(dir, from, dir, to)?)
}

/// An entry: its directory and its name.
pub(super) type At<'a> = (&'a Dir, &'a str);

/// Renames a directory to a name that is free.
pub(super) fn move_to(from: At<'_>, to: At<'_>) -> io::Result<()> {
    if rename(from, to, Target::Free)? {
        return Ok(());
    }
    // Every writer has locked the directory, and a rename replaces at most an empty directory.
    if entry_kind(to.0, to.1)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(rustix::fs::renameat(from.0, from.1, to.0, to.1)?)
}

/// Exchanges two directories in one step; returns `false` if the file system cannot do that.
pub(super) fn exchange(one: At<'_>, other: At<'_>) -> io::Result<bool> {
    rename(one, other, Target::Exchanged)
}

/// The entry at the new name of a rename.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// There must be none.
    Free,
    /// The entry gets the old name.
    Exchanged,
}

/// Renames in one step; returns `false` if the file system does not support this kind of rename.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename(from: At<'_>, to: At<'_>, target: Target) -> io::Result<bool> {
    use rustix::fs::RenameFlags;
    let flags = match target {
        Target::Free => RenameFlags::NOREPLACE,
        Target::Exchanged => RenameFlags::EXCHANGE,
    };
    match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, flags) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(error) if error == Errno::NOTSUP || error == Errno::OPNOTSUPP => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename(_: At<'_>, _: At<'_>, _: Target) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn new_dir() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        (temp, dir)
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let (temp, dir) = new_dir();
        fs::write(temp.path().join("file"), "0123456789").unwrap();
        symlink("file", temp.path().join("link")).unwrap();
        assert!(Command::new("mkfifo").arg(temp.path().join("pipe")).status().unwrap().success());
        fs::create_dir(temp.path().join("dir")).unwrap();
        assert_eq!(read(&dir, "file", 10).unwrap().unwrap(), b"0123456789");
        assert_eq!(read(&dir, "nothing", 10).unwrap(), None);
        for (name, max, error) in [
            ("file", 9, "more than 9 bytes"),
            ("link", 10, "is a symlink"),
            ("pipe", 10, "is not a regular file"),
            ("dir", 10, "is not a regular file"),
        ] {
            assert!(read(&dir, name, max).unwrap_err().to_string().contains(error), "{name}");
        }
        let found = |name| entry_kind(&dir, name).unwrap();
        assert_eq!(found("nothing"), None);
        assert_eq!([found("file"), found("link")], [Some(EntryKind::File), Some(EntryKind::Symlink)]);
        assert_eq!(found("pipe"), Some(EntryKind::Special));
        assert_eq!(found("dir"), Some(EntryKind::Directory));
        assert_eq!(names(&dir).unwrap(), ["dir", "file", "link", "pipe"]);
    }

    #[test]
    fn a_file_is_written_beside_what_a_symlink_of_its_name_leads_to() {
        let (temp, dir) = new_dir();
        fs::write(temp.path().join("victim"), "whole").unwrap();
        symlink("victim", temp.path().join("new")).unwrap();
        write(&dir, "new", b"text").unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("victim")).unwrap(), "whole");
        assert_eq!(read(&dir, "new", 9).unwrap().unwrap(), b"text");
        replace(&dir, "new", "victim").unwrap();
        hookbox_system::files::sync_directory(&dir).unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("victim")).unwrap(), "text");
    }

    #[test]
    fn a_directory_takes_no_name_that_something_has() {
        let (temp, dir) = new_dir();
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
