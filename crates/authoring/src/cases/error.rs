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
        CaseErrorKind::Fault { line: Some(line), .. } => format!("{}, line {line}: ", path.display()),
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
    /// A case file is wrong, or there are no cases.
    #[error("{message}")]
    Fault {
        /// The line, if it is one of a file.
        line: Option<usize>,
        /// The fault.
        message: String,
        /// The remedy, if there is a likely one.
        hint: Option<String>,
    },
    /// A case file is right, and its hook is not clear.
    #[error("{message}")]
    Hook {
        /// The problem.
        message: String,
        /// The remedy.
        hint: &'static str,
    },
    /// The surroundings of a case cannot be made.
    #[error("{0}")]
    Surroundings(String),
}

impl CaseErrorKind {
    pub(super) fn no_cases() -> Self {
        let hint = "write a case into cases/NAME.toml beside the hook";
        Self::Fault { line: None, message: "has no cases".to_owned(), hint: Some(hint.to_owned()) }
    }

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
        matches!(self.kind, CaseErrorKind::Hook { .. })
    }

    /// Returns the next step.
    pub fn hint(&self) -> Option<String> {
        match &self.kind {
            CaseErrorKind::Fault { hint, .. } => hint.clone(),
            CaseErrorKind::Hook { hint, .. } => Some((*hint).to_owned()),
            CaseErrorKind::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                Some("name a directory with cases/, a hook, or a case file".to_owned())
            }
            CaseErrorKind::Io(_) | CaseErrorKind::Surroundings(_) => None,
        }
    }
}
