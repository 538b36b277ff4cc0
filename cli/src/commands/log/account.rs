//! A record as text. Anything in it may be written by an attacker, and is escaped.

use std::fmt::Write as _;

use hookbox::escape;
use hookbox_journal::journal::{Decision, decision, hooks, subject};
use indicatif::HumanBytes;
use serde_json::Value;

/// The row of a record in the table.
pub(super) fn row(record: &Value) -> Vec<String> {
    let (decision, by) = decided(record);
    vec![
        at(record, "/id", 20),
        at(record, "/time", 40).replace('T', " ").chars().take(19).collect(),
        at(record, "/agent", 20),
        decision.to_owned(),
        by,
        event(record, 100),
    ]
}

/// Returns the decision on an event, and the hook that made it.
fn decided(record: &Value) -> (&'static str, String) {
    let Decision { verdict, by, .. } = decision(record);
    let by = escape(by, 60);
    match verdict {
        "passed" if !by.is_empty() => ("failed", by),
        "passed" => match hooks(record).find(|it| it["would"].is_string()) {
            Some(hook) => ("would act", at(hook, "/name", 60)),
            None => ("passed", by),
        },
        verdict => (verdict, by),
    }
}

/// Describes the event: the tool and its command, or the name.
fn event(record: &Value, most: usize) -> String {
    let name = at(record, "/event/event", 60);
    let subject = record.get("event").and_then(Value::as_object).map(subject).unwrap_or_default();
    let subject = escape(hookbox::prefix(&subject, most), most);
    let tool = at(record, "/event/tool_name", 60);
    let first = match (tool.as_str(), name.as_str()) {
        ("", _) => name,
        (_, "after_tool_call") => format!("after {tool}"),
        _ => tool,
    };
    if subject.is_empty() { first } else { format!("{first}: {subject}") }
}

/// The account of a record, to be read from top to bottom; in the layout of `hookbox explain`.
pub(super) fn account(record: &Value) -> String {
    let mut text = event(record, 2_000);
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(text, "\n  {label:<9} {value}");
        }
    };
    line("id", &at(record, "/id", 40));
    line("time", &at(record, "/time", 40));
    line("event", &at(record, "/event/event", 80));
    line("agent", &at(record, "/agent", 80));
    line("session", &at(record, "/conversation", 200));
    line("directory", &at(record, "/cwd", 4096));
    for key in ["tool_input", "tool_output", "message", "error", "response"] {
        line(key.trim_start_matches("tool_"), &at(record, &format!("/event/{key}"), 4_000));
    }
    for (number, hook) in (1..).zip(hooks(record)) {
        turn(&mut text, number, hook);
    }
    for failure in items(record, "/report/on_error") {
        let _ = write!(text, "\n\nTold of the failure of {}:", at(failure, "/of", 200));
        for (number, hook) in (1..).zip(items(failure, "/hooks")) {
            turn(&mut text, number, hook);
        }
    }
    let _ = write!(text, "\n\n{}", verdict(record));
    for (pointer, label) in
        [("/verdict/additional_context", "For the model"), ("/verdict/warnings", "Warning")]
    {
        for it in items(record, pointer) {
            let _ = write!(text, "\n{label}: {}", escape(&shown(it), 2_000));
        }
    }
    for (key, note) in [
        ("redacted", "Secrets were removed from this record."),
        ("cut", "This record was too large: long texts in it are cut."),
    ] {
        if record[key] == true {
            let _ = write!(text, "\n{note}");
        }
    }
    text
}

/// Describes the turn of a hook.
fn turn(text: &mut String, number: usize, hook: &Value) {
    let _ = write!(text, "\n\n{number}. {}: {}", at(hook, "/name", 200), at(hook, "/status", 20));
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(text, "\n  {label:<9} {value}");
        }
    };
    line("would be", &at(hook, "/would", 20));
    let (message, cause) = (at(hook, "/message", 2_000), at(hook, "/cause", 40));
    match cause.as_str() {
        "" => line("answer", &message),
        _ => line("failed", format!("{cause}: {message}").trim_end_matches(": ")),
    }
    for change in items(hook, "/changes") {
        let (before, after) = (at(change, "/before", 500), at(change, "/after", 500));
        let label = if hook["would"].is_string() { "change" } else { "changed" };
        line(label, &format!("{}: {before} to {after}", at(change, "/what", 40)));
    }
    for denial in items(hook, "/denied") {
        line("denied", &format!("{}; {}", at(denial, "/right", 200), at(denial, "/fix", 400)));
    }
    for logged in hook["log"].as_str().unwrap_or_default().lines().take(20) {
        line("log", &escape(logged, 500));
    }
    let trusted = if hook["trusted"] == false { ", not trusted" } else { "" };
    line("kind", &format!("{}, {}{trusted}", at(hook, "/kind", 20), at(hook, "/tier", 20)));
    line("digest", &at(hook, "/digest", 80));
    let settings = hook["settings"].as_object().into_iter().flatten();
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name} = {}", shown(value))).collect();
    line("settings", &escape(&settings.join(", "), 2_000));
    let rights: Vec<String> = items(hook, "/rights").map(shown).collect();
    line("rights", &escape(&rights.join(", "), 2_000));
    let mut used = format!("{:.1} ms", hook["duration_us"].as_f64().unwrap_or_default() / 1e3);
    if let Some(memory) = hook["memory_peak_bytes"].as_u64() {
        let _ = write!(used, ", {}", HumanBytes(memory));
    }
    if let Some(fuel) = hook["fuel"].as_u64() {
        let _ = write!(used, ", {fuel} fuel");
    }
    line("used", &used);
}

/// Describes the verdict.
fn verdict(record: &Value) -> String {
    let (decision, by) = decided(record);
    let reason =
        ["/verdict/reason", "/verdict/ask/reason"].map(|pointer| at(record, pointer, 2_000)).concat();
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    match decision {
        "blocked" => format!("Blocked by {by}{reason}"),
        "asked" => format!("The user is asked by {by}{reason}"),
        "changed" => format!("Passes, changed by {by}."),
        "allowed" => format!("Passes: {by} blocks it, and the user allowed it."),
        "would act" => format!("Passes: {by} only observes."),
        _ => "Passes.".to_owned(),
    }
}

fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the text of a part; empty if it is absent or null.
fn at(value: &Value, pointer: &str, most: usize) -> String {
    value.pointer(pointer).filter(|it| !it.is_null()).map(|it| escape(&shown(it), most)).unwrap_or_default()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
