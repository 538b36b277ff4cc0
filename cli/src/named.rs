//! Arguments with known names, which a shell completes.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use hookbox::EventName;
use hookbox_agents::Agent;

/// A parser of an argument, and the names that a shell completes for it. It may accept more than these.
#[derive(Clone)]
pub(crate) struct Named<T> {
    read: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<String>,
}

impl<T> Named<T> {
    pub(crate) fn new(read: fn(&str) -> Result<T, String>, names: fn() -> Vec<String>) -> Self {
        Self { read, names }
    }
}

/// Parses the name of an agent.
pub(crate) fn agent() -> Named<Agent> {
    Named::new(
        |text| text.parse().map_err(|unknown: hookbox_agents::agent::UnknownAgent| unknown.to_string()),
        || Agent::ALL.into_iter().map(|it| it.as_str().to_owned()).collect(),
    )
}

/// Parses any text, and completes the names of events.
pub(crate) fn event() -> Named<String> {
    Named::new(|text| Ok(text.to_owned()), || EventName::ALL.iter().map(ToString::to_string).collect())
}

/// The placeholder for the names of hooks, which are known only when a word is completed.
pub(crate) const HOOKS: &str = "__HOOKS__";

/// Parses any text, and completes the names of the hooks that are found.
pub(crate) fn hook() -> Named<String> {
    Named::new(|text| Ok(text.to_owned()), || vec![HOOKS.to_owned()])
}

/// Parses any text, and completes the names of JSON Schemas.
pub(crate) fn schema() -> Named<String> {
    Named::new(
        |text| Ok(text.to_owned()),
        || hookbox::internal::dialect::schema::ALL.iter().map(|it| it.name.to_owned()).collect(),
    )
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}
