//! The progress of a search, for another task to show.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The progress of a search for hooks: most of its time passes with new components, which are compiled. Clones share
/// the counts.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    found: AtomicUsize,
    examined: AtomicUsize,
}

impl Progress {
    /// Returns the number of hooks that are to be examined, as far as they are known.
    pub fn found(&self) -> usize {
        self.0.found.load(Ordering::Relaxed)
    }

    /// Returns the number of hooks that were examined.
    pub fn examined(&self) -> usize {
        self.0.examined.load(Ordering::Relaxed)
    }

    pub(super) fn find(&self, hooks: usize) {
        self.0.found.fetch_add(hooks, Ordering::Relaxed);
    }

    pub(super) fn examine(&self) {
        self.0.examined.fetch_add(1, Ordering::Relaxed);
    }
}
