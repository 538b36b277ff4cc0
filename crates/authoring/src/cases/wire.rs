//! The way of an event through the wire of an agent, and of the verdict back.

use hookbox::outcome::Verdict;
use hookbox::{Event, Outcome};

/// The wire of an agent.
pub trait Wire {
    /// Sends an event: writes it as the agent does, and reads that as hookbox does. `None` if the agent does not send
    /// such an event.
    ///
    /// # Errors
    ///
    /// The reason why hookbox cannot read what the agent writes.
    fn send(&self, event: &Event) -> Result<Option<Box<dyn Sent>>, String>;
}

/// An event that came over the wire of an agent.
pub trait Sent {
    /// Returns the event as it came.
    fn event(&self) -> &Event;

    /// Returns the verdict as the agent understands it. `event` is the event as the hooks left it.
    ///
    /// # Errors
    ///
    /// The reason why the agent cannot read the answer.
    fn outcome(&self, verdict: &Verdict, event: &Event) -> Result<Outcome, String>;
}
