//! The failures of a new project and of a build.

use std::io;
use std::path::PathBuf;

use hookbox::rules::RulesError;
use hookbox::{Hint, HookError};
use thiserror::Error;

/// The project could not be made. Nothing was written.
#[derive(Debug, Error)]
pub enum CreateError {
    /// A file, or a directory that is not empty, has this path.
    #[error("{}: expected a path that does not exist, found {found}", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
        /// The kind of the thing that is there.
        found: &'static str,
    },
    /// The system's own failure.
    #[error("cannot write {}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The failure.
        source: io::Error,
    },
}

/// The hook could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The directory has no project of a known language, or several.
    #[error("{}: expected the project of one hook, found {found}", dir.display())]
    Unknown {
        /// The directory.
        dir: PathBuf,
        /// The thing that is there instead.
        found: String,
    },
    /// A file of the project cannot be read or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The failure.
        source: io::Error,
    },
    /// A file of the project does not have the name of the project.
    #[error("{}: expected {expected}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: String,
    },
    /// A tool is not installed.
    #[error("{tool} is not installed")]
    Missing {
        /// The tool.
        tool: &'static str,
        /// The command that installs it.
        hint: Hint,
    },
    /// A tool failed.
    #[error("{tool} failed ({status})")]
    Failed {
        /// The tool.
        tool: &'static str,
        /// Its exit status.
        status: String,
        /// The end of its output.
        output: String,
    },
    /// A rules file has a fault, or one of its examples fails.
    #[error("{}", path.display())]
    Rules {
        /// The file.
        path: PathBuf,
        /// The fault, with its line.
        source: RulesError,
    },
    /// The result is not a hook.
    #[error("{} is not a hook", path.display())]
    NotAHook {
        /// The result.
        path: PathBuf,
        /// The reason.
        source: HookError,
    },
}

impl BuildError {
    /// Returns the next step, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Missing { hint, .. } => Some(hint.clone()),
            Self::Unknown { .. } => Some("start one with `hookbox new NAME`, or name its directory".into()),
            Self::Rules { .. } => {
                Some(concat!("see ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/src/rules.md").into())
            }
            _ => None,
        }
    }
}
