//! Reads the answer of a hook: wrong types are failures, unknown keys are warnings.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::dialect::fields::{Fields, PayloadError};
use crate::event::EventName;
use crate::hook::{Cause, HookError};
use crate::outcome::Outcome;
use hookbox_shell::is_in;
use hookbox_system::{limits, text};

/// The failure of an answer that cannot be read.
pub fn malformed(what: impl Display) -> HookError {
    HookError::new(Cause::MalformedOutput, what.to_string())
}

/// Returns whether an unread key is harmless: `null`, or `"blocked": false`, which scripts for several events
/// print at each of them.
fn says_nothing(key: &str, value: &Value) -> bool {
    value.is_null() || (key == "blocked" && value == &Value::Bool(false))
}

/// An answer that is being read.
pub struct Reply {
    /// The event that is answered.
    pub event: EventName,
    fields: Fields,
    /// The answer blocks, so that a wrong type elsewhere is only a warning: a guard's block must not be lost.
    blocks: bool,
    noticed: Vec<String>,
}

impl Reply {
    /// Creates the answer of an object. `blocks` is true if the answer blocks, whatever its other fields are.
    pub fn new(event: &EventName, object: Map<String, Value>, blocks: bool) -> Self {
        Self { event: event.clone(), fields: Fields::new(object), blocks, noticed: Vec::new() }
    }

    /// A value of any type.
    pub fn any(&mut self, name: &str) -> Option<Value> {
        self.fields.any(name)
    }

    /// A value that is read this way; `None` when it is absent, or wrong beside a block.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Fields) -> Result<Option<T>, PayloadError>,
    ) -> Result<Option<T>, HookError> {
        match read(&mut self.fields) {
            Ok(value) => Ok(value),
            Err(error) if self.blocks => {
                self.noticed.push(format!("{error}: not used"));
                Ok(None)
            }
            Err(error) => Err(malformed(format!("answered wrongly: {error}"))),
        }
    }

    /// A string.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, HookError> {
        self.read(|fields| fields.text(name))
    }

    /// An object in it, to be read in the same way; `None` when it is absent, or no object beside a block.
    pub fn nested(&mut self, name: &str) -> Result<Option<Self>, HookError> {
        let fields = self.read(|fields| fields.nested(name))?;
        Ok(fields.map(|fields| Self {
            event: self.event.clone(),
            fields,
            blocks: self.blocks,
            noticed: Vec::new(),
        }))
    }

    /// Adds a note about the answer.
    pub fn warn(&mut self, note: impl Into<String>) {
        self.noticed.push(note.into());
    }

    /// Returns the outcome with the notes of reading it, and one for each unread field. `elsewhere` are keys
    /// that have an effect at other events.
    pub fn finish(self, mut outcome: Outcome, elsewhere: &str) -> Outcome {
        self.finish_into(&mut outcome, elsewhere);
        outcome
    }

    /// Adds the notes to an outcome that is still being made.
    pub fn finish_into(mut self, outcome: &mut Outcome, elsewhere: &str) {
        let prefix = self.fields.prefix().to_owned();
        let left: Vec<_> =
            self.fields.rest().into_iter().filter(|(key, value)| !says_nothing(key, value)).collect();
        for (key, value) in left.iter().take(limits::NAMED) {
            let shown = format!("{prefix}{}", text::escape(key, limits::WORD));
            self.noticed.push(if !is_in(elsewhere, key) {
                format!("unknown key \"{shown}\"")
            } else if key == "blocked" && value == &Value::Bool(true) {
                format!("\"blocked\": true has no effect at {}: not applied", self.event)
            } else {
                format!("\"{shown}\" has no effect at {}", self.event)
            });
        }
        if left.len() > limits::NAMED {
            self.noticed.push(format!("{} more unknown keys", left.len() - limits::NAMED));
        }
        outcome.noticed.append(&mut self.noticed);
    }
}
