//! Sources that are no plugins, and have some, or are configurations of an agent.

use std::io::Read as _;

use cap_std::fs::Dir;
use hookbox::escape;
use serde_json::Value;

use super::{PluginError, PluginErrorKind};

/// The list of plugins of a marketplace for Claude Code.
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// The hooks of a repository for Cursor.
const CURSOR: &str = ".cursor/hooks.json";

/// The files that say what a source is.
pub(super) const FILES: [&str; 2] = [MARKETPLACE, CURSOR];

/// The most bytes of a marketplace's list that are read.
const MAX_LIST: u64 = 1 << 20;

/// The most plugins of a marketplace that are named.
const MAX_NAMED: usize = 50;

/// Returns the error that says what a source without the parts of a plugin is.
pub(super) fn of(tree: &Dir) -> Option<PluginError> {
    let error = |what: String| PluginError::new("the source", PluginErrorKind::OtherKind(what));
    if let Some(plugins) = plugins(tree) {
        let more = plugins.len().saturating_sub(MAX_NAMED);
        let mut named = plugins.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        let error = error(format!("is a marketplace, and not a plugin; its plugins are {named}"));
        return Some(error.hint("add the directory or the repository of one of them"));
    }
    tree.metadata(CURSOR).is_ok().then(|| {
        error("has hooks for Cursor, and is not a plugin".to_owned())
            .hint("run them where they are: `hookbox list --from cursor`")
    })
}

/// Returns the plugins of a marketplace, each with its source if that is a path in it.
fn plugins(tree: &Dir) -> Option<Vec<String>> {
    let mut text = Vec::new();
    tree.open(MARKETPLACE).ok()?.take(MAX_LIST).read_to_end(&mut text).ok()?;
    let list: Value = serde_json::from_slice(&text).unwrap_or_default();
    let plugins = list.get("plugins").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = |plugin: &Value| {
        let name = escape(plugin.get("name")?.as_str()?, 100);
        Some(match plugin.get("source").and_then(Value::as_str) {
            Some(source) => format!("{name} ({})", escape(source, 200)),
            None => name,
        })
    };
    Some(plugins.iter().filter_map(named).collect())
}
