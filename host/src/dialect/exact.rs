//! Integers that 64 bits do not hold, on the way from an event's data to a hook and back. Readers and writers of
//! the dialects work with values, which round them. Only a tool's input and output have any such numbers.

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::event::{Document, Event, EventData, EventName};
use crate::outcome::{Action, Outcome};
use hookbox_system::json;

/// The depth to which payloads and answers are searched. A dialect has an input at most inside one object.
const MAX_DEPTH: usize = 2;

/// A document of a tool call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Input,
    Output,
}

impl Part {
    /// Returns the document that a field has in one of the dialects: `tool_input`, `modifiedInput`,
    /// `tool_response` and so on.
    fn of(name: &str) -> Option<Self> {
        if name.ends_with("nput") {
            return Some(Self::Input);
        }
        (name.ends_with("utput") || name.ends_with("esponse")).then_some(Self::Output)
    }

    /// Returns the document of an event.
    fn document(self, event: &Event) -> Option<&Document> {
        match (self, &event.data) {
            (Self::Input, _) => event.tool_call().map(|call| &call.input),
            (Self::Output, EventData::AfterToolCall(result)) => Some(&result.output),
            (Self::Output, _) => None,
        }
    }

    /// Returns the document of an event, to change it.
    fn document_mut(self, event: &mut Event) -> Option<&mut Document> {
        match self {
            Self::Input => event.tool_call_mut().map(|call| &mut call.input),
            Self::Output => match &mut event.data {
                EventData::AfterToolCall(result) => Some(&mut result.output),
                _ => None,
            },
        }
    }
}

/// Gives the input and the output of a tool the digits that they have in the payload from which the event was read.
pub fn restore(event: &mut Event, payload: &[u8]) {
    for part in [Part::Input, Part::Output] {
        if let Some(document) = part.document_mut(event)
            && json::is_rounded(document.value())
            && let Ok(members) = json::object(payload)
            && let Some(found) = find(&members, part, document.value(), 0)
        {
            *document = found;
        }
    }
}

/// Gives the change of an outcome the digits that the hook printed.
pub fn restore_answer(outcome: &mut Outcome, event: &EventName, printed: &[u8]) {
    let part = if *event == EventName::AfterToolCall { Part::Output } else { Part::Input };
    if let Action::Modify(value) = &outcome.action
        && json::is_rounded(value)
        && let Ok(members) = json::object(printed)
    {
        outcome.exact = find(&members, part, value, 0);
    }
}

/// Finds this value in a field of that part: here, or else inside another field. Of a name that is there twice the
/// last one counts.
fn find(members: &[(String, Box<RawValue>)], part: Part, value: &Value, depth: usize) -> Option<Document> {
    let is_it = |it: &Document| it.is_exact() && it.value() == value;
    let mut own = members.iter().rev().filter(|(name, _)| Part::of(name) == Some(part));
    let found = own.find_map(|(_, raw)| Some(Document::read(raw)).filter(is_it));
    if found.is_some() || depth == MAX_DEPTH {
        return found;
    }
    members
        .iter()
        .rev()
        .filter(|(_, raw)| raw.get().starts_with('{'))
        .find_map(|(_, raw)| find(&json::object(raw.get().as_bytes()).ok()?, part, value, depth + 1))
}

/// JSON that was made from an event, as it is written: the input and the output of a tool have every digit.
pub struct Exact<'a> {
    /// The value that was made.
    pub value: &'a Value,
    /// The event.
    pub event: &'a Event,
}

impl Exact<'_> {
    /// Returns the text.
    pub fn text(&self) -> String {
        let has_digits = |part: Part| part.document(self.event).is_some_and(Document::is_exact);
        let text =
            [Part::Input, Part::Output].into_iter().any(has_digits).then(|| serde_json::to_string(self));
        text.and_then(Result::ok).unwrap_or_else(|| self.value.to_string())
    }
}

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, event } = self;
        match value {
            Value::Array(items) => serializer.collect_seq(items.iter().map(|value| Self { value, event })),
            Value::Object(members) => serializer.collect_map(
                members.iter().map(|(name, value)| (name, Field { name, inner: Exact { value, event } })),
            ),
            plain => plain.serialize(serializer),
        }
    }
}

/// The value of a field.
struct Field<'a> {
    name: &'a str,
    inner: Exact<'a>,
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Exact { value, event } = self.inner;
        let document = Part::of(self.name).and_then(|part| part.document(event));
        match document.filter(|document| document.value() == value) {
            Some(document) if document.is_exact() => RawValue::from_string(document.text().to_owned())
                .map_err(S::Error::custom)?
                .serialize(serializer),
            // Nothing inside it is a document of its own.
            Some(_) => value.serialize(serializer),
            None => self.inner.serialize(serializer),
        }
    }
}
