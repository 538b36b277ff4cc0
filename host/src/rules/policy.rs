//! The failure policy of a file with a fault. It guards if it may have asked for that.

use toml::de::{DeTable, DeValue};

use super::KEYS;
use crate::hook::OnFailure;
use hookbox_system::text;
use hookbox_system::toml_value::SpannedValue;

const KEY: &str = "on_failure";

/// Returns the failure policy of a file with a fault; `is_broken` if it is not TOML.
pub(super) fn of_broken(document: &DeTable<'_>, is_broken: bool) -> OnFailure {
    if let Some(given) = document.get(KEY) {
        return if given.get_ref().as_str() == Some("pass") { OnFailure::Pass } else { OnFailure::Block };
    }
    let keys = || document.iter().chain(tables(document).flatten());
    let mut misspelt = keys().filter(|(key, _)| is_meant(key.get_ref()));
    let asks = misspelt.any(|(_, value)| value.get_ref().as_str() != Some("pass"));
    let is_unread =
        keys().any(|(key, _)| is_meant(key.get_ref())) || document.keys().any(|it| !is_known(it.get_ref()));
    if is_broken || asks || is_unread && tables(document).any(blocks) {
        OnFailure::Block
    } else {
        OnFailure::Pass
    }
}

/// Returns true for the key of the policy and for its misspellings.
fn is_meant(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == KEY || !is_known(&key) && text::distance(&key, KEY) <= 3
}

fn is_known(key: &str) -> bool {
    KEYS.contains(&key)
}

/// Returns the tables in a file: its rules, also if their key is misspelt.
fn tables<'t, 'i>(document: &'t DeTable<'i>) -> impl Iterator<Item = &'t DeTable<'i>> {
    let items = document.values().flat_map(|value| match value.get_ref() {
        DeValue::Array(items) => &**items,
        _ => std::slice::from_ref(value),
    });
    items.filter_map(|item: &SpannedValue<'i>| match item.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    })
}

/// Returns true if a rule blocks. An answer that is not known may have been meant so.
fn blocks(rule: &DeTable<'_>) -> bool {
    let answer = rule.get("answer").map(|it| it.get_ref().as_str());
    answer.is_some_and(|it| !matches!(it, Some("ask" | "warn" | "inject")))
}
