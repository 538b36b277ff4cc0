//! A record as text. Anything in it may be written by an attacker, and is escaped.

use std::fmt::Write as _;

use hookbox::escape;
use hookbox_journal::journal::{Decision, Stored, StoredHook};
use serde_json::Value;

use crate::account::{deeds, line, used};

/// The row of a record in the table.
pub(super) fn row(record: &Stored) -> Vec<String> {
    let (decision, by) = decided(record);
    vec![
        escape(&record.id, 20),
        escape(&record.time, 40).replace('T', " ").chars().take(19).collect(),
        text(&record.agent, 20),
        decision.to_owned(),
        by,
        event(record, 100),
    ]
}

/// Returns the decision on an event, and the hook that made it.
fn decided(record: &Stored) -> (&'static str, String) {
    let Decision { verdict, by, .. } = record.decision();
    let by = escape(by, 60);
    match verdict {
        "passed" if !by.is_empty() => ("failed", by),
        "passed" => match record.report.hooks.iter().find(|it| it.would.is_some()) {
            Some(hook) => ("would act", escape(&hook.name, 60)),
            None => ("passed", by),
        },
        verdict => (verdict, by),
    }
}

/// Describes the event: the tool and its command, or the name.
fn event(record: &Stored, most: usize) -> String {
    let [name, tool] = ["event", "tool_name"].map(|field| escape(record.text(field), 60));
    let subject = escape(hookbox::prefix(&record.subject(), most), most);
    let first = match (tool.as_str(), name.as_str()) {
        ("", _) => name,
        (_, "after_tool_call") => format!("after {tool}"),
        _ => tool,
    };
    if subject.is_empty() { first } else { format!("{first}: {subject}") }
}

/// The account of a record, to be read from top to bottom; in the layout of `hookbox explain`.
pub(super) fn account(record: &Stored) -> String {
    let mut out = event(record, 2_000);
    line(&mut out, "id", &escape(&record.id, 40));
    line(&mut out, "time", &escape(&record.time, 40));
    line(&mut out, "event", &escape(record.text("event"), 80));
    line(&mut out, "agent", &text(&record.agent, 80));
    line(&mut out, "session", &text(&record.conversation, 200));
    line(&mut out, "directory", &text(&record.cwd, 4096));
    for key in ["tool_input", "tool_output", "message", "error", "response"] {
        let value = record.event.get(key).filter(|it| !it.is_null()).map(shown).unwrap_or_default();
        line(&mut out, key.trim_start_matches("tool_"), &escape(&value, 4_000));
    }
    turns(&mut out, &record.report.hooks);
    for failure in &record.report.on_error {
        let _ = write!(out, "\n\nTold of the failure of {}:", escape(&failure.of, 200));
        turns(&mut out, &failure.hooks);
    }
    let _ = write!(out, "\n\n{}", verdict(record));
    for (label, texts) in
        [("For the model", &record.verdict.additional_context), ("Warning", &record.verdict.warnings)]
    {
        texts.iter().for_each(|it| out.push_str(&format!("\n{label}: {}", escape(it, 2_000))));
    }
    for (is_so, note) in [
        (record.redacted, "\nSecrets were removed from this record."),
        (record.cut, "\nThis record was too large: long texts in it are cut."),
    ] {
        out.push_str(if is_so { note } else { "" });
    }
    out
}

/// Describes the turns of hooks.
fn turns(out: &mut String, hooks: &[StoredHook]) {
    for (number, hook) in (1..).zip(hooks) {
        let _ = write!(out, "\n\n{number}. {}: {}", escape(&hook.name, 200), escape(&hook.status, 20));
        let mut line = |label: &str, value: &str| line(out, label, value);
        line("would be", &text(&hook.would, 20));
        let message = escape(hook.message(), 2_000);
        match &hook.cause {
            None => line("answer", &message),
            Some(cause) => line("failed", format!("{}: {message}", escape(cause, 40)).trim_end_matches(": ")),
        }
        deeds(hook, &mut line);
        let trusted = if hook.trusted == Some(false) { ", not trusted" } else { "" };
        line("kind", &format!("{}, {}{trusted}", escape(&hook.kind, 20), escape(&hook.tier, 20)));
        line("digest", &text(&hook.digest, 80));
        let settings: Vec<String> =
            hook.settings.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect();
        line("settings", &escape(&settings.join(", "), 2_000));
        line("rights", &escape(&hook.rights.join(", "), 2_000));
        line("used", &used(hook));
    }
}

/// Describes the verdict.
fn verdict(record: &Stored) -> String {
    let (decision, by) = decided(record);
    let reason = match record.decision().why {
        "" => String::new(),
        why => format!(": {}", escape(why, 2_000)),
    };
    match decision {
        "blocked" => format!("Blocked by {by}{reason}"),
        "asked" => format!("The user is asked by {by}{reason}"),
        "changed" => format!("Passes, changed by {by}."),
        "allowed" => format!("Passes: {by} blocks it, and the user allowed it."),
        "would act" => format!("Passes: {by} only observes."),
        _ => "Passes.".to_owned(),
    }
}

/// Returns a text that may be absent.
fn text(text: &Option<String>, most: usize) -> String {
    escape(text.as_deref().unwrap_or_default(), most)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
