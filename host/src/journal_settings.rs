//! The user's settings of the journal.

use std::time::Duration;

pub(crate) use hookbox_system::limits::DAY;

/// The user's settings of the journal: the table `[journal]` of `hookbox.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalSettings {
    /// True if the program records events. A journal of [`Builder::journal`](crate::manager::Builder::journal) records
    /// in any case. Default: false.
    pub enabled: bool,
    /// The age at which a day's records are removed. Default: 90 days.
    pub keep: Duration,
    /// The size of all records, in bytes, above which the oldest days are removed. Default: 1 GiB.
    pub max_size: u64,
    /// True if they name a collector that gets the records. Default: false.
    pub sends: bool,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { enabled: false, keep: DAY * 90, max_size: 1 << 30, sends: false }
    }
}
