//! The explanation as text.

use std::fmt::Write as _;

use hookbox::capability::Capability;
use hookbox::outcome::Ruling;
use hookbox::report::{HookReport, Status};
use hookbox::session::{Asked, ExplainedHook, Explanation};
use hookbox::{Kind, Mode, escape};
use hookbox_journal::journal::StoredHook;
use hookbox_system::units::show_duration;
use indicatif::HumanBytes;

use super::way_through::{MatchedRule, WayThrough, matched_rules};
use super::why_not;
use crate::account::{deeds, line, place, tightened, used};
use hookbox_system::limits;

/// The account for a person, to be read from top to bottom.
pub(super) fn account(explanation: &Explanation, pass: Option<&WayThrough>) -> String {
    let event = &explanation.fired.event;
    let mut text = event.name().to_string();
    if let Some(call) = event.tool_call() {
        let _ = write!(text, ", tool {} ({})", escape(&call.name, 100), call.facts.kind.as_str());
        if let Some(command) = &call.facts.command {
            let _ = write!(text, "\n  command   {}", escape(command, 1_000));
        }
        let facts = event.call_facts().unwrap_or_default();
        for line in facts.lines.iter().filter(|_| call.facts.command.is_none()) {
            let _ = write!(text, "\n  line      {}", escape(line, 1_000));
        }
        for file in facts.files.iter().take(limits::NAMED) {
            let _ = write!(text, "\n  {:<9} {}", file.usage.as_str(), escape(&file.path, 1_000));
        }
        if let more @ 1.. = facts.files.len().saturating_sub(limits::NAMED) {
            let _ = write!(text, "\n  and {more} more files (--json has all)");
        }
    }
    let (asked, others): (Vec<_>, Vec<_>) = explanation.hooks.iter().partition(|it| it.report.is_some());
    for (number, hook) in (1..).zip(asked) {
        let _ = write!(text, "\n\n{number}. {}", turn(hook, explanation));
    }
    if !others.is_empty() {
        text.push_str("\n\nNot for this event:");
        for hook in others {
            let why = why_not(hook, explanation).map(|(_, why)| why).unwrap_or_default();
            let _ = write!(text, "\n  {}: {why}", escape(&hook.entry.name, 200));
            origin(hook, &mut |label, value| {
                let _ = write!(text, "\n    {label:<9} {value}");
            });
        }
    }
    let _ = write!(text, "\n\n{}", decision(explanation));
    let reports = explanation.hooks.iter().filter_map(|it| it.report.as_ref());
    for allowed in reports.filter(|it| it.status == Status::Allowed) {
        let name = escape(&allowed.name, 200);
        let _ = write!(text, "\n{name} blocks this call, and you allowed it. This look used up nothing.");
    }
    if let Some(pass) = pass {
        let _ = write!(text, "\n{}", pass.lines());
    }
    text
}

/// Describes the turn of a hook.
fn turn(hook: &ExplainedHook, explanation: &Explanation) -> String {
    let entry = &hook.entry;
    let mut text = format!("{}: ", escape(&entry.name, 200));
    let report = hook.report.as_ref();
    match (why_not(hook, explanation), report) {
        (Some((_, why)), _) => text.push_str(&format!("not asked: {why}")),
        (None, Some(report)) => text.push_str(report.status.as_str()),
        (None, None) => {}
    }
    let mut line = |label: &str, value: &str| line(&mut text, label, value);
    if let Some(report) = report {
        let message = report.message.as_ref().filter(|_| hook.asked == Asked::Yes);
        let would = would(hook, report).filter(|_| hook.asked == Asked::Yes);
        if let Some(would) = &would {
            line("answer", would);
        }
        match (message.filter(|_| would.is_none() || report.cause.is_some()), report.cause) {
            (Some(message), Some(cause)) => line("failed", &format!("{}: {message}", cause.as_str())),
            (None, Some(cause)) if hook.asked == Asked::Yes => line("failed", cause.as_str()),
            (Some(message), None) => line("answer", message),
            (None, _) => {}
        }
        for MatchedRule { name, line: at, on, .. } in matched_rules(hook) {
            line("rule", &format!("{name}, line {at}, on: {on}"));
        }
    }
    let report = report.map(|it| StoredHook::of(&it.to_json()));
    report.iter().for_each(|it| deeds(it, &mut line));
    origin(hook, &mut line);
    if let Some(report) = report.filter(|_| hook.asked == Asked::Yes) {
        line("used", &used(&report));
    }
    text
}

/// Describes what a hook would have done that ran in shadow mode, or that only observes.
fn would(hook: &ExplainedHook, report: &HookReport) -> Option<String> {
    let is_shadow = hook.entry.mode == Mode::Observe;
    let done = match report.would {
        Some(Status::Blocked) => "blocked",
        Some(Status::Asked) => "asked the user",
        Some(_) => "changed the event",
        None if report.status == Status::Observed && is_shadow => {
            return Some("In shadow mode: it would have let the event pass.".to_owned());
        }
        None => return None,
    };
    let reason = report.message.as_deref().map(|it| it.trim_end_matches('.')).filter(|it| !it.is_empty());
    let reason = reason.map(|it| format!(": {it}")).unwrap_or_default();
    let what = if is_shadow { "In shadow mode" } else { "It only observes" };
    Some(format!("{what}: it would have {done}{reason}. Nothing was acted on."))
}

/// Describes a hook apart from the event: its file, its limits, its permissions and its settings.
fn origin(hook: &ExplainedHook, line: &mut impl FnMut(&str, &str)) {
    let entry = &hook.entry;
    let trusted = if entry.trusted { "" } else { ", not trusted" };
    let kind = format!("{}, {}{trusted}", entry.kind.as_str(), entry.tier.as_str());
    match &entry.path {
        Some(path) => {
            line("from", &format!("{} ({kind})", place(path, None, hook.entry.found.declared_at.as_deref())))
        }
        None if entry.kind == Kind::Builtin => line("from", "hookbox itself"),
        None => line("from", &kind),
    }
    if let Some(subscription) = &hook.subscription {
        let mut when = format!("{}, priority {}", subscription.event, subscription.priority);
        if !subscription.tools.is_empty() {
            let _ = write!(when, ", only for {}", escape(&subscription.tools.join(", "), 400));
        }
        if subscription.observe {
            when.push_str(", observing");
        }
        line("runs at", &when);
    }
    let mut limits = hook.budget.map_or_else(|| entry.timeout.clone(), |it| show_duration(it.wall));
    if let (Some(budget), Kind::Component) = (&hook.budget, entry.kind) {
        let _ = write!(limits, ", {}, {} fuel", HumanBytes(budget.memory), budget.fuel);
    }
    let _ = write!(limits, "; on failure: {}", entry.on_failure.as_str());
    line("limits", &limits);
    if let Some(rights) = rights(hook) {
        line("rights", &rights);
    }
    if !entry.lacks.is_empty() {
        line("lacks", &list(&entry.lacks));
    }
    // The line `from` has the file of a declared hook.
    let is_declared = entry.settings_file() == entry.path;
    if let (Some(file), false) =
        (entry.settings_file().filter(|_| hook.entry.found.settings_line.is_some()), is_declared)
    {
        let rows: Vec<String> =
            hook.entry.found.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let rows = if rows.is_empty() { "none of its own".to_owned() } else { rows.join(", ") };
        let from = place(&file, hook.entry.found.settings_line, None);
        line("settings", &format!("{} ({from})", escape(&rows, 2_000)));
    }
    for it in &entry.tightened {
        line("stricter", &tightened(it));
    }
}

/// Describes the permissions of a hook. `None` if they are not known: a component that does not run was not read.
fn rights(hook: &ExplainedHook) -> Option<String> {
    Some(match hook.entry.kind {
        _ if hook.asked == Asked::Untrusted => "none: it does not run".to_owned(),
        Kind::Component if !hook.entry.rights().is_empty() => list(&hook.entry.rights()),
        Kind::Component => hook.budget.map(|_| "none".to_owned())?,
        Kind::Rules | Kind::Builtin => "none".to_owned(),
        _ => "all of yours: it is not in a sandbox".to_owned(),
    })
}

fn list(rights: &[Capability]) -> String {
    let rights: Vec<String> = rights.iter().map(|it| escape(&it.to_string(), 200)).collect();
    rights.join(", ")
}

/// Describes the verdict.
fn decision(explanation: &Explanation) -> String {
    let verdict = &explanation.fired.verdict;
    let said = |ruling: &Ruling| {
        let reason = ruling.for_user();
        let reason = if reason.is_empty() { String::new() } else { format!(": {}", escape(reason, 2_000)) };
        format!("{}{reason}", escape(&ruling.by, 200))
    };
    match (&verdict.block, &verdict.ask) {
        (Some(ruling), _) => format!("Blocked by {}", said(ruling)),
        (None, Some(ruling)) => format!("The user is asked by {}", said(ruling)),
        (None, None) if verdict.modified => {
            let reports = explanation.hooks.iter().filter_map(|it| it.report.as_ref());
            let changed = reports.filter(|it| it.would.is_none() && !it.changes.is_empty());
            let by = changed.map(|it| escape(&it.name, 200));
            format!("Passes, changed by {}.", by.collect::<Vec<_>>().join(", "))
        }
        (None, None) => match &verdict.allowed {
            Some(ruling) => format!("Passes without a question of the agent, allowed by {}", said(ruling)),
            None => "Passes.".to_owned(),
        },
    }
}
