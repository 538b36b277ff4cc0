//! A record as a row, and as an account of the event for people.

use std::fmt::Write as _;

use hookbox::escape;
use hookbox_journal::journal::{Decision, Stored, StoredHook};
use serde_json::Value;

use crate::account::{deeds, line, used};
use crate::output;

/// The row of a record in the table.
pub(super) fn row(record: &Stored) -> Vec<String> {
    let (decision, by) = decided(record);
    vec![
        escape(&record.id, 20),
        escape(&record.time, 40).replace('T', " ").chars().take(19).collect(),
        optional(&record.agent, 20),
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

/// The account of a record, in the layout of `hookbox explain`: the decision first, and a line for each hook without a
/// part in it. With `--verbose` every hook is described whole.
pub(super) fn account(record: &Stored) -> String {
    let mut out = format!("{}\n\n{}", verdict(record), event(record, 2_000));
    line(&mut out, "id", &escape(&record.id, 40));
    line(&mut out, "time", &escape(&record.time, 40));
    line(&mut out, "event", &escape(record.text("event"), 80));
    line(&mut out, "agent", &optional(&record.agent, 80));
    line(&mut out, "session", &optional(&record.conversation, 200));
    line(&mut out, "directory", &optional(&record.cwd, 4096));
    for key in ["tool_input", "tool_output", "message", "error", "response"] {
        let value = record.event.get(key).filter(|it| !it.is_null()).map(shown).unwrap_or_default();
        line(&mut out, key.trim_start_matches("tool_"), &escape(&value, 4_000));
    }
    turns(&mut out, &record.report.hooks, record.decision().why);
    for failure in &record.report.on_error {
        let _ = write!(out, "\n\nTold of the failure of {}:", escape(&failure.of, 200));
        turns(&mut out, &failure.hooks, "");
    }
    out.push('\n');
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

/// Describes the turns of hooks. The words of the decision are not said again.
fn turns(out: &mut String, hooks: &[StoredHook], decision: &str) {
    let mut is_after_short = false;
    for (number, hook) in (1..).zip(hooks) {
        // The words of `explain`.
        let status = match hook.status.as_str() {
            "passed_over" => "not asked: its matcher or condition excludes the event".to_owned(),
            "skipped" => "not asked: an earlier hook had blocked".to_owned(),
            "untrusted" => "not asked: it is not trusted".to_owned(),
            status => escape(status, 20),
        };
        let has_part = !matches!(hook.status.as_str(), "passed" | "passed_over" | "skipped" | "untrusted")
            || hook.would.is_some()
            || !hook.denied.is_empty();
        let is_short = !has_part && !output::is_verbose();
        let before = if is_short && is_after_short { "" } else { "\n" };
        is_after_short = is_short;
        let _ = write!(out, "{before}\n{number}. {}: {status}", escape(&hook.name, 200));
        if is_short {
            continue;
        }
        let mut line = |label: &str, value: &str| line(out, label, value);
        line("would be", &optional(&hook.would, 20));
        let message = escape(hook.message(), 2_000);
        match &hook.cause {
            None if hook.message() == decision => {}
            None => line("answer", &message),
            Some(cause) => line("failed", format!("{}: {message}", escape(cause, 40)).trim_end_matches(": ")),
        }
        deeds(hook, &mut line);
        let trusted = if hook.trusted == Some(false) { ", not trusted" } else { "" };
        line("kind", &format!("{}, {}{trusted}", escape(&hook.kind, 20), escape(&hook.tier, 20)));
        line("digest", &optional(&hook.digest, 80));
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
fn optional(text: &Option<String>, most: usize) -> String {
    escape(text.as_deref().unwrap_or_default(), most)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
