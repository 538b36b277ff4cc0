use std::collections::HashSet;

use super::*;

#[test]
fn every_schema_has_its_own_name_and_id() {
    let mut seen = HashSet::new();
    for schema in &ALL {
        let document = schema.document();
        assert_eq!(document["$id"], json!(schema.id()));
        assert!(seen.insert(schema.id()));
        assert_eq!(Published::named(schema.name).map(|found| found.name), Some(schema.name));
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
            assert!(Published::named(name).unwrap().at(&event).is_some(), "{name} {event}");
        }
        let envelope = Published::named("base-coat-event").unwrap().at(&event);
        assert_eq!(envelope.is_some(), event.base_coat().is_some(), "{event}");
    }
}
