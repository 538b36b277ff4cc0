//! Adds our entries to an agent's configuration in JSON and takes them out, in a syntax tree that keeps comments
//! and blanks.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::desired::DesiredEntry;
use crate::agent::Agent;
use crate::agent::bridge_command::is_ours;
use crate::config::{ConfigText, DocumentError, only, read};
use crate::spec::{DisableSetting, EntryForm, Groups, LeavesOut};
use hookbox::discovery::document::Form;

/// An entry of ours, with the nodes around it.
struct Node {
    event: CstObjectProp,
    name: String,
    /// The group and its list, if the entry is in a group.
    group: Option<(CstObject, CstArray)>,
    entry: CstObject,
    /// The position of the group in the list, and of the entry in the group: see
    /// [`Entry::position`](crate::config::Entry::position).
    position: (usize, usize),
}

/// Returns the configuration with these entries of ours and no others, and with the switches of all hooks set to
/// on, if hookbox sets them and they are not set.
pub(super) fn merge(
    agent: Agent,
    bytes: &[u8],
    desired: &[DesiredEntry],
    has_switches: bool,
) -> Result<String, DocumentError> {
    let tree = parse(agent, bytes, desired)?;
    let root = tree.object_value_or_set();
    if form(agent).has_version && root.get("version").is_none() {
        root.append("version", 1_u32.into());
    }
    for (setting, on) in switches(agent).filter(|_| has_switches) {
        let object = setting.within.map_or(Some(root.clone()), |name| root.object_value_or_create(name));
        if let Some(object) = object.filter(|it| it.get(setting.key).is_none()) {
            object.append(setting.key, CstInputValue::Bool(on));
        }
    }
    let hooks = root.object_value_or_set("hooks");
    let entries = read(agent, bytes).map(|it| it.entries).unwrap_or_default();
    // The agent runs such an entry for every call of its event, and waits for it.
    let is_effective = |node: &Node| {
        let own = entries.iter().find(|it| it.event == node.name && it.position == node.position);
        own.is_some_and(|it| it.is_for_every_tool() && it.limits().next().is_none())
    };
    let mut kept: Vec<Node> = Vec::new();
    for node in ours(agent, &hooks) {
        let is_desired = desired.iter().any(|it| it.event == node.name);
        if is_desired && is_effective(&node) && kept.iter().all(|it| it.name != node.name) {
            kept.push(node);
        } else {
            node.take_out();
        }
    }
    for desired in desired {
        match kept.iter().find(|it| it.name == desired.event) {
            Some(node) => node.update(form(agent), desired),
            None => {
                hooks.array_value_or_set(desired.event).append(input(&desired.fresh));
            }
        }
    }
    Ok(tree.to_string())
}

/// Returns the configuration without our entries, and without the groups, lists and `hooks` that are empty then.
/// With `kept_on` it also loses the switches that hookbox sets, but for these.
pub(super) fn remove(
    agent: Agent,
    bytes: &[u8],
    kept_on: Option<Vec<&str>>,
) -> Result<String, DocumentError> {
    let tree = parse(agent, bytes, &[])?;
    if let Some(root) = tree.object_value()
        && let Some(hooks) = root.get("hooks")
        && let Some(ours) = hooks.object_value().map(|it| ours(agent, &it)).filter(|it| !it.is_empty())
    {
        ours.into_iter().for_each(Node::take_out);
        remove_empty(hooks);
        let is_set = |it: &DisableSetting| kept_on.as_ref().is_some_and(|kept| !kept.contains(&it.shown));
        for (setting, on) in switches(agent).filter(|(it, _)| is_set(it)) {
            let object = setting.within.map_or(Some(root.clone()), |name| root.object_value(name));
            let property = object.and_then(|it| it.get(setting.key));
            let Some(property) = property.filter(|it| value_of(it) == Some(Value::Bool(on))) else {
                continue;
            };
            property.remove();
            setting.within.and_then(|name| root.get(name)).into_iter().for_each(remove_empty);
        }
    }
    Ok(tree.to_string())
}

/// Returns the switches of all hooks, each with the value that leaves them on.
fn switches(agent: Agent) -> impl Iterator<Item = (&'static DisableSetting, bool)> {
    let settings = agent.spec().config.disable_settings.iter();
    settings.filter_map(|it| match it.leaves_out {
        LeavesOut::All(off) => Some((it, !off)),
        LeavesOut::AllButManaged | LeavesOut::Named => None,
    })
}

impl Node {
    /// Updates an entry. Its other keys are the user's.
    fn update(&self, form: &EntryForm, desired: &DesiredEntry) {
        let is_users = |key: &str| form.blocks_without_program.is_some_and(|(own, _)| own == key);
        let keys = [form.command_keys, form.timeout_keys, form.strict_key.as_slice()].concat();
        for key in keys.iter().filter(|key| !desired.says.contains_key(**key)) {
            self.entry.get(key).into_iter().for_each(CstObjectProp::remove);
        }
        for (key, want) in &desired.says {
            match self.entry.get(key) {
                Some(found) if is_users(key) || value_of(&found).as_ref() == Some(want) => {}
                Some(found) => found.set_value(input(want)),
                None => {
                    self.entry.append(key, input(want));
                }
            }
        }
    }

    /// Takes the entry out, and its group and its event's list if that leaves them empty. One with a comment or
    /// another key stays.
    fn take_out(self) {
        self.entry.remove();
        if let Some((group, inner)) = self.group {
            let is_usual = |it: &CstObjectProp| {
                it.decoded_name().is_some_and(|name| matches!(name.as_str(), "hooks" | "matcher"))
            };
            if !inner.elements().is_empty()
                || has_comment(&group.clone().into())
                || !group.properties().iter().all(is_usual)
            {
                return;
            }
            group.remove();
        }
        remove_empty(self.event);
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

/// Returns our entries, in the order of the file.
fn ours(agent: Agent, hooks: &CstObject) -> Vec<Node> {
    let mut found = Vec::new();
    for event in hooks.properties() {
        let (name, list) = (event.decoded_name().unwrap_or_default(), event.array_value());
        let items = list.iter().flat_map(CstArray::elements).enumerate();
        for (at, item) in items.filter_map(|(at, item)| Some((at, item.as_object()?))) {
            let inner = item.array_value("hooks").filter(|_| form(agent).groups != Groups::None);
            let entries = inner.as_ref().map_or_else(|| vec![item.clone().into()], CstArray::elements);
            let group = inner.map(|inner| (item, inner));
            for (inner_at, entry) in entries.iter().enumerate() {
                let Some(entry) = entry.as_object() else { continue };
                let line = form(agent).command_keys.iter().find_map(|key| text_of(&entry, key));
                if line.is_some_and(|line| is_ours(agent, &line)) {
                    let (event, name, group) = (event.clone(), name.clone(), group.clone());
                    found.push(Node { event, name, group, entry, position: (at, inner_at) });
                }
            }
        }
    }
    found
}

fn text_of(object: &CstObject, key: &str) -> Option<String> {
    object.get(key)?.value()?.as_string_lit()?.decoded_value().ok()
}

fn value_of(property: &CstObjectProp) -> Option<Value> {
    property.value()?.to_serde_value()
}

/// Removes a list or an object that has no contents and no comment.
fn remove_empty(property: CstObjectProp) {
    let is_empty = |it: CstNode| it.children_exclude_trivia_and_tokens().is_empty() && !has_comment(&it);
    if property.value().is_some_and(is_empty) {
        property.remove();
    }
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
