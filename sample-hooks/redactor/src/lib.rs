//! Takes secrets out of what tools give back.

use hookbox_sdk::prelude::*;
use hookbox_sdk::text::Secrets;

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
        Ok(if secrets.redact_value(&mut output) { Answer::modify(output) } else { Answer::pass() })
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
