//! Gemini CLI.

pub(crate) mod hook;
pub(crate) mod reply;
