//! Takes secrets out of what tools give back.

use hookbox_sdk::prelude::*;
use hookbox_sdk::text::{REDACTED, Secrets};

/// The hook.
pub struct Redactor;

impl Hook for Redactor {
    fn manifest() -> Manifest {
        Manifest::new("redactor", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AfterToolCall)
            .priority(90)
            .answers([Give::Modify])
    }

    fn after_tool_call(_cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let secrets: Secrets = settings()?;
        let mut output: Value = result.output.parse()?;
        Ok(if redact(&mut output, &secrets) { Answer::modify(output) } else { Answer::pass() })
    }
}

/// Replaces the secrets in a value; returns whether there were any.
fn redact(value: &mut Value, secrets: &Secrets) -> bool {
    match value {
        Value::String(text) => match secrets.redact(text) {
            Some(clean) => {
                *text = clean;
                true
            }
            None => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |any, item| redact(item, secrets) | any),
        Value::Object(fields) => fields.iter_mut().fold(false, |any, (key, field)| {
            let numbers = !key.to_ascii_lowercase().trim_end_matches('s').ends_with("token");
            let found = if secrets.is_secret(key) { cover(field, numbers) } else { false };
            found | redact(field, secrets) | any
        }),
        _ => false,
    }
}

/// Replaces every text and number of a secret field, however deep. Numbers of tokens stay.
fn cover(value: &mut Value, numbers: bool) -> bool {
    match value {
        Value::String(text) if text.is_empty() || text == REDACTED => false,
        Value::Number(_) if !numbers => false,
        Value::String(_) | Value::Number(_) => {
            *value = REDACTED.into();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| cover(item, numbers) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, field| cover(field, numbers) | any),
        _ => false,
    }
}

hookbox_sdk::export_hook!(Redactor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_keeps_its_shape() {
        let output = json!({
            "toolName": "bash", "success": true,
            "metadata": {"output": "token: ghp_0123456789abcdefghijABCDEFGHIJ012345\nok", "lines": 2, "apiKey": "x1y2"},
            "list": ["plain", "AKIAIOSFODNN7EXAMPLE"], "password": ["a", 1], "max_tokens": "many", "token": 7,
            "secrets": {"db": "x"},
        });
        let expected = json!({
            "toolName": "bash", "success": true,
            "metadata": {"output": "token: [REDACTED]\nok", "lines": 2, "apiKey": "[REDACTED]"},
            "list": ["plain", "[REDACTED]"], "password": ["[REDACTED]", "[REDACTED]"], "max_tokens": "many",
            "token": 7, "secrets": {"db": "[REDACTED]"},
        });
        let result = ToolResult::new(ToolCall::default(), output);
        let answer = Redactor::after_tool_call(&Context::default(), &result).unwrap();
        assert_eq!(answer, Answer::modify(expected.clone()));
        let again = ToolResult::new(ToolCall::default(), expected);
        assert_eq!(Redactor::after_tool_call(&Context::default(), &again).unwrap(), Answer::pass());
    }

    #[test]
    fn output_of_any_kind_is_read() {
        for output in [Value::Null, json!(1), json!("plain"), json!([]), json!({"a": {"b": [null, true]}})] {
            let result = ToolResult::new(ToolCall::default(), output);
            assert_eq!(Redactor::after_tool_call(&Context::default(), &result).unwrap(), Answer::pass());
        }
    }
}
