//! The limit of bytes that are read from a server: only while calls wait, and no more than they may read
//! together.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

/// The number of a server's own requests that are refused during a call. Further ones are ignored, so that
/// refusals do not pile up in front of a server that does not read.
const MAX_REFUSALS: usize = 64;

/// Counts the bytes from one server.
pub(super) struct ByteLimit {
    state: Mutex<State>,
    /// True while a call waits.
    has_calls: watch::Sender<bool>,
    /// Set once, when the limit is exceeded.
    exceeded: watch::Sender<Option<Exceeded>>,
}

#[derive(Default)]
struct State {
    calls: usize,
    limit: usize,
    read: usize,
    refusals: usize,
}

/// The limit, and the number of bytes that exceeded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) limit: usize,
    pub(super) read: usize,
}

impl ByteLimit {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            has_calls: watch::Sender::new(false),
            exceeded: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        hookbox_system::mutex::lock(&self.state)
    }

    /// Begins a call that may read `limit` bytes. It ends when the result is dropped.
    pub(super) fn begin_call(&self, limit: usize) -> Call<'_> {
        let mut state = self.state();
        state.calls += 1;
        state.limit = state.limit.saturating_add(limit);
        state.refusals = MAX_REFUSALS;
        self.has_calls.send_replace(true);
        Call(self)
    }

    /// Counts bytes of the server. `false` if they exceed the limit.
    pub(super) fn count(&self, bytes: usize) -> bool {
        let mut state = self.state();
        // Bytes that arrive just after the last call are harmless: the reader stops now.
        if state.calls == 0 {
            return true;
        }
        state.read = state.read.saturating_add(bytes);
        if state.read <= state.limit {
            return true;
        }
        self.exceed(Exceeded { limit: state.limit, read: state.read });
        false
    }

    /// Notes that the limit is exceeded; the first note stays.
    pub(super) fn exceed(&self, by: Exceeded) {
        self.exceeded.send_if_modified(|known| known.is_none() && known.replace(by).is_none());
    }

    /// Counts a request of the server, and returns whether it is refused or ignored.
    pub(super) fn may_refuse(&self) -> bool {
        let mut state = self.state();
        let may_refuse = state.refusals > 0;
        state.refusals = state.refusals.saturating_sub(1);
        may_refuse
    }

    pub(super) fn has_calls(&self) -> bool {
        *self.has_calls.borrow()
    }

    /// Waits for the beginning of a call.
    pub(super) async fn until_call(&self) {
        // It fails only without a sender, and this is the sender's own.
        let _ = self.has_calls.subscribe().wait_for(|has_calls| *has_calls).await;
    }

    /// Waits until the limit is exceeded.
    pub(super) async fn until_exceeded(&self) -> Exceeded {
        let mut receiver = self.exceeded.subscribe();
        let exceeded = receiver.wait_for(Option::is_some).await.ok().and_then(|exceeded| *exceeded);
        match exceeded {
            Some(exceeded) => exceeded,
            None => std::future::pending().await,
        }
    }

    /// Returns the limit and the number of bytes, if the limit is exceeded.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        *self.exceeded.borrow()
    }
}

/// A call that waits for the server.
pub(super) struct Call<'a>(&'a ByteLimit);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.calls = state.calls.saturating_sub(1);
        if state.calls == 0 {
            *state = State::default();
            self.0.has_calls.send_replace(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_that_wait_share_one_limit() {
        let bytes = ByteLimit::new();
        assert!(!bytes.has_calls());
        let one = bytes.begin_call(10);
        let two = bytes.begin_call(5);
        assert!(bytes.count(15) && bytes.exceeded().is_none());
        drop(one);
        assert!(bytes.has_calls());
        assert!(!bytes.count(1), "bytes count as long as any call waits");
        assert_eq!(bytes.exceeded(), Some(Exceeded { limit: 15, read: 16 }));
        drop(two);
        let _next = bytes.begin_call(4);
        assert!(bytes.count(4));
    }

    #[test]
    fn only_so_many_requests_of_a_server_are_refused() {
        let bytes = ByteLimit::new();
        let _call = bytes.begin_call(1);
        assert_eq!((0..1_000).filter(|_| bytes.may_refuse()).count(), MAX_REFUSALS);
    }
}
