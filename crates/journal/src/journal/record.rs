//! A record as JSON.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;

use hookbox::internal::dialect::exact::Exact;
use hookbox::internal::dialect::{Dialect, kodelet};
use hookbox::internal::redact;
use hookbox::journal::{Record, RecordedHook};
use hookbox::report::HookReport;
use hookbox::{Context, Event, EventName};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::MAX_RECORD;

/// The version of the format.
const VERSION: u32 = 1;

/// The letters of an id.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The number of letters of an id: 50 bits.
const ID: usize = 10;

/// The longest text of a record that is too large, in bytes.
const EXCERPT: usize = 4 << 10;

/// The most items of a list in a record that is too large.
const ITEMS: usize = 256;

/// Returns the line of a record without its last brace.
pub(super) fn line(record: &Record<'_>, agent: Option<&str>) -> String {
    let Record { event, fired, hooks, home, .. } = record;
    let context = &event.context;
    let hook = |(report, hook): (&HookReport, &RecordedHook<'_>)| with_details(report, hook);
    let on_error = fired.report.on_error.iter().map(|failure| {
        let hooks: Vec<Value> = failure.report.hooks.iter().map(HookReport::to_json).collect();
        json!({ "of": failure.of, "hooks": hooks })
    });
    let head = json!({
        "v": VERSION,
        "id": id(),
        "time": Timestamp::try_from(fired.report.started).unwrap_or_default().to_string(),
        "hookbox": env!("CARGO_PKG_VERSION"),
        "agent": agent.or(context.agent.as_deref()),
        "conversation": context.conversation_id,
        "cwd": context.cwd,
        "home": home.map(|it| it.to_string_lossy()),
    });
    let sent = kodelet::encode_whole(event);
    let verdict = Dialect::Kodelet.verdict(&fired.verdict, &fired.event);
    let report = json!({
        "duration_us": u64::try_from(fired.report.duration.as_micros()).unwrap_or(u64::MAX),
        "hooks": fired.report.hooks.iter().zip(hooks).map(hook).collect::<Vec<_>>(),
        "on_error": on_error.collect::<Vec<_>>(),
    });
    let parts = [("event", &sent), ("verdict", &verdict), ("report", &report)];
    let is_cut = parts.iter().map(|(_, it)| size(it)).sum::<usize>() > MAX_RECORD;
    let mut is_redacted = false;
    let mut line = redact::value(&head).to_string();
    line.pop();
    for (key, value) in parts {
        let cut = is_cut.then(|| excerpt(value));
        let clean = redact::value(cut.as_ref().unwrap_or(value));
        is_redacted |= clean != *cut.as_ref().unwrap_or(value);
        let text = if clean == sent { Exact { value: &sent, event }.text() } else { clean.to_string() };
        line.push_str(&format!(",\"{key}\":{text}"));
    }
    for (key, is_set) in [("redacted", is_redacted), ("cut", is_cut)] {
        if is_set {
            line.push_str(&format!(",\"{key}\":true"));
        }
    }
    line
}

/// Returns about the size of a value as JSON, in bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, it)| name.len() + size(it) + 4).sum::<usize>() + 2,
        _ => 8,
    }
}

/// Returns the report of a hook with its digest, settings and permissions.
fn with_details(report: &HookReport, hook: &RecordedHook<'_>) -> Value {
    let mut value = report.to_json();
    if let Value::Object(fields) = &mut value {
        fields.insert("tier".to_owned(), report.tier.into());
        fields.insert("digest".to_owned(), json!(hook.digest));
        fields.insert("settings".to_owned(), json!(hook.settings.cloned().unwrap_or_default()));
        fields.insert("rights".to_owned(), hook.rights.iter().map(ToString::to_string).collect());
        fields.insert("inputs".to_owned(), json!(report.inputs));
    }
    value
}

/// Returns a value with the beginning of each long text, and the first items of each long list.
fn excerpt(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > EXCERPT => format!("{}…", hookbox::prefix(text, EXCERPT)).into(),
        Value::Array(items) => items.iter().take(ITEMS).map(excerpt).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(ITEMS).filter(|(name, _)| name.len() <= EXCERPT);
            fields.map(|(name, value)| (name.clone(), excerpt(value))).collect::<Map<_, _>>().into()
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

/// Reads the event of a record, as the agent sent it. Returns nothing if the record has none.
pub fn event_of(record: &Value) -> Option<Event> {
    let payload = record.get("event")?.as_object()?.clone();
    let name: EventName = payload.get("event")?.as_str()?.parse().ok()?;
    let decoded = kodelet::decode(&name, payload, &Context::new("", "/")).ok()?;
    Some(decoded.event)
}

/// Returns the home directory of a record.
pub fn home_of(record: &Value) -> Option<PathBuf> {
    record.get("home")?.as_str().map(PathBuf::from)
}
