//! Regular expressions from outside, within limits.

use regex::{Regex, RegexBuilder};

use crate::text;

/// The longest pattern, in bytes: the longest in use name some dozens of tools.
pub(crate) const MAX_LENGTH: usize = 4096;

/// The largest compiled pattern, in bytes; a repeated class of letters can ask for gigabytes.
const MAX_SIZE: usize = 1 << 20;

/// Compiles a regular expression. It matches in linear time.
///
/// # Errors
///
/// The reason, on one line, if it has a fault, is too long, or is too large when it is compiled.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("has more than {MAX_LENGTH} bytes"));
    }
    let compiled = RegexBuilder::new(pattern).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
    compiled.map_err(|error| {
        // The parser draws the pattern over several lines, with the fault on the last.
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim();
        text::escape(last.strip_prefix("error: ").unwrap_or(last), 200)
    })
}
