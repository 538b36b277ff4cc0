//! The files of the journal: `2026-11-26.jsonl`, and `2026-11-26.1.jsonl` once the first one is large. If the journal is
//! too large, only the blocked events of its oldest files are kept, in `2026-11-26.blocked.jsonl`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hookbox_system::files::private_dir;
use jiff::civil::Date;

/// The end of the name of a file of which only the blocked events are left.
const BLOCKED: &str = ".blocked";

/// A file of the journal. Files are in the order of their records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DayFile {
    pub(super) day: Date,
    pub(super) part: u32,
    /// True if only its blocked events are left.
    pub(super) is_thinned: bool,
    pub(super) path: PathBuf,
}

impl DayFile {
    pub(super) fn new(directory: &Path, day: Date, part: u32) -> Self {
        Self::with(directory, day, part, false)
    }

    fn with(directory: &Path, day: Date, part: u32, is_thinned: bool) -> Self {
        let part_name = if part == 0 { String::new() } else { format!(".{part}") };
        let kind = if is_thinned { BLOCKED } else { "" };
        let path = directory.join(format!("{day}{part_name}{kind}.jsonl"));
        Self { day, part, is_thinned, path }
    }

    fn named(directory: &Path, name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let (stem, is_thinned) = stem.strip_suffix(BLOCKED).map_or((stem, false), |stem| (stem, true));
        let (day, part) =
            stem.split_once('.').map_or((stem, Some(0)), |(day, part)| (day, part.parse().ok()));
        let file = Self::with(directory, day.parse().ok()?, part?, is_thinned);
        file.path.ends_with(name).then_some(file)
    }

    /// Returns the file in which the blocked events of this one are kept.
    pub(super) fn thinned(&self) -> Self {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        Self::with(directory, self.day, self.part, true)
    }

    /// Returns its size in bytes, or 0 if it is gone.
    pub(super) fn size(&self) -> u64 {
        fs::symlink_metadata(&self.path).map_or(0, |about| about.len())
    }
}

/// Returns the files of a journal, the oldest first. A directory that is missing has none.
///
/// # Errors
///
/// The system's own, and `InvalidInput` for a directory that somebody else may write, and for a link to one: its records
/// may be somebody else's.
pub(super) fn all(directory: &Path) -> io::Result<Vec<DayFile>> {
    let about = match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        about => about?,
    };
    if about.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a symlink"));
    }
    private_dir::check(directory).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let entries = fs::read_dir(directory)?;
    let mut files = Vec::new();
    for entry in entries {
        files.extend(entry?.file_name().to_str().and_then(|name| DayFile::named(directory, name)));
    }
    files.sort();
    // A process that was killed leaves both; the whole one comes first.
    files.dedup_by_key(|file| (file.day, file.part));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_records_and_others_are_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let names =
            ["2026-11-26.10.jsonl", "2026-11-26.2.jsonl", "2026-11-26.jsonl", "2025-12-31.blocked.jsonl"];
        let others = [
            "lock",
            // Its day is there whole.
            "2026-11-26.2.blocked.jsonl",
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
