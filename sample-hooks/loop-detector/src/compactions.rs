//! Compactions that do not help.

use crate::kept::{Kept, recent};

/// The prefix of keys of the store.
pub(crate) const KEY: &str = "compactions";

/// The compactions of conversations.
pub(crate) type Compactions = Kept<Pressure>;

/// The compactions of a conversation.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pressure {
    /// Tokens before the compaction that is under way.
    before: Option<u64>,
    /// The times of compactions in a row that did not help, in milliseconds since 1970.
    useless: Vec<u64>,
}

impl Compactions {
    /// Returns the number of compactions in a row that have not helped, within the window that ends now.
    pub(crate) fn useless(&self, conversation: u64, now: u64, window: u64) -> usize {
        let useless = self.find(conversation).into_iter().flat_map(|known| &known.useless);
        useless.filter(|at| recent(**at, now, window)).count()
    }

    /// Notes the number of tokens before a compaction.
    pub(crate) fn begins(&mut self, session: u64, conversation: u64, tokens: u64) {
        self.latest(session, conversation).before = Some(tokens);
    }

    /// Notes the number of tokens after a compaction. It has helped if this share of them is gone. `None` if
    /// the number before is not known.
    pub(crate) fn ends(
        &mut self,
        session: u64,
        conversation: u64,
        tokens: u64,
        share: f64,
        now: u64,
        times: usize,
    ) -> Option<bool> {
        let this = self.latest(session, conversation);
        let before = this.before.take().filter(|before| *before > 0)?;
        #[allow(clippy::cast_precision_loss, reason = "windows are far smaller than 2^53 tokens")]
        let helped = tokens as f64 <= before as f64 * (1.0 - share);
        if helped {
            this.useless.clear();
        } else {
            this.useless.push(now);
            let surplus = this.useless.len().saturating_sub(times);
            this.useless.drain(..surplus);
        }
        Some(helped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::SUBJECTS;

    #[test]
    fn a_compaction_helps_where_enough_is_gone() {
        let mut compactions = Compactions::default();
        for (at, (before, after, helped, useless)) in [
            (Some(100), 95, Some(false), 1),
            (None, 95, None, 1),
            (Some(0), 95, None, 1),
            (Some(95), 120, Some(false), 2),
            (Some(100), 91, Some(false), 3),
            (Some(100), 91, Some(false), 3),
            (Some(100), 90, Some(true), 0),
            (Some(100), 100, Some(false), 1),
        ]
        .into_iter()
        .enumerate()
        {
            if let Some(before) = before {
                compactions.begins(5, 1, before);
            }
            assert_eq!(compactions.ends(5, 1, after, 0.1, at as u64, 3), helped, "{at}");
            assert_eq!(compactions.useless(1, at as u64, 1000), useless, "{at}");
            assert_eq!((compactions.useless(2, 0, 1000), compactions.useless(1, 5000, 1000)), (0, 0));
        }
        (0..100).for_each(|conversation| compactions.begins(conversation % 2, conversation, 1));
        assert_eq!(compactions.0.len(), SUBJECTS);
        assert!(compactions.forget(0) && !compactions.forget(0));
        assert_eq!(compactions.0.len(), SUBJECTS / 2);
    }
}
