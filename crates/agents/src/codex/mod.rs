//! Codex.

pub(crate) mod hook;
pub(crate) mod reply;
pub(crate) mod trust;
