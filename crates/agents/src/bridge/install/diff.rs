//! The difference between two contents of a file, for a person.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use crate::text;

/// The time for comparing lines one by one; after that the rest counts as replaced.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The part of a line that is shown, in bytes.
const MAX_WIDTH: usize = 2000;

/// Returns a unified diff, made safe for a terminal; it is empty if nothing changes. `None` is a file that
/// does not exist.
pub(super) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    if before == after {
        return String::new();
    }
    let path = text::escape(path, 4096);
    let name = |bytes: Option<&[u8]>| if bytes.is_some() { path.as_str() } else { "/dev/null" };
    let [old, new] = [before, after].map(|it| String::from_utf8_lossy(it.unwrap_or_default()));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(MAX_TIME).diff_lines(&*old, &*new);
    let diff = diff.unified_diff().header(name(before), name(after)).to_string();
    let safe = |line: &str| {
        let parts: Vec<_> = line.split('\t').map(|it| text::escape(it, MAX_WIDTH)).collect();
        parts.join("\t") + "\n"
    };
    diff.lines().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_reads_like_that_of_diff() {
        let diff = |a: &str, b: &str| unified("f", Some(a.as_bytes()), Some(b.as_bytes()));
        assert_eq!(diff("a\n", "a\n"), "");
        assert_eq!(unified("f", None, Some(b"a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(
            unified("f", Some(b"a"), None),
            "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
        );
        let lines = |range: std::ops::Range<u32>| range.map(|it| format!("{it}\n")).collect::<String>();
        let (old, new) = (lines(0..30), format!("{}x\n{}y\n{}", lines(0..10), lines(11..25), lines(25..30)));
        let want = "--- f\n+++ f\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n@@ -23,6 +23,7 @@\n 22\n 23\n 24\n+y\n 25\n 26\n 27\n";
        assert_eq!(diff(&old, &new), want);
        assert!(diff("\u{1b}[31m\n", "x\ty\n").contains("-\\u{1b}[31m\n+x\ty\n"));
    }

    #[test]
    fn files_that_have_nothing_in_common_are_compared_in_bounded_time() {
        let old: String = (0..50_000).map(|it| format!("{it}\n")).collect();
        let new: String = (0..50_000).map(|it| format!("new {it}\n")).collect();
        assert_eq!(unified("f", Some(old.as_bytes()), Some(new.as_bytes())).lines().count(), 100_003);
    }
}
