//! The hook that gives odd answers, and its files. The clients' recorder and the test that compares hookbox share it.

use serde_json::Value;

/// Returns the text that a hook of this agent gives, with its own form of a deny.
fn fill(text: &str, agent: &str, reason: &str) -> String {
    let deny = match agent {
        "gemini" => r#"{"decision":"deny","reason":"{reason}"}"#,
        "copilot" => r#"{"permissionDecision":"deny","permissionDecisionReason":"{reason}"}"#,
        _ => {
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"{reason}"}}"#
        }
    };
    let (begin, end) = (&deny[1..], &deny[..deny.len() - 1]);
    [
        ("{deny}", deny),
        ("{deny,}", &format!("{end},}}")),
        ("{deny cut}", end),
        ("{deny key}", &format!("{{\"unheard\":1,{begin}")),
        (
            "{deny lines}",
            &deny.replace('{', "{\n  ").replace(',', ",\n  ").replace("{\n  reason}", "{reason}"),
        ),
        ("{spaces}", &" ".repeat(100_000)),
        ("{reason}", reason),
    ]
    .iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// The rest of the hook, which gives the answer to a call by the number in its payload. Its file is beside the answers.
pub(crate) const GIVES: &str = r#"number=$(printf '%s' "$payload" | sed -n 's/.*ran-\([0-9][0-9]*\)-.*/\1/p')
[ -n "$number" ] || exit 0
cat "$0.answers/$number.out"
cat "$0.answers/$number.err" >&2
exit "$(cat "$0.answers/$number.code")"
"#;

/// Returns the line of a call with this number, and the reason against it.
pub(crate) fn line(number: usize) -> String {
    format!("echo > {}", mark(number))
}

pub(crate) fn reason(number: usize) -> String {
    format!("REASON-{number}-")
}

/// Returns the file that the call makes.
pub(crate) fn mark(number: usize) -> String {
    format!("ran-{number}-.txt")
}

/// Returns the files of an answer, each by its name beside the hook.
pub(crate) fn files(answer: &Value, agent: &str, number: usize) -> [(String, String); 3] {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let filled = |key: &str| fill(text(key), agent, &reason(number));
    let code = answer.get("code").and_then(Value::as_i64).unwrap_or_default();
    [
        (format!("{number}.out"), filled("stdout")),
        (format!("{number}.err"), filled("stderr")),
        (format!("{number}.code"), code.to_string()),
    ]
}
