//! The history of a command: its failures, the fixes, the number of successes.

use hookbox_sdk::text::hash;

use crate::signature::TEXT;

/// Keys of the store; few commands share one, so that calls at the same time seldom meet.
pub(crate) const KEYS: u64 = 64;

/// Failures of one command that are remembered; the one that was seen longest ago is forgotten first.
const FAILURES: usize = 4;

/// The longest command that is remembered as a fix, in bytes.
pub(crate) const FIX: usize = 200;

/// The commands of one key.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Shelf(Vec<Known>);

/// A command of a repository.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Known {
    /// The repository, as a hash, and the head, such as `shell cargo test`.
    id: String,
    /// The time of the last call, in milliseconds since 1970.
    at: u64,
    /// True if the last call failed.
    pub(crate) failing: bool,
    /// The failures, the latest last.
    pub(crate) failures: Vec<Failure>,
}

/// A way in which a command fails.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Failure {
    /// The text, normalised.
    pub(crate) text: String,
    /// The number of times that it was seen.
    pub(crate) count: u64,
    /// The time when it was last seen, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The time of the last alert; 0: never.
    pub(crate) told: u64,
    /// The number of times that the same command was tried again at once, and succeeded or not.
    pub(crate) retries: u64,
    /// The number of times that it helped.
    pub(crate) helped: u64,
    /// The command that worked after it.
    pub(crate) fix: Option<String>,
}

/// The key of a command.
pub(crate) fn key(id: &str) -> String {
    format!("commands/{}", hash([id]) % KEYS)
}

/// Returns the keys of a command's counters: successes and failures.
pub(crate) fn counters(id: &str) -> [String; 2] {
    let hash = hash([id]);
    [format!("worked/{hash:016x}"), format!("failed/{hash:016x}")]
}

impl Shelf {
    /// Returns the command, if it is known.
    pub(crate) fn find(&mut self, id: &str) -> Option<&mut Known> {
        self.0.iter_mut().find(|known| known.id == id)
    }

    /// Makes the command the latest. Returns it, and the commands that were forgotten for it: the least recently
    /// used, if there are more than `max`.
    pub(crate) fn called(&mut self, id: &str, now: u64, max: usize) -> (&mut Known, Vec<String>) {
        let place = self.0.iter().position(|known| known.id == id);
        let mut this = match place {
            Some(place) => self.0.remove(place),
            None => Known { id: id.to_owned(), ..Known::default() },
        };
        this.at = now;
        let surplus = (self.0.len() + 1).saturating_sub(max.max(1));
        let forgotten = self.0.drain(..surplus).map(|known| known.id).collect();
        (self.0.push_mut(this), forgotten)
    }
}

impl Known {
    /// Notes a failure; returns the number of times that it has been seen.
    pub(crate) fn failed(&mut self, text: &str, now: u64) -> u64 {
        self.failing = true;
        let place = self.failures.iter().position(|failure| failure.text == text);
        let mut this = match place {
            Some(place) => self.failures.remove(place),
            None => Failure { text: text.chars().take(TEXT).collect(), ..Failure::default() },
        };
        this.count = this.count.saturating_add(1);
        this.at = now;
        let count = this.count;
        self.failures.push(this);
        let surplus = self.failures.len().saturating_sub(FAILURES);
        self.failures.drain(..surplus);
        count
    }

    /// The failure that was seen last.
    pub(crate) fn last(&mut self) -> Option<&mut Failure> {
        self.failures.last_mut()
    }
}

impl Failure {
    /// Returns whether another alert is due, and notes it. Clocks may go back.
    pub(crate) fn tell(&mut self, now: u64, quiet_ms: u64) -> bool {
        let again = self.told == 0 || now.abs_diff(self.told) >= quiet_ms;
        if again {
            self.told = now.max(1);
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_its_text_and_the_latest_stands_last() {
        let mut known = Known::default();
        for (text, count) in [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("d", 1), ("e", 1), ("b", 1), ("b", 2)]
        {
            assert_eq!(known.failed(text, 5), count, "{text}");
            assert!(known.last().unwrap().text == text && known.failures.len() <= FAILURES);
        }
    }

    #[test]
    fn nobody_is_told_twice_within_the_window() {
        let mut failure = Failure::default();
        for (now, told) in
            [(1000, true), (1001, false), (1999, false), (2000, true), (2500, false), (500, true)]
        {
            assert_eq!(failure.tell(now, 1000), told, "{now}");
        }
    }

    #[test]
    fn the_command_that_was_used_longest_ago_is_forgotten() {
        let mut shelf = Shelf::default();
        for id in ["a", "b", "c", "a"] {
            assert!(shelf.called(id, 1, 3).1.is_empty());
        }
        assert_eq!(shelf.called("d", 2, 3).1, ["b"]);
        assert!(shelf.find("a").is_some() && shelf.find("b").is_none());
        assert_eq!(shelf.called("e", 2, 1).1.len(), 3);
    }
}
