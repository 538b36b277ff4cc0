//! Two calls that take turns without progress.

use crate::kept::{Kept, recent};

/// The prefix of keys of the store.
pub(crate) const KEY: &str = "turns";

/// The latest calls in conversations.
pub(crate) type Turns = Kept<Calls>;

/// The latest calls in a conversation.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Calls {
    last: Vec<Call>,
}

/// A call, its outcome, and its time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Call {
    /// The tool and its input.
    pub(crate) call: u64,
    /// The outcome.
    pub(crate) outcome: u64,
    /// The time.
    pub(crate) at: u64,
}

impl Call {
    fn is(&self, other: &Self) -> bool {
        (self.call, self.outcome) == (other.call, other.outcome)
    }
}

impl Turns {
    /// Notes a call. Only as many are kept as matter.
    pub(crate) fn called(&mut self, session: u64, conversation: u64, call: Call, turns: usize) {
        let last = &mut self.latest(session, conversation).last;
        last.push(call);
        let surplus = last.len().saturating_sub(turns * 2);
        last.drain(..surplus);
    }

    /// Returns the number of times that two calls have alternated up to now, each with the same outcome every
    /// time.
    pub(crate) fn rounds(&self, conversation: u64, now: u64, window: u64) -> usize {
        let calls = self.find(conversation).into_iter().flat_map(|known| &known.last);
        let latest: Vec<_> = calls.filter(|call| recent(call.at, now, window)).collect();
        let [.., a, b] = latest.as_slice() else { return 0 };
        if a.call == b.call {
            return 0;
        }
        let pattern = [b, a];
        let same =
            latest.iter().rev().zip(pattern.into_iter().cycle()).take_while(|(this, wanted)| this.is(wanted));
        same.count() / 2
    }

    /// Returns whether this call is one of the last two.
    pub(crate) fn goes_on(&self, conversation: u64, call: u64) -> bool {
        self.find(conversation)
            .is_some_and(|known| known.last.iter().rev().take(2).any(|last| last.call == call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::SUBJECTS;

    const WINDOW: u64 = 1000;

    #[test]
    fn two_calls_take_turns_where_both_stay_the_same() {
        // A letter is a call, and a capital one that gives back something else.
        for (calls, expected) in [
            ("", 0),
            ("a", 0),
            ("ab", 1),
            ("aba", 1),
            ("abab", 2),
            ("ababab", 3),
            ("xababab", 3),
            ("abababab", 3),
            ("ababaB", 1),
            ("abAbab", 1),
            ("ababac", 1),
            ("aaaaaa", 0),
            ("abcabc", 1),
            ("aabb", 0),
        ] {
            let mut turns = Turns::default();
            for (at, letter) in calls.bytes().enumerate() {
                let call = u64::from(letter.to_ascii_lowercase());
                turns.called(5, 1, Call { call, outcome: u64::from(letter), at: at as u64 }, 3);
            }
            let now = calls.len() as u64;
            assert_eq!(turns.rounds(1, now, WINDOW), expected, "{calls}");
            assert_eq!((turns.rounds(2, now, WINDOW), turns.rounds(1, now + WINDOW, WINDOW)), (0, 0));
            let known = |letter: char| turns.goes_on(1, letter as u64);
            assert_eq!(
                (known('a'), known('z')),
                (calls.get(calls.len().saturating_sub(2)..).unwrap().contains(['a', 'A']), false),
                "{calls}"
            );
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut turns = Turns::default();
        for conversation in 0..40 {
            for at in 0..100 {
                turns.called(conversation % 2, conversation, Call { call: at, outcome: 0, at }, 3);
            }
        }
        assert_eq!(turns.0.len(), SUBJECTS);
        assert!(turns.0.iter().all(|it| it.value.last.len() == 6 && it.subject >= 24));
        assert!(turns.forget(0) && !turns.forget(0));
        assert_eq!(turns.0.len(), SUBJECTS / 2);
    }
}
