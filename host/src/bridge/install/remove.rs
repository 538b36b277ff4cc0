//! Our entries taken out of a configuration.

use jsonc_parser::ast::{Object, Value};

use super::find::{self, Ours};
use super::layout::{Container, Edit, has_comment};
use super::merge::repeat;
use crate::bridge::config::{Document, DocumentError, form};
use crate::dialect::agent::Agent;

/// What is left of a configuration without our entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) bytes: Vec<u8>,
    /// Whether nothing is left in it that anybody could have written for a purpose.
    pub(super) is_bare: bool,
}

/// The configuration without our entries, and without what was made to hold them. `before` is the file as it was before
/// we came, as far as that is known: what was there then stays.
pub(super) fn remove(agent: Agent, bytes: &[u8], before: Option<&[u8]>) -> Result<Left, DocumentError> {
    // What cannot be read says nothing of what was there.
    let before = before.and_then(|it| Document::parse(agent, it).ok());
    let bytes = repeat(agent, bytes, |document| step(agent, document, before.as_ref()))?;
    let document = Document::parse(agent, &bytes)?;
    let is_bare = !has_comment(document.text)
        && document.root.as_ref().is_none_or(|root| {
            root.properties.iter().all(|it| form(agent).has_version && it.name.as_str() == "version")
        });
    Ok(Left { bytes, is_bare })
}

fn step(
    agent: Agent,
    document: &Document<'_>,
    before: Option<&Document<'_>>,
) -> Result<Option<Vec<Edit>>, DocumentError> {
    let Some(root) = &document.root else { return Ok(None) };
    if let Some((hooks, hooks_at)) = find::hooks(document)?
        && let Some(first) = find::ours(agent, hooks).first()
    {
        return Ok(Some(take_out(document, hooks, hooks_at, first, before)));
    }
    // That of ours goes too, and only ours.
    let had_version = before.is_none_or(|it| it.root.as_ref().is_some_and(|it| it.get("version").is_some()));
    if form(agent).has_version
        && !had_version
        && let Some(at) = root.properties.iter().position(|it| it.name.as_str() == "version")
    {
        let edits = Container::from(root).remove(document.text, at);
        return Ok(Some(with_inner(
            edits,
            document,
            root,
            before.and_then(|it| Some((it, it.root.as_ref()?))),
        )));
    }
    Ok(None)
}

/// Takes one of our entries out, and with it what it leaves empty: its group, the list of the event, `hooks`. What was
/// there `before`, and what somebody has put a comment into, stays.
pub(super) fn take_out(
    document: &Document<'_>,
    hooks: &Object<'_>,
    hooks_at: usize,
    ours: &Ours<'_, '_>,
    before: Option<&Document<'_>>,
) -> Vec<Edit> {
    let text = document.text;
    let list = Container::from(ours.list);
    if let Some((group, inner, at)) = ours.group {
        let inner = Container::from(inner);
        let keys = group.properties.iter().all(|it| matches!(it.name.as_str(), "hooks" | "matcher"));
        let hooks_of_group =
            group.properties.iter().position(|it| it.name.as_str() == "hooks").unwrap_or_default();
        let has_comment = inner.has_comment_beside(text, at)
            || Container::from(group).has_comment_beside(text, hooks_of_group);
        if inner.len() > 1 || !keys || has_comment {
            return inner.remove(text, at);
        }
    }
    let hooks_before = before.and_then(|it| Some((it, it.root.as_ref()?.get_object("hooks")?)));
    let event = ours.event.name.as_str();
    let list_before = hooks_before.and_then(|(it, hooks)| Some((it, hooks.get_array(event)?)));
    if list.len() > 1 || list.has_comment_beside(text, ours.at) || list_before.is_some() {
        let edits = list.remove(text, ours.at);
        return match list_before {
            Some((it, before)) if list.len() == 1 && before.elements.is_empty() => {
                refill(edits, text, &list, it.text, &Container::from(before))
            }
            _ => edits,
        };
    }
    let object = Container::from(hooks);
    if object.len() > 1 || object.has_comment_beside(text, ours.event_at) || hooks_before.is_some() {
        let edits = object.remove(text, ours.event_at);
        return with_inner(edits, document, hooks, hooks_before);
    }
    let Some(root) = &document.root else { return Vec::new() };
    let edits = Container::from(root).remove(text, hooks_at);
    with_inner(edits, document, root, before.and_then(|it| Some((it, it.root.as_ref()?))))
}

/// An object that loses its last property looks inside as it did before, if it was empty then as well.
fn with_inner(
    edits: Vec<Edit>,
    document: &Document<'_>,
    object: &Object<'_>,
    before: Option<(&Document<'_>, &Object<'_>)>,
) -> Vec<Edit> {
    match before {
        Some((it, before)) if object.properties.len() == 1 && before.properties.is_empty() => {
            refill(edits, document.text, &Container::from(object), it.text, &Container::from(before))
        }
        _ => edits,
    }
}

fn refill(edits: Vec<Edit>, text: &str, now: &Container, text_before: &str, before: &Container) -> Vec<Edit> {
    let old = text_before.get(before.inner()).unwrap_or_default();
    let left = super::layout::apply(text, edits);
    // The brackets still stand where they stood; what is left between them may be a new comment of the user's.
    let kept = left.len() - (text.len() - now.inner().len());
    let start = now.inner().start;
    let inner = left.get(start..start + kept).unwrap_or_default();
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let new = if solid(inner) == solid(old) { old } else { inner };
    vec![Edit { range: now.inner(), text: new.to_owned() }]
}

/// Whether there are entries of ours.
pub(super) fn has_ours(agent: Agent, bytes: &[u8]) -> bool {
    Document::parse(agent, bytes)
        .ok()
        .and_then(|document| {
            let (hooks, _) = find::hooks(&document).ok()??;
            Some(!find::ours(agent, hooks).is_empty())
        })
        .unwrap_or(false)
}

/// The events that have an entry of ours, as they stand in the file, each once.
pub(super) fn events(agent: Agent, bytes: &[u8]) -> Vec<String> {
    let read = || {
        let document = Document::parse(agent, bytes).ok()?;
        let (hooks, _) = find::hooks(&document).ok()??;
        let mut names: Vec<String> =
            find::ours(agent, hooks).iter().map(|it| it.event.name.as_str().to_owned()).collect();
        names.dedup();
        Some(names)
    };
    read().unwrap_or_default()
}

/// How many entries run hookbox in a way of their own.
pub(super) fn handmade(agent: Agent, bytes: &[u8]) -> usize {
    let read = || {
        let document = Document::parse(agent, bytes).ok()?;
        let root = document.root.as_ref()?;
        root.get("hooks").and_then(|it| match &it.value {
            Value::Object(hooks) => Some(find::others_that_mention_us(agent, hooks)),
            _ => None,
        })
    };
    read().unwrap_or_default()
}
