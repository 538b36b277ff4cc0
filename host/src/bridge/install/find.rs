//! Our entries in a configuration.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};

use super::command;
use crate::bridge::config::{Document, DocumentError, LIMITS, form};
use crate::dialect::agent::Agent;

/// An entry of ours, and where it is.
#[derive(Debug)]
pub(super) struct Ours<'d, 'a> {
    pub(super) event: &'d ObjectProp<'a>,
    /// Which of the file's events it is.
    pub(super) event_at: usize,
    pub(super) list: &'d Array<'a>,
    /// Where it, or its group, is in the event's list.
    pub(super) at: usize,
    /// The group with its list, and where the entry is in that.
    pub(super) group: Option<(&'d Object<'a>, &'d Array<'a>, usize)>,
    pub(super) entry: &'d Object<'a>,
}

/// The file's `hooks`.
pub(super) fn hooks<'d, 'a>(
    document: &'d Document<'a>,
) -> Result<Option<(&'d Object<'a>, usize)>, DocumentError> {
    let Some(root) = &document.root else { return Ok(None) };
    let Some(property) = document.only(root, "hooks")? else { return Ok(None) };
    let at = root.properties.iter().position(|it| it.range == property.range).unwrap_or_default();
    match &property.value {
        Value::Object(hooks) => Ok(Some((hooks, at))),
        other => Err(document.unexpected("an object", other, "for \"hooks\"")),
    }
}

/// Our entries in these, in the order of the file.
pub(super) fn ours<'d, 'a>(agent: Agent, hooks: &'d Object<'a>) -> Vec<Ours<'d, 'a>> {
    let mut found = Vec::new();
    for (event_at, event) in hooks.properties.iter().enumerate() {
        let Value::Array(list) = &event.value else { continue };
        for (at, item) in list.elements.iter().enumerate() {
            let Value::Object(item) = item else { continue };
            if !form(agent).is_grouped && is_ours(agent, item) {
                found.push(Ours { event, event_at, list, at, group: None, entry: item });
                continue;
            }
            let Some(inner) = item.get_array("hooks") else { continue };
            for (inner_at, entry) in inner.elements.iter().enumerate() {
                let Value::Object(entry) = entry else { continue };
                if is_ours(agent, entry) {
                    let group = Some((item, inner, inner_at));
                    found.push(Ours { event, event_at, list, at, group, entry });
                }
            }
        }
    }
    found
}

/// Whether the agent runs this entry for every call of its event, and waits for it.
pub(super) fn is_effective(ours: &Ours<'_, '_>) -> bool {
    let is_off = |value: &Value<'_>| match value {
        Value::BooleanLit(it) => !it.value,
        Value::NullKeyword(_) => true,
        _ => false,
    };
    let is_any = |value: &Value<'_>| match value {
        Value::StringLit(it) => matches!(it.value.as_ref(), "" | "*" | ".*"),
        other => is_off(other),
    };
    let entry = ours.entry;
    let matchers = [Some(entry), ours.group.map(|(group, _, _)| group)].into_iter().flatten();
    matchers.filter_map(|it| it.get("matcher")).all(|it| is_any(&it.value))
        && LIMITS.iter().filter_map(|key| entry.get(key)).all(|it| is_off(&it.value))
        && entry.get("enabled").is_none_or(|it| !is_off(&it.value))
        && entry.get("type").is_none_or(|it| it.value.as_string_lit().is_some_and(|it| it.value == "command"))
}

/// The command lines that run hookbox for this agent in a way of their own.
pub(super) fn others_that_mention_us(agent: Agent, hooks: &Object<'_>) -> usize {
    let mut count = 0;
    for event in &hooks.properties {
        let Value::Array(list) = &event.value else { continue };
        for item in list.elements.iter().filter_map(Value::as_object) {
            let inner =
                item.get_array("hooks").into_iter().flat_map(|it| &it.elements).filter_map(Value::as_object);
            let entries = std::iter::once(item).chain(inner);
            let lines = entries.filter_map(|it| line(agent, it));
            count += lines.filter(|it| !command::is_ours(agent, it) && command::mentions(agent, it)).count();
        }
    }
    count
}

fn is_ours(agent: Agent, entry: &Object<'_>) -> bool {
    line(agent, entry).is_some_and(|line| command::is_ours(agent, line))
}

fn line<'o>(agent: Agent, entry: &'o Object<'_>) -> Option<&'o str> {
    key_of(entry, &commands(agent)).and_then(|it| it.value.as_string_lit()).map(|it| it.value.as_ref())
}

/// The keys under which an agent takes a command line, the usual one first.
pub(super) fn commands(agent: Agent) -> Vec<&'static str> {
    std::iter::once(form(agent).command).chain(form(agent).other_commands.iter().copied()).collect()
}

/// The same for a timeout.
pub(super) fn timeouts(agent: Agent) -> Vec<&'static str> {
    std::iter::once(form(agent).timeout).chain(form(agent).other_timeouts.iter().copied()).collect()
}

/// The first of these keys that an entry has.
pub(super) fn key_of<'o, 'a>(entry: &'o Object<'a>, keys: &[&str]) -> Option<&'o ObjectProp<'a>> {
    keys.iter().find_map(|key| entry.get(key))
}
