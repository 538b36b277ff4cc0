//! Arguments with known names, which a shell completes.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use hookbox::EventName;
use hookbox_agents::Agent;
use hookbox_guards::{GUARDS, Guard, Preset, UnknownPreset};

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

/// Parses the name of a guard.
pub(crate) fn guard() -> Named<&'static Guard> {
    Named::new(a_guard, || GUARDS.iter().map(|guard| guard.name.to_owned()).collect())
}

/// Returns the guard of this name, or of this file.
fn a_guard(name: &str) -> Result<&'static Guard, String> {
    let names = || GUARDS.iter().map(|guard| guard.name).collect::<Vec<_>>().join(", ");
    let guard = Guard::named(name.strip_suffix(".wasm").unwrap_or(name));
    guard.ok_or_else(|| format!("expected the name of a guard: {}", names()))
}

/// The guards of `--guards`.
#[derive(Clone, Debug)]
pub(crate) struct Guards(pub(crate) Vec<&'static Guard>);

/// Parses `all`, `none`, or the names of guards with commas between them.
pub(crate) fn guards() -> Named<Guards> {
    Named::new(
        |text| match text {
            "all" => Ok(Guards(GUARDS.iter().collect())),
            "none" => Ok(Guards(Vec::new())),
            names => names.split(',').map(|name| a_guard(name.trim())).collect::<Result<_, _>>().map(Guards),
        },
        || ["all", "none"].into_iter().chain(GUARDS.iter().map(|it| it.name)).map(str::to_owned).collect(),
    )
}

/// Parses a preset of guards.
pub(crate) fn preset() -> Named<Preset> {
    Named::new(
        |text| text.parse().map_err(|unknown: UnknownPreset| unknown.to_string()),
        || Preset::ALL.iter().map(ToString::to_string).collect(),
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
        || hookbox::dialect::schema::ALL.iter().map(|it| it.name.to_owned()).collect(),
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
