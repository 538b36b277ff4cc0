//! How big a plugin may be, from whatever source. Every source and every file is counted by [`super::Stage`].

use hookbox::internal::tree;

/// How many files, directories and symlinks a plugin may have: as many as the digest of a native hook covers.
pub const MAX_ENTRIES: usize = tree::MAX_FILES;

/// How many bytes all of its files may have together: several components that carry an interpreter (18 MB each).
pub const MAX_BYTES: u64 = 256 << 20;

/// How many bytes one file may have: as many as a component that is loaded.
pub const MAX_FILE: u64 = hookbox::internal::wasm::MAX_COMPONENT;

/// How deep directories may stand in each other.
pub const MAX_DEPTH: usize = 32;

/// How long a path in a plugin may be, in bytes.
pub(crate) const MAX_PATH: usize = 1024;

/// How long the target of a symlink may be, in bytes.
pub(crate) const MAX_TARGET: usize = 1024;

/// How big a plugin may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files, directories and symlinks. [`MAX_ENTRIES`].
    pub entries: usize,
    /// Bytes of all files. [`MAX_BYTES`].
    pub bytes: u64,
    /// Bytes of one file. [`MAX_FILE`].
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, bytes: MAX_BYTES, file: MAX_FILE }
    }
}
