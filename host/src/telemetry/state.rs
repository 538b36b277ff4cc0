//! The state that recording and sending share.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of spans that wait for the collector at most; an event that does not fit is dropped.
pub(super) const MAX_WAITING: usize = 2_048;

#[derive(Debug, Default)]
pub(super) struct State {
    waiting: AtomicUsize,
    dropped: AtomicU64,
    /// The last failure of each signal; a success removes it.
    problems: Mutex<BTreeMap<&'static str, String>>,
}

impl State {
    /// Reserves room for the spans of one event in the queue. Counts the event as dropped if there is none.
    pub(super) fn reserve(&self, spans: usize) -> bool {
        let reserve = |waiting: usize| waiting.checked_add(spans).filter(|sum| *sum <= MAX_WAITING);
        let reserved = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok();
        if !reserved {
            self.drop_items(1);
        }
        reserved
    }

    /// Frees the room of spans that left the queue.
    pub(super) fn release(&self, spans: usize) {
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
    }

    pub(super) fn drop_items(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn problem(&self) -> Option<String> {
        let problems = hookbox_system::mutex::lock(&self.problems);
        problems.values().next().cloned()
    }

    /// Notes the result of sending a signal. Logs the first failure, and the end of all failures.
    pub(super) fn note(&self, signal: &'static str, result: Result<(), String>) {
        let mut problems = hookbox_system::mutex::lock(&self.problems);
        let was_well = problems.is_empty();
        match result {
            Ok(()) => {
                problems.remove(signal);
                if !was_well && problems.is_empty() {
                    tracing::info!("telemetry: the collector takes it again");
                }
            }
            Err(problem) => {
                if was_well {
                    tracing::warn!("telemetry: {problem}");
                }
                problems.insert(signal, problem);
            }
        }
    }
}
