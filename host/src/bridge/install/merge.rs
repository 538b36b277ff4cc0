//! Our entries put into a configuration. Each step reads the text as the last one left it, so that no step has to know
//! how another one moved things.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use serde_json::json;

use super::command;
use super::desired::DesiredEntry;
use super::find::{self, Ours};
use super::layout::{Container, Edit, Item, Layout, apply};
use super::remove::take_out;
use crate::bridge::config::{Document, DocumentError, form};
use crate::dialect::agent::Agent;
use crate::text;

/// More steps than any file needs.
const MAX_STEPS: usize = 10_000;

/// The configuration with these entries of ours and no others. Everything else in it stays byte for byte. `before` is the
/// file as it was before we came, as far as that is known: what was there then stays, though it is empty.
pub(super) fn merge(
    agent: Agent,
    bytes: &[u8],
    desired: &[DesiredEntry],
    before: Option<&[u8]>,
) -> Result<Vec<u8>, DocumentError> {
    // Else it would be added again and again.
    if let Some(line) = desired.iter().map(|it| it.line(agent)).find(|line| !command::is_ours(agent, line)) {
        let what =
            format!("expected a command line that hookbox knows again, found {}", text::escape(line, 300));
        return Err(DocumentError::new(what, "give another path with --program; nothing was changed"));
    }
    let before = before.and_then(|it| Document::parse(agent, it).ok());
    repeat(agent, bytes, |document| step(agent, document, desired, before.as_ref()))
}

/// Repeats a step until it has nothing more to change.
pub(super) fn repeat(
    agent: Agent,
    bytes: &[u8],
    step: impl Fn(&Document<'_>) -> Result<Option<Vec<Edit>>, DocumentError>,
) -> Result<Vec<u8>, DocumentError> {
    let mark = "\u{feff}".as_bytes();
    let (mark, rest) = bytes.strip_prefix(mark).map_or((&[][..], bytes), |rest| (mark, rest));
    let mut rest = rest.to_vec();
    for _ in 0..MAX_STEPS {
        let document = Document::parse(agent, &rest)?;
        match step(&document)? {
            None => return Ok([mark, &rest].concat()),
            Some(edits) => rest = apply(document.text, edits).into_bytes(),
        }
    }
    Err(DocumentError::new(
        format!("expected at most {MAX_STEPS} entries of hookbox, found more"),
        "remove them by hand; nothing was changed",
    ))
}

fn step(
    agent: Agent,
    document: &Document<'_>,
    desired: &[DesiredEntry],
    before: Option<&Document<'_>>,
) -> Result<Option<Vec<Edit>>, DocumentError> {
    let text = document.text;
    let Some(root) = &document.root else {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let whole = text.len();
        return Ok(Some(vec![Edit { range: whole..whole, text: format!("{newline}{{}}\n") }]));
    };
    let layout = Layout::of(text, Some(root));
    let add = |object: &Object<'_>, in_lines: bool, name: &str, value: &serde_json::Value| {
        Container::from(object).append(text, &layout, in_lines, &Item { name: Some(name), value })
    };
    if form(agent).has_version && document.only(root, "version")?.is_none() {
        return Ok(Some(add(root, true, "version", &json!(1))));
    }
    let Some((hooks, hooks_at)) = find::hooks(document)? else {
        return Ok(Some(add(root, true, "hooks", &json!({}))));
    };
    let ours = find::ours(agent, hooks);
    let is_wanted = |it: &Ours<'_, '_>| desired.iter().any(|desired| desired.event == it.event.name.as_str());
    if let Some(unwanted) = ours.iter().find(|it| !is_wanted(it)) {
        return Ok(Some(take_out(document, hooks, hooks_at, unwanted, before)));
    }
    let in_lines = Container::from(root).has_line(text, hooks_at);
    for desired in desired {
        let Some(event) = document.only(hooks, desired.event)? else {
            return Ok(Some(add(hooks, in_lines, desired.event, &json!([]))));
        };
        let Value::Array(list) = &event.value else {
            return Err(document.unexpected("a list", &event.value, &format!("for \"{}\"", desired.event)));
        };
        let mut ours = ours.iter().filter(|it| it.event.range == event.range);
        let edits = match (ours.next(), ours.next()) {
            (None, _) => {
                let at = hooks.properties.iter().position(|it| it.range == event.range).unwrap_or_default();
                let in_lines = Container::from(hooks).has_line(text, at);
                Some(Container::from(list).append(
                    text,
                    &layout,
                    in_lines,
                    &Item { name: None, value: desired.fresh() },
                ))
            }
            (Some(_), Some(double)) => Some(take_out(document, hooks, hooks_at, double, before)),
            // Its place may be somebody's choice, but what it is for is every call.
            (Some(one), None) if !find::is_effective(one) => {
                Some(take_out(document, hooks, hooks_at, one, before))
            }
            (Some(one), None) => update(agent, text, &layout, one.entry, desired),
        };
        if edits.is_some() {
            return Ok(edits);
        }
    }
    Ok(None)
}

/// The change of one of our entries that does not say yet what it should.
fn update(
    agent: Agent,
    text: &str,
    layout: &Layout,
    entry: &Object<'_>,
    desired: &DesiredEntry,
) -> Option<Vec<Edit>> {
    let managed = [find::commands(agent), find::timeouts(agent), vec!["failClosed"]];
    for keys in managed {
        let want = keys.first().and_then(|key| Some((*key, desired.says.get(*key)?)));
        match (find::key_of(entry, &keys), want) {
            (Some(found), Some((_, value))) => {
                if !is_same(&found.value, value) {
                    let range = found.value.start()..found.value.end();
                    return Some(vec![Edit { range, text: value.to_string() }]);
                }
            }
            (None, Some((name, value))) => {
                return Some(Container::from(entry).append(
                    text,
                    layout,
                    true,
                    &Item { name: Some(name), value },
                ));
            }
            // Cursor's alone: what another agent's entry has beside ours is the user's.
            (Some(found), None) if agent == Agent::Cursor => {
                let at = entry.properties.iter().position(|it| it.range == found.range)?;
                return Some(Container::from(entry).remove(text, at));
            }
            (_, None) => {}
        }
    }
    None
}

fn is_same(found: &Value<'_>, want: &serde_json::Value) -> bool {
    match found {
        Value::StringLit(it) => want.as_str() == Some(it.value.as_ref()),
        Value::NumberLit(it) => it.value.parse().ok().is_some_and(|it: f64| want.as_f64() == Some(it)),
        Value::BooleanLit(it) => want.as_bool() == Some(it.value),
        _ => false,
    }
}
