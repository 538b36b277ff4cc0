//! Adds our entries to an agent's configuration and takes them out, in a syntax tree that keeps comments and
//! blanks.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::desired::DesiredEntry;
use super::edit_toml;
use super::left::{Left, written};
use crate::agent::Agent;
use crate::agent::bridge_command::{is_ours, mentions};
use crate::agent::disable_settings::{DisableSetting, LeavesOut};
use crate::config::{ConfigText, Configuration, DocumentError, Entry, only, read};
use crate::spec::EntryForm;
use crate::text;
use hookbox::source::document::Form;

/// A command of an agent's configuration, with the nodes around it.
struct Node {
    event: CstObjectProp,
    name: String,
    list: CstArray,
    /// The group and its list, in the agents that have groups.
    group: Option<(CstObject, CstArray)>,
    entry: CstObject,
    line: String,
    /// The position of the group in the list, and of the entry in the group: see [`Entry::position`].
    position: (usize, usize),
}

/// Returns the configuration with these entries of ours and no others. `before` is the file before the first
/// installation, if it is known: an empty list or object that it has stays.
pub(super) fn merge(
    agent: Agent,
    bytes: &[u8],
    desired: &[DesiredEntry],
    before: Option<&[u8]>,
) -> Result<Vec<u8>, DocumentError> {
    // Otherwise each installation would add it again.
    if let Some(line) = desired.iter().map(|it| it.line(agent)).find(|line| !is_ours(agent, line)) {
        let what =
            format!("expected a command line that hookbox knows again, found {}", text::escape(line, 300));
        return Err(DocumentError::new(what, "give another path with --program; nothing was changed"));
    }
    if agent.spec().config.is_toml {
        return edit_toml::merge(agent, bytes, desired);
    }
    let before = before.and_then(|it| parse(agent, it, &[]).ok());
    let tree = parse(agent, bytes, desired)?;
    let root = tree.object_value_or_set();
    if form(agent).has_version && root.get("version").is_none() {
        root.append("version", 1_u32.into());
    }
    let hooks = root.object_value_or_set("hooks");
    let (mut kept, entries): (Vec<Node>, _) = (Vec::new(), entries(agent, bytes));
    for node in ours(agent, &hooks) {
        let is_desired = desired.iter().any(|it| it.event == node.name);
        if is_desired && node.is_effective(&entries) && kept.iter().all(|it| it.name != node.name) {
            kept.push(node);
        } else {
            node.take_out(before.as_ref());
        }
    }
    for desired in desired {
        match kept.iter().find(|it| it.name == desired.event) {
            Some(node) => node.update(agent, desired),
            None => {
                hooks.array_value_or_set(desired.event).append(input(desired.fresh()));
            }
        }
    }
    Ok(written(bytes, &tree))
}

/// Returns the configuration without our entries, and without the groups, lists and keys that were made for
/// them.
pub(super) fn remove(agent: Agent, bytes: &[u8], before: Option<&[u8]>) -> Result<Left, DocumentError> {
    if agent.spec().config.is_toml {
        return edit_toml::remove(agent, bytes);
    }
    let before = before.and_then(|it| parse(agent, it, &[]).ok());
    let tree = parse(agent, bytes, &[])?;
    if let Some(root) = tree.object_value() {
        let ours = hooks(&tree).map(|hooks| ours(agent, &hooks)).unwrap_or_default();
        let has_ours = !ours.is_empty();
        ours.into_iter().for_each(|it| it.take_out(before.as_ref()));
        if let Some(all) = hooks(&tree)
            && has_ours
            && is_empty(&all.clone().into())
            && before.as_ref().and_then(hooks).is_none()
        {
            root.get("hooks").into_iter().for_each(CstObjectProp::remove);
        }
        let had_version =
            before.is_none_or(|it| it.object_value().is_some_and(|it| it.get("version").is_some()));
        if form(agent).has_version && !had_version {
            root.get("version").into_iter().for_each(CstObjectProp::remove);
        }
    }
    let is_version =
        |it: &CstObjectProp| form(agent).has_version && it.decoded_name().as_deref() == Some("version");
    let is_bare = !tree.children().iter().any(has_comment)
        && tree.object_value().is_none_or(|it| it.properties().iter().all(is_version));
    Ok(Left { bytes: written(bytes, &tree), is_bare })
}

/// Sets the switches of all hooks to on, if they are not set.
pub(super) fn switch_on(agent: Agent, bytes: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let tree = parse(agent, bytes, &[])?;
    let root = tree.object_value_or_set();
    for (setting, on) in switches(agent) {
        let object = match setting.within {
            None => Some(root.clone()),
            Some(name) if root.get(name).is_none() => Some(root.object_value_or_set(name)),
            Some(name) => root.object_value(name),
        };
        if let Some(object) = object.filter(|it| it.get(setting.key).is_none()) {
            object.append(setting.key, CstInputValue::Bool(on));
        }
    }
    Ok(written(bytes, &tree))
}

/// Takes the switches out that are set to on, except those of the original.
pub(super) fn unswitch(agent: Agent, bytes: &[u8], before: Option<&[u8]>) -> Result<Vec<u8>, DocumentError> {
    let before = before.and_then(|it| parse(agent, it, &[]).ok()).and_then(|it| it.object_value());
    let tree = parse(agent, bytes, &[])?;
    let Some(root) = tree.object_value() else { return Ok(bytes.to_vec()) };
    let within = |root: &CstObject, name: Option<&str>| match name {
        None => Some(root.clone()),
        Some(name) => root.object_value(name),
    };
    for (setting, on) in switches(agent) {
        let was = before.as_ref().and_then(|it| within(it, setting.within));
        let Some(object) = within(&root, setting.within) else { continue };
        let Some(property) = object.get(setting.key) else { continue };
        let is_on = property.value().and_then(|it| it.to_serde_value()) == Some(Value::Bool(on));
        if !is_on || was.as_ref().is_some_and(|it| it.get(setting.key).is_some()) {
            continue;
        }
        property.remove();
        if let Some(name) = setting.within.filter(|_| was.is_none() && is_empty(&object.into())) {
            root.get(name).into_iter().for_each(CstObjectProp::remove);
        }
    }
    Ok(written(bytes, &tree))
}

/// Returns the switches of all hooks, each with the value that leaves them on.
fn switches(agent: Agent) -> impl Iterator<Item = (&'static DisableSetting, bool)> {
    let settings = agent.spec().config.disable_settings.iter();
    settings.filter_map(|it| match it.leaves_out {
        LeavesOut::All(off) => Some((it, !off)),
        LeavesOut::AllButManaged | LeavesOut::Named => None,
    })
}

/// Returns the events that have an entry of ours, as the file names them, each once.
pub(super) fn events(agent: Agent, configuration: &Configuration) -> Vec<String> {
    let entries = configuration.entries.iter().filter(|it| is_ours(agent, &it.command));
    let mut names: Vec<String> = entries.map(|it| it.event.clone()).collect();
    names.dedup();
    names
}

/// Counts the entries that run hookbox for this agent.
pub(super) fn calls(agent: Agent, configuration: &Configuration) -> usize {
    configuration.entries.iter().filter(|it| mentions(agent.as_str(), &it.command)).count()
}

/// Counts the entries that run hookbox for this agent by a line that `hookbox install` does not write.
pub(super) fn handmade(agent: Agent, configuration: &Configuration) -> usize {
    let is_handmade = |line: &str| !is_ours(agent, line) && mentions(agent.as_str(), line);
    configuration.entries.iter().filter(|it| is_handmade(&it.command)).count()
}

/// Returns the entries of a configuration; none of one that cannot be read.
fn entries(agent: Agent, bytes: &[u8]) -> Vec<Entry> {
    read(agent, bytes).map(|it| it.entries).unwrap_or_default()
}

impl Node {
    /// Returns true if the agent runs this entry for every call of its event, and waits for it.
    fn is_effective(&self, entries: &[Entry]) -> bool {
        let own = entries.iter().find(|it| it.event == self.name && it.position == self.position);
        own.is_some_and(|it| it.is_for_every_tool() && it.limits().next().is_none())
    }

    /// Updates an entry of ours. Its other keys are the user's, except the one that lets a failed command
    /// block.
    fn update(&self, agent: Agent, desired: &DesiredEntry) {
        let form = form(agent);
        for keys in [form.command_keys, form.timeout_keys, form.strict_key.as_slice()] {
            let found = keys.iter().find_map(|key| self.entry.get(key));
            let want = keys.first().and_then(|key| Some((*key, desired.says.get(*key)?)));
            match (found, want) {
                (Some(found), Some((_, want))) => {
                    if found.value().and_then(|it| it.to_serde_value()).as_ref() != Some(want) {
                        found.set_value(input(want));
                    }
                }
                (None, Some((key, want))) => {
                    self.entry.append(key, input(want));
                }
                (Some(found), None) if keys == form.strict_key.as_slice() => found.remove(),
                (_, None) => {}
            }
        }
        // A value that the user gave stays.
        if let Some((key, _)) = form.blocks_without_program.filter(|(key, _)| self.entry.get(key).is_none())
            && let Some(want) = desired.says.get(key)
        {
            self.entry.append(key, input(want));
        }
    }

    /// Takes the entry out, and its group and its event's list if that leaves them empty. A list that was
    /// there `before` stays, and so does one with a comment.
    fn take_out(self, before: Option<&CstRootNode>) {
        let Self { event, name, list, group, entry, .. } = self;
        entry.remove();
        if let Some((group, inner)) = group {
            let is_ours = |it: &CstObjectProp| {
                it.decoded_name().is_some_and(|name| matches!(name.as_str(), "hooks" | "matcher"))
            };
            if !inner.elements().is_empty()
                || has_comment(&group.clone().into())
                || !group.properties().iter().all(is_ours)
            {
                return;
            }
            group.remove();
        }
        let was_there = before.and_then(hooks).is_some_and(|it| it.array_value(&name).is_some());
        if is_empty(&list.into()) && !was_there {
            event.remove();
        }
    }
}

/// Parses a configuration, and refuses one in which `hooks`, `version` or one of these events appears twice
/// or is of another type.
fn parse(agent: Agent, bytes: &[u8], desired: &[DesiredEntry]) -> Result<CstRootNode, DocumentError> {
    let text = ConfigText::new(agent.spec(), bytes)?;
    let document = text.parse()?;
    if let Some(Form::Object(root)) = document.as_ref().map(|it| it.root().form()) {
        only(&root, "version")?;
        if let Some(hooks) = only(&root, "hooks")? {
            let Form::Object(all) = hooks.value.form() else {
                return Err(DocumentError::unexpected("an object", hooks.value, "for \"hooks\""));
            };
            for name in desired.iter().map(|it| it.event) {
                if let Some(event) = only(&all, name)?
                    && !matches!(event.value.form(), Form::Array(_))
                {
                    return Err(DocumentError::unexpected("a list", event.value, &format!("for \"{name}\"")));
                }
            }
        }
    }
    text.tree()
}

fn form(agent: Agent) -> &'static EntryForm {
    &agent.spec().config.entry
}

fn hooks(tree: &CstRootNode) -> Option<CstObject> {
    tree.object_value()?.object_value("hooks")
}

fn ours(agent: Agent, hooks: &CstObject) -> Vec<Node> {
    commands(agent, hooks).filter(|it| is_ours(agent, &it.line)).collect()
}

/// Returns the commands of a configuration, in the order of the file.
fn commands(agent: Agent, hooks: &CstObject) -> impl Iterator<Item = Node> {
    let lists =
        hooks.properties().into_iter().filter_map(|it| Some((it.decoded_name()?, it.array_value()?, it)));
    lists.flat_map(move |(name, list, event)| {
        let node = |entry: CstObject, group, position| {
            let line = form(agent).command_keys.iter().find_map(|key| text_of(&entry, key))?;
            let (event, name, list) = (event.clone(), name.clone(), list.clone());
            Some(Node { event, name, list, group, entry, line, position })
        };
        let mut found = Vec::new();
        for (at, item) in list.elements().iter().enumerate() {
            let Some(item) = item.as_object() else { continue };
            let flat = if form(agent).is_grouped() { None } else { node(item.clone(), None, (at, 0)) };
            let Some(inner) = item.array_value("hooks").filter(|_| flat.is_none()) else {
                found.extend(flat);
                continue;
            };
            let group = || Some((item.clone(), inner.clone()));
            let entries = inner.elements().into_iter().enumerate();
            found.extend(entries.filter_map(|(inner, entry)| node(entry.as_object()?, group(), (at, inner))));
        }
        found
    })
}

fn text_of(object: &CstObject, key: &str) -> Option<String> {
    object.get(key)?.value()?.as_string_lit()?.decoded_value().ok()
}

/// Returns true if a list or an object has no contents and no comment.
fn is_empty(container: &CstNode) -> bool {
    container.children_exclude_trivia_and_tokens().is_empty() && !has_comment(container)
}

fn has_comment(node: &CstNode) -> bool {
    node.is_comment() || node.children().iter().any(has_comment)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(it) => CstInputValue::Array(it.iter().map(input).collect()),
        Value::Object(it) => {
            CstInputValue::Object(it.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
