//! The failures of commands: small values, however long the agent works.

use crate::kept::{Kept, recent};

/// The prefix of keys of the store.
pub(crate) const KEY: &str = "failures";

/// The failures of commands.
pub(crate) type History = Kept<Failures>;

/// The last error of a command, and the times of that error, in milliseconds since 1970.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Failures {
    error: u64,
    at: Vec<u64>,
}

impl History {
    /// Returns the number of failures of the command in the window that ends now.
    pub(crate) fn failures(&self, command: u64, now: u64, window: u64) -> usize {
        let at = self.find(command).into_iter().flat_map(|known| &known.at);
        at.filter(|at| recent(**at, now, window)).count()
    }

    /// Notes a failure; returns whether anything changed. A different error than before starts again at one:
    /// something has changed. If `times` failures are known, nothing is noted: a blocked call comes here as
    /// well, and must not make the block longer.
    pub(crate) fn failed(
        &mut self,
        session: u64,
        command: u64,
        error: u64,
        now: u64,
        window: u64,
        times: usize,
    ) -> bool {
        self.retain(|known| known.subject != command || known.value.error == error);
        if self.failures(command, now, window) >= times {
            return false;
        }
        for known in &mut self.0 {
            known.value.at.retain(|at| recent(*at, now, window));
        }
        self.retain(|known| !known.value.at.is_empty());
        let this = self.latest(session, command);
        this.error = error;
        this.at.push(now);
        true
    }

    /// Forgets the failures of a command. Whether anything changed.
    pub(crate) fn succeeded(&mut self, command: u64) -> bool {
        self.retain(|known| known.subject != command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::SUBJECTS;

    const WINDOW: u64 = 360_000;

    #[test]
    fn failures_count_within_the_window_and_a_success_clears_them() {
        let mut history = History::default();
        for at in [0, 100_000, 200_000] {
            assert!(history.failed(5, 1, 7, at, WINDOW, 3));
        }
        assert!(history.failed(6, 2, 7, 200_000, WINDOW, 3));
        for (now, expected) in [(200_000, 3), (359_999, 3), (360_000, 2), (460_000, 1), (560_000, 0)] {
            assert_eq!(history.failures(1, now, WINDOW), expected, "{now}");
        }
        assert!(history.succeeded(1));
        assert!(!history.succeeded(1));
        assert_eq!((history.failures(1, 200_000, WINDOW), history.failures(2, 200_000, WINDOW)), (0, 1));
        assert!(!history.forget(5) && history.forget(6));
        assert_eq!(history, History::default());
    }

    #[test]
    fn a_blocked_call_does_not_make_the_block_longer() {
        let mut history = History::default();
        assert!((0..3).all(|at| history.failed(5, 1, 7, at, WINDOW, 3)));
        assert!(!history.failed(5, 1, 7, 300_000, WINDOW, 3));
        assert_eq!(history.failures(1, WINDOW, WINDOW), 2);
        assert!(history.failed(5, 1, 7, WINDOW, WINDOW, 3));
        assert_eq!(history.failures(1, WINDOW, WINDOW), 3);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut history = History::default();
        for command in 0..40 {
            for at in 0..300 {
                history.failed(5, command, 7, command + at, u64::MAX, 255);
            }
        }
        assert_eq!(history.0.len(), SUBJECTS);
        assert!(history.0.iter().all(|known| known.value.at.len() == 255));
        assert_eq!((history.failures(23, 0, u64::MAX), history.failures(24, 0, u64::MAX)), (0, 255));
        history.failed(5, 1, 7, 10_000_000, WINDOW, 3);
        assert_eq!(history.0.len(), 1);
        assert_eq!(history.find(1), Some(&Failures { error: 7, at: vec![10_000_000] }));
    }

    #[test]
    fn a_failure_that_says_something_else_begins_anew() {
        let mut history = History::default();
        for (error, at, expected) in
            [(7, 0, 1), (7, 1, 2), (8, 2, 1), (8, 3, 2), (7, 4, 1), (7, 5, 2), (7, 6, 3), (7, 7, 3)]
        {
            history.failed(5, 1, error, at, WINDOW, 3);
            assert_eq!(history.failures(1, at, WINDOW), expected, "{at}");
        }
    }
}
