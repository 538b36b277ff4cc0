//! Reads shell text: the commands that a line would really run.
//!
//! It reads any text, with limited recursion, and finds the commands of a text with an error, too. It has no
//! dependencies and builds for `wasm32-wasip2`, so that the host and a hook read a line in the same way. [`runs`] has
//! an example.
//!
//! A parser of the whole grammar (brush-parser 0.4 was tried) returns nothing but an error for an open
//! quote or another shell's syntax, and overflows the stack at a thousand nested substitutions.

mod braces;
mod paths;
mod programs;
pub mod runs;
mod shell_words;

pub use paths::{base_name, is_terminal, join_path};
pub use programs::{Use, assignment, executes, program_starts, use_of};
pub use shell_words::ShellWords;
