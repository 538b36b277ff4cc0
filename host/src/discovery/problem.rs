//! Problems with files, directories and hooks.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::files::FileAccess;
use crate::files::private_dir::PrivateError;
use crate::text;

/// A problem with a file, directory or hook. It is local: everything else still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or directory.
    pub path: PathBuf,
    /// The hook that it is about, if it is about one.
    pub hook: Option<String>,
    /// The problem, in words that follow the path; text from outside in it is escaped.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<String>,
    /// True if it hides which hooks the user has, or what they do. A guard may be among them, so that it
    /// counts as a hook that fails in every event, and blocks there.
    pub hides: bool,
    /// True if a hook is off that the user relies on: a guard of the user's own, or a trusted hook. An
    /// agent's user sees it in every event.
    pub is_off: bool,
}

impl Problem {
    /// Makes a problem with this path.
    pub fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            hook: None,
            message: message.into(),
            hint: None,
            hides: false,
            is_off: false,
        }
    }

    /// Adds the hook.
    #[must_use]
    pub(super) fn of(mut self, hook: &str) -> Self {
        self.hook = Some(hook.to_owned());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks that a hook is off that the user relies on.
    #[must_use]
    pub(super) fn off(self) -> Self {
        Self { is_off: true, ..self }
    }

    /// Marks that it hides hooks of the user's, if these files are the user's. If another user may write the file,
    /// it gets a hint.
    #[must_use]
    pub(super) fn hiding(mut self, access: &FileAccess) -> Self {
        self.hides = matches!(access, FileAccess::Global);
        self.hint = self.hint.or_else(|| access.permission_hint(&self.path));
        self
    }
}

impl Problem {
    /// The working directory is not known, nor its repository.
    pub(super) fn no_directory() -> Self {
        let message = "the working directory is gone: nobody knows whose hooks run";
        let problem = Self::new(".", message).hint("change to a directory that exists, or give --cwd DIR");
        Self { hides: true, ..problem }
    }

    /// The home directory is not known.
    pub(crate) fn no_home() -> Self {
        let message = "is not known, so that your own hooks cannot be looked for: HOME is no absolute path";
        let problem = Self::new("the home directory", message).hint("set HOME to your home directory");
        Self { hides: true, ..problem }
    }

    /// The user's own hooks may be in another home directory.
    pub(crate) fn other_home(home: &Path, other: Option<&Path>) -> Self {
        let named = shown(home);
        let problem = match other {
            Some(other) => {
                let hint = format!("set HOME to {}, or name the one that you mean: --home DIR", shown(other));
                let message = format!(
                    "is your home directory by the system's accounts, and HOME names {named}: the hooks of the first are not looked for"
                );
                Self::new(other, message).hint(hint)
            }
            None => {
                Self::new(home, "is nobody's home directory, so that your own hooks cannot be looked for")
                    .hint("set HOME to your home directory, or name the one that you mean: --home DIR")
            }
        };
        Self { hides: true, ..problem }
    }

    /// The process has another home directory than the one that its command line was written for.
    pub(crate) fn not_at_home(home: &Path, process: &Path) -> Self {
        let message = format!(
            "is the home directory that this command was installed for, and HOME is {:?}",
            shown(process)
        );
        let hint = format!(
            "set HOME to {}, or run hookbox install again where HOME is what it is for the agent",
            shown(home)
        );
        Self { hides: true, ..Self::new(home, message).hint(hint) }
    }

    /// Changes in a directory are not noticed.
    #[cfg(feature = "watch")]
    pub(crate) fn not_watched(path: &Path, why: &str) -> Self {
        Self::new(path, format!("is not watched: {why}")).hint("reload by hand when hooks there have changed")
    }

    /// The private data directory cannot be used.
    pub(crate) fn no_data(error: PrivateError) -> Self {
        Self::new(error.path, format!("cannot be used: {}; nothing is trusted or granted", error.kind))
            .hint("make it a directory of your own with mode 0700, outside the repository")
    }
}

impl From<PrivateError> for Problem {
    fn from(error: PrivateError) -> Self {
        Self::new(error.path, format!("cannot be used: {}; compiled code is not kept", error.kind))
            .hint("make it a directory of your own with mode 0700, outside the repository")
    }
}

impl fmt::Display for Problem {
    /// Writes one line without the hint, safe to show: `PATH: MESSAGE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.path), self.message)
    }
}

fn shown(path: &Path) -> String {
    text::escape(&path.to_string_lossy(), 4096)
}
