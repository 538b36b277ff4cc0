//! The schema of a hook's settings: the part of JSON Schema that describes a table of options.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Settings;
use crate::text;

/// The largest schema, in bytes.
const MAX_SCHEMA: usize = 64 << 10;
/// The deepest schema: a list of tables with lists has a depth of four.
const MAX_DEPTH: usize = 8;
/// The most bytes of a value in a message.
const MAX_SHOWN: usize = 80;

/// The schema of a hook's settings, or of one value in them.
///
/// It has these keywords of JSON Schema: `type`, `properties`, `additionalProperties` (true or false), `items`, `enum`,
/// `default`, `description`, `title` and `$schema`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingsSchema {
    /// The dialect of JSON Schema, without effect.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    dialect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The meaning of the value, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type; any type if absent.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ValueType>,
    /// The value if the user gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The possible values; all if empty.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// The schema of the items of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Self>>,
    /// The schemas of the keys of a table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Self>,
    /// False if a table has no other keys than those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<bool>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A table.
    Object,
}

impl ValueType {
    /// Returns the type in words.
    fn expected(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "a table",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// A fault in the settings of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    /// The key in the hook's table `settings`.
    pub key: String,
    /// The message, with text from outside escaped.
    pub message: String,
}

impl SettingsSchema {
    /// Reads the schema of a table.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be read: it is too large or too deep, is not JSON, does not describe a table, or has
    /// other keywords.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        if json.len() > MAX_SCHEMA {
            return Err(format!("it has {} bytes, {MAX_SCHEMA} are allowed", json.len()));
        }
        let schema: Self =
            serde_json::from_slice(json).map_err(|error| text::escape(&error.to_string(), 300))?;
        if schema.depth() > MAX_DEPTH {
            return Err(format!("it is more than {MAX_DEPTH} schemas deep"));
        }
        match schema.kind {
            Some(ValueType::Object) => Ok(schema),
            _ => Err("its type is not \"object\"".to_owned()),
        }
    }

    fn depth(&self) -> usize {
        let below = self.properties.values().chain(self.items.as_deref());
        1 + below.map(Self::depth).max().unwrap_or_default()
    }

    /// Returns the faults of a hook's settings, by key.
    pub fn faults(&self, settings: &Settings) -> Vec<SettingsFault> {
        let fault = |(key, text): (&String, &String)| {
            let message = match self.properties.get(key) {
                Some(schema) => schema.objection_to_text(key, text),
                None => self.objection_to_key("", key),
            };
            message.map(|message| SettingsFault { key: key.clone(), message })
        };
        settings.iter().filter_map(fault).collect()
    }

    /// Returns the fault of a setting, which a hook gets as text, or as JSON text.
    fn objection_to_text(&self, key: &str, text: &str) -> Option<String> {
        let value = match self.kind {
            Some(ValueType::String) => Value::from(text),
            _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        self.objection(&text::escape(key, MAX_SHOWN), &value)
    }

    /// Returns the fault of a value at this path.
    fn objection(&self, at: &str, value: &Value) -> Option<String> {
        if let Some(kind) = self.kind.filter(|kind| !kind.fits(value)) {
            return Some(format!("{at}: expected {}, found {}", kind.expected(), shown(value)));
        }
        if !self.values.is_empty() && !self.values.contains(value) {
            let values: Vec<String> = self.values.iter().map(shown).collect();
            return Some(format!("{at}: expected one of {}, found {}", values.join(", "), shown(value)));
        }
        match value {
            Value::Array(items) => {
                let schema = self.items.as_deref()?;
                items
                    .iter()
                    .enumerate()
                    .find_map(|(number, item)| schema.objection(&format!("{at}[{number}]"), item))
            }
            Value::Object(fields) => fields.iter().find_map(|(key, value)| match self.properties.get(key) {
                Some(schema) => schema.objection(&format!("{at}.{}", text::escape(key, MAX_SHOWN)), value),
                None => self.objection_to_key(&format!("{at}."), key),
            }),
            _ => None,
        }
    }

    /// Returns the fault of a key without a schema.
    fn objection_to_key(&self, at: &str, key: &str) -> Option<String> {
        if self.additional_properties != Some(false) {
            return None;
        }
        let nearest = text::nearest(key, self.properties.keys().map(String::as_str));
        let key = text::escape(key, MAX_SHOWN);
        Some(match nearest {
            Some(nearest) => {
                format!(
                    "the hook has no setting {at}{key}; did you mean {}?",
                    text::escape(nearest, MAX_SHOWN)
                )
            }
            None => format!("the hook has no setting {at}{key}"),
        })
    }
}

/// Writes the type of the value and its default, such as `list of text, default ["a"]`.
impl fmt::Display for SettingsSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.values.is_empty() {
            let values: Vec<String> = self.values.iter().map(shown).collect();
            f.write_str(&values.join(" or "))?;
        } else {
            f.write_str(self.kind.map_or("any value", ValueType::expected))?;
        }
        if let Some(items) = self.items.as_deref().and_then(|items| items.kind) {
            let items = items.expected();
            write!(f, ", each {items}")?;
        }
        match &self.default {
            Some(default) => write!(f, ", default {}", text::escape(&default.to_string(), 300)),
            None => Ok(()),
        }
    }
}

/// Shows a value in a message.
fn shown(value: &Value) -> String {
    text::escape(&value.to_string(), MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{
        "type": "object", "additionalProperties": false,
        "properties": {
            "deny": {"type": "array", "items": {"type": "string"}, "default": ["sudo"], "description": "Blocked."},
            "also_deny": {"type": "array", "items": {"type": "string"}},
            "mode": {"enum": ["ask", "block"], "default": "block"},
            "limit": {"type": "integer"},
            "ratio": {"type": "number"},
            "loud": {"type": "boolean"},
            "name": {"type": "string"},
            "by_tool": {"type": "object", "additionalProperties": false, "properties": {"shell": {"type": "integer"}}},
            "free": {"type": "object"},
            "any": {}
        }
    }"#;

    #[test]
    fn a_setting_that_does_not_fit_is_named_with_the_nearest_key() {
        let schema = SettingsSchema::parse(SCHEMA.as_bytes()).unwrap();
        for (key, text, fault) in [
            ("deny", "[\"rm\"]", None),
            ("deny", "rm", Some("deny: expected a list, found \"rm\"")),
            ("deny", "[\"rm\",1]", Some("deny[1]: expected a text, found 1")),
            ("also_denny", "[]", Some("the hook has no setting also_denny; did you mean also_deny?")),
            ("mode", "ask", None),
            ("mode", "warn", Some("mode: expected one of \"ask\", \"block\", found \"warn\"")),
            ("limit", "5", None),
            ("limit", "5.5", Some("limit: expected a whole number, found 5.5")),
            ("ratio", "5", None),
            ("loud", "yes", Some("loud: expected true or false, found \"yes\"")),
            ("name", "5", None),
            ("by_tool", "{\"shell\":1}", None),
            ("by_tool", "{\"shel\":1}", Some("the hook has no setting by_tool.shel; did you mean shell?")),
            ("by_tool", "{\"shell\":\"x\"}", Some("by_tool.shell: expected a whole number, found \"x\"")),
            ("free", "{\"x\":1}", None),
            ("any", "x", None),
        ] {
            let settings = Settings::from([(key.to_owned(), text.to_owned())]);
            let found = schema.faults(&settings);
            let found: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
            assert_eq!(found, Vec::from_iter(fault), "{key} = {text}");
        }
    }

    #[test]
    fn a_schema_that_is_not_understood_is_refused() {
        let deep = format!("{}{}", r#"{"type":"array","items":"#.repeat(9), "{}".to_owned() + &"}".repeat(9));
        for (json, why) in [
            ("", "EOF"),
            ("{}", "its type is not"),
            (r#"{"type": "array"}"#, "its type is not"),
            (r#"{"type": ["object", "null"]}"#, "expected"),
            (r#"{"type": "object", "required": ["a"]}"#, "unknown field `required`"),
            (r#"{"type": "object", "properties": {"a": {"pattern": "x"}}}"#, "unknown field `pattern`"),
            (&format!(r#"{{"type": "object", "properties": {{"a": {deep}}}}}"#), "more than 8"),
            (&format!(r#"{{"type": "object"}}{}"#, " ".repeat(MAX_SCHEMA)), "are allowed"),
        ] {
            let error = SettingsSchema::parse(json.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_schema_is_written_as_it_was_read_and_shown_in_words() {
        let schema = SettingsSchema::parse(SCHEMA.as_bytes()).unwrap();
        let written = serde_json::to_vec(&schema).unwrap();
        assert_eq!(SettingsSchema::parse(&written), Ok(schema.clone()));
        for (key, want) in [
            ("deny", "a list, each a text, default [\"sudo\"]"),
            ("mode", "\"ask\" or \"block\", default \"block\""),
            ("limit", "a whole number"),
            ("any", "any value"),
        ] {
            assert_eq!(schema.properties[key].to_string(), want);
        }
    }
}
