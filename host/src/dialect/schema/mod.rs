//! JSON Schemas (draft 2020-12) of what is on the wire: events and answers of each dialect, what the program prints, and
//! the files that declare hooks. Published in `docs/schema/`.
//!
//! The types here say what the hand-written readers take. They are used for nothing else; property tests see to it that
//! both say the same.

#![allow(dead_code, reason = "of these types only the schema is used")]

mod base_coat;
mod claude;
mod declared;
mod kodelet;
mod parts;
mod plugins;
mod program;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::event::EventName;

/// The version of the published schemas: a change that refuses what was valid before makes another one.
pub const VERSION: &str = "0.1";

/// Where the schemas are published; a schema's `$id` is this, the version, and its file name.
const BASE: &str = "https://hookbox.dev/schema";

/// A schema, and what it is of.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its name, such as `kodelet-answer`; the file is this with `.json`.
    pub name: &'static str,
    /// What it is of, in one line.
    pub about: &'static str,
    make: fn(&mut SchemaGenerator) -> Shape,
}

/// Every schema, by name.
pub const ALL: [Published; 12] = [
    Published {
        name: "base-coat-answer",
        about: "what a hook answers in the Base Coat hook specification (response envelope), by event",
        make: base_coat::answers,
    },
    Published {
        name: "base-coat-event",
        about: "an event as an envelope of the Base Coat hook specification",
        make: base_coat::events,
    },
    Published {
        name: "claude-answer",
        about: "what a command hook of Claude Code prints with exit code 0, by event",
        make: claude::answers,
    },
    Published {
        name: "claude-event",
        about: "an event as a command hook of Claude Code reads it",
        make: claude::events,
    },
    Published {
        name: "hooks",
        about: "a hooks.json: commands and components that are declared as hooks",
        make: declared::hooks,
    },
    Published {
        name: "kodelet-answer",
        about: "what a native hook prints for `run`, by event: kodelet's fields, or Base Coat's envelope",
        make: kodelet::answers,
    },
    Published {
        name: "kodelet-event",
        about: "an event as a native hook reads it on standard input",
        make: kodelet::events,
    },
    Published { name: "list", about: "what `hookbox list --json` prints", make: program::list },
    Published {
        name: "mcp",
        about: "an mcp.json: MCP servers, and the events that are sent to their tools",
        make: declared::mcp,
    },
    Published { name: "plugin-list", about: "what `hookbox plugin list --json` prints", make: plugins::list },
    Published { name: "report", about: "what `hookbox run --report` prints", make: program::report },
    Published { name: "verdict", about: "what `hookbox run` prints", make: program::verdict },
];

/// What a schema consists of beside its head.
enum Shape {
    /// One of these definitions.
    OneOf(Vec<Value>),
    /// Any of these definitions: which of them counts is not said in the data.
    AnyOf(Vec<Value>),
    /// This one.
    Whole(Value),
}

impl Published {
    /// The schema of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|schema| schema.name == name)
    }

    /// Its `$id`.
    pub fn id(&self) -> String {
        format!("{BASE}/{VERSION}/{}.json", self.name)
    }

    /// The schema as it is published.
    pub fn document(&self) -> Value {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let shape = (self.make)(&mut generator);
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
        put("$schema", json!("https://json-schema.org/draft/2020-12/schema"));
        put("$id", json!(self.id()));
        put("title", json!(format!("hookbox {VERSION}: {}", self.name)));
        put("description", json!(self.about));
        match shape {
            Shape::OneOf(all) => put("oneOf", Value::Array(all)),
            Shape::AnyOf(all) => put("anyOf", Value::Array(all)),
            Shape::Whole(whole) => {
                for (name, value) in whole.as_object().cloned().unwrap_or_default() {
                    if !matches!(name.as_str(), "$schema" | "title" | "description") {
                        out.insert(name, value);
                    }
                }
                None
            }
        };
        let definitions = generator.take_definitions(true);
        if !definitions.is_empty() {
            out.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let mut document = Value::Object(out);
        // Null counts as absent in answers only; in a list it says that there is none.
        let may_be_null =
            self.name.ends_with("-answer") || matches!(self.name, "list" | "plugin-list" | "report");
        parts::tidy(&mut document, !may_be_null);
        document
    }

    /// The schema of the data at one event: of an answer, which does not say its event, the definition for it. `None`
    /// where it has none.
    pub fn at(&self, event: &EventName) -> Option<Value> {
        let mut document = self.document();
        let object = document.as_object_mut()?;
        let names = [event.as_str(), event.base_coat().unwrap_or_default()];
        let definitions = object.get("$defs")?.as_object()?;
        let name = names.into_iter().find(|name| definitions.contains_key(*name))?;
        let reference = json!(format!("#/$defs/{name}"));
        object.shift_remove("oneOf");
        object.shift_remove("anyOf");
        object.insert("$ref".to_owned(), reference);
        Some(document)
    }
}

#[cfg(test)]
mod tests;
