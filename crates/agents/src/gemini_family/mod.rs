//! The parts that Gemini CLI and Qwen Code share.

pub(crate) mod folder_trust;
