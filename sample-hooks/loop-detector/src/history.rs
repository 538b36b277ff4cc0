//! The failures of commands: small values, however long the agent works.

/// The prefix of keys of the store.
pub(crate) const KEY: &str = "failures";

/// Keys of the store; few commands share one, so that calls at the same time seldom meet.
const KEYS: u64 = 64;

/// Commands of one key that are remembered; the one that failed longest ago is forgotten first.
const COMMANDS: usize = 16;

/// The commands of one key.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct History(Vec<Failing>);

/// A command, its last error, and the times of that error, in milliseconds since 1970.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Failing {
    #[serde(default)]
    session: u64,
    command: u64,
    error: u64,
    at: Vec<u64>,
}

/// The key of a command.
pub(crate) fn key(command: u64) -> String {
    format!("{KEY}/{}", command % KEYS)
}

/// Returns whether a failure counts. Clocks may go back.
pub(crate) fn recent(at: u64, now: u64, window: u64) -> bool {
    now.abs_diff(at) < window
}

impl History {
    /// Returns the number of failures of the command in the window that ends now.
    pub(crate) fn failures(&self, command: u64, now: u64, window: u64) -> usize {
        let at = self.0.iter().filter(|known| known.command == command).flat_map(|known| &known.at);
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
        self.0.retain(|known| known.command != command || known.error == error);
        if self.failures(command, now, window) >= times {
            return false;
        }
        for known in &mut self.0 {
            known.at.retain(|at| recent(*at, now, window));
        }
        let known = self.0.iter().position(|known| known.command == command);
        let mut this = match known {
            Some(place) => self.0.remove(place),
            None => Failing { session, command, error, at: Vec::new() },
        };
        this.at.push(now);
        self.0.retain(|known| !known.at.is_empty());
        // The latest is last.
        self.0.push(this);
        let surplus = self.0.len().saturating_sub(COMMANDS);
        self.0.drain(..surplus);
        true
    }

    /// Forgets the failures of a command. Whether anything changed.
    pub(crate) fn succeeded(&mut self, command: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|known| known.command != command);
        self.0.len() != before
    }

    /// Forgets the commands of a session. Returns true if anything changed.
    pub(crate) fn forget(&mut self, session: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|known| known.session != session);
        self.0.len() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(history.0.len(), COMMANDS);
        assert!(history.0.iter().all(|known| known.at.len() == 255));
        assert_eq!((history.failures(23, 0, u64::MAX), history.failures(24, 0, u64::MAX)), (0, 255));
        history.failed(5, 1, 7, 10_000_000, WINDOW, 3);
        assert_eq!(history.0, [Failing { session: 5, command: 1, error: 7, at: vec![10_000_000] }]);
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
