//! The hooks that run now. A manager replaces them, and its sessions read them.

use std::fmt;
use std::mem::take;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use crate::chain::{ChainOptions, TextRules};
use crate::discovery::{Discovery, Entry, EntryStatus, Problem};
use crate::event::EventName;
use crate::hook::Hook;
use crate::inputs::Recording;
use crate::journal::{Journal, RecordedHook};
use crate::report::HookReport;
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::trust::TrustFile;

/// The state that a manager shares with its sessions.
#[derive(Default)]
pub(crate) struct Live {
    current: RwLock<Arc<Snapshot>>,
    pub(crate) chain: ChainOptions,
    pub(crate) cwd: PathBuf,
    /// Records each event of every session.
    pub(crate) journal: OnceLock<Arc<dyn Journal>>,
    /// Makes its components record their inputs.
    recording: Recording,
    /// Receives each event of every session.
    #[cfg(feature = "otel")]
    pub(crate) telemetry: Option<Telemetry>,
}

impl Live {
    pub(crate) fn new(snapshot: Snapshot, chain: ChainOptions, cwd: PathBuf, recording: Recording) -> Self {
        Self {
            current: RwLock::new(Arc::new(snapshot)),
            chain,
            cwd,
            journal: OnceLock::new(),
            recording,
            #[cfg(feature = "otel")]
            telemetry: None,
        }
    }

    /// Records each event from now on, unless a journal is set already.
    pub(crate) fn record_in(&self, journal: Arc<dyn Journal>) {
        let _ = self.journal.set(journal);
        self.recording.begin();
    }

    #[cfg(feature = "otel")]
    pub(crate) fn reporting_to(self, telemetry: Option<Telemetry>) -> Self {
        Self { telemetry, ..self }
    }

    fn current(&self) -> RwLockReadGuard<'_, Arc<Snapshot>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the hooks for an event that begins now. The lock is held for the copy of a pointer.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current())
    }

    /// Returns true if no hook subscribes to this event, and nothing records it.
    pub(crate) fn is_unheard(&self, event: &EventName) -> bool {
        #[cfg(feature = "otel")]
        if self.telemetry.is_some() {
            return false;
        }
        self.journal.get().is_none() && !self.current().wanted.contains(event)
    }

    /// Replaces the hooks for every event that begins from now on.
    pub(crate) fn replace(&self, snapshot: Snapshot) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        f.debug_list().entries(snapshot.hooks.iter().map(|hook| &hook.descriptor().name)).finish()
    }
}

/// The hooks of a manager at one moment. An event runs with one snapshot from beginning to end.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) hooks: Arc<[Arc<dyn Hook>]>,
    /// The events that they subscribe to, each once.
    wanted: Vec<EventName>,
    pub(crate) entries: Arc<[Entry]>,
    pub(crate) problems: Arc<[Problem]>,
    pub(crate) trust_file: Option<TrustFile>,
    /// The rest of what the search found.
    pub(crate) found: Discovery,
}

impl Snapshot {
    pub(crate) fn new(
        hooks: Vec<Arc<dyn Hook>>,
        mut found: Discovery,
        trust_file: Option<TrustFile>,
    ) -> Self {
        let mut wanted: Vec<EventName> = hooks
            .iter()
            .flat_map(|hook| &hook.descriptor().subscriptions)
            .map(|subscription| subscription.event.clone())
            .collect();
        wanted.sort();
        wanted.dedup();
        let (entries, problems) = (take(&mut found.entries).into(), take(&mut found.problems).into());
        // Hooks that were replaced end with the last event that runs them.
        found.hooks.clear();
        Self { hooks: hooks.into(), wanted, entries, problems, trust_file, found }
    }

    /// Returns the part of a hook that its report does not have.
    pub(crate) fn recorded(&self, hook: &HookReport) -> RecordedHook<'_> {
        let is_it = |entry: &&Entry| {
            let runs = matches!(entry.status, EntryStatus::Active | EntryStatus::Untrusted);
            runs && entry.name == hook.name
                && entry.tier.as_str() == hook.tier
                && entry.trusted == hook.trusted
        };
        let Some(entry) = self.entries.iter().find(is_it) else { return RecordedHook::default() };
        RecordedHook {
            digest: entry.digest.as_ref(),
            settings: entry.found.is_in_file().then_some(&entry.found.settings),
            rights: entry.rights(),
        }
    }

    /// Returns the rules for text that its hooks give the model.
    pub(crate) fn text_rules(&self) -> TextRules {
        TextRules::new(!self.found.global.keeps_secrets)
    }
}
