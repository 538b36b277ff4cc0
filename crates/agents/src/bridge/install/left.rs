//! A configuration after an edit.

use std::fmt;

/// A byte order mark.
const MARK: &str = "\u{feff}";

/// A configuration without our entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) bytes: Vec<u8>,
    /// True if nothing is left that anybody could have written for a purpose.
    pub(super) is_bare: bool,
}

/// Returns a new text with the byte order mark of the old one.
pub(super) fn written(bytes: &[u8], text: impl fmt::Display) -> Vec<u8> {
    let mark = if bytes.starts_with(MARK.as_bytes()) { MARK } else { "" };
    format!("{mark}{text}").into_bytes()
}
