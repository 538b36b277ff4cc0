//! Git's standard error, which goes to a file: its progress and its messages.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The bytes that are read from the end of the file: git reports its failure last.
const TAIL: u64 = 4096;

/// The starts of lines that only report progress.
const PROGRESS: [&str; 7] = [
    "Enumerating objects: ",
    "Counting objects: ",
    "Compressing objects: ",
    "Receiving objects: ",
    "Unpacking objects: ",
    "Resolving deltas: ",
    "Total ",
];

/// Returns the objects that git has received so far, and their total.
pub(super) fn received(errors: &Path) -> Option<(u64, u64)> {
    lines(errors).ok()?.iter().rev().find_map(|line| count(line))
}

/// Returns the last lines that are not progress.
pub(super) fn messages(errors: &Path) -> Vec<String> {
    let mut lines = lines(errors).unwrap_or_default();
    lines.retain(|line| {
        let line = line.strip_prefix("remote: ").unwrap_or(line);
        !PROGRESS.iter().any(|start| line.starts_with(start))
    });
    lines
}

fn lines(errors: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(errors)?;
    let start = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// Reads a line such as `Receiving objects:  45% (9/20), 1 MiB`.
fn count(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("Receiving objects: ").or(line.strip_prefix("Unpacking objects: "))?;
    let (done, total) = rest.split_once('(')?.1.split_once(')')?.0.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_progress_or_a_message() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        for (line, count, is_message) in [
            ("Receiving objects:  45% (9/20), 1.20 MiB | 2 MiB/s", Some((9, 20)), false),
            ("Receiving objects: 100% (20/20), done.", Some((20, 20)), false),
            ("remote: Counting objects:  10% (1/10)", None, false),
            ("remote: Total 10 (delta 0), reused 0 (delta 0)", None, false),
            ("Resolving deltas: 100% (3/3)", None, false),
            ("Receiving objects: all", None, false),
            ("Receiving objects: 1% (x/y)", None, false),
            ("Receiving objects: 1% (1/99999999999999999999)", None, false),
            ("fatal: couldn't find remote ref x", None, true),
            ("", None, false),
        ] {
            std::fs::write(temp.path(), format!("{line}\r\n")).unwrap();
            assert_eq!(received(temp.path()), count, "{line}");
            assert_eq!(messages(temp.path()), if is_message { vec![line] } else { vec![] }, "{line}");
        }
    }

    #[test]
    fn of_many_lines_the_last_ones_are_read() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        let mut text = b"first\r\n".to_vec();
        text.extend(b"x".repeat(100_000));
        (0..1000).for_each(|n| text.extend(format!("line {n}\n").bytes()));
        text.extend(b"\nReceiving objects: 1% (1/9)\rReceiving objects: 2% (2/9)\r");
        text.extend(b"fatal: \xff end");
        std::fs::write(temp.path(), text).unwrap();
        let messages = messages(temp.path());
        assert_eq!(messages.last().unwrap(), "fatal: \u{fffd} end");
        assert!(messages.iter().map(String::len).sum::<usize>() < 5000);
        assert_eq!(received(temp.path()), Some((2, 9)));
        assert_eq!(received(Path::new("/nowhere")), None);
    }
}
