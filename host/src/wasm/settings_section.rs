//! The schema of a hook's settings, in a custom section of its component.
//!
//! The section may be in a module of the component, because linkers keep the sections of a module where they are.

use wasmparser::{Parser, Payload};

use crate::hook::{Cause, HookError, SettingsSchema};

/// The name of the section.
const SECTION: &str = "hookbox:settings";

/// Reads the schema, if there is one. The compiler reports an invalid component.
pub(super) fn read(bytes: &[u8]) -> Result<Option<SettingsSchema>, HookError> {
    let incompatible = |what: String| HookError::new(Cause::Incompatible, what);
    let mut found = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { return Ok(None) };
        if let Payload::CustomSection(section) = payload
            && section.name() == SECTION
            && found.replace(section.data()).is_some()
        {
            return Err(incompatible(format!("has more than one section {SECTION}")));
        }
    }
    let Some(json) = found else { return Ok(None) };
    let schema = SettingsSchema::parse(json);
    schema
        .map(Some)
        .map_err(|why| incompatible(format!("has a schema of its settings that cannot be read: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_sections(sections: &[&str]) -> Vec<u8> {
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        for json in sections {
            let content =
                [&[u8::try_from(SECTION.len()).unwrap()], SECTION.as_bytes(), json.as_bytes()].concat();
            bytes.extend([0, u8::try_from(content.len()).unwrap()]);
            bytes.extend(content);
        }
        bytes
    }

    #[test]
    fn a_component_has_one_schema_or_none() {
        let object = r#"{"type": "object"}"#;
        for (sections, want) in [
            (&[][..], Ok(false)),
            (&[object], Ok(true)),
            (&[object, object], Err("more than one section")),
            (&["[]"], Err("cannot be read: its type is not")),
        ] {
            let found = read(&with_sections(sections)).map(|schema| schema.is_some());
            match (found, want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want, "{sections:?}"),
                (Err(error), Err(why)) => assert!(error.message.contains(why), "{error}"),
                (found, _) => panic!("{sections:?}: {found:?}"),
            }
        }
        let mut damaged = with_sections(&[object]);
        damaged.truncate(damaged.len() - 1);
        assert_eq!(read(&damaged), Ok(None));
    }
}
