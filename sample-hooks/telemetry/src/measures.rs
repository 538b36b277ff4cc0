//! The measures of each event: names of counters and the amounts to add.

use hookbox_sdk::prelude::*;

/// The upper ends of the classes of a histogram of durations, in milliseconds; the last class is open.
const DURATIONS: [u64; 8] = [10, 50, 100, 500, 1000, 5000, 30_000, 120_000];

/// The amounts to add to the counters of a conversation.
pub(crate) type Added = Vec<(String, u64)>;

/// One more of this.
fn one(name: impl Into<String>) -> (String, u64) {
    (name.into(), 1)
}

/// A tool is about to run: what category of tool.
pub(crate) fn before_tool_call(call: &ToolCall) -> Added {
    vec![one("calls"), one(format!("calls.{}", call.kind.as_str()))]
}

/// Measures a tool's result and duration.
pub(crate) fn after_tool_call(result: &ToolResult) -> Added {
    let mut added = Vec::new();
    let failed = result.success == Some(false) || result.exit_status.is_some_and(|status| status != 0);
    if failed {
        added.push(one("results.failed"));
    } else if result.success.is_some() || result.exit_status.is_some() {
        added.push(one("results.worked"));
    }
    if let Some(duration) = result.duration_ms {
        added.push(("duration_ms.sum".to_owned(), duration));
        added.push(one(class(duration)));
    }
    if let Some(tokens) = result.cost_tokens {
        added.push(("cost_tokens".to_owned(), tokens));
    }
    added
}

/// The class of a duration in its histogram, such as `duration_ms.le_100`.
fn class(duration: u64) -> String {
    match DURATIONS.into_iter().find(|end| duration <= *end) {
        Some(end) => format!("duration_ms.le_{end}"),
        None => "duration_ms.more".to_owned(),
    }
}

/// Measures the tokens before a compaction.
pub(crate) fn pre_compact(usage: Option<Usage>) -> Added {
    let mut added = vec![one("compactions")];
    if let Some(usage) = usage {
        added.push(("compactions.tokens_before".to_owned(), usage.current_context_window));
    }
    added
}

/// Measures the tokens after a compaction.
pub(crate) fn post_compact(usage: Option<Usage>) -> Added {
    usage
        .map(|usage| ("compactions.tokens_after".to_owned(), usage.current_context_window))
        .into_iter()
        .collect()
}

/// Something failed: what class of error, and whether it was tried before.
pub(crate) fn on_error(event: &ErrorEvent) -> Added {
    let source = match &event.source {
        ErrorSource::Tool(_) => "tool",
        ErrorSource::Turn(_) => "turn",
        ErrorSource::Hook(_) => "hook",
    };
    let mut added = vec![
        one("errors"),
        one(format!("errors.{source}")),
        one(format!("errors.class.{}", error_class(event))),
    ];
    if event.attempt.is_some_and(|attempt| attempt > 1) {
        added.push(one("retries"));
    }
    added
}

/// Returns the class that the agent gave, if it is a well-known word; else the class of the text.
fn error_class(event: &ErrorEvent) -> &'static str {
    const CLASSES: [(&str, &[&str]); 7] = [
        ("timeout", &["timeout", "timed out", "deadline"]),
        ("auth", &["unauthorized", "forbidden", "credential", "authentication"]),
        ("permission", &["permission", "denied", "not permitted"]),
        ("not_found", &["not found", "not_found", "no such file"]),
        ("network", &["connection", "network", "unreachable"]),
        ("resource", &["out of memory", "no space left", "quota", "rate limit", "fuel", "memory"]),
        ("malformed", &["syntax", "parse", "malformed", "invalid"]),
    ];
    let text = event.message.get(..event.message.floor_char_boundary(4096)).unwrap_or_default();
    let small = format!("{} {text}", event.kind.as_deref().unwrap_or_default()).to_ascii_lowercase();
    let found = CLASSES.iter().find(|(_, words)| words.iter().any(|word| small.contains(word)));
    found.map_or("other", |(class, _)| class)
}

/// The token budget has passed a threshold: which one, in percent.
pub(crate) fn on_budget_exceeded(event: &BudgetExceeded) -> Added {
    let mut added = vec![one("budget")];
    if let Some(threshold) = event.threshold.filter(|threshold| threshold.is_finite()) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
        let percent = (threshold * 100.0).round().clamp(0.0, 200.0) as u64;
        added.push(one(format!("budget.at_{percent}")));
    }
    added
}

/// Returns shares of the counters, rounded to three places.
pub(crate) fn derived(counters: &std::collections::BTreeMap<String, u64>) -> Vec<(&'static str, f64)> {
    let of = |name: &str| counters.get(name).copied().unwrap_or(0);
    let share = |part: u64, whole: u64| {
        #[allow(clippy::cast_precision_loss, reason = "a share needs no more than three places")]
        let share = (part as f64 / whole as f64 * 1000.0).round() / 1000.0;
        (whole > 0).then_some(share)
    };
    let results = of("results.worked").saturating_add(of("results.failed"));
    [
        ("success_rate", share(of("results.worked"), results)),
        ("compression_ratio", share(of("compactions.tokens_after"), of("compactions.tokens_before"))),
        ("duration_ms.mean", share(of("duration_ms.sum"), of("duration_ms.count"))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(added: Added) -> String {
        added.into_iter().map(|(name, by)| format!("{name}+{by}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_event_adds_to_its_counters() {
        let usage = Some(Usage { current_context_window: 90, max_context_window: 100, ..Usage::default() });
        let call = || ToolCall::new("Bash", json!({"command": "ls"}));
        let result = |success, duration_ms, exit_status| ToolResult {
            success,
            duration_ms,
            exit_status,
            cost_tokens: Some(7),
            ..ToolResult::new(call(), json!("x"))
        };
        let error = |message: &str, kind: Option<&str>, attempt| ErrorEvent {
            source: ErrorSource::Turn(None),
            message: message.into(),
            kind: kind.map(Into::into),
            attempt,
        };
        for (added, expected) in [
            (before_tool_call(&call()), "calls+1 calls.shell+1"),
            (
                after_tool_call(&result(Some(true), Some(70), None)),
                "results.worked+1 duration_ms.sum+70 duration_ms.le_100+1 cost_tokens+7",
            ),
            (after_tool_call(&result(Some(true), None, Some(2))), "results.failed+1 cost_tokens+7"),
            (
                after_tool_call(&result(None, Some(900_000), None)),
                "duration_ms.sum+900000 duration_ms.more+1 cost_tokens+7",
            ),
            (pre_compact(usage), "compactions+1 compactions.tokens_before+90"),
            (post_compact(usage), "compactions.tokens_after+90"),
            (post_compact(None), ""),
            (
                on_error(&error("it timed out", None, Some(2))),
                "errors+1 errors.turn+1 errors.class.timeout+1 retries+1",
            ),
            (
                on_error(&error("x", Some("not_found"), Some(1))),
                "errors+1 errors.turn+1 errors.class.not_found+1",
            ),
            (on_budget_exceeded(&BudgetExceeded { usage, threshold: Some(0.8) }), "budget+1 budget.at_80+1"),
            (on_budget_exceeded(&BudgetExceeded { usage, threshold: Some(f64::NAN) }), "budget+1"),
            (
                on_budget_exceeded(&BudgetExceeded { usage, threshold: Some(1e300) }),
                "budget+1 budget.at_200+1",
            ),
        ] {
            assert_eq!(names(added), expected);
        }
    }

    #[test]
    fn shares_follow_from_counters() {
        let counters = [("results.worked", 2), ("results.failed", 1), ("compactions.tokens_before", 0)];
        let counters = counters.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(derived(&counters), [("success_rate", 0.667)]);
    }
}
