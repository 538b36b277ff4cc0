//! The clock of a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that shows the time that was set, since 1970. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    /// Makes a clock that shows this time, in milliseconds since 1970.
    pub fn at(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    /// Sets the time, in milliseconds since 1970.
    pub fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }

    /// Returns the time since 1970.
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_the_time_that_was_set() {
        let clock = TestClock::at(1_000);
        let shown = clock.clone();
        assert_eq!(shown.time(), Duration::from_secs(1));
        clock.set(61_000);
        assert_eq!(shown.time(), Duration::from_secs(61));
    }
}
