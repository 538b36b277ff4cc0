//! The files of the journal: `2026-11-26.jsonl`, and `2026-11-26.1.jsonl` once the first one is large.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;

/// A file of the journal. Files are in the order of their records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DayFile {
    pub(super) day: Date,
    pub(super) part: u32,
    pub(super) path: PathBuf,
}

impl DayFile {
    pub(super) fn new(directory: &Path, day: Date, part: u32) -> Self {
        let name = if part == 0 { format!("{day}.jsonl") } else { format!("{day}.{part}.jsonl") };
        Self { day, part, path: directory.join(name) }
    }

    fn named(directory: &Path, name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let (day, part) =
            stem.split_once('.').map_or((stem, Some(0)), |(day, part)| (day, part.parse().ok()));
        let file = Self::new(directory, day.parse().ok()?, part?);
        file.path.ends_with(name).then_some(file)
    }

    /// Returns its size in bytes, or 0 if it is gone.
    pub(super) fn size(&self) -> u64 {
        fs::symlink_metadata(&self.path).map_or(0, |about| about.len())
    }
}

/// Returns the files of a journal, the oldest first. A directory that is missing has none.
pub(super) fn all(directory: &Path) -> io::Result<Vec<DayFile>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        files.extend(entry?.file_name().to_str().and_then(|name| DayFile::named(directory, name)));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_records_and_others_are_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let names = ["2026-11-26.10.jsonl", "2026-11-26.2.jsonl", "2026-11-26.jsonl", "2025-12-31.jsonl"];
        let others = [
            "lock",
            "2026-13-01.jsonl",
            "2026-11-26.0.jsonl",
            "2026-11-26.02.jsonl",
            "x.jsonl",
            "2026-11-26.json",
        ];
        for name in names.iter().chain(&others) {
            fs::write(temp.path().join(name), "").unwrap();
        }
        let found: Vec<_> = all(temp.path()).unwrap().into_iter().map(|it| it.path).collect();
        let expected: Vec<_> = names.iter().rev().map(|name| temp.path().join(name)).collect();
        assert_eq!(found, expected);
        assert_eq!(all(&temp.path().join("missing")).unwrap(), []);
    }
}
