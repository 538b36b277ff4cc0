//! Words that the agents share for the beginning and the end of a session.

/// Returns the reason why a session starts.
pub(crate) fn source(source: Option<&str>) -> &str {
    match source {
        Some("rotate") => "clear",
        Some(source) => source,
        None => "startup",
    }
}

/// Returns the reason why a session ends.
pub(crate) fn reason(reason: Option<&str>) -> &str {
    match reason {
        Some("rotate") => "clear",
        Some(reason) => reason,
        None => "other",
    }
}
