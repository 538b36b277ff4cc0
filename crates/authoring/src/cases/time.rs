//! The time in a case.

use std::sync::atomic::{AtomicU32, Ordering};

use hookbox::Context;
use hookbox::internal::clock::TestClock;

use super::case::Case;

/// The times of the events of a case.
#[derive(Debug)]
pub(super) struct Time {
    /// The clock of components; the system's if the case says nothing about time.
    pub(super) clock: Option<TestClock>,
    start: u64,
    every: u64,
    events: AtomicU32,
}

impl Time {
    /// Starts the time of a case. One with `every` and without `clock` starts now.
    pub(super) fn of(case: &Case) -> Self {
        let is_set = case.clock.is_some() || case.every.is_some();
        let start = case.clock.unwrap_or_else(|| Context::new("case", "/").timestamp_ms);
        let every = case.every.map_or(0, |every| u64::try_from(every.as_millis()).unwrap_or(u64::MAX));
        Self { clock: is_set.then(|| TestClock::at(start)), start, every, events: AtomicU32::new(0) }
    }

    /// Sets the clock to the time of the next event, and returns it; `None` if it is the system's.
    pub(super) fn next(&self) -> Option<u64> {
        let clock = self.clock.as_ref()?;
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let now = self.start.saturating_add(self.every.saturating_mul(number.into()));
        clock.set(now);
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::*;

    fn time(keys: &str) -> Time {
        let text = format!("[[case]]\nname = 'x'\ncommand = 'ls'\ntimes = 3\n{keys}");
        let (_, cases) = parse(&text).unwrap();
        Time::of(&cases[0])
    }

    #[test]
    fn the_clock_moves_between_events() {
        let time = time("clock = 1970-01-01T00:00:01Z\nevery = '10s'");
        let clock = time.clock.clone().unwrap();
        for want in [1_000, 11_000, 21_000] {
            assert_eq!(time.next(), Some(want));
            assert_eq!(clock.time().as_millis(), u128::from(want));
        }
    }

    #[test]
    fn the_clock_stands_still_without_every_and_is_the_systems_without_both() {
        let still = time("clock = 1970-01-01T00:00:01Z");
        assert_eq!((still.next(), still.next()), (Some(1_000), Some(1_000)));
        assert_eq!(time("").next(), None);
        let moved = time("every = '1m'");
        let first = moved.next().unwrap();
        assert_eq!(moved.next(), Some(first + 60_000));
    }
}
