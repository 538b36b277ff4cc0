//! OpenCode.

pub(crate) mod plugin;
pub(crate) mod reply;
