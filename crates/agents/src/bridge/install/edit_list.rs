//! Adds our entries to the one list of hooks in a JSON file, and takes them out. hookbox has a file of its own there, so that
//! the entries of others keep their order, and not their blanks.

use serde_json::{Map, Value, json};

use super::desired::DesiredEntry;
use crate::agent::Agent;
use crate::agent::bridge_command::is_ours;
use crate::config::{BY_HAND, DocumentError, LIST_VERSION};

/// Returns the configuration with these entries of ours, after all others.
pub(super) fn merge(agent: Agent, text: &str, desired: &[DesiredEntry]) -> Result<String, DocumentError> {
    let List { mut file, hooks, .. } = read(agent, text)?;
    let ours = desired.iter().map(|it| entry(agent, it));
    file.insert("hooks".to_owned(), hooks.into_iter().chain(ours).collect());
    Ok(written(&file))
}

/// Returns the configuration without our entries; an empty one if nothing else is in it.
pub(super) fn remove(agent: Agent, text: &str) -> Result<String, DocumentError> {
    let List { mut file, hooks, ours } = read(agent, text)?;
    if ours == 0 {
        return Ok(text.to_owned());
    }
    if hooks.is_empty() && file.len() == 1 {
        return Ok(String::new());
    }
    file.insert("hooks".to_owned(), hooks.into());
    Ok(written(&file))
}

/// A file with a list of hooks.
struct List {
    /// The file without its hooks, with its version.
    file: Map<String, Value>,
    /// The hooks of others.
    hooks: Vec<Value>,
    /// The number of our hooks.
    ours: usize,
}

fn read(agent: Agent, text: &str) -> Result<List, DocumentError> {
    let wrong = |expected: &str| DocumentError::new(format!("expected {expected}"), BY_HAND);
    let parsed = || serde_json::from_str(text).map_err(|error| wrong(&format!("an object, found: {error}")));
    let mut file: Map<String, Value> = if text.trim().is_empty() { Map::new() } else { parsed()? };
    if file.entry("version").or_insert_with(|| LIST_VERSION.into()) != LIST_VERSION {
        return Err(wrong(&format!("\"version\": \"{LIST_VERSION}\", found another version")));
    }
    let mut hooks = match file.shift_remove("hooks") {
        None => Vec::new(),
        Some(Value::Array(hooks)) => hooks,
        Some(_) => return Err(wrong("a list for \"hooks\"")),
    };
    let all = hooks.len();
    let line = |hook: &Value| hook.pointer("/action/command").and_then(Value::as_str).map(str::to_owned);
    hooks.retain(|hook| !line(hook).is_some_and(|line| is_ours(agent, &line)));
    let ours = all - hooks.len();
    Ok(List { file, hooks, ours })
}

/// Returns the entry for the list.
fn entry(agent: Agent, desired: &DesiredEntry) -> Value {
    let form = &agent.spec().config.entry;
    let mut entry = Map::new();
    entry.insert("name".to_owned(), format!("hookbox-{}", desired.event).into());
    entry.insert(form.event_key.to_owned(), desired.event.into());
    entry.insert("action".to_owned(), json!({"type": "command", "command": desired.line(agent)}));
    let more = desired.says.iter().filter(|(key, _)| *key != form.command());
    entry.extend(more.map(|(key, value)| (key.clone(), value.clone())));
    entry.into()
}

fn written(file: &Map<String, Value>) -> String {
    format!("{:#}\n", Value::Object(file.clone()))
}
