//! Appending a record: one lock, one write, and the hash of the record before it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hookbox::Digest;
use hookbox::journal::JournalSettings;
use hookbox_system::files::{FileLock, LockError, private_dir};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::read::{DayFile, HASH, Reader, all_files, hash_of};
use super::{MAX_RECORD, SMALL_RECORD};

/// The hash before the first record.
pub(super) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The bytes at the end of a file in which the end of its last whole record is searched.
const TAIL: u64 = 8 << 20;

/// The longest wait for another process. The agent waits as long.
const PATIENCE: Duration = Duration::from_secs(3);

/// The part of the largest size at which a file ends, and the next one of the day begins.
const PARTS: u64 = 8;

/// The reason why a record was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum AppendError {
    /// The directory or a file cannot be used.
    #[error("{}: {error}", hookbox::shown_path(path))]
    File {
        path: std::path::PathBuf,
        #[source]
        error: io::Error,
    },
    /// Another process does not end its record.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Returns the longest record of this journal, in bytes. In one that is half full long texts are cut, so that a few large
/// events do not remove all others.
pub(super) fn longest(directory: &Path, settings: &JournalSettings) -> usize {
    let size: u64 = all_files(directory).unwrap_or_default().iter().map(DayFile::size).sum();
    if size > settings.max_size / 2 { SMALL_RECORD } else { MAX_RECORD }
}

/// Appends a record: a JSON object without its last brace, which gets the hashes.
pub(super) fn append(directory: &Path, object: &str, settings: &JournalSettings) -> Result<(), AppendError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| AppendError::File { path, error }
    };
    private_dir::open(directory, None).map_err(|error| at(directory)(io::Error::other(error)))?;
    let lock = directory.join("lock");
    let lock = match FileLock::exclusive(private_dir::create_file(&lock).map_err(at(&lock))?, PATIENCE) {
        Err(LockError::Io(error)) => return Err(at(&lock)(error)),
        lock => lock?,
    };
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let files = all_files(directory).map_err(at(directory))?;
    let most = (settings.max_size / PARTS).max(1);
    let file = match files.last() {
        // After the clock went back, the order of the records is still that of the files.
        Some(last) if last.day >= today && last.size() < most => last.clone(),
        Some(last) if last.day >= today => DayFile::new(directory, last.day, last.part.saturating_add(1)),
        _ => DayFile::new(directory, today, 0),
    };
    let is_new = files.last() != Some(&file);
    let mut open = private_dir::create_file(&file.path).map_err(at(&file.path))?;
    let mut before = last_hash(&mut open).map_err(at(&file.path))?;
    let mut earlier = files.iter().rev().filter(|it| **it != file);
    while before.is_none()
        && let Some(it) = earlier.next()
    {
        let hash = private_dir::open_file(&it.path).and_then(|mut open| last_hash(&mut open));
        before = hash.map_err(at(&it.path))?;
    }
    let line = sealed(object, before.as_deref().unwrap_or(NO_HASH));
    write(&mut open, &line).map_err(at(&file.path))?;
    // A day of the future has no new file after it.
    if is_new || file.day > today {
        prune(&files, settings, today);
    }
    drop(lock);
    Ok(())
}

/// Returns the line of a record. Two letters that some readers take as the end of a line are escaped; in JSON they are in
/// texts only.
fn sealed(object: &str, before: &str) -> String {
    let object = object.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let mut line = format!("{object},\"prev\":\"{before}\"");
    let hash = Digest::of(line.as_bytes());
    line.push_str(HASH);
    line.push_str(&hash.hex());
    line.push_str("\"}\n");
    line
}

/// Writes a line at the end of a file, whole or not at all. A record that a killed process has left in part stays, on a
/// line of its own.
fn write(file: &mut File, line: &str) -> io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    let is_torn = end > 0 && byte_before(file, end)? != b'\n';
    file.seek(SeekFrom::Start(end))?;
    let written = if is_torn {
        file.write_all(format!("\n{line}").as_bytes())
    } else {
        file.write_all(line.as_bytes())
    };
    if written.is_err() {
        // A full disk has room for the shorter file.
        let _ = file.set_len(end);
    }
    written
}

fn byte_before(file: &mut File, end: u64) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::Start(end - 1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Returns the hash of the last whole record of a file.
fn last_hash(file: &mut File) -> io::Result<Option<String>> {
    let end = file.metadata()?.len();
    // Nearly always the last line is whole, and its end is enough.
    for length in [128, TAIL] {
        let length = length.min(end);
        file.seek(SeekFrom::Start(end - length))?;
        let mut tail = Vec::new();
        file.take(length).read_to_end(&mut tail)?;
        let whole = tail.split_inclusive(|byte| *byte == b'\n').rev();
        if let Some(hash) = whole.filter_map(hash_of).next() {
            return Ok(Some(hash.to_owned()));
        }
    }
    Ok(None)
}

/// Removes the days that are too old. If the journal is too large, the oldest events go first, and blocked ones last. A
/// file that cannot be removed stays.
fn prune(files: &[DayFile], settings: &JournalSettings, today: jiff::civil::Date) {
    let oldest = SystemTime::now().checked_sub(settings.keep).and_then(|it| Timestamp::try_from(it).ok());
    let oldest = oldest.map(|it| it.to_zoned(TimeZone::UTC).date());
    let is_old = |file: &&DayFile| oldest.is_some_and(|oldest| file.day < oldest) && file.day < today;
    let (old, files): (Vec<&DayFile>, Vec<&DayFile>) = files.iter().partition(is_old);
    for file in old {
        let _ = fs::remove_file(&file.path);
    }
    let mut size: u64 = files.iter().map(|it| it.size()).sum();
    // The new file may become as large as its part.
    let most = settings.max_size.saturating_sub(settings.max_size / PARTS);
    for file in files.iter().filter(|it| !it.is_thinned) {
        if size > most {
            let before = file.size();
            match thin(file) {
                Ok(()) => {}
                // Nothing is lost on a full disk: the next new file of the journal tries it again.
                Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                    return;
                }
                Err(_) => drop(fs::remove_file(&file.path)),
            }
            size = size.saturating_sub(before).saturating_add(file.thinned().size());
        }
    }
    for file in files.iter().map(|it| it.thinned()) {
        if size > most {
            size = size.saturating_sub(file.size());
            let _ = fs::remove_file(&file.path);
        }
    }
}

/// Keeps only the blocked events of a file.
fn thin(file: &DayFile) -> io::Result<()> {
    let thinned = file.thinned();
    let new = thinned.path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut kept = private_dir::create_file(&new)?;
        kept.set_len(0)?;
        for entry in Reader::of_day(file.clone()) {
            let entry = entry?;
            let blocked = entry.record().and_then(|record| record.pointer("/verdict/blocked")?.as_bool());
            if blocked == Some(true) {
                kept.write_all(&entry.bytes)?;
            }
        }
        if kept.metadata()?.len() == 0 {
            return fs::remove_file(&new);
        }
        fs::rename(&new, &thinned.path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))?;
    fs::remove_file(&file.path)
}
