//! Journals receive every event of a session with its verdict.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::capability::Capability;
use crate::chain::Fired;
use crate::event::Event;
use crate::hook::{Digest, Settings};

/// Receives each event of every session after its verdict, also one that no hook wants
/// ([`Builder::journal`](crate::manager::Builder::journal)).
///
/// The session calls it in the task of the event, once the hooks have ended. So it should not take long. A failure is a
/// warning of the verdict, and changes nothing else.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records an event.
    ///
    /// # Errors
    ///
    /// The reason why the event is not recorded.
    fn record(&self, record: &Record<'_>) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// An event with its verdict, and the hooks that were asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The event as the agent sent it.
    pub event: &'a Event,
    /// The event as the hooks left it, the verdict and the report.
    pub fired: &'a Fired,
    /// The hooks of the report, in its order.
    pub hooks: Vec<RecordedHook<'a>>,
    /// The home directory, which a tool call may name as `~`.
    pub home: Option<&'a Path>,
    /// The user's settings of the journal.
    pub settings: JournalSettings,
}

/// The part of a hook that its report does not have.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecordedHook<'a> {
    /// The digest of the hook.
    pub digest: Option<&'a Digest>,
    /// Its own settings.
    pub settings: Option<&'a Settings>,
    /// The permissions that it has, of those that it asks for.
    pub rights: Vec<Capability>,
}

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
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { enabled: false, keep: Duration::from_secs(90 * 24 * 60 * 60), max_size: 1 << 30 }
    }
}
