//! The schema of a hook's settings: the part of JSON Schema that describes a table of options.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Settings;
use hookbox_system::{limits, text};

/// The largest schema, in bytes.
const MAX_SCHEMA: usize = 64 << 10;

/// The schema of a hook's settings, or of one value in them.
///
/// It has these keywords of JSON Schema: `type`, `properties`, `additionalProperties` (true or false), `items`, `enum`,
/// `default`, `description`, `title` and `$schema`, and one of its own, `x-hookbox-tighten`.
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
    /// True if a repository may set a stricter value than the user's. The values go from the loosest to the strictest.
    #[serde(rename = "x-hookbox-tighten", default, skip_serializing_if = "std::ops::Not::not")]
    pub tighten: bool,
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
    /// The reason why it cannot be read: it is too large, is not JSON, does not describe a table, or has
    /// other keywords.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        if json.len() > MAX_SCHEMA {
            return Err(format!("it has {} bytes, {MAX_SCHEMA} are allowed", json.len()));
        }
        let schema: Self =
            serde_json::from_slice(json).map_err(|error| text::escape(&error.to_string(), 300))?;
        if schema.kind != Some(ValueType::Object) {
            return Err("its type is not \"object\"".to_owned());
        }
        if schema.has_misplaced_tighten() {
            return Err(
                "x-hookbox-tighten is for a key of the table with an enum and one of its values as default"
                    .to_owned(),
            );
        }
        Ok(schema)
    }

    /// Returns true if the strictness of a value that a repository may tighten is not known.
    fn has_misplaced_tighten(&self) -> bool {
        let below_keys = |it: &Self| it.properties.values().chain(it.items.as_deref()).any(Self::has_tighten);
        let has_no_order =
            |it: &Self| it.tighten && !it.default.as_ref().is_some_and(|default| it.values.contains(default));
        self.tighten
            || self.items.as_deref().is_some_and(Self::has_tighten)
            || self.properties.values().any(|it| below_keys(it) || has_no_order(it))
    }

    fn has_tighten(&self) -> bool {
        self.tighten || self.properties.values().chain(self.items.as_deref()).any(Self::has_tighten)
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
        self.objection(&text::escape(key, limits::WORD), &self.value(text))
    }

    /// Returns the value of a setting, which a hook gets as text, or as JSON text.
    fn value(&self, text: &str) -> Value {
        match self.kind {
            Some(ValueType::String) => Value::from(text),
            _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        }
    }

    /// Compares a repository's value of a setting with the user's, and returns the rank of the repository's if it is
    /// stricter.
    ///
    /// # Errors
    ///
    /// The reason why the repository cannot set it: the setting is not one to tighten, or the value is unknown or looser.
    pub(crate) fn tighter(
        &self,
        key: &str,
        users: Option<&str>,
        theirs: &str,
    ) -> Result<Option<Tighter>, String> {
        let shown_key = text::escape(key, limits::WORD);
        let Some(schema) = self.properties.get(key).filter(|it| it.tighten) else {
            return Err(format!("{shown_key} is not a setting that a repository can make stricter"));
        };
        if let Some(objection) = schema.objection_to_text(key, theirs) {
            return Err(objection);
        }
        let rank = |value: &Value| schema.values.iter().position(|it| it == value);
        let default = schema.default.as_ref();
        // A value that the hook does not know is reported as the user's mistake.
        let users = users.map(|text| schema.value(text)).filter(|value| rank(value).is_some());
        let Some(users) = users.as_ref().or(default) else { return Ok(None) };
        let theirs = schema.value(theirs);
        match (rank(&theirs), rank(users)) {
            (Some(theirs), Some(before)) if theirs > before => {
                // The schema's own form of the value: the repository may have another one.
                let value = schema.values.get(theirs).map(plain).unwrap_or_default();
                Ok(Some(Tighter { rank: theirs, value, before: plain(users) }))
            }
            (Some(rank), Some(before)) if rank < before => {
                let (theirs, users) = (shown(&theirs), shown(users));
                Err(format!(
                    "{shown_key}: {theirs} is looser than {users}: a repository can only make it stricter"
                ))
            }
            _ => Ok(None),
        }
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
                Some(schema) => schema.objection(&format!("{at}.{}", text::escape(key, limits::WORD)), value),
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
        let key = text::escape(key, limits::WORD);
        Some(format!("the hook has no setting {at}{key}{}", text::or_meant(nearest)))
    }
}

/// A repository's value of a setting, which is stricter than the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tighter {
    /// Its place among the values: a higher one is stricter.
    pub(crate) rank: usize,
    /// The value, as a hook gets it.
    pub(crate) value: String,
    /// The value without it, as a hook gets it.
    pub(crate) before: String,
}

/// Returns a value as a hook gets it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
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
    text::escape(&value.to_string(), limits::WORD)
}

#[cfg(test)]
mod tests;
