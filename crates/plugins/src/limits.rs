//! The limits of a plugin from any source, and its size so far. [`Stage`](super::Stage) enforces them.

use hookbox::internal::tree;

use super::{EntryPath, PluginError, PluginErrorKind};

/// The most files, directories and symlinks of a plugin: as many as the digest of a native hook covers.
pub const MAX_ENTRIES: usize = tree::MAX_FILES;

/// The most bytes of all files: enough for several components with an interpreter (18 MB each).
pub const MAX_BYTES: u64 = 256 << 20;

/// The most bytes of one file: as many as a component may have.
pub const MAX_FILE: u64 = hookbox::MAX_COMPONENT;

/// The most nested directories.
pub const MAX_DEPTH: usize = 32;

/// The most bytes of a path in a plugin, and of the target of a symlink.
pub(crate) const MAX_PATH: usize = 1024;

/// The limits of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files, directories and symlinks. [`MAX_ENTRIES`].
    pub entries: usize,
    /// Bytes of all files. [`MAX_BYTES`].
    pub bytes: u64,
    /// Bytes of one file. [`MAX_FILE`].
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, bytes: MAX_BYTES, file: MAX_FILE }
    }
}

/// The entries and bytes of a plugin so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) limits: Limits,
    /// Files, directories and symlinks.
    pub(super) entries: usize,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

impl Usage {
    /// Begins at zero.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, entries: 0, bytes: 0 }
    }

    /// Returns the number of bytes that further files may have.
    pub(super) fn left(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.bytes)
    }

    /// Adds a file, directory or symlink.
    pub(super) fn add_entry(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        let most = self.limits.entries;
        if self.entries >= most {
            return too_large(
                path,
                format!("is one too many: a plugin may have {most} files and directories"),
            );
        }
        self.entries += 1;
        Ok(())
    }

    /// Checks that a file of this size would fit.
    pub(super) fn check_room(&self, path: &EntryPath, len: u64) -> Result<(), PluginError> {
        let Limits { bytes, file, .. } = self.limits;
        if len > file {
            let what = format!("is too large: expected a file of at most {file} bytes, found {len}");
            return too_large(path, what);
        }
        if len > self.left() {
            let what = format!("is too much: a plugin may have {bytes} bytes in all of its files");
            return too_large(path, what);
        }
        Ok(())
    }

    /// Adds the bytes of a file.
    pub(super) fn add_bytes(&mut self, path: &EntryPath, len: u64) -> Result<(), PluginError> {
        self.check_room(path, len)?;
        self.bytes += len;
        Ok(())
    }
}

fn too_large(path: &EntryPath, what: String) -> Result<(), PluginError> {
    Err(PluginError::new(path.as_str(), PluginErrorKind::TooLarge(what))
        .hint("nothing of the plugin was installed; its author has to make it smaller"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_beyond_a_limit_is_named_and_not_added() {
        let path = EntryPath::new(b"hooks/x").unwrap();
        let mut usage = Usage::new(Limits { entries: 1, bytes: 5, file: 3 });
        usage.add_entry(&path).unwrap();
        for (len, error) in [
            (4, "hooks/x: is too large: expected a file of at most 3 bytes, found 4"),
            (u64::MAX, "hooks/x: is too large"),
            (3, ""),
            (3, "hooks/x: is too much: a plugin may have 5 bytes in all of its files"),
            (2, ""),
            (1, "hooks/x: is too much"),
            (0, ""),
        ] {
            let added = usage.add_bytes(&path, len).map_err(|error| error.to_string());
            assert!(added.err().unwrap_or_default().starts_with(error), "{len}");
        }
        assert_eq!((usage.bytes, usage.left()), (5, 0));
        let error = usage.add_entry(&path).unwrap_err().to_string();
        assert_eq!(error, "hooks/x: is one too many: a plugin may have 1 files and directories");
        assert_eq!(usage.entries, 1);
    }
}
