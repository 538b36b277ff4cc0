//! The event as a hook of a record saw it.

use hookbox::{Document, Event, EventData};
use serde_json::Value;

use crate::journal::event_of;

/// Returns the event of a record with the changes of these hooks, which ran before.
pub(super) fn seen((record, line): (&Value, &[u8]), before: &[Value]) -> Option<Event> {
    let mut event = event_of(record, line)?;
    // An answer of a hook that observes changes nothing.
    let acting = before.iter().filter(|hook| hook.get("status").is_some_and(|it| it != "observed"));
    for change in acting.filter_map(|hook| hook.get("changes")?.as_array()).flatten() {
        let (what, after) = (change.get("what")?.as_str()?, change.get("after")?);
        let text = || match after {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match (&mut event.data, what) {
            (EventData::BeforeToolCall(call), "input") => call.input = Document::new(after.clone()),
            (EventData::AfterToolCall(result), "output") => result.output = Document::new(after.clone()),
            (EventData::UserMessageSend { message }, "message") => *message = Some(text()),
            (EventData::OnError(error), "error") => error.message = text(),
            _ => {}
        }
    }
    Some(event)
}
