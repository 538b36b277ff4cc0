//! The past of agents: the tool calls in the [session files](session_files) that they keep.

pub mod session_files;
