//! Compares the answer that came with the one that must come, as `hookbox test` does.

use serde_json::{Value, json};

use super::came::Came;
use super::case::{Case, Expect};

/// A difference between the answer that must come and the one that came.
#[derive(Debug)]
pub(super) struct Difference {
    /// The key of the expected answer, or `hook` if the case could not be judged.
    pub(super) what: String,
    expected: Value,
    came: Value,
}

impl Difference {
    /// Returns the lines with `-` for one that must come, `+` for one that came, else a space.
    pub(super) fn lines(&self) -> Vec<(char, String)> {
        let (expected, came) = (lines_of(&self.expected), lines_of(&self.came));
        let start = expected.iter().zip(&came).take_while(|(one, other)| one == other).count();
        let rest = |lines: &[String]| lines.iter().skip(start).rev().cloned().collect::<Vec<_>>();
        let (expected_rest, came_rest) = (rest(&expected), rest(&came));
        let end = expected_rest.iter().zip(&came_rest).take_while(|(one, other)| one == other).count();
        let middle = |lines: Vec<String>| lines.into_iter().skip(end).rev();
        let mut lines: Vec<_> = expected.iter().take(start).map(|line| (' ', line.clone())).collect();
        let common: Vec<_> = expected_rest.iter().take(end).rev().map(|line| (' ', line.clone())).collect();
        lines.extend(middle(expected_rest).map(|line| ('-', line)));
        lines.extend(middle(came_rest).map(|line| ('+', line)));
        lines.extend(common);
        lines
    }
}

fn lines_of(value: &Value) -> Vec<String> {
    let text = match value {
        Value::Null => return Vec::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    // An empty text is a line too.
    text.strip_suffix('\n').unwrap_or(&text).split('\n').map(str::to_owned).collect()
}

/// Returns the differences between the answer of a case and the one that came.
pub(super) fn compare(case: &Case, came: &Came) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, expected: Value, came: Value| {
        found.push(Difference { what: what.to_owned(), expected, came })
    };
    if let Some(unfit) = &came.unfit {
        add("hook", Value::Null, json!(unfit));
        return found;
    }
    let Some(expect) = &case.expect else {
        add("expect", Value::Null, whole(came));
        return found;
    };
    if expect.verdict != came.verdict {
        add("verdict", json!(expect.verdict), json!(came.verdict));
    }
    for (key, expected, text) in
        [("reason", &expect.reason, came.reason.as_deref()), ("log", &expect.log, Some(came.log.as_str()))]
    {
        let contains = |part: &String| text.is_some_and(|text| text.contains(part.as_str()));
        if expected.as_ref().is_some_and(|part| !contains(part)) {
            add(key, json!(expected), json!(text));
        }
    }
    let changed = came.changed.as_ref();
    for (name, expected) in new_values(expect) {
        let new = changed.filter(|(changed, _)| *changed == name).map(|(_, value)| value);
        if expected.is_some_and(|expected| !new.is_some_and(|new| matches(expected, new))) {
            add(name, json!(expected), json!(new));
        }
    }
    if expect.changed.is_some_and(|expected| expected != changed.is_some()) {
        add("changed", json!(expect.changed), json!(changed.is_some()));
    }
    for (key, expected, texts) in [
        ("context", &expect.context, &came.context),
        ("warnings", &expect.warnings, &came.warnings),
        ("follow_ups", &expect.follow_ups, &came.follow_ups),
    ] {
        if expected.as_ref().is_some_and(|parts| !contain(texts, parts)) {
            add(key, json!(expected), json!(texts));
        }
    }
    if expect.callback.is_some() && expect.callback != came.callback {
        add("callback", json!(expect.callback), json!(came.callback));
    }
    if expect.failure.as_deref() != came.failure.as_ref().map(|(cause, _)| *cause) {
        let shown = came.failure.as_ref().map(|(cause, message)| format!("{cause}: {message}"));
        add("failure", json!(expect.failure), json!(shown));
    }
    for (key, expected) in &expect.store {
        let value = came.store.get(key);
        if parts(expected).is_some() {
            if !value.is_some_and(|value| matches(expected, &json!(value))) {
                add(&format!("store.{key}"), expected.clone(), json!(value));
            }
            continue;
        }
        let text = match expected {
            Value::Bool(false) => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        if text.as_ref() != value {
            add(&format!("store.{key}"), json!(text), json!(value));
        }
    }
    found
}

/// Returns the parts of a text, if the value is `{ contains = "…" }` or `{ contains = ["…", "…"] }`.
fn parts(value: &Value) -> Option<Vec<&str>> {
    let table = value.as_object().filter(|table| table.len() == 1)?;
    match table.get("contains")? {
        Value::String(part) => Some(vec![part.as_str()]),
        Value::Array(parts) if !parts.is_empty() => parts.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns true if a value is as it must be. Somewhere in the expected one, `{ contains = "…" }` may be for a text.
fn matches(expected: &Value, came: &Value) -> bool {
    if let Some(parts) = parts(expected) {
        return expected == came || parts.iter().all(|part| contains(came, part));
    }
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            let is = |(key, value): (&String, &Value)| came.get(key).is_some_and(|came| matches(value, came));
            expected.len() == came.len() && expected.iter().all(is)
        }
        (Value::Array(expected), Value::Array(came)) => {
            expected.len() == came.len() && expected.iter().zip(came).all(|(one, came)| matches(one, came))
        }
        (expected, came) => expected == came,
    }
}

/// Returns true if a text in a value has this part.
fn contains(value: &Value, part: &str) -> bool {
    match value {
        Value::String(text) => text.contains(part),
        Value::Array(items) => items.iter().any(|item| contains(item, part)),
        Value::Object(fields) => fields.values().any(|field| contains(field, part)),
        _ => false,
    }
}

fn new_values(expect: &Expect) -> [(&'static str, Option<&Value>); 4] {
    [
        ("input", expect.input.as_ref()),
        ("output", expect.output.as_ref()),
        ("message", expect.message.as_ref()),
        ("error", expect.error.as_ref()),
    ]
}

/// Returns true if there is one text for each part, in this order, that contains it.
fn contain(texts: &[String], parts: &[String]) -> bool {
    texts.len() == parts.len() && texts.iter().zip(parts).all(|(text, part)| text.contains(part.as_str()))
}

/// Returns what came, for a case that does not have its answer yet.
fn whole(came: &Came) -> Value {
    let mut answer = json!({
        "verdict": came.verdict, "reason": came.reason, "context": came.context, "warnings": came.warnings,
        "follow_ups": came.follow_ups, "callback": came.callback, "store": came.store,
        "failure": came.failure.as_ref().map(|(cause, _)| cause),
    });
    if let Some(object) = answer.as_object_mut() {
        object.extend(came.changed.clone().map(|(name, value)| (name.to_owned(), value)));
        let is_empty = |it: &Value| it.is_null() || *it == json!([]) || *it == json!({});
        object.retain(|_, value| !is_empty(value));
    }
    answer
}
