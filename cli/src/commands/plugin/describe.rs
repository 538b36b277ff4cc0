//! Describing a plugin to the user who may trust it.

use hookbox::escape;
use hookbox::hook::Budget;
use hookbox::manager::EntryStatus;
use hookbox::trust::Record;
use hookbox::{Kind, OnFailure};
use hookbox_plugins::{Contents, PluginHook};
use hookbox_system::units::show_duration;

use crate::approval;
use crate::error::{say, warn_with_hint};

/// Warns about the problems of a plugin.
pub(super) fn problems(name: &str, contents: &Contents) {
    for problem in &contents.problems {
        warn_with_hint(format_args!("{name}: {problem}"), problem.hint.as_ref());
    }
}

/// Tells which hooks are not trusted any more.
pub(super) fn forgotten(records: &[Record]) {
    for record in records {
        say(format_args!("took back trust and grants of {}", escape(&record.name, 200)));
    }
}

/// Describes one hook, in lines.
pub(super) fn hook(hook: &PluginHook, trusted: bool) -> Vec<String> {
    let status = match hook.status {
        EntryStatus::Disabled => ", disabled",
        EntryStatus::Invalid => ", cannot be used",
        _ => "",
    };
    let mut lines = vec![format!("    {} ({}{status})", escape(&hook.name, 200), hook.kind.as_str())];
    let mut field = |name: &str, value: &str| lines.push(format!("      {name:<8}{value}"));
    if let Some(description) = &hook.description {
        field("says", &escape(description, 300));
    }
    if let Some(runs) = &hook.runs {
        field("runs", &approval::line(runs));
    }
    let events = hook.events();
    let events: Vec<&str> = events.iter().map(|event| event.as_str()).collect();
    match events.as_slice() {
        [] if hook.kind == Kind::Native && !trusted => {
            field("events", "not known: it is asked once it is trusted");
        }
        [] => {}
        events => {
            let observes = if hook.observe { ", observing" } else { "" };
            let text = format!("{} (priority {}{observes})", events.join(" "), hook.priority);
            field("events", &escape(&text, 1024));
        }
    }
    for subscription in hook.subscriptions.iter().filter(|it| !it.tools.is_empty()) {
        let text = format!("only {} at {}", subscription.tools.join(" "), subscription.event.as_str());
        field("tools", &escape(&text, 1024));
    }
    let usual = show_duration(Budget::for_kind(hook.kind).wall);
    if hook.timeout != usual && hook.kind != Kind::Native {
        field("timeout", &format!("{} instead of {usual}", hook.timeout));
    }
    if hook.on_failure == OnFailure::Block {
        field("fails", "by blocking");
    }
    if hook.kind.is_one_file() && !events.is_empty() {
        field("answers", &approval::answers(&hook.answers));
    }
    for right in &hook.asks {
        field("asks", &format!("to {} ({})", approval::means(right), escape(&right.to_string(), 1024)));
    }
    if let Some(problem) = &hook.problem {
        field("problem", &escape(problem, 1024));
    }
    lines
}

/// Returns the numbers of hooks, by kind.
pub(super) fn counts(contents: &Contents) -> String {
    let mut parts: Vec<String> = Vec::new();
    for kind in [Kind::Native, Kind::Component, Kind::Rules, Kind::Command, Kind::Tool] {
        match contents.enabled().filter(|it| it.kind == kind).count() {
            0 => {}
            count => parts.push(format!("{count} {}", kind.as_str())),
        }
    }
    match contents.disabled() {
        0 => {}
        count => parts.push(format!("{count} disabled")),
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// Returns names in one line.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| escape(name, 200)).collect::<Vec<_>>().join(" "),
    }
}
