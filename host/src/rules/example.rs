//! The examples of a rule.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::path::lexical;
use super::read::{Lines, Read, Table};
use super::rule::{Rule, Unread};
use super::view::View;
use crate::dialect::kodelet;
use crate::event::{Context, Event, EventName, Facts, ResolvedPath, ToolCall, ToolKind};
use hookbox_system::text;
use hookbox_system::toml_value::SpannedValue;

/// The working directory and the home directory of examples. Nothing is read there.
const CWD: &str = "/home/user/project";
const HOME: &str = "/home/user";

/// The number of examples of a file.
pub(super) const MAX_EXAMPLES: usize = 1_024;

/// Checks the examples of a rule. `left` is the number of examples that the file may still have.
pub(super) fn check(rule: &Rule, event: &EventName, table: &Table<'_, '_>, left: &mut usize) -> Read<()> {
    for (key, must_match) in [("must_match", true), ("must_pass", false)] {
        for item in table.items(key)? {
            let fault = |message: String| table.lines.fault(&item.span(), message);
            *left = left
                .checked_sub(1)
                .ok_or_else(|| fault(format!("the file has more than {MAX_EXAMPLES} examples")))?;
            let example = example(item, event, table.lines, key)?;
            let found = rule.matches(&View::new(&example, &[HOME.into()]));
            if found.as_ref().is_ok_and(|found| found.is_some() == must_match) {
                continue;
            }
            let name = super::rule::shown(&rule.name);
            let shown = text::escape(&Table::json(item).to_string(), 200);
            // Not `must_pass: …`: in a reason it would count as a secret.
            return Err(fault(match found {
                Ok(None) => format!("{name:?} does not match {shown} of {key}"),
                Ok(Some(_)) => format!("{name:?} matches {shown} of {key}"),
                Err(Unread) => format!("{shown} of {key} cannot be read to its end"),
            }));
        }
    }
    Ok(())
}

/// Reads an example: a command line or a message, or the data of an event.
fn example(item: &SpannedValue<'_>, event: &EventName, lines: &Lines, key: &str) -> Read<Event> {
    let mut data = match (Table::json(item), event) {
        (Value::String(line), EventName::BeforeToolCall | EventName::AfterToolCall | EventName::OnError) => {
            let call = json!({ "tool_name": "bash", "tool_input": { "command": line } });
            call.as_object().cloned().unwrap_or_default()
        }
        (Value::String(message), EventName::UserMessageSend) => {
            Map::from_iter([("message".to_owned(), message.into())])
        }
        (Value::Object(data), _) => data,
        _ => return Err(super::read::wrong(lines, key, "a table with the data of the event", item)),
    };
    for (short, field) in [("tool", "tool_name"), ("input", "tool_input"), ("output", "tool_output")] {
        if let Some(value) = data.remove(short) {
            data.insert(field.to_owned(), value);
        }
    }
    let fault = |message: String| lines.fault(&item.span(), format!("{key}: {message}"));
    let decoded = kodelet::decode(event, data, &Context::new("example", CWD));
    let decoded = decoded.map_err(|error| fault(error.to_string()))?;
    if let Some(unknown) = decoded.unknown.first() {
        return Err(fault(format!("unknown field {:?} of {event}", text::escape(unknown, 80))));
    }
    let mut event = decoded.event;
    if let Some(call) = event.tool_call_mut() {
        call.facts = Arc::new(facts_of(call));
    }
    Ok(event)
}

/// Returns the facts of an example. Unlike [`facts::of`] it reads no file.
fn facts_of(call: &ToolCall) -> Facts {
    let input = call.decoded();
    let kind = hookbox_calls::kind_of_call(&call.name, &input);
    let mut found = Facts { kind, ..Facts::default() };
    match kind {
        ToolKind::Shell => found.command = hookbox_calls::command_of(&call.name, &input),
        ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search => {
            let (cwd, home) = (Path::new(CWD), Path::new(HOME));
            let named = hookbox_calls::named(&call.name, &input).into_iter();
            let paths = named.map(|name| lexical(name, cwd, Some(home)));
            found.paths = paths
                .map(|path| ResolvedPath {
                    inside: path.starts_with(cwd),
                    path: path.to_string_lossy().into_owned(),
                })
                .collect();
        }
        _ => {}
    }
    found
}
