//! Why a plugin cannot be installed, listed, changed or removed.

use std::io;

use super::{EntryPathError, LockError, NameError};

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
        Self { what: crate::text::escape(what.as_ref(), 1024), kind: kind.into(), hint: None }
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
