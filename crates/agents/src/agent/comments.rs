//! Comments in JSON, which some agents take in their configuration.

use std::borrow::Cow;
use std::ops::Range;

/// The end of the comment that begins here, without the end of its line.
pub(crate) fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with("//") {
        let line = rest.split('\n').next().unwrap_or_default();
        return Some(at + line.trim_end_matches('\r').len());
    }
    rest.strip_prefix("/*").map(|inner| inner.find("*/").map_or(text.len(), |end| at + end + 4))
}

/// The comments of a piece of JSON, each with whether it is one to the end of the line.
pub(crate) fn comments(text: &str) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let found = rest.find(['"', '/'])?;
            at += found;
            if let Some(end) = comment_end(text, at) {
                let range = at..end.max(at + 1);
                at = range.end;
                return Some((range.clone(), text.get(range)?.starts_with("//")));
            }
            at += 1;
            if rest.get(found..)?.starts_with('"') {
                let mut is_escaped = false;
                let string = text.get(at..)?;
                let end = string.bytes().position(|byte| {
                    let is_end = byte == b'"' && !is_escaped;
                    is_escaped = byte == b'\\' && !is_escaped;
                    is_end
                });
                at += end? + 1;
            }
        }
    })
}

/// The text with blanks in the place of comments, so that everything else keeps its line and column.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, _) in comments(text) {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        let comment = text.get(range.clone()).unwrap_or_default();
        out.extend(comment.chars().map(|c| if matches!(c, '\n' | '\r') { c } else { ' ' }));
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}
