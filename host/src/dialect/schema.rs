//! The JSON Schemas (draft 2020-12) of events and answers in each dialect, of the program's output, of settings, and of
//! the files that declare hooks or are rules.
//!
//! They are in `host/schema/`, written by hand except that of settings. Tests make up answers, and fail if a schema and a reader
//! disagree.

use serde_json::{Value, json};

use crate::event::EventName;

/// The version of the schemas, and their directory. A change that refuses what was valid before needs a new
/// version.
pub const VERSION: &str = "0.1";

/// A JSON Schema.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The name, such as `kodelet-answer`. The file is `NAME.json`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        [$(Schema { name: $name, text: include_str!(concat!("../../schema/0.1/", $name, ".json")) }),*]
    };
}

/// Every schema, sorted by name.
pub const ALL: [Schema; 16] = schemas![
    "base-coat-answer",
    "base-coat-event",
    "claude-answer",
    "claude-event",
    "hooks",
    "kodelet-answer",
    "kodelet-event",
    "list",
    "mcp",
    "plugin-list",
    "record",
    "report",
    "rules",
    "settings",
    "test",
    "verdict",
];

impl Schema {
    /// Finds a schema by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|schema| schema.name == name)
    }

    /// Parses the schema.
    pub fn document(&self) -> Value {
        // A test parses each of them.
        serde_json::from_str(self.text).unwrap_or_default()
    }

    /// Returns the schema for one event. An answer does not name its event, so that the schema of an answer
    /// has a definition for each. `None` if there is none for this event.
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
mod tests {
    use super::*;

    #[test]
    fn every_schema_has_its_name_in_its_id() {
        for schema in &ALL {
            let id = format!("https://hookbox.dev/schema/{VERSION}/{}.json", schema.name);
            assert_eq!(schema.document()["$id"], json!(id));
        }
        assert!(ALL.is_sorted_by_key(|schema| schema.name));
    }

    #[test]
    fn every_reference_leads_to_a_definition() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                        found.push(reference.to_owned());
                    }
                    object.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        for schema in &ALL {
            let document = schema.document();
            let mut found = Vec::new();
            references(&document, &mut found);
            for reference in found {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{}: {reference}", schema.name);
            }
        }
    }

    #[test]
    fn every_event_has_a_definition_in_every_dialect_that_has_it() {
        for event in EventName::ALL {
            for name in ["kodelet-event", "kodelet-answer", "base-coat-answer"] {
                assert!(Schema::named(name).unwrap().at(&event).is_some(), "{name} {event}");
            }
            let envelope = Schema::named("base-coat-event").unwrap().at(&event);
            assert_eq!(envelope.is_some(), event.base_coat().is_some(), "{event}");
        }
    }
}
