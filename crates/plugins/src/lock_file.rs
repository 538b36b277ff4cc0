//! Writing `plugins.lock`: first beside it, which is what a full disk forbids, then over it, which is one step.

use std::io;

use super::beneath::{self, Found};
use super::{Lock, PluginError, PluginErrorKind, Plugins, lock_text};
use hookbox::internal::lockfile::FILE;

/// Its name while it is written.
const NEW: &str = ".plugins.lock.new";

/// A lock file that stands beside the one that it is to replace.
pub(super) struct Prepared<'a> {
    plugins: &'a Plugins,
    is_done: bool,
}

impl<'a> Prepared<'a> {
    /// Writes one that says this, and puts it on the disk.
    pub(super) fn new(plugins: &'a Plugins, lock: &Lock) -> Result<Self, PluginError> {
        let wrong = |error: io::Error| PluginError::io(plugins.lock_path(), error);
        let unexpected = |what: String| {
            let kind = PluginErrorKind::Unexpected(what);
            PluginError::new(plugins.lock_path().to_string_lossy(), kind)
        };
        match beneath::look(plugins.dir(), FILE).map_err(wrong)? {
            None | Some(Found::File) => {}
            Some(found) => {
                return Err(unexpected(format!("is {}: expected a file", found.as_str()))
                    .hint("put the file itself there, or move it aside"));
            }
        }
        let text = lock_text::print(lock).map_err(|error| unexpected(error.to_string()))?;
        // What could not be read back would stop every command after this one.
        match Lock::parse(&text) {
            Ok(same) if same == *lock => {}
            Ok(_) => return Err(unexpected("would be read back as something else".to_owned())),
            Err(error) => return Err(unexpected(format!("would not be read back: it {error}"))),
        }
        beneath::write(plugins.dir(), NEW, text.as_bytes()).map_err(wrong)?;
        Ok(Self { plugins, is_done: false })
    }

    /// Puts it in the place of the other.
    pub(super) fn commit(mut self) -> Result<(), PluginError> {
        let dir = self.plugins.dir();
        let wrong = |error: io::Error| PluginError::io(self.plugins.lock_path(), error);
        beneath::replace(dir, NEW, FILE).map_err(wrong)?;
        beneath::sync(dir).map_err(wrong)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            drop(sweep(self.plugins));
        }
    }
}

/// Removes what a kill left of one that was being written.
pub(super) fn sweep(plugins: &Plugins) -> Result<(), PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.lock_path().with_file_name(NEW), error);
    beneath::unlink(plugins.dir(), NEW).map_err(wrong)
}
