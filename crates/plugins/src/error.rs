//! Why a plugin cannot be installed, listed, changed or removed.

use std::io;
use std::path::Path;

use super::{EntryPathError, LockError, NameError};
use hookbox::internal::files;

/// Why something could not be done with a plugin. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {kind}")]
pub struct PluginError {
    /// What it is about, escaped: a source, a plugin, a path in one.
    pub what: String,
    /// What is wrong.
    pub kind: PluginErrorKind,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What is wrong. The texts read after what it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginErrorKind {
    /// It is the name of no plugin.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It is no source.
    #[error("{0}")]
    Source(String),
    /// The source cannot be had: not found, no access, no network.
    #[error("{0}")]
    Fetch(String),
    /// The source has something that no plugin may have.
    #[error("{0}")]
    Hostile(String),
    /// A path in the source is none that a plugin may have.
    #[error(transparent)]
    Path(#[from] EntryPathError),
    /// The source holds more than a plugin may hold.
    #[error("{0}")]
    TooLarge(String),
    /// The source has neither skills nor recipes nor hooks.
    #[error("has no skills, no recipes and no hooks")]
    Empty,
    /// What came is not what was expected: a pin, a digest, the lock file, a signature.
    #[error("{0}")]
    Mismatch(String),
    /// A plugin of this name is there.
    #[error("{0}")]
    Exists(String),
    /// No plugin of this name is there.
    #[error("is not installed")]
    NotInstalled,
    /// What stands in the plugins directory is not what hookbox puts there.
    #[error("{0}")]
    Unexpected(String),
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another process is at work in the same plugins directory.
    #[error("{0}")]
    Busy(String),
    /// The system says no.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl PluginError {
    /// An error about this, which is escaped here.
    pub fn new(what: impl AsRef<str>, kind: impl Into<PluginErrorKind>) -> Self {
        Self { what: hookbox::escape(what.as_ref(), 1024), kind: kind.into(), hint: None }
    }

    /// The error for something that the system does not do to this path, with the next step where that is known.
    pub(super) fn io(path: impl AsRef<Path>, error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let hint = match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded => Some("make room on this disk"),
            Kind::ReadOnlyFilesystem => Some("nothing can be written to this file system"),
            Kind::PermissionDenied if files::is_escape(&error) => {
                Some("expected a directory, and no symlink that leads out of it")
            }
            Kind::PermissionDenied => {
                Some("expected a directory, and all in it, that you may read and write")
            }
            Kind::CrossesDevices | Kind::ResourceBusy => Some(
                "expected a directory that can be renamed: no mount point, and no part of a layer of a container",
            ),
            Kind::IsADirectory => {
                Some("expected a file: remove what stands there, which hookbox did not make")
            }
            _ => None,
        };
        let error = Self::new(path.as_ref().to_string_lossy(), error);
        Self { hint: hint.map(str::to_owned), ..error }
    }

    /// The same error with the next step, unless it has one.
    #[must_use]
    pub(super) fn or_hint(self, hint: &str) -> Self {
        Self { hint: self.hint.or_else(|| Some(hint.to_owned())), ..self }
    }

    /// The same error with the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error of another kind.
    #[must_use]
    pub(super) fn with_kind(self, kind: PluginErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// Whether what the user wrote is wrong, rather than what was found.
    pub fn is_usage(&self) -> bool {
        matches!(self.kind, PluginErrorKind::Name(_) | PluginErrorKind::Source(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind as Kind;

    #[test]
    fn what_the_system_refuses_comes_with_the_next_step() {
        for (error, hint) in [
            (Kind::StorageFull.into(), Some("make room")),
            (Kind::QuotaExceeded.into(), Some("make room")),
            (Kind::ReadOnlyFilesystem.into(), Some("nothing can be written")),
            (rustix::io::Errno::ACCESS.into(), Some("you may read and write")),
            (Kind::PermissionDenied.into(), Some("no symlink that leads out")),
            (Kind::CrossesDevices.into(), Some("no mount point")),
            (Kind::NotFound.into(), None),
        ] {
            let error = PluginError::io("a\u{1b}", error);
            assert!(error.what == "a\\u{1b}" && matches!(error.kind, PluginErrorKind::Io(_)), "{error}");
            match (&error.hint, hint) {
                (Some(found), Some(hint)) => assert!(found.contains(hint), "{error}: {found}"),
                (found, hint) => assert!(found.is_none() && hint.is_none(), "{error}: {found:?}"),
            }
            assert_eq!(error.or_hint("else").hint.as_deref() == Some("else"), hint.is_none());
        }
    }
}
