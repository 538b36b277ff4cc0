//! The values of the store: what is known about commands and conversations, however long the agent works.

use hookbox_sdk::state;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Keys of the store; few subjects share one, so that calls at the same time seldom meet.
const KEYS: u64 = 64;

/// Subjects of one key that are remembered; the one that was quiet longest is forgotten first.
pub(crate) const SUBJECTS: usize = 16;

/// The values of one key, each about a command or a conversation. The latest is last.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept<T>(pub(crate) Vec<About<T>>);

/// A value about a subject.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About<T> {
    session: u64,
    pub(crate) subject: u64,
    #[serde(flatten)]
    pub(crate) value: T,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Returns the key of a subject.
pub(crate) fn key(prefix: &str, subject: u64) -> String {
    format!("{prefix}/{}", subject % KEYS)
}

/// Returns whether a time is in the window that ends now. Clocks may go back.
pub(crate) fn recent(at: u64, now: u64, window: u64) -> bool {
    now.abs_diff(at) < window
}

impl<T: Default> Kept<T> {
    /// Returns the value about a subject.
    pub(crate) fn find(&self, subject: u64) -> Option<&T> {
        self.0.iter().find(|it| it.subject == subject).map(|it| &it.value)
    }

    /// Returns the value about a subject, as the latest.
    pub(crate) fn latest(&mut self, session: u64, subject: u64) -> &mut T {
        let known = self.0.iter().position(|it| it.subject == subject).map(|place| self.0.remove(place));
        let surplus = (self.0.len() + 1).saturating_sub(SUBJECTS);
        self.0.drain(..surplus);
        let new = || About { session, subject, value: T::default() };
        &mut self.0.push_mut(known.unwrap_or_else(new)).value
    }

    /// Forgets those that this does not keep. Returns true if anything changed.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&About<T>) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(keeps);
        self.0.len() != before
    }

    /// Forgets those of a session. Returns true if anything changed.
    pub(crate) fn forget(&mut self, session: u64) -> bool {
        self.retain(|it| it.session != session)
    }
}

impl<T: Default + Serialize + DeserializeOwned> Kept<T> {
    /// Forgets the values of a session that a key has, and removes the key if nothing is left.
    pub(crate) fn forget_in(key: &str, session: u64) -> Result<(), hookbox_sdk::Error> {
        let mut kept: Self = state::load(key, crate::VERSION)?;
        let changed = kept.forget(session);
        match kept.0.is_empty() {
            true => state::delete(key),
            false if changed => state::save(key, crate::VERSION, &kept),
            false => Ok(()),
        }
    }
}
