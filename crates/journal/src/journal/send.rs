//! Sends the records to a collector. The journal itself is the queue: a file beside the days has the position up to which
//! they were sent, with the hash of the last record, and changes only after the collector took them. So an outage or a kill
//! loses nothing that the journal keeps, and may send a few records twice. The hash tells if the journal kept them all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookbox::telemetry::{RecordSender, SendError, SentRecord};
use hookbox_system::files::{FileLock, LockError, private_dir, write_atomic};
use jiff::Timestamp;
use serde_json::Value;

use super::append::NO_HASH;
use super::read::{Entry, Follower, hash_of};
use super::stored::Stored;

/// The file with the position.
const POSITION: &str = "sent";

/// The file whose time is that of the last attempt. A process that sends holds its lock.
const ATTEMPT: &str = "sending";

/// The number of records of one request. Collectors mostly take 4 MiB, and a usual record has some KiB.
const MOST: usize = 256;

/// The size of the records of one request, in bytes, above which no further record is added.
const SIZE: usize = 1 << 20;

/// The result of sending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The records that the collector took.
    pub records: u64,
    /// The records that it refused; they are not sent again.
    pub refused: u64,
    /// The reason of the last refusal.
    pub why: Option<String>,
    /// The lines of the journal that are no whole records, or were changed: they are not sent.
    pub left_out: u64,
    /// True if records are gone that were never sent: the journal had no more room for them, or they were too old.
    pub has_lost: bool,
}

/// The reason why not all records were sent.
#[derive(Debug, thiserror::Error)]
pub enum SendingError {
    /// The journal, or the file with the position, cannot be used.
    #[error("{}: {error}", hookbox::shown_path(path))]
    File {
        /// The directory of the journal.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The collector did not take them.
    #[error(transparent)]
    Collector(#[from] SendError),
}

/// Sends the records of the journal in this directory that were not sent yet, the oldest first. It blocks. Returns `None`
/// if another process is sending.
///
/// # Errors
///
/// [`SendingError`]; the next call goes on after the last request that succeeded.
pub fn send(directory: &Path, sender: &RecordSender) -> Result<Option<Sent>, SendingError> {
    let at = |error| SendingError::File { path: directory.to_owned(), error };
    if !directory.is_dir() {
        return Ok(Some(Sent::default()));
    }
    private_dir::open(directory, None).map_err(|error| at(io::Error::other(error)))?;
    let lock = begin_attempt(directory).map_err(at)?;
    let _lock = match FileLock::exclusive(lock, Duration::ZERO) {
        Err(LockError::Busy(_)) => return Ok(None),
        Err(LockError::Io(error)) => return Err(at(error)),
        Ok(lock) => lock,
    };
    let file = directory.join(POSITION);
    let position = fs::read_to_string(&file).unwrap_or_default();
    let mut words = position.split_whitespace();
    let (name, offset) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut last = words.next().unwrap_or(NO_HASH).to_owned();
    let mut follower = Follower::at(directory, name, offset.parse().unwrap_or_default());
    let mut sent = Sent::default();
    loop {
        let entries = follower.poll_some(SIZE).map_err(at)?;
        if entries.is_empty() {
            return Ok(Some(sent));
        }
        let mut records = Vec::new();
        for entry in &entries {
            if let Some(record) = entry.record() {
                sent.has_lost |= record.get("prev").is_some_and(|before| *before != last);
                records.push(record_of(entry, &record));
            } else {
                sent.left_out += 1;
            }
            if let Some(hash) = hash_of(&entry.bytes) {
                hash.clone_into(&mut last);
            }
        }
        for batch in records.chunks(MOST) {
            deliver(sender, batch, &mut sent)?;
        }
        if let Some(position) = follower.position() {
            write_atomic(&file, format!("{position} {last}\n").as_bytes()).map_err(at)?;
        }
    }
}

/// Notes the time of an attempt to send, and returns its file.
///
/// # Errors
///
/// The file cannot be created.
pub fn begin_attempt(directory: &Path) -> io::Result<File> {
    let file = private_dir::create_file(&directory.join(ATTEMPT))?;
    file.set_modified(SystemTime::now())?;
    Ok(file)
}

/// Returns the time of the last attempt to send.
pub fn last_attempt(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory.join(ATTEMPT)).and_then(|about| about.modified()).ok()
}

/// Sends one request. If the collector refuses it, each half of it is sent alone, so that one record does not hold up the
/// others.
fn deliver(sender: &RecordSender, records: &[SentRecord], sent: &mut Sent) -> Result<(), SendError> {
    match sender.send(records) {
        Ok(None) => sent.records += records.len() as u64,
        Ok(Some((refused, why))) => {
            sent.records += (records.len() as u64).saturating_sub(refused);
            sent.refused += refused;
            sent.why = Some(why);
        }
        Err(SendError::Refused { .. }) if records.len() > 1 => {
            let (first, second) = records.split_at(records.len() / 2);
            deliver(sender, first, sent)?;
            deliver(sender, second, sent)?;
        }
        Err(error @ SendError::Refused { .. }) => {
            sent.refused += 1;
            sent.why = Some(error.to_string());
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn record_of(entry: &Entry, record: &Value) -> SentRecord {
    let record = Stored::of(record);
    let decision = record.decision();
    let optional = [
        ("hookbox.verdict.by", Some(decision.by).filter(|by| !by.is_empty())),
        ("gen_ai.conversation.id", record.conversation.as_deref()),
        ("gen_ai.agent.name", record.agent.as_deref()),
    ];
    let optional = optional.into_iter().filter_map(|(key, value)| Some((key, value?.to_owned())));
    let attributes = [
        ("log.record.uid", record.id.clone()),
        ("hookbox.event", record.text("event").to_owned()),
        ("hookbox.verdict", decision.verdict.to_owned()),
    ];
    SentRecord {
        time: record.time.parse::<Timestamp>().ok().map(SystemTime::from),
        body: String::from_utf8_lossy(entry.bytes.trim_ascii_end()).into_owned(),
        is_blocked: record.verdict.blocked,
        attributes: attributes.into_iter().chain(optional).collect(),
        trace: record.trace.clone(),
    }
}
