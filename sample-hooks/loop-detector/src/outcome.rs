//! The outcome of a call as a number: two outcomes are the same if their numbers are.

use hookbox_sdk::text::hash;
use hookbox_sdk::{Document, ToolCall, ToolResult};

/// The largest value that is read, in bytes; a larger one is known by its size.
const READ: u64 = 256 * 1024;

/// The fields in which agents put an error.
const ERRORS: [&str; 4] = ["/error", "/stderr", "/output", "/content"];

/// A call: its tool and input.
pub(crate) fn call(call: &ToolCall) -> u64 {
    hash([call.name.as_str(), &whole(&call.input)])
}

/// Returns the number of the exact output.
pub(crate) fn of(result: &ToolResult) -> u64 {
    let status = result.exit_status.map(|status| status.to_string()).unwrap_or_default();
    hash([whole(&result.output).as_str(), result.error.as_deref().unwrap_or_default(), &status])
}

/// Returns the number of a failed call's text, without times and long numbers, which differ each time.
pub(crate) fn error(result: &ToolResult) -> u64 {
    let said = match &result.error {
        Some(error) => error.clone(),
        None if result.output.size() > READ => format!("size-{}", result.output.size()),
        None => ERRORS
            .iter()
            .find_map(|place| {
                result.output.get::<String>(place).ok().flatten().filter(|text| !text.is_empty())
            })
            .unwrap_or_else(|| result.output.text()),
    };
    let stable: Vec<&str> = said.split_whitespace().filter(|word| !changes(word)).collect();
    hash(stable)
}

fn whole(document: &Document) -> String {
    match document.size() {
        size if size > READ => size.to_string(),
        _ => document.text(),
    }
}

/// Returns whether a word is a time, a duration or a long number: `0.03s`, `12:31:07.5`,
/// `2025-04-27T18:42:31Z`, `48213`.
fn changes(word: &str) -> bool {
    let word = word.trim_matches(['(', ')', '[', ']', ',', ';', '.', ':', '=']);
    let number =
        ["ms", "us", "µs", "ns", "s", "m", "h", "Z"].into_iter().find_map(|unit| word.strip_suffix(unit));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".:-+T".contains(c));
    let marked = word.contains(['.', ':']) || number.is_some() || digits >= 5;
    digits > 0 && marked && plain(number.unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox_sdk::json;

    #[test]
    fn what_differs_each_time_is_left_out_and_nothing_else() {
        for word in [
            "0.03s",
            "(1.5s)",
            "12ms",
            "12:31:07.5",
            "2025-04-27T18:42:31Z",
            "48213",
            "1745779351007",
            "3s",
            "5m",
        ] {
            assert!(changes(word), "{word}");
        }
        for word in
            ["3", "12", "src/lib.rs:12:5", "E0308", "main.rs:12", "v1.2.3x", "", "s", "...", "ms", "9 tests"]
        {
            assert!(!changes(word), "{word}");
        }
        let failed = |text: &str| error(&ToolResult::new(ToolCall::default(), json!({"output": text})));
        assert_eq!(failed("3 failed in 0.52s"), failed("3 failed in\n1.07s"));
        assert_ne!(failed("3 failed in 0.52s"), failed("2 failed in 0.52s"));
    }

    #[test]
    fn an_error_is_found_where_the_agent_puts_it() {
        let result = |output| ToolResult::new(ToolCall::default(), output);
        let said = |text: &str| ToolResult { error: Some(text.into()), ..result(json!({"output": "x"})) };
        for other in
            [json!({"error": "no"}), json!({"output": "no"}), json!({"stderr": "no", "output": "yes"})]
        {
            assert_eq!(error(&result(other)), error(&said("no")));
        }
        assert_ne!(error(&result(json!("no"))), error(&result(json!("yes"))));
        assert_ne!(error(&result(json!("x".repeat(300_000)))), error(&result(json!("x".repeat(300_001)))));
    }
}
