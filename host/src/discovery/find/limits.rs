//! Limits that several readers share.

/// How many candidates of one directory are taken, and how many plugins of one root. Hundreds of hooks in a
/// directory are a mistake, or an attack: each one is asked for its events.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// How many candidates of a repository are taken, over all its hooks directories and plugins. Each one is examined,
/// listed and reported.
pub(crate) const MAX_OF_REPOSITORY: usize = 512;
