//! What changes in a file, for a person.

use std::fmt::Write as _;

use crate::text;

/// How many lines are shown around a change.
const CONTEXT: usize = 3;

/// How many lines are compared one by one, on each side.
const MAX_LINES: usize = 2000;

/// How much of a line is shown, in bytes.
const MAX_WIDTH: usize = 2000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Gone,
    New,
}

/// The lines of a unified diff, made safe for a terminal; empty where nothing changes. `None` is a file that is not there.
pub fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    if before == after {
        return String::new();
    }
    let path = text::escape(path, 4096);
    let name = |bytes: Option<&[u8]>| if bytes.is_some() { path.clone() } else { "/dev/null".to_owned() };
    let mut out = format!("--- {}\n+++ {}\n", name(before), name(after));
    let (before, after) = (
        String::from_utf8_lossy(before.unwrap_or_default()),
        String::from_utf8_lossy(after.unwrap_or_default()),
    );
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let lines = compare(&old, &new);
    let mut at = 0;
    while let Some(first) = lines.iter().skip(at).position(|(mark, _)| *mark != Mark::Same).map(|it| it + at)
    {
        let begin = first.saturating_sub(CONTEXT).max(at);
        let mut end = first;
        // Changes with no more than twice the context between them are one piece.
        while let Some(next) =
            lines.iter().skip(end).position(|(mark, _)| *mark != Mark::Same).filter(|it| *it <= 2 * CONTEXT)
        {
            end += next + 1;
        }
        let end = (end + CONTEXT).min(lines.len());
        let count = |which: Mark, from: usize, to: usize| {
            lines.iter().take(to).skip(from).filter(|(mark, _)| *mark == Mark::Same || *mark == which).count()
        };
        let range = |which: Mark| {
            let (start, length) = (count(which, 0, begin), count(which, begin, end));
            format!("{},{length}", if length == 0 { start } else { start + 1 })
        };
        let _ = writeln!(out, "@@ -{} +{} @@", range(Mark::Gone), range(Mark::New));
        for (mark, line) in lines.iter().take(end).skip(begin) {
            let sign = match mark {
                Mark::Same => ' ',
                Mark::Gone => '-',
                Mark::New => '+',
            };
            let whole = line.strip_suffix('\n');
            let shown: Vec<_> =
                whole.unwrap_or(line).split('\t').map(|it| text::escape(it, MAX_WIDTH)).collect();
            let _ = writeln!(out, "{sign}{}", shown.join("\t"));
            if whole.is_none() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
        at = end;
    }
    out
}

/// The lines of both, in order: what they share at both ends, and between that the longest common sequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&'a str]| lines.get(..lines.len() - tail).unwrap_or_default().to_vec();
    let (a, b) = (middle(old_rest), middle(new_rest));
    let mut out: Vec<(Mark, &str)> = old.iter().take(head).map(|it| (Mark::Same, *it)).collect();
    if a.len() > MAX_LINES || b.len() > MAX_LINES {
        out.extend(a.iter().map(|it| (Mark::Gone, *it)));
        out.extend(b.iter().map(|it| (Mark::New, *it)));
    } else {
        out.extend(middle_of(&a, &b));
    }
    out.extend(old_rest.iter().skip(old_rest.len() - tail).map(|it| (Mark::Same, *it)));
    out
}

fn middle_of<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<(Mark, &'a str)> {
    // How long a sequence the rests from here have in common.
    let width = b.len() + 1;
    let mut table = vec![0_u16; (a.len() + 1) * width];
    let value = |table: &[u16], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or_default();
    for (i, left) in a.iter().enumerate().rev() {
        for (j, right) in b.iter().enumerate().rev() {
            let best = if left == right {
                value(&table, i + 1, j + 1) + 1
            } else {
                value(&table, i + 1, j).max(value(&table, i, j + 1))
            };
            if let Some(place) = table.get_mut(i * width + j) {
                *place = best;
            }
        }
    }
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some(left), Some(right)) if left == right => {
                out.push((Mark::Same, *left));
                (i, j) = (i + 1, j + 1);
            }
            (Some(left), right) if right.is_none() || value(&table, i + 1, j) >= value(&table, i, j + 1) => {
                out.push((Mark::Gone, *left));
                i += 1;
            }
            (_, Some(right)) => {
                out.push((Mark::New, *right));
                j += 1;
            }
            _ => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_reads_like_that_of_diff() {
        let diff = |a: &str, b: &str| unified("f", Some(a.as_bytes()), Some(b.as_bytes()));
        assert_eq!(diff("a\n", "a\n"), "");
        assert_eq!(unified("f", None, Some(b"a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(
            unified("f", Some(b"a"), None),
            "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n"
        );
        let lines = |range: std::ops::Range<u32>| range.map(|it| format!("{it}\n")).collect::<String>();
        let (old, new) = (lines(0..30), format!("{}x\n{}y\n{}", lines(0..10), lines(11..25), lines(25..30)));
        let want = "--- f\n+++ f\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n@@ -23,6 +23,7 @@\n 22\n 23\n 24\n+y\n 25\n 26\n 27\n";
        assert_eq!(diff(&old, &new), want);
        assert!(diff("\u{1b}[31m\n", "x\ty\n").contains("-\\u{1b}[31m\n+x\ty\n"));
    }

    #[test]
    fn what_is_too_long_to_compare_is_shown_as_a_whole() {
        let old: String = (0..3000).map(|it| format!("{it}\n")).collect();
        let new: String = (0..3000).map(|it| format!("{}\n", it * 2 + 1)).collect();
        assert_eq!(unified("f", Some(old.as_bytes()), Some(new.as_bytes())).lines().count(), 6003);
    }
}
