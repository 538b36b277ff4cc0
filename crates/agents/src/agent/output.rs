//! The output of a tool: a changed one in the forms that agents take, and the exit status of a shell command in the text
//! that an agent makes of its output.

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

/// Reads the last lines of Gemini CLI and Qwen Code, such as `Exit Code: 3`.
///
/// The exit status of a shell command, in the text that an agent makes of its output.
///
/// A command can print such lines itself. Only the lines that the agent adds at one end count, and a hook
/// must not rely on them against a hostile command.
pub(crate) fn in_last_lines(output: &Value) -> Option<i32> {
    const AFTER: [&str; 3] = ["Signal: ", "Background PIDs: ", "Process Group PGID: "];
    let text = text(output);
    let lines = text.trim_end().trim_end_matches("</untrusted_context>").trim_end().lines().rev();
    let mut lines = lines.skip_while(|line| AFTER.iter().any(|head| line.starts_with(head)));
    lines.next()?.strip_prefix("Exit Code: ")?.trim().parse().ok()
}

/// Reads the first lines of Codex's older shell tools, such as `Exit code: 3`. Its hooks get the plain output of
/// `exec_command`, without a status.
pub(crate) fn in_first_lines(output: &Value) -> Option<i32> {
    const STATUS: [&str; 2] = ["Exit code: ", "Process exited with code "];
    const BESIDE: [&str; 3] = ["Chunk ID: ", "Wall time: ", "Original token count: "];
    if let Some(status) = output.pointer("/metadata/exit_code").or_else(|| output.get("exit_code")) {
        return i32::try_from(status.as_i64()?).ok();
    }
    let text = text(output);
    let (head, _) = text.split_once("\nOutput:\n")?;
    let is_head = |line: &str| STATUS.iter().chain(&BESIDE).any(|start| line.starts_with(start));
    if !head.lines().all(is_head) {
        return None;
    }
    let status = |line: &str| STATUS.iter().find_map(|start| line.strip_prefix(start))?.trim().parse().ok();
    head.lines().find_map(status)
}

/// Reads the last line of Copilot CLI, such as `<shellId: 0 completed with exit code 3>`.
pub(crate) fn in_shell_mark(output: &Value) -> Option<i32> {
    let text = text(output);
    let last = text.trim_end().lines().next_back()?.strip_prefix("<shellId: ")?.strip_suffix('>')?;
    last.rsplit_once(" completed with exit code ")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    type Read = fn(&Value) -> Option<i32>;

    #[test]
    fn the_status_is_read_where_the_agent_writes_it_and_nowhere_else() {
        let (last, first, mark): (Read, Read, Read) = (in_last_lines, in_first_lines, in_shell_mark);
        for (read, output, want) in [
            (last, json!({"llmContent": "Output: x\nExit Code: 3\nProcess Group PGID: 1"}), Some(3)),
            (
                last,
                json!("<untrusted_context>\nOutput: x\nExit Code: 3\nSignal: 9\n</untrusted_context>"),
                Some(3),
            ),
            (
                last,
                json!("Output: Exit Code: 0\nExit Code: 0\nError: (none)\nExit Code: 2\nSignal: (none)"),
                Some(2),
            ),
            (last, json!("Output: Exit Code: 3\nError: (none)\nSignal: 9"), None),
            (last, json!("Exit Code: many"), None),
            (first, json!("Exit code: 3\nWall time: 0.1 seconds\nOutput:\nbad\n"), Some(3)),
            (first, json!("Chunk ID: a\nWall time: 1\nProcess exited with code 1\nOutput:\nx"), Some(1)),
            (first, json!({"output": "bad", "metadata": {"exit_code": 4}}), Some(4)),
            (first, json!("bad\nExit code: 3\nOutput:\n"), None),
            (first, json!("Exit code: 3\nis what it prints"), None),
            (first, json!("bad\n"), None),
            (mark, json!({"textResultForLlm": "bad\n<shellId: 0 completed with exit code 3>"}), Some(3)),
            (mark, json!({"text_result_for_llm": "<shellId: a completed with exit code 0>"}), Some(0)),
            (mark, json!("<shellId: 0 completed with exit code 3>\nmore"), None),
            (mark, json!(""), None),
        ] {
            assert_eq!(read(&output), want, "{output}");
        }
    }
}
