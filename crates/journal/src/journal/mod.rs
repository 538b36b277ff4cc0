//! The journal: every event with its verdict, in files of one day each below the data directory.
//!
//! A record is a line of JSON; the book (`docs/src/journal.md`) lists its keys. Each line ends with the SHA-256 hash of
//! the line before that key, and has the hash of the record before it ([`verify`]).

mod append;
mod read;
mod record;
#[cfg(feature = "otel")]
mod send;
mod stored;
#[cfg(test)]
mod tests;
mod verify;

use std::error::Error;
use std::path::{Path, PathBuf};

use hookbox::journal::{Journal as Receiver, Record};

pub(crate) use self::read::has_own_hash;
pub use self::read::{Entry, Follower, Reader};
pub use self::record::{VERSION, event_of};
#[cfg(feature = "otel")]
pub use self::send::{SendingError, Sent, begin_attempt, last_attempt, send};
pub use self::stored::{
    Decision, Filter, Stored, StoredChange, StoredDenial, StoredHook, StoredLimit, StoredReport,
    StoredRuling, StoredVerdict,
};
pub use self::verify::{Fault, FaultKind, Verified, verify};

/// The directory of the journal in the data directory.
pub const DIRECTORY: &str = "journal";

/// The longest record, in bytes. Parts of a longer one are left out.
pub const MAX_RECORD: usize = 4 << 20;

/// The longest record of a journal that is half full, in bytes: the blocked events of a thousand conversations fit.
const SMALL_RECORD: usize = 64 << 10;

/// A journal below a data directory. It makes no file before the first record.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
    agent: Option<String>,
}

impl Journal {
    /// Creates a journal in this data directory, which belongs to the user alone. `agent` is the name of the agent that
    /// sends the events, if it is known.
    pub fn new(data: &Path, agent: Option<&str>) -> Self {
        Self { directory: data.join(DIRECTORY), agent: agent.map(str::to_owned) }
    }

    /// Returns the directory of its files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Receiver for Journal {
    fn record(&self, record: &Record<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let longest = append::longest(&self.directory, &record.settings);
        // Before the lock, for which other processes wait.
        let line = record::line(record, self.agent.as_deref(), longest);
        append::append(&self.directory, &line, &record.settings)?;
        Ok(())
    }
}
