//! Errors of installing, listing, changing and removing plugins.

use std::io;
use std::path::Path;

use super::{LockError, NameError};
use hookbox::Hint;
use hookbox::trust::PrivateFileErrorKind;
use hookbox_system::files;

/// An error about a plugin. Nothing has changed, unless its kind says so.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {kind}")]
pub struct PluginError {
    /// The subject, escaped: a source, a plugin, or a path in one.
    pub what: String,
    /// The kind of error.
    pub kind: PluginErrorKind,
    /// The next step for the user.
    pub hint: Option<Hint>,
}

/// A kind of error. The texts read after the subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginErrorKind {
    /// No plugin can have this name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text is not a source.
    #[error("{0}")]
    Source(String),
    /// The source cannot be fetched: not found, no access, no network.
    #[error("{0}")]
    Fetch(String),
    /// The source has an entry or a path that no plugin may have.
    #[error("{0}")]
    Hostile(String),
    /// The source exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The source has neither skills nor recipes nor hooks.
    #[error("has no skills, no recipes and no hooks")]
    Empty,
    /// The fetched plugin does not match a pin, a digest, the lock file or a signature.
    #[error("{0}")]
    Mismatch(String),
    /// A plugin of this name is installed.
    #[error("{0}")]
    Exists(String),
    /// No plugin of this name is installed.
    #[error("not found")]
    NotInstalled,
    /// The source is a marketplace, or lacks a file that a command of it runs; the plugins directory has an entry that
    /// hookbox did not make; or a trusted hook has the name of another one, and both run.
    #[error("{0}")]
    Unexpected(String),
    /// The plugin is installed, and a hook of it, or all of it, is not trusted.
    #[error("{0}")]
    Untrusted(String),
    /// The plugin is installed or unchanged, and the trust file cannot be used.
    #[error(transparent)]
    Trust(#[from] PrivateFileErrorKind),
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Another process is changing the same plugins directory.
    #[error("{0}")]
    Busy(String),
    /// The operating system reports an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl PluginError {
    /// Makes an error about `what`, and escapes that.
    pub fn new(what: impl AsRef<str>, kind: impl Into<PluginErrorKind>) -> Self {
        Self { what: hookbox::escape(what.as_ref(), 1024), kind: kind.into(), hint: None }
    }

    /// Makes the error of an operation on this path, with a hint if one is known.
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
            Kind::IsADirectory => Some("expected a file: remove the directory, which hookbox did not make"),
            _ => None,
        };
        let error = Self::new(path.as_ref().to_string_lossy(), error);
        Self { hint: hint.map(Hint::from), ..error }
    }

    /// Adds a hint, unless there is one.
    #[must_use]
    pub(super) fn or_hint(self, hint: impl Into<Hint>) -> Self {
        Self { hint: self.hint.or_else(|| Some(hint.into())), ..self }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the source in the error about an empty plugin. `shown` is escaped.
    #[must_use]
    pub fn of_source(self, shown: &str) -> Self {
        match self.kind {
            PluginErrorKind::Empty => Self { what: shown.to_owned(), ..self },
            _ => self,
        }
    }

    /// Returns true if the input of the user is wrong.
    pub fn is_usage(&self) -> bool {
        matches!(self.kind, PluginErrorKind::Name(_) | PluginErrorKind::Source(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::ErrorKind as Kind;

    #[test]
    fn an_error_of_the_system_has_the_next_step() {
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
