//! Values of TOML with their positions.

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::text;

/// A value and its position in the text.
pub type SpannedValue<'i> = Spanned<DeValue<'i>>;

/// Shows a value in a message: a short one as it is, another by its type.
pub fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", text::escape(text, 80)),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => text::escape(&to_json(other).to_string(), 80),
    }
}

/// Reads a value of this type.
pub fn typed<T: DeserializeOwned>(value: &SpannedValue<'_>) -> Option<T> {
    T::deserialize(value.clone().into_deserializer()).ok()
}

fn as_i64(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Converts a value to JSON. A value that JSON does not have becomes text.
pub fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Integer(number) => {
            as_i64(value).map_or_else(|| Value::String(number.to_string()), Value::from)
        }
        // JSON has no infinity and no NaN: they become text.
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(entries) => {
            entries.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect()
        }
    }
}

/// Reads TOML as JSON.
///
/// # Errors
///
/// The first fault, escaped.
pub fn json(toml: &str) -> Result<Value, String> {
    let table = DeTable::parse(toml).map_err(|error| text::escape(error.message(), 400))?;
    Ok(to_json(&DeValue::Table(table.into_inner())))
}

/// Writes a value of JSON as TOML in one line. `None` if it has a null, which TOML does not have.
pub fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(inline).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(entries) => {
            let entry =
                |(name, value): (&String, &Value)| Some(format!("{} = {}", key(name), inline(value)?));
            let entries: Option<Vec<String>> = entries.iter().map(entry).collect();
            Some(format!("{{ {} }}", entries?.join(", ")))
        }
        // TOML has their form of JSON.
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
    }
}

/// Writes a key of TOML.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}
