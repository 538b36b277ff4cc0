//! Writing `plugins.lock`. The new file is written beside the old one first, which may fail for want of room;
//! it records the change under way. One rename puts it in place when the plugin has moved.

use std::io;

use serde::Serialize;

use super::dir_ops::{self, EntryKind};
use super::{Lock, LockError, Locked, PluginError, PluginErrorKind, Plugins};
use hookbox::lockfile::{FILE, MAX_FILE, PENDING, VERSION};
use hookbox_system::files::sync_directory;

/// Writes and syncs the lock file of a change, beside the one in use.
pub(super) fn prepare(plugins: &Plugins, lock: &Lock) -> Result<(), PluginError> {
    let wrong = |error: io::Error| PluginError::io(plugins.lock_path(), error);
    let unexpected = |what: String| {
        PluginError::new(plugins.lock_path().to_string_lossy(), PluginErrorKind::Unexpected(what))
    };
    match dir_ops::entry_kind(&plugins.dir, FILE).map_err(wrong)? {
        None | Some(EntryKind::File) => {}
        Some(kind) => {
            return Err(unexpected(format!("is {}: expected a file", kind.as_str()))
                .hint("put the file itself there, or move it aside"));
        }
    }
    let text = print(lock).map_err(|error| unexpected(error.to_string()))?;
    // A file that cannot be read back would stop every later command.
    match Lock::parse(&text) {
        Ok(same) if same == *lock => {}
        Ok(_) => return Err(unexpected("would not be read back as it is written".to_owned())),
        Err(error) => return Err(unexpected(format!("would not be read back: it {error}"))),
    }
    dir_ops::write(&plugins.dir, PENDING, text.as_bytes())
        .and_then(|()| sync_directory(&plugins.dir))
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
    let bytes = match dir_ops::read(&plugins.dir, PENDING, MAX_FILE) {
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
    dir_ops::replace(&plugins.dir, PENDING, FILE)
        .and_then(|()| sync_directory(&plugins.dir))
        .map_err(|error| PluginError::io(plugins.lock_path(), error))
}

/// Removes the prepared file, if there is one.
pub(super) fn discard(plugins: &Plugins) -> Result<(), PluginError> {
    dir_ops::unlink(&plugins.dir, PENDING)
        .map_err(|error| PluginError::io(plugins.lock_path().with_file_name(PENDING), error))
}

/// The comment at the top.
const HEAD: &str = "# Written by hookbox. `hookbox plugin add` without a source installs exactly this.\n\n";

/// Returns the text of a lock file. [`Lock::parse`] reads it back.
///
/// # Errors
///
/// If a path is not UTF-8.
pub(super) fn print(lock: &Lock) -> Result<String, toml::ser::Error> {
    #[derive(Serialize)]
    struct Wire<'a> {
        version: i64,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        plugin: Vec<&'a Locked>,
    }
    let wire = Wire { version: VERSION, plugin: lock.iter().collect() };
    Ok(format!("{HEAD}{}", toml::to_string(&wire)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockedHook;
    use hookbox::hook::{Digest, Kind};
    use hookbox::lockfile::InstalledFiles;

    #[test]
    fn a_printed_lock_file_is_read_back() {
        let hook = |name: &str, kind| LockedHook {
            name: name.to_owned(),
            kind,
            digest: Digest::of(name.as_bytes()),
        };
        let mut lock = Lock::default();
        lock.insert(Locked {
            name: "z/z".parse().unwrap(),
            source: "oci://localhost:5000/z/z:1".to_owned(),
            reference: None,
            commit: None,
            manifest: Some(Digest::of(b"m")),
            tree: Digest::of(b"t"),
            key: Some(Digest::of(b"k")),
            installed: "2026-01-01T00:00:00Z".to_owned(),
            files: ["hooks/guard.wasm".into(), "it's \"odd\"".into()].into_iter().collect(),
            hooks: vec![hook("guard.wasm", Kind::Component), hook("hooks.json#PreToolUse[0]", Kind::Command)],
        });
        lock.insert(Locked {
            name: "a/b".parse().unwrap(),
            source: "./it's \"odd\"".to_owned(),
            reference: Some("v1".to_owned()),
            commit: Some("0".repeat(40)),
            manifest: None,
            key: None,
            files: InstalledFiles::default(),
            hooks: Vec::new(),
            ..lock.iter().next().unwrap().clone()
        });
        let text = print(&lock).unwrap();
        assert_eq!(Lock::parse(&text).unwrap(), lock, "{text}");
        assert!(text.starts_with("# Written by hookbox."), "{text}");
        assert!(text.find("a/b").unwrap() < text.find("z/z").unwrap(), "{text}");
        assert_eq!(Lock::parse(&print(&Lock::default()).unwrap()).unwrap(), Lock::default());
    }
}
