//! The account of a hook as text: its part in an event, and the places of its settings. An attacker may have written any of
//! it, so it is escaped.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use hookbox::manager::Tightened;
use hookbox::{escape, shown_path};
use hookbox_journal::journal::{StoredChange, StoredDenial, StoredHook};
use hookbox_system::limits;
use indicatif::HumanBytes;
use serde_json::Value;

use crate::output;

/// Appends a label and its value; nothing if there is no value.
pub(crate) fn line(text: &mut String, label: &str, value: &str) {
    if !value.is_empty() {
        let _ = write!(text, "\n  {label:<9} {value}");
    }
}

/// Describes what a hook did besides its answer: its changes, the rights that it lacked, and its log.
pub(crate) fn deeds(hook: &StoredHook, line: &mut impl FnMut(&str, &str)) {
    let value = |it: &Value| escape(&it.to_string(), 500);
    for StoredChange { what, before, after } in &hook.changes {
        let label = if hook.would.is_some() { "change" } else { "changed" };
        line(label, &format!("{}: {} to {}", escape(what, 40), value(before), value(after)));
    }
    for StoredDenial { right, fix } in &hook.denied {
        line("denied", &format!("{}; {}", escape(right, 200), escape(fix, 400)));
    }
    for logged in hook.log.lines().take(20) {
        line("log", &escape(logged, 500));
    }
}

/// Lists the tools of a subscription. The words that a line must name are counted; `--verbose` shows them.
pub(crate) fn tools(tools: &[String]) -> String {
    let short = |tool: &String| match tool.split_once(" naming ") {
        Some((kind, words)) if !output::is_verbose() => {
            format!("{kind} naming one of {} words", words.split_whitespace().count())
        }
        _ => tool.clone(),
    };
    escape(&tools.iter().map(short).collect::<Vec<_>>().join(", "), limits::PATH)
}

/// Describes the time, the memory and the fuel that a hook used.
pub(crate) fn used(hook: &StoredHook) -> String {
    let mut used = format!("{:.1} ms", Duration::from_micros(hook.duration_us).as_secs_f64() * 1e3);
    if let Some(memory) = hook.memory_peak_bytes {
        let _ = write!(used, ", {}", HumanBytes(memory));
    }
    if let Some(fuel) = hook.fuel {
        let _ = write!(used, ", {fuel} fuel");
    }
    used
}

/// Returns a place in a file, for a person.
pub(crate) fn place(file: &Path, line: Option<usize>, spot: Option<&str>) -> String {
    let mut place = shown_path(file);
    match (line, spot) {
        (Some(line), _) => place.push_str(&format!(", line {line}")),
        (None, Some(spot)) => place.push_str(&format!(", {spot}")),
        (None, None) => {}
    }
    place
}

/// Describes a setting that a repository made stricter.
pub(crate) fn tightened(it: &Tightened) -> String {
    let (setting, value) = (escape(&it.setting, 80), escape(&it.value, 80));
    let (before, place) = (escape(&it.instead_of, 80), place(&it.file, Some(it.line), None));
    format!("{setting} = {value} instead of {before}, set by the repository ({place})")
}
