//! Claude Code.

pub(crate) mod reply;
