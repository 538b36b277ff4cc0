//! Values of TOML with their positions.

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use crate::text;

/// A value and its position in the text.
pub(crate) type SpannedValue<'i> = Spanned<DeValue<'i>>;

/// Shows a value in a message: a short one as it is, another by its type.
pub(crate) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", text::escape(text, 80)),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => text::escape(&to_json(other).to_string(), 80),
    }
}

/// Reads a value of this type.
pub(crate) fn typed<T: DeserializeOwned>(value: &SpannedValue<'_>) -> Option<T> {
    T::deserialize(value.clone().into_deserializer()).ok()
}

fn as_i64(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Converts a value to JSON. A value that JSON does not have becomes text.
pub(crate) fn to_json(value: &DeValue<'_>) -> Value {
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
