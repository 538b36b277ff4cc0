//! The reasons why cases cannot be run.

use std::io;
use std::path::{Path, PathBuf};

/// Cases cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", at(.path, .kind))]
pub struct CaseError {
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub kind: CaseErrorKind,
}

/// Returns the start of a message: the path, and the line of a fault.
fn at(path: &Path, kind: &CaseErrorKind) -> String {
    match kind {
        CaseErrorKind::Fault { line, .. } => format!("{}, line {line}: ", path.display()),
        _ => format!("{}: ", path.display()),
    }
}

/// The kinds of [`CaseError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseErrorKind {
    /// A file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A case file is wrong.
    #[error("{message}")]
    Fault {
        /// The line.
        line: usize,
        /// The fault.
        message: String,
        /// The remedy, if there is a likely one.
        hint: Option<String>,
    },
    /// There are no cases.
    #[error("has no cases")]
    NoCases,
    /// No file beside the cases can be their hook.
    #[error("no hook is beside these cases")]
    NoHook,
    /// Several files beside the cases can be their hook.
    #[error("several hooks are beside these cases: {}", .0.join(", "))]
    ManyHooks(Vec<String>),
    /// The hook that a case file names does not exist.
    #[error("names the hook {0}, which does not exist")]
    MissingHook(String),
    /// A case has no expected answer.
    #[error("{0:?} does not have the answer that must come")]
    NoAnswer(String),
    /// The surroundings of a case cannot be made.
    #[error("{0}")]
    Surroundings(String),
}

impl CaseErrorKind {
    /// Adds the path.
    pub(super) fn at(self, path: &Path) -> CaseError {
        CaseError { path: path.to_owned(), kind: self }
    }
}

impl CaseError {
    /// Returns true if a file or the command line is wrong, and false if the system refused.
    pub fn is_usage(&self) -> bool {
        match &self.kind {
            CaseErrorKind::Io(error) => {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData)
            }
            CaseErrorKind::Surroundings(_) => false,
            _ => true,
        }
    }

    /// Returns true if a case file is right, and its hook is not clear.
    pub(super) fn is_of_hook(&self) -> bool {
        let kind = &self.kind;
        matches!(kind, CaseErrorKind::NoHook | CaseErrorKind::ManyHooks(_) | CaseErrorKind::MissingHook(_))
    }

    /// Returns the next step.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            CaseErrorKind::Fault { hint, .. } => return hint.clone(),
            CaseErrorKind::NoCases => "write a case into cases/NAME.toml beside the hook",
            CaseErrorKind::NoHook => {
                "build the hook into this directory, or name it: --hook FILE, or `hook = \"…\"` in the case file"
            }
            CaseErrorKind::ManyHooks(_) => {
                "give the case file the name of its hook, or name the hook: `hook = \"…\"` in the case file"
            }
            CaseErrorKind::MissingHook(_) => "build it, or name another one: --hook FILE",
            CaseErrorKind::NoAnswer(_) => {
                "add [case.expect], or let --update write the answer that comes now"
            }
            CaseErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                "name a directory with cases/, a hook, or a case file"
            }
            CaseErrorKind::Io(_) | CaseErrorKind::Surroundings(_) => return None,
        };
        Some(hint.to_owned())
    }
}
