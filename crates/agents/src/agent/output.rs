//! A changed output of a tool, in the forms that agents take.

use serde_json::Value;

/// The reason of a block by which a hook took out everything: an agent ignores a block without a reason.
const TAKEN_OUT: &str = "(a hook took the output out)";

/// The form in which a changed output reaches the model.
#[derive(Debug, PartialEq)]
pub(crate) enum ChangedOutput {
    /// The new output.
    Whole(Value),
    /// The reason of a block, which replaces the output.
    Reason(String),
    /// None, and the agent must not go on with the old output.
    Stops,
    /// Text beside the old output.
    Told(String),
}

/// Replaces the output by the reason of a block.
pub(crate) fn as_reason(_tool: &str, _was: &Value, new: &Value) -> ChangedOutput {
    ChangedOutput::Reason(filled(new))
}

/// Returns an output as text that is never blank.
pub(crate) fn filled(new: &Value) -> String {
    Some(text(new)).filter(|text| !text.trim().is_empty()).unwrap_or_else(|| TAKEN_OUT.to_owned())
}

/// Returns the text that the agents give their models of an output, or its JSON.
pub(crate) fn text(output: &Value) -> String {
    let inner = match output {
        Value::String(text) => return text.clone(),
        Value::Null => return String::new(),
        Value::Array(parts) => return texts(parts).unwrap_or_else(|| output.to_string()),
        Value::Object(object) => ["llmContent", "textResultForLlm", "text_result_for_llm", "content"]
            .iter()
            .find_map(|field| object.get(*field)),
        _ => None,
    };
    match inner {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => texts(parts).unwrap_or_else(|| output.to_string()),
        _ => output.to_string(),
    }
}

/// Returns the texts of the parts, if each of them is text.
fn texts(parts: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect();
    texts.map(|texts| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_is_told_as_the_text_that_a_model_reads_and_never_as_nothing() {
        for (output, want) in [
            (json!("a"), "a"),
            (json!({"llmContent": "a", "returnDisplay": "b"}), "a"),
            (json!({"llmContent": [{"text": "a"}, {"text": "b"}]}), "a\nb"),
            (json!({"resultType": "success", "textResultForLlm": "a"}), "a"),
            (json!({"content": [{"type": "text", "text": "a"}], "isError": false}), "a"),
            (json!([{"type": "image"}]), "[{\"type\":\"image\"}]"),
            (json!({"summary": 1}), "{\"summary\":1}"),
            (json!(" "), TAKEN_OUT),
            (Value::Null, TAKEN_OUT),
        ] {
            assert_eq!(filled(&output), want, "{output}");
        }
    }
}
