//! The chain of hashes: a record that was changed, removed or inserted breaks it.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::append::NO_HASH;
use super::read::{Entry, Reader, has_own_hash, hash_of};

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of records.
    pub records: u64,
    /// The hash of the last record. Kept elsewhere, it shows later whether the end of the journal was removed.
    pub last: Option<String>,
    /// True if the first record follows one that is not here: it was removed by age or size, or by somebody.
    pub begins_later: bool,
    /// True if a record has the hash that the caller wanted.
    pub has_wanted: bool,
    /// The faults, in their order.
    pub faults: Vec<Fault>,
}

/// A place of the journal that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// The number of the line.
    pub line: usize,
    /// The kind.
    pub kind: FaultKind,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The record does not have the hash of its text: it was changed.
    Changed,
    /// The record does not follow the one before it: between them a record was removed, inserted or moved.
    Broken,
    /// The line is the beginning of a record: its process was killed while it wrote. This breaks nothing.
    Torn,
}

impl FaultKind {
    /// Returns true if somebody else than the journal has written to the file.
    pub fn is_tampering(self) -> bool {
        self != Self::Torn
    }
}

/// Reads a whole journal and checks each record against its hash, and against the record before it. `wanted` is the hash
/// of a record that should be there.
///
/// The chain shows changes by a program that does not know it. Whoever may write the files can write a whole new chain,
/// or remove the newest records; only a hash that is kept elsewhere ([`Verified::last`]) shows that.
///
/// # Errors
///
/// A file cannot be read.
pub fn verify(directory: &Path, wanted: Option<&str>) -> io::Result<Verified> {
    let mut found = Verified::default();
    let (mut was_thinned, mut is_torn) = (false, false);
    for entry in Reader::open(directory, None)? {
        let entry = entry?;
        let fault = |kind| Fault { path: entry.path.clone(), line: entry.line, kind };
        let Some((before, hash, is_own)) = hashes(&entry) else {
            // The next process gives a torn record a line of its own. Any other line has come from somebody else.
            is_torn = is_beginning(&entry.bytes);
            found.faults.push(fault(if is_torn { FaultKind::Torn } else { FaultKind::Broken }));
            continue;
        };
        found.records += 1;
        if !is_own {
            found.faults.push(fault(FaultKind::Changed));
        }
        match &found.last {
            None => {
                found.begins_later = entry.is_thinned || before != NO_HASH;
                // No record follows a torn one, so the first was cut later.
                if is_torn && !entry.is_thinned && before != NO_HASH {
                    found.faults.push(fault(FaultKind::Broken));
                }
            }
            // The others of its file were removed by size.
            Some(_) if was_thinned => {}
            Some(last) if *last != before => found.faults.push(fault(FaultKind::Broken)),
            Some(_) => {}
        }
        was_thinned = entry.is_thinned;
        found.has_wanted |= is_own && wanted == Some(hash.as_str());
        found.last = Some(hash);
    }
    Ok(found)
}

/// Returns true for an object that is cut short.
fn is_beginning(line: &[u8]) -> bool {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    text.starts_with(b"{") && serde_json::from_slice::<Value>(text).is_err_and(|it| it.is_eof())
}

/// Returns the hash of the record before, the hash of a record, and whether it is that of its text.
fn hashes(entry: &Entry) -> Option<(String, String, bool)> {
    let before = entry.parsed()?.get("prev")?.as_str()?.to_owned();
    Some((before, hash_of(&entry.bytes)?.to_owned(), has_own_hash(&entry.bytes)))
}
