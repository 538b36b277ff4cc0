//! The project of one hook: its files, and its build.
//!
//! [`create`] writes a project that builds at once; [`Project::open`] recognizes one by its files, and
//! [`build`](Project::build) makes the hook with the tools of its language.

mod build;
mod create;
mod error;
mod recognize;
mod watch;

pub use self::build::{Built, Hook};
pub use self::create::create;
pub use self::error::{BuildError, CreateError};
pub use self::recognize::{InvalidName, Language, Name, Project, UnknownLanguage};
pub use self::watch::{Sources, WatchError};
