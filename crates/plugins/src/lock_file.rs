//! Writing `plugins.lock`. The new file is written beside the old one first, which may fail for want of room;
//! it records the change under way. One rename puts it in place when the plugin has moved.

use std::io;

use super::dir_ops::{self, EntryKind};
use super::{Lock, LockError, PluginError, PluginErrorKind, Plugins, lock_text};
use hookbox::lockfile::{FILE, MAX_FILE, PENDING};
use hookbox_system::files::sync_directory;

/// Writes and syncs the lock file of a change, beside the one in use.
pub(super) fn prepare(plugins: &Plugins, lock: &Lock) -> Result<(), PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.lock_path(), error);
    let unexpected = |what: String| {
        PluginError::new(plugins.lock_path().to_string_lossy(), PluginErrorKind::Unexpected(what))
    };
    match dir_ops::entry_kind(plugins.dir(), FILE).map_err(wrong)? {
        None | Some(EntryKind::File) => {}
        Some(kind) => {
            return Err(unexpected(format!("is {}: expected a file", kind.as_str()))
                .hint("put the file itself there, or move it aside"));
        }
    }
    let text = lock_text::print(lock).map_err(|error| unexpected(error.to_string()))?;
    // A file that cannot be read back would stop every later command.
    match Lock::parse(&text) {
        Ok(same) if same == *lock => {}
        Ok(_) => return Err(unexpected("would not be read back as it is written".to_owned())),
        Err(error) => return Err(unexpected(format!("would not be read back: it {error}"))),
    }
    dir_ops::write(plugins.dir(), PENDING, text.as_bytes())
        .and_then(|()| sync_directory(plugins.dir()))
        .map_err(wrong)
}

/// Reads the lock file of a change that a killed process prepared; `None` if there is none or it is
/// incomplete.
///
/// # Errors
///
/// If it cannot be read, or a newer version of hookbox wrote it.
pub(super) fn prepared(plugins: &Plugins) -> Result<Option<Lock>, PluginError> {
    let path = plugins.lock_path().with_file_name(PENDING);
    let bytes = match dir_ops::read(plugins.dir(), PENDING, MAX_FILE) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            None
        }
        bytes => bytes.map_err(|error| PluginError::io(&path, error))?,
    };
    match bytes.map(|bytes| Lock::from_bytes(&bytes)) {
        Some(Ok(lock)) => Ok(Some(lock)),
        Some(Err(error @ LockError::Version(_))) => Err(PluginError::new(path.to_string_lossy(), error)
            .hint("run any `plugin` command of the newer hookbox that was interrupted here")),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Puts the prepared file in the place of `plugins.lock`.
pub(super) fn commit(plugins: &Plugins) -> Result<(), PluginError> {
    dir_ops::replace(plugins.dir(), PENDING, FILE)
        .and_then(|()| sync_directory(plugins.dir()))
        .map_err(|error| PluginError::io(plugins.lock_path(), error))
}

/// Removes the prepared file, if there is one.
pub(super) fn discard(plugins: &Plugins) -> Result<(), PluginError> {
    dir_ops::unlink(plugins.dir(), PENDING)
        .map_err(|error| PluginError::io(plugins.lock_path().with_file_name(PENDING), error))
}
