//! Problems with files, directories and hooks.

use std::fmt;
use std::path::PathBuf;

use hookbox_system::Hint;
use hookbox_system::files::FileAccess;
use hookbox_system::text;

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
    pub hint: Option<Hint>,
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
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
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
        self.hint = self.hint.or_else(|| access.permission_hint(&self.path).map(Hint::from));
        self
    }
}

impl fmt::Display for Problem {
    /// Writes one line without the hint, safe to show: `PATH: MESSAGE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", text::escape(&self.path.to_string_lossy(), 4096), self.message)
    }
}
