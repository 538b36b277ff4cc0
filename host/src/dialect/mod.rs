//! JSON in and out, one module per dialect. Nothing here does I/O.

pub mod borrowed;
pub mod exact;
pub mod fields;
pub mod hook_output;
pub mod reply;

pub mod agent_hooks;
pub mod base_coat;
pub mod claude;
pub mod kodelet;
pub mod schema;

use std::fmt;

use serde_json::{Map, Value};

pub use crate::dialect::claude::Condition;
use crate::dialect::claude::Split;
pub(crate) use crate::dialect::fields::PayloadError;
use crate::event::{Context, Event, EventName};
use crate::hook::HookError;
use crate::outcome::{Outcome, Verdict};

/// A dialect in which an agent gives events and takes verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// kodelet's fields, and the further fields of hookbox.
    #[default]
    Kodelet,
    /// The envelopes of the Base Coat hook specification.
    BaseCoat,
}

/// An event that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The event. The facts of a tool call are not worked out yet.
    pub event: Event,
    /// The names of the fields that mean nothing, in the order they were given.
    pub unknown: Vec<String>,
}

impl Dialect {
    /// Returns the dialect of the data of the event `name`: an object with a `hook` is Base Coat's envelope,
    /// any other one has kodelet's fields. At on_error, where kodelet's data may name a hook that failed,
    /// `hook` must be the event.
    pub fn of(name: &EventName, payload: &Map<String, Value>) -> Self {
        let Some(hook) = payload.get("hook").filter(|hook| !hook.is_null()) else { return Self::Kodelet };
        let says_event = hook.as_str().is_some_and(|hook| hook.parse().as_ref() == Ok(name));
        let is_kodelets = payload.contains_key("event") || payload.contains_key("conv_id");
        if *name == EventName::OnError && (!says_event || is_kodelets) {
            Self::Kodelet
        } else {
            Self::BaseCoat
        }
    }

    /// Reads the data of the event `name`; absent context comes from `defaults`.
    ///
    /// # Errors
    ///
    /// A [`PayloadError`] for the first field with a wrong type, or if the data names another event.
    pub fn decode(
        self,
        name: &EventName,
        payload: Map<String, Value>,
        defaults: &Context,
    ) -> Result<Decoded, PayloadError> {
        match self {
            Self::Kodelet => kodelet::decode(name, payload, defaults),
            Self::BaseCoat => base_coat::decode(name, payload, defaults),
        }
    }

    /// The verdict of a chain; `event` is the event as the chain left it.
    pub fn verdict(self, verdict: &Verdict, event: &Event) -> Value {
        match self {
            Self::Kodelet => kodelet::verdict(verdict, event),
            Self::BaseCoat => base_coat::verdict(verdict, event),
        }
    }
}

/// The wire of a command hook: which events it is for, the payload that it reads, and the answer that it prints.
///
/// A wire does no I/O. The host starts the command once for each event of [`Wire::split`], writes [`Wire::encode`] to
/// its standard input, and gives its exit code and output to [`Wire::outcome`].
pub trait Wire: fmt::Debug + Send + Sync {
    /// Returns true if the hook is for this event. For any other event the command is not started, and the hook passes.
    fn is_for(&self, event: &Event) -> bool;

    /// Returns the events that replace this one: a call of several files may be shown as several calls of one file.
    fn split(&self, event: &Event) -> Split;

    /// Returns the JSON for standard input; `None` for an event that the wire does not have.
    fn encode(&self, event: &Event) -> Option<Value>;

    /// Returns the variables of the environment that differ from event to event (default: none).
    fn variables(&self, _event: &Event) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Reads the exit code and the output.
    ///
    /// # Errors
    ///
    /// `exit` for an exit code that decides nothing, `malformed_output` for an answer that cannot be read and does not
    /// block.
    fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError>;
}

#[cfg(test)]
mod tests;
