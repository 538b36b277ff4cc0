//! The places of the guards in a home directory.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use hookbox::Digest;
use hookbox_system::files::{FileAccess, FileLock, NewFile};

use hookbox::trust::{Inventory, PrivateFile, Written};

use crate::{Guard, GuardsError};

/// The mode of a component, before the umask: as `cp` makes one.
const MODE: u32 = 0o666;

/// What is in the place of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No file.
    Missing,
    /// This version.
    Current,
    /// A component that hookbox of this version wrote.
    Older(String),
    /// A file that hookbox did not write, or that was changed since.
    Changed,
}

impl Status {
    /// Returns its name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Current => "current",
            Self::Older(_) => "older",
            Self::Changed => "changed",
        }
    }
}

/// The places of the guards among the hooks of a user.
#[derive(Clone, Debug)]
pub struct Shelf {
    hooks: PathBuf,
    data: PathBuf,
}

impl Shelf {
    /// Names the places in a root of the user, such as `~/.hookbox`. `data` is the private data directory.
    pub fn new(root: &Path, data: &Path) -> Self {
        Self { hooks: root.join("hooks"), data: data.to_owned() }
    }

    /// Returns the directory of the hooks.
    pub fn directory(&self) -> &Path {
        &self.hooks
    }

    /// Returns the path of a guard.
    pub fn path(&self, guard: &Guard) -> PathBuf {
        self.hooks.join(guard.hook())
    }

    /// Returns what is in the place of a guard.
    ///
    /// # Errors
    ///
    /// If the inventory cannot be read.
    pub fn status(&self, guard: &Guard) -> Result<Status, GuardsError> {
        Ok(self.status_in(&self.inventory()?, guard))
    }

    /// Writes a guard in one step, over anything in its place.
    ///
    /// # Errors
    ///
    /// The system's own, and those of the inventory. The file in its place is unchanged then.
    pub fn add(&self, guard: &Guard) -> Result<(), GuardsError> {
        self.update(guard, |record, key, path| {
            std::fs::create_dir_all(&self.hooks)?;
            let directory = Dir::open_ambient_dir(&self.hooks, ambient_authority())?;
            let name = PathBuf::from(guard.hook());
            NewFile::sweep(&directory, &name);
            if digest(path).as_ref() != Some(guard.digest()) {
                let new = NewFile::create(&directory, &name, MODE)?;
                new.file().write_all(guard.component)?;
                new.replace()?;
            }
            let written = Written { digest: guard.digest().clone(), version: Guard::VERSION.to_owned() };
            record.written.insert(key, written);
            Ok(())
        })
    }

    /// Forgets that hookbox wrote a guard: the file in its place, if there is one, is the user's own.
    ///
    /// # Errors
    ///
    /// The system's own, and those of the inventory.
    pub fn forget(&self, guard: &Guard) -> Result<(), GuardsError> {
        // The private data directory need not be there.
        if !self.inventory()?.written.contains_key(&key(&self.path(guard))) {
            return Ok(());
        }
        self.update(guard, |record, key, _| {
            record.written.remove(&key);
            Ok(())
        })
    }

    /// Removes the file in the place of a guard. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// The system's own, and those of the inventory.
    pub fn remove(&self, guard: &Guard) -> Result<bool, GuardsError> {
        self.update(guard, |record, key, path| {
            let is_there = match std::fs::remove_file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                removed => removed.map(|()| true)?,
            };
            record.written.remove(&key);
            Ok(is_there)
        })
    }

    fn inventory(&self) -> Result<Inventory, GuardsError> {
        Ok(PrivateFile::new(&self.data).read()?)
    }

    fn status_in(&self, record: &Inventory, guard: &Guard) -> Status {
        let path = self.path(guard);
        if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Status::Missing;
        }
        let found = digest(&path);
        match record.written.get(&key(&path)) {
            _ if found.as_ref() == Some(guard.digest()) => Status::Current,
            Some(written) if found.as_ref() == Some(&written.digest) => {
                Status::Older(written.version.clone())
            }
            _ => Status::Changed,
        }
    }

    /// Changes a file and the record of it under a lock.
    fn update<T>(
        &self,
        guard: &Guard,
        change: impl FnOnce(&mut Inventory, String, &Path) -> io::Result<T>,
    ) -> Result<T, GuardsError> {
        let path = self.path(guard);
        PrivateFile::new(&self.data).try_update(FileLock::PATIENCE, |record| {
            change(record, key(&path), &path).map_err(|error| GuardsError::io(&path, error))
        })
    }
}

/// Returns the digest of a file; `None` of one that cannot be read as a component.
fn digest(path: &Path) -> Option<Digest> {
    FileAccess::Anywhere.digest(path, hookbox::MAX_COMPONENT).ok()
}

/// Returns the name of a path in the record.
fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let temp = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(&temp.path().join(".hookbox"), temp.path());
        (temp, shelf)
    }

    fn git() -> &'static Guard {
        Guard::named("git").unwrap()
    }

    #[test]
    fn a_guard_is_written_once_and_removed() {
        let (temp, shelf) = shelf();
        assert_eq!(shelf.status(git()).unwrap(), Status::Missing);
        for _ in 0..2 {
            shelf.add(git()).unwrap();
            assert_eq!(shelf.status(git()).unwrap(), Status::Current);
            assert_eq!(fs::read(shelf.path(git())).unwrap(), git().component);
        }
        let names = fs::read_dir(shelf.directory()).unwrap().count();
        assert_eq!(names, 1, "no temporary file stays");
        assert!(shelf.remove(git()).unwrap());
        assert!(!shelf.remove(git()).unwrap());
        assert_eq!(shelf.status(git()).unwrap(), Status::Missing);
        assert!(temp.path().join(Inventory::FILE).exists());
    }

    #[test]
    fn an_older_guard_is_known_by_the_record_and_a_changed_one_is_not() {
        let (temp, shelf) = shelf();
        shelf.add(git()).unwrap();
        let old = b"an older component";
        fs::write(shelf.path(git()), old).unwrap();
        assert_eq!(shelf.status(git()).unwrap(), Status::Changed);
        let file = PrivateFile::<Inventory>::new(&shelf.data);
        file.update(|record| {
            for written in record.written.values_mut() {
                *written = Written { digest: Digest::of(old), version: "0.0.9".to_owned() };
            }
        })
        .unwrap();
        assert_eq!(shelf.status(git()).unwrap(), Status::Older("0.0.9".to_owned()));
        shelf.add(git()).unwrap();
        assert_eq!(shelf.status(git()).unwrap(), Status::Current);
        // The same file name elsewhere is another file.
        let other = Shelf::new(&temp.path().join("other"), temp.path());
        fs::create_dir_all(other.directory()).unwrap();
        fs::write(other.path(git()), old).unwrap();
        assert_eq!(other.status(git()).unwrap(), Status::Changed);
    }

    #[test]
    fn a_file_that_a_symlink_leads_to_is_left_alone() {
        let (temp, shelf) = shelf();
        let victim = temp.path().join("victim");
        fs::write(&victim, "whole").unwrap();
        fs::create_dir_all(shelf.directory()).unwrap();
        symlink(&victim, shelf.path(git())).unwrap();
        assert_eq!(shelf.status(git()).unwrap(), Status::Changed);
        shelf.add(git()).unwrap();
        assert_eq!(shelf.status(git()).unwrap(), Status::Current);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "whole");
        symlink(temp.path().join("nowhere"), shelf.path(Guard::named("secrets").unwrap())).unwrap();
        assert_eq!(shelf.status(Guard::named("secrets").unwrap()).unwrap(), Status::Changed);
    }

    #[test]
    fn a_broken_record_is_an_error_and_nothing_is_written() {
        let (_temp, shelf) = shelf();
        for (text, want) in [
            ("", "contains no record of guards"),
            ("[]", "contains no record of guards"),
            ("{\"version\": 2, \"written\": {}}", "has version 2"),
            ("{\"version\": 1, \"more\": 0}", "contains no record of guards"),
        ] {
            fs::write(shelf.data.join(Inventory::FILE), text).unwrap();
            let error = shelf.status(git()).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
            shelf.add(git()).unwrap_err();
            assert!(!shelf.directory().exists(), "{text}");
        }
    }
}
