//! A place in a file, for a person.

use std::path::Path;

use hookbox::escape;

/// Returns a place in a file, for a person.
pub(super) fn place(file: &Path, line: Option<usize>, spot: Option<&str>) -> String {
    let mut place = escape(&file.to_string_lossy(), 4096);
    match (line, spot) {
        (Some(line), _) => place.push_str(&format!(", line {line}")),
        (None, Some(spot)) => place.push_str(&format!(", {spot}")),
        (None, None) => {}
    }
    place
}
