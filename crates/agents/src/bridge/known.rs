//! The facts about one event, and its clock.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::agent::{Agent, AgentEvent, EventKind, Reply};
use crate::hook::OnFailure;

/// The facts about an event so far, to answer it if [`Bridge::answer`](super::Bridge::answer) does not, and the one clock of
/// the event: whoever waits for a part of its time asks here.
#[derive(Clone, Debug)]
pub struct Known {
    agent: Agent,
    began: Instant,
    pub(super) deadline: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) event: Option<&'static AgentEvent>,
    /// The failure policy of the hooks. Until they are found, there may be a guard among them.
    pub(super) policy: OnFailure,
    /// True if outputs of failed calls wait for the hooks.
    pub(super) withholds: bool,
    /// The decision of the hooks.
    ruling: Option<Reply>,
}

impl Known {
    /// Starts the clock of an event of an agent.
    pub(super) fn new(agent: Agent, event: Option<&str>, deadline: Duration) -> Self {
        let event = event.and_then(|name| agent.event(name));
        let state = State { event, policy: OnFailure::Block, withholds: false, ruling: None };
        Self { agent, began: Instant::now(), deadline, state: Arc::new(Mutex::new(state)) }
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut hookbox_system::mutex::lock(&self.state));
    }

    fn get(&self) -> State {
        hookbox_system::mutex::lock(&self.state).clone()
    }

    /// Returns the agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Returns the agent's event, as far as it was read.
    pub(super) fn event(&self) -> Option<&'static AgentEvent> {
        self.get().event
    }

    /// Returns true if the event is the start of a session, as far as it was read.
    pub fn begins_session(&self) -> bool {
        self.event().is_some_and(|event| event.event == EventKind::SessionStart)
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.whole().saturating_sub(self.began.elapsed())
    }

    /// Returns the time for hooks and for a question. A tenth of what is left is for what comes before and after them.
    pub(super) fn left_for_hooks(&self) -> Duration {
        self.left() * 9 / 10
    }

    /// Returns the time for this event.
    pub(super) fn whole(&self) -> Duration {
        let brief = self.event().and_then(|event| self.agent.spec().brief_wait(event.name));
        // A fifth is for the start of the process.
        brief.map_or(self.deadline, |brief| self.deadline.min(brief * 4 / 5))
    }

    /// Sets the reply that holds unless another one follows.
    pub(super) fn rule(&self, reply: Reply) {
        self.set(|state| state.ruling = Some(reply));
    }

    /// Returns the reply if [`Bridge::answer`](super::Bridge::answer) gave none, for this reason: the decision of the hooks, if
    /// there is one; otherwise the failure policy of the event's hooks, and a block before they are found.
    pub fn failed(&self, what: &str) -> Reply {
        let State { event, policy, withholds, ruling } = self.get();
        ruling.unwrap_or_else(|| match event.filter(|_| withholds) {
            Some(event) => self.agent.failed_batch(event, policy, what),
            None => self.agent.failed(event.map(|event| event.name), policy, what),
        })
    }
}
