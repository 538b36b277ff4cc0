//! What is kept of an event until the thread takes it: short, and bounded whatever the event holds.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::chain::Fired;
use crate::event::{Event, InvokedBy, Usage};
use crate::outcome::Verdict;
use crate::redact;
use crate::report::{HookReport, Report, Status};
use crate::text;

/// How many bytes of changed values one event keeps, before and after together.
const CHANGES: usize = 32 << 10;
/// How many bytes of one changed value are kept; twice of what is sent, for redacting mostly shortens.
const CHANGE: usize = 2 * super::spans::MAX_CHANGE;
/// How many bytes of a name or a message are kept.
const TEXT: usize = 1 << 10;
/// How many hooks, and how many changes and denials of one, are kept.
const MANY: usize = 256;

/// An event and what its hooks did.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) event: String,
    pub(super) started: SystemTime,
    pub(super) duration: Duration,
    pub(super) conversation: String,
    pub(super) agent: Option<String>,
    pub(super) recipe: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) invoked_by: InvokedBy,
    pub(super) tool: Option<Tool>,
    pub(super) usage: Option<Usage>,
    pub(super) verdict: &'static str,
    pub(super) by: Option<String>,
    pub(super) hooks: Vec<Ran>,
    /// The `on_error` events for hooks that failed, each with the hook's name.
    pub(super) on_error: Vec<(String, Record)>,
}

/// The tool of a tool call.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) kind: &'static str,
}

/// What one hook did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) tier: &'static str,
    pub(super) trusted: bool,
    pub(super) status: Status,
    pub(super) cause: Option<&'static str>,
    pub(super) started: Duration,
    pub(super) duration: Duration,
    pub(super) fuel: Option<u64>,
    pub(super) memory_peak: Option<u64>,
    pub(super) message: Option<String>,
    pub(super) denied: Vec<String>,
    pub(super) changes: Vec<Changed>,
}

/// What one hook changed; not yet redacted.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) what: &'static str,
    pub(super) from: Value,
    pub(super) to: Value,
}

impl Record {
    pub(super) fn of(fired: &Fired) -> Self {
        let mut left = CHANGES;
        let mut record = Self::bare(&fired.report, &fired.event, &mut left);
        (record.verdict, record.by) = verdict(&fired.verdict);
        record.tool = fired.event.tool_call().map(|call| Tool {
            name: short(&call.name),
            id: call.id.as_deref().map(short),
            kind: call.facts.kind.as_str(),
        });
        record.usage = fired.event.usage();
        let on_error = fired.report.on_error.iter().take(MANY);
        record.on_error = on_error
            .map(|failure| (short(&failure.of), Self::bare(&failure.report, &fired.event, &mut left)))
            .collect();
        record
    }

    fn bare(report: &Report, event: &Event, left: &mut usize) -> Self {
        let context = &event.context;
        let some = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(short);
        Self {
            event: short(report.event.as_str()),
            started: report.started,
            duration: report.duration,
            conversation: short(&context.conversation_id),
            agent: some(&context.agent),
            recipe: some(&context.recipe_name),
            repository: some(&context.repository),
            branch: some(&context.branch),
            invoked_by: context.invoked_by,
            tool: None,
            usage: None,
            verdict: "pass",
            by: None,
            hooks: report.hooks.iter().take(MANY).map(|hook| Ran::of(hook, left)).collect(),
            on_error: Vec::new(),
        }
    }
}

impl Ran {
    fn of(hook: &HookReport, left: &mut usize) -> Self {
        let mut kept = |value: &Value| {
            let part = redact::excerpt(value, CHANGE.min(*left));
            *left = left.saturating_sub(CHANGE.min(8 + length(&part)));
            part
        };
        let changes = hook.changes.iter().take(MANY);
        Self {
            name: short(&hook.name),
            kind: hook.kind.as_str(),
            tier: hook.tier,
            trusted: hook.trusted,
            status: hook.status,
            cause: hook.cause.map(|cause| cause.as_str()),
            started: hook.started,
            duration: hook.duration,
            fuel: hook.fuel,
            memory_peak: hook.memory_peak,
            message: hook.message.as_deref().map(short),
            denied: hook.denied.iter().take(MANY).map(|denial| short(&denial.right)).collect(),
            changes: changes
                .map(|change| Changed {
                    what: change.what,
                    from: kept(&change.before),
                    to: kept(&change.after),
                })
                .collect(),
        }
    }
}

/// Block, ask or pass, and whose word it is.
fn verdict(verdict: &Verdict) -> (&'static str, Option<String>) {
    match (&verdict.block, &verdict.ask) {
        (Some(ruling), _) => ("block", Some(short(&ruling.by))),
        (None, Some(ruling)) => ("ask", Some(short(&ruling.by))),
        (None, None) => ("pass", None),
    }
}

fn short(text: &str) -> String {
    match redact::excerpt(&Value::from(text::prefix(text, 2 * TEXT)), TEXT) {
        Value::String(short) => short,
        _ => String::new(),
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 8 + length(item)).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| 8 + name.len() + length(field)).sum(),
        _ => 0,
    }
}
