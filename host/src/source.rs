//! Sources of hooks: configuration of an agent in files that hookbox does not know itself.
//!
//! An embedder implements [`HookSource`] and gives it to [`Builder::source`](crate::manager::Builder::source). The
//! source reads its files through a [`Finder`], which keeps the bounds of the user's directories and of repositories.

pub use crate::discovery::source::{Area, Finder, HookSource, MAX_FILES, MAX_HOOKS};
pub use crate::discovery::source_file::{ReadFile, SourceFile};
pub use crate::discovery::{Declared, Handler, WiredCommand, document, group, reader};
