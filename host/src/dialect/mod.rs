//! JSON in and out, one module per dialect. Nothing here does I/O.

pub mod borrowed;
pub mod exact;
pub mod fields;
pub mod hook_output;
pub mod reply;
mod wire;

pub mod base_coat;
pub mod claude;
pub mod kodelet;
pub mod schema;

use serde_json::{Map, Value};

pub use crate::dialect::claude::Condition;
pub(crate) use crate::dialect::fields::PayloadError;
pub use crate::dialect::wire::Wire;
use crate::event::{Context, Event, EventName};
use crate::outcome::Verdict;

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

#[cfg(test)]
mod tests;
