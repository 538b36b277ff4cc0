//! How much a server may say: only while a call waits for it, and no more than the calls that wait may read.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many requests of a server are answered (with a refusal) for each call; more are not even refused, so that their
/// answers do not pile up where the server does not read them.
const REQUESTS: usize = 64;

/// What one server may still say.
pub(super) struct Meter {
    state: Mutex<State>,
    /// Whether any call waits.
    waited_for: watch::Sender<bool>,
    /// How much was said when it was too much.
    flooded: watch::Sender<Option<Flood>>,
}

#[derive(Default)]
struct State {
    calls: usize,
    limit: usize,
    said: usize,
    requests: usize,
}

/// More was said than could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flood {
    pub(super) limit: usize,
    pub(super) said: usize,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            waited_for: watch::Sender::new(false),
            flooded: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins that reads at most so many bytes. It ends when what this gives is dropped.
    pub(super) fn wait(&self, limit: usize) -> Waiting<'_> {
        let mut state = self.state();
        state.calls += 1;
        state.limit = state.limit.saturating_add(limit);
        state.requests = REQUESTS;
        self.waited_for.send_replace(true);
        Waiting(self)
    }

    /// Notes that the server said so many bytes. `false`: too many.
    pub(super) fn heard(&self, bytes: usize) -> bool {
        let mut state = self.state();
        // What comes just after the last call is no flood; whoever reads stops now.
        if state.calls == 0 {
            return true;
        }
        state.said = state.said.saturating_add(bytes);
        if state.said <= state.limit {
            return true;
        }
        self.exceeded(Flood { limit: state.limit, said: state.said });
        false
    }

    /// Notes that the server said too much; what is noted first stays.
    pub(super) fn exceeded(&self, flood: Flood) {
        self.flooded.send_if_modified(|known| known.is_none() && known.replace(flood).is_none());
    }

    /// Whether one more request of the server is answered.
    pub(super) fn answers(&self) -> bool {
        let mut state = self.state();
        let answers = state.requests > 0;
        state.requests = state.requests.saturating_sub(1);
        answers
    }

    pub(super) fn is_waited_for(&self) -> bool {
        *self.waited_for.borrow()
    }

    /// Waits until a call waits.
    pub(super) async fn waited_for(&self) {
        // It fails only without a sender, and this is the sender's own.
        let _ = self.waited_for.subscribe().wait_for(|waited_for| *waited_for).await;
    }

    /// Waits until too much was said.
    pub(super) async fn flooded(&self) -> Flood {
        let mut flooded = self.flooded.subscribe();
        let flood = flooded.wait_for(Option::is_some).await.ok().and_then(|flood| *flood);
        match flood {
            Some(flood) => flood,
            None => std::future::pending().await,
        }
    }

    /// What was too much, if it was.
    pub(super) fn flood(&self) -> Option<Flood> {
        *self.flooded.borrow()
    }
}

/// A call that waits for the server.
pub(super) struct Waiting<'a>(&'a Meter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.calls = state.calls.saturating_sub(1);
        if state.calls == 0 {
            *state = State::default();
            self.0.waited_for.send_replace(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_say_what_the_calls_that_wait_may_read() {
        let meter = Meter::new();
        assert!(!meter.is_waited_for());
        let one = meter.wait(10);
        let two = meter.wait(5);
        assert!(meter.heard(15) && meter.flood().is_none());
        drop(one);
        assert!(meter.is_waited_for());
        assert!(!meter.heard(1), "what was said counts as long as any call waits");
        assert_eq!(meter.flood(), Some(Flood { limit: 15, said: 16 }));
        drop(two);
        let _next = meter.wait(4);
        assert!(meter.heard(4));
    }

    #[test]
    fn only_so_many_requests_of_a_server_are_answered() {
        let meter = Meter::new();
        let _call = meter.wait(1);
        assert_eq!((0..1_000).filter(|_| meter.answers()).count(), REQUESTS);
    }
}
