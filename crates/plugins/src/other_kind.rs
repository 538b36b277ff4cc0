//! Sources that are no plugins, and have some.

use std::io::Read as _;

use cap_std::fs::Dir;
use hookbox::discovery::MARKETPLACE;
use hookbox::escape;
use serde_json::Value;

use super::{PluginError, PluginErrorKind};
use hookbox_system::limits;

/// Returns the error for a marketplace and for a project with hooks; `None` if a source without the parts of a plugin is
/// something else.
pub(super) fn of(tree: &Dir) -> Option<PluginError> {
    marketplace(tree).or_else(|| project(tree))
}

/// Returns the error for a project whose hooks an agent reads, as in `.cursor/hooks.json`.
fn project(tree: &Dir) -> Option<PluginError> {
    let names = tree.entries().ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files = names.filter(|name| name.starts_with('.')).map(|name| format!("{name}/hooks.json"));
    let file = files.find(|file| tree.is_file(file))?;
    let what = format!("is a project with hooks in {}, and not a plugin", escape(&file, 200));
    let error = PluginError::new("the source", PluginErrorKind::Unexpected(what));
    Some(error.hint(
        "clone it: hookbox runs an agent's hooks of a project with --from AGENT, after you trusted them",
    ))
}

fn marketplace(tree: &Dir) -> Option<PluginError> {
    let mut text = Vec::new();
    tree.open(MARKETPLACE).ok()?.take(limits::FILE).read_to_end(&mut text).ok()?;
    let list: Value = serde_json::from_slice(&text).unwrap_or_default();
    let plugins = list.get("plugins").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = |plugin: &Value| {
        let name = escape(plugin.get("name")?.as_str()?, 100);
        Some(match plugin.get("source").and_then(Value::as_str) {
            Some(source) => format!("{name} ({})", escape(source, 200)),
            None => name,
        })
    };
    let names: Vec<String> = plugins.iter().filter_map(named).take(limits::NAMED).collect();
    let what = format!("is a marketplace, and not a plugin; its plugins are {}", names.join(", "));
    let error = PluginError::new("the source", PluginErrorKind::Unexpected(what));
    Some(error.hint("add the directory or the repository of one of them"))
}
