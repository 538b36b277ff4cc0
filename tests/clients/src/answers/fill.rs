//! Fills in what stands for a deny, for its reason and for spaces in the text of an odd answer.

/// Returns the text that a hook of this agent gives.
pub(crate) fn fill(text: &str, agent: &str, reason: &str) -> String {
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
