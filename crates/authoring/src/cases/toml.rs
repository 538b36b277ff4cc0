//! Values of JSON in TOML.

use serde_json::Value;
use toml_edit::{Array, InlineTable};

/// Returns a value of JSON as one of TOML, which has no null.
pub(super) fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            (None, float) => float?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Array::from_iter(items.iter().filter_map(to_toml)).into(),
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str(), to_toml(value)?)));
            InlineTable::from_iter(fields).into()
        }
    })
}
