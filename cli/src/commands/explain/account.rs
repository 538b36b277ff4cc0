//! The explanation as text.

use std::fmt::Write as _;

use hookbox::capability::Capability;
use hookbox::outcome::Ruling;
use hookbox::report::{HookReport, Status};
use hookbox::session::{Asked, ExplainedHook, Explanation};
use hookbox::{Cause, Kind, Mode, escape};
use hookbox_journal::journal::StoredHook;
use hookbox_system::units::show_duration;
use indicatif::HumanBytes;

use super::way_through::{MatchedRule, matched_rules};
use super::why_not;
use crate::account::{deeds, line, place, tightened, tools, used};
use crate::output::is_verbose;
use hookbox_system::limits;

/// The account for a person: the decision, the event, the hooks that decided, and the others in a line each. With
/// `--verbose` every hook is described whole.
pub(super) fn account(explanation: &Explanation) -> String {
    let mut text = decision(explanation);
    let reports = explanation.hooks.iter().filter_map(|it| it.report.as_ref());
    for allowed in reports.filter(|it| it.status == Status::Allowed) {
        let name = escape(&allowed.name, 200);
        let _ = write!(text, "\n{name} blocks this call, and you allowed it. This look used up nothing.");
    }
    let event = &explanation.fired.event;
    let _ = write!(text, "\n\n{}", event.name());
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
    let is_whole = |(_, hook): &(u32, &ExplainedHook)| is_verbose() || has_decided(hook, explanation);
    let (whole, short): (Vec<_>, Vec<_>) = (1..).zip(asked).partition(is_whole);
    for (number, hook) in &whole {
        let _ = write!(text, "\n\n{number}. {}", turn(hook, explanation));
    }
    if !short.is_empty() {
        let title = if whole.is_empty() { "Hooks" } else { "Other hooks" };
        let _ = write!(text, "\n\n{title} (--verbose shows more):");
    }
    for (number, hook) in short {
        let said = said(hook).map(|(_, said)| format!(": {said}")).unwrap_or_default();
        let _ = write!(text, "\n  {number}. {}{said}", title(hook, explanation));
    }
    if !others.is_empty() {
        text.push_str("\n\nNot for this event:");
        for hook in others {
            let why = why_not(hook, explanation, tools).map(|(_, why)| why).unwrap_or_default();
            let _ = write!(text, "\n  {}: {why}", escape(&hook.entry.name, 200));
            if is_verbose() {
                origin(hook, &mut |label, value| {
                    let _ = write!(text, "\n    {label:<9} {value}");
                });
            }
        }
    }
    text
}

/// Returns true if the decision is this hook's, or if it has a part in it.
fn has_decided(hook: &ExplainedHook, explanation: &Explanation) -> bool {
    let verdict = &explanation.fired.verdict;
    let mut rulings = verdict.block.iter().chain(&verdict.ask);
    hook.asked == Asked::Yes
        && hook.report.as_ref().is_some_and(|it| {
            matches!(it.status, Status::Blocked | Status::Asked | Status::Changed | Status::Allowed)
                || rulings.any(|ruling| ruling.by == it.name)
        })
}

/// Returns the name of a hook with its status, or with the reason why it was not asked.
fn title(hook: &ExplainedHook, explanation: &Explanation) -> String {
    let name = escape(&hook.entry.name, 200);
    match (why_not(hook, explanation, tools), &hook.report) {
        (Some((_, why)), _) => format!("{name}: not asked: {why}"),
        (None, Some(report)) => format!("{name}: {}", report.status.as_str()),
        (None, None) => name,
    }
}

/// Returns the answer of a hook that was asked, or its failure, with its label.
fn said(hook: &ExplainedHook) -> Option<(&'static str, String)> {
    let report = hook.report.as_ref().filter(|_| hook.asked == Asked::Yes)?;
    let failed = |cause: Cause| {
        let message = report.message.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        format!("{}{message}", cause.as_str())
    };
    let answer = would(hook, report).or_else(|| report.message.clone()).map(|it| ("answer", it));
    report.cause.map(|cause| ("failed", failed(cause))).or(answer)
}

/// Describes the turn of a hook.
fn turn(hook: &ExplainedHook, explanation: &Explanation) -> String {
    let mut text = title(hook, explanation);
    let verdict = &explanation.fired.verdict;
    // The decision has these words already.
    let is_decision = |words: &str| verdict.block.iter().chain(&verdict.ask).any(|it| it.for_user() == words);
    let mut line = |label: &str, value: &str| line(&mut text, label, value);
    if let Some((label, said)) = said(hook).filter(|(_, said)| !is_decision(said)) {
        line(label, &said);
    }
    for MatchedRule { name, line: at, on, .. } in matched_rules(hook) {
        line("rule", &format!("{name}, line {at}, on: {on}"));
    }
    let report = hook.report.as_ref().map(|it| StoredHook::of(&it.to_json()));
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
            let _ = write!(when, ", only for {}", tools(&subscription.tools));
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
        Kind::Http => {
            let request = hook.entry.found.runs.as_deref().unwrap_or_default();
            format!("none here: it gets its events by {}", escape(request, 1024))
        }
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
