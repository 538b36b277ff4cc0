//! A record as JSON.

use std::hash::{BuildHasher as _, RandomState};

use hookbox::dialect::exact::{self, Exact};
use hookbox::dialect::{Dialect, kodelet};
use hookbox::journal::{Record, RecordedHook};
use hookbox::session::Fired;
use hookbox::{Context, Event, EventName, redact};
use hookbox_system::{json, limits};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::stored::Stored;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The letters of an id.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The number of letters of an id: 50 bits.
const ID: usize = 10;

/// The most arrays and objects in each other in a part of a record: a reader of JSON mostly stops at 128.
const DEPTH: usize = 124;

/// The longest text of a record that is too large, in bytes.
const EXCERPT: usize = 4 << 10;

/// The most items of a list in a record that is too large.
const ITEMS: usize = 256;

/// The parts of a record, each with its key.
type Parts = [(&'static str, Value); 3];

/// Returns the line of a record without its last brace, with at most `most` bytes.
pub(super) fn line(record: &Record<'_>, agent: Option<&str>, most: usize) -> String {
    let Record { event, fired, hooks, .. } = record;
    let whole: Parts = [
        ("event", kodelet::encode_whole(event)),
        ("verdict", Dialect::Kodelet.verdict(&fired.verdict, &fired.event)),
        ("report", report(fired, hooks)),
    ];
    let cut = |how: fn(&Value) -> Value| whole.each_ref().map(|(key, part)| (*key, how(part)));
    let fitting = |parts: &Parts, is_cut| {
        // A part that is too large need not be searched for secrets.
        let may_fit = parts.iter().all(|(_, it)| json::size(it) <= most && !is_deeper(it, DEPTH));
        may_fit.then(|| line_of(record, agent, parts, is_cut)).filter(|line| line.len() <= most)
    };
    fitting(&whole, false)
        .or_else(|| fitting(&cut(excerpt), true))
        .unwrap_or_else(|| line_of(record, agent, &cut(names), true))
}

fn line_of(record: &Record<'_>, agent: Option<&str>, parts: &Parts, is_cut: bool) -> String {
    let Record { event, fired, home, .. } = record;
    let context = &event.context;
    let mut head = json!({
        "v": VERSION,
        "id": id(),
        "time": Timestamp::try_from(fired.report.started).unwrap_or_default().to_string(),
        "hookbox": env!("CARGO_PKG_VERSION"),
        "agent": agent.or(context.agent.as_deref()),
        "conversation": context.conversation_id,
        "cwd": context.cwd,
        "home": home.map(|it| it.to_string_lossy()),
    });
    let given = || std::env::var("TRACEPARENT").ok();
    // An event without a span of its own belongs to the span of the agent.
    if let Some(trace) = record.trace.clone().or_else(given).filter(|it| it.len() <= limits::WORD) {
        head.as_object_mut().and_then(|it| it.insert("trace".to_owned(), trace.into()));
    }
    let mut is_redacted = false;
    let mut line = redact::whole_value(&excerpt(&head)).to_string();
    line.pop();
    for (key, part) in parts {
        let mut clean = redact::whole_value(part);
        is_redacted |= clean != *part;
        // The report is the last part.
        if is_redacted {
            without_inputs(&mut clean);
        }
        let is_clean = clean == *part;
        let text = if is_clean { Exact { value: part, event }.text() } else { clean.to_string() };
        line.push_str(&format!(",\"{key}\":{text}"));
    }
    for (key, is_set) in [("redacted", is_redacted), ("cut", is_cut)] {
        if is_set {
            line.push_str(&format!(",\"{key}\":true"));
        }
    }
    line
}

/// Removes the recorded inputs of the hooks. A secret of the event may be in any of them in another form, such as a path, and
/// a record with secrets is not replayed.
fn without_inputs(report: &mut Value) {
    let hooks = report.get_mut("hooks").and_then(Value::as_array_mut);
    for inputs in hooks.into_iter().flatten().filter_map(|hook| hook.get_mut("inputs")) {
        *inputs = Value::Null;
    }
}

/// Returns true if a value has more than `depth` arrays and objects in each other.
fn is_deeper(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => true,
        Value::Array(items) => items.iter().any(|it| is_deeper(it, depth - 1)),
        Value::Object(fields) => fields.values().any(|it| is_deeper(it, depth - 1)),
        _ => false,
    }
}

/// Returns the report, with what is known of each hook.
fn report(fired: &Fired, hooks: &[RecordedHook<'_>]) -> Value {
    let mut value = fired.report.to_json();
    let rows = value.get_mut("hooks").and_then(Value::as_array_mut).into_iter().flatten();
    for ((row, report), hook) in rows.zip(&fired.report.hooks).zip(hooks) {
        let Some(fields) = row.as_object_mut() else { continue };
        fields.insert("tier".to_owned(), report.tier.into());
        fields.insert("digest".to_owned(), json!(hook.digest));
        fields.insert("settings".to_owned(), json!(hook.settings.cloned().unwrap_or_default()));
        fields.insert("rights".to_owned(), hook.rights.iter().map(ToString::to_string).collect());
        fields.insert("inputs".to_owned(), json!(report.inputs));
    }
    value
}

/// Returns the short texts, numbers and flags of a value, and those of the objects in its first list.
fn names(value: &Value) -> Value {
    let is_plain = |it: &Value| match it {
        Value::String(text) => text.len() <= limits::WORD,
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    let plain = |fields: &Map<String, Value>| -> Map<String, Value> {
        let fields =
            fields.iter().filter(|(name, it)| name.len() <= limits::WORD && is_plain(it)).take(ITEMS);
        fields.map(|(name, it)| (name.clone(), it.clone())).collect()
    };
    let Some(fields) = value.as_object() else { return Value::Null };
    let mut kept = plain(fields);
    if let Some(hooks) = fields.get("hooks").and_then(Value::as_array) {
        let hooks = hooks.iter().filter_map(Value::as_object).take(ITEMS).map(|it| Value::Object(plain(it)));
        kept.insert("hooks".to_owned(), hooks.collect());
    }
    Value::Object(kept)
}

/// Returns a value with the beginning of each long text, the first items of each long list, and no more than [`DEPTH`] of
/// them in each other.
fn excerpt(value: &Value) -> Value {
    excerpt_to(value, DEPTH)
}

fn excerpt_to(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) if text.len() > EXCERPT => format!("{}…", hookbox::prefix(text, EXCERPT)).into(),
        Value::Array(_) | Value::Object(_) if depth == 0 => "…".into(),
        Value::Array(items) => items.iter().take(ITEMS).map(|it| excerpt_to(it, depth - 1)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(ITEMS).filter(|(name, _)| name.len() <= EXCERPT);
            fields.map(|(name, it)| (name.clone(), excerpt_to(it, depth - 1))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Returns an id that no other record has.
fn id() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let mut bits = RandomState::new().hash_one(0_u8);
    let mut id = String::with_capacity(ID);
    for _ in 0..ID {
        let letter = usize::try_from(bits % 32).ok().and_then(|at| LETTERS.get(at));
        id.push(letter.copied().unwrap_or(b'0').into());
        bits /= 32;
    }
    id
}

/// Reads the event of a record, as the agent sent it. `line` is the record's text, which has every digit. Returns nothing
/// if the record has no event.
pub fn event_of(record: &Stored, line: &[u8]) -> Option<Event> {
    let name: EventName = record.text("event").parse().ok()?;
    let mut event = kodelet::decode(&name, record.event.clone(), &Context::new("", "/")).ok()?.event;
    exact::restore(&mut event, line);
    Some(event)
}
