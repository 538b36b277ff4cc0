//! How much of a plugin there is so far, against what it may have.

use super::limits::Limits;
use super::{EntryPath, PluginError, PluginErrorKind};

/// What was counted of a plugin, which is never more than its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    limits: Limits,
    entries: usize,
    bytes: u64,
}

impl Count {
    /// Nothing yet.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, entries: 0, bytes: 0 }
    }

    /// What it is counted against.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// How many files, directories and symlinks there are.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// How many bytes their files have.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes the files to come may have.
    pub(super) fn left(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.bytes)
    }

    /// Counts one more file, directory or symlink.
    pub(super) fn entry(&mut self, path: &EntryPath) -> Result<(), PluginError> {
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

    /// Checks that a file of this size would still fit.
    pub(super) fn room(&self, path: &EntryPath, len: u64) -> Result<(), PluginError> {
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

    /// Counts the bytes of a file.
    pub(super) fn file(&mut self, path: &EntryPath, len: u64) -> Result<(), PluginError> {
        self.room(path, len)?;
        self.bytes += len;
        Ok(())
    }
}

fn too_large(path: &EntryPath, what: String) -> Result<(), PluginError> {
    Err(PluginError::new(path.as_str(), PluginErrorKind::TooLarge(what))
        .hint("nothing of the plugin was installed; whoever makes it has to make it smaller"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_limit_is_named_and_not_counted() {
        let path = EntryPath::new(b"hooks/x").unwrap();
        let mut count = Count::new(Limits { entries: 1, bytes: 5, file: 3 });
        count.entry(&path).unwrap();
        for (len, error) in [
            (4, "hooks/x: is too large: expected a file of at most 3 bytes, found 4"),
            (u64::MAX, "hooks/x: is too large"),
            (3, ""),
            (3, "hooks/x: is too much: a plugin may have 5 bytes in all of its files"),
            (2, ""),
            (1, "hooks/x: is too much"),
            (0, ""),
        ] {
            let counted = count.file(&path, len).map_err(|error| error.to_string());
            assert!(counted.err().unwrap_or_default().starts_with(error), "{len}");
        }
        assert_eq!((count.bytes(), count.left()), (5, 0));
        let error = count.entry(&path).unwrap_err().to_string();
        assert_eq!(error, "hooks/x: is one too many: a plugin may have 1 files and directories");
        assert_eq!(count.entries(), 1);
    }
}
