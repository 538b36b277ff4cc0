//! Qwen Code.

pub(crate) mod aliases;
pub(crate) mod hook;
pub(crate) mod reply;
