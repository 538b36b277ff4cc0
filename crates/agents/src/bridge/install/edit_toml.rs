//! Adds our entries to a TOML configuration and takes them out: as `[[hooks]]` tables, and in Codex's `requirements.toml` as
//! one block of lines. Every other line stays as it is.

use std::fmt::Write as _;

use serde_json::Value;

use super::desired::DesiredEntry;
use crate::agent::Agent;
use crate::agent::bridge_command::is_ours;
use crate::config::{DocumentError, HookTable, has_toml_hooks, hook_tables, toml_table};

/// Returns the configuration with these entries of ours, after all others.
pub(super) fn merge(agent: Agent, text: &str, desired: &[DesiredEntry]) -> Result<String, DocumentError> {
    let mut added = String::new();
    for entry in desired {
        let form = &agent.spec().config.entry;
        let _ = write!(added, "\n[[hooks]]\n{} = {}\n", form.event_key, quoted(entry.event));
        if let Some(key) = form.name_key {
            let _ = writeln!(added, "{key} = \"hookbox-{}\"", entry.event);
        }
        write_keys(&mut added, entry);
    }
    // Entries that are as they should be keep their place in the file.
    if text.contains(&added) && ours(agent, text)?.len() == desired.len() {
        return Ok(text.to_owned());
    }
    let mut merged = remove(agent, text)?;
    if !merged.is_empty() && !merged.ends_with('\n') {
        merged.push('\n');
    }
    let added = if merged.is_empty() { added.trim_start() } else { &added };
    merged.push_str(added);
    // A list on one line cannot have tables as well.
    toml_table(&merged).map_err(|_| not_tables())?;
    Ok(merged)
}

/// Returns the configuration without our entries.
pub(super) fn remove(agent: Agent, text: &str) -> Result<String, DocumentError> {
    let mut left = text.to_owned();
    for table in ours(agent, text)?.iter().rev() {
        let mut lines = table.lines.clone();
        // The blank line that separates it from the one before.
        if left.get(..lines.start).is_some_and(|before| before.ends_with("\n\n")) {
            lines.start -= 1;
        }
        left.replace_range(lines, "");
    }
    let others = |text: &str| {
        let mut table = toml_table(text)?;
        if let Some(toml::Value::Array(hooks)) = table.get_mut("hooks") {
            let line = |it: &toml::Value| it.get("command").and_then(|it| it.as_str()).map(str::to_owned);
            hooks.retain(|it| line(it).is_none_or(|line| !is_ours(agent, &line)));
        }
        table.retain(|name, value| name != "hooks" || value.as_array().is_none_or(|it| !it.is_empty()));
        Ok(table)
    };
    if others(text)? == others(&left)? { Ok(left) } else { Err(not_tables()) }
}

fn ours(agent: Agent, text: &str) -> Result<Vec<HookTable>, DocumentError> {
    let mut tables = hook_tables(text)?.ok_or_else(not_tables)?;
    tables.retain(|it| is_ours(agent, &it.command));
    Ok(tables)
}

fn not_tables() -> DocumentError {
    DocumentError::new(
        "expected hooks in [[hooks]] tables without further tables, found them in another form",
        "write each hook as a [[hooks]] table; nothing was changed",
    )
}

/// Writes the keys and values of an entry.
pub(super) fn write_keys(to: &mut String, entry: &DesiredEntry) {
    for (key, value) in &entry.says {
        let value = value.as_str().map_or_else(|| value.to_string(), quoted);
        let _ = writeln!(to, "{key} = {value}");
    }
}

/// Returns a text as TOML. A basic string of TOML has the escapes of JSON, and no raw delete character.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// The first line of the block.
const BEGIN: &str = "# hookbox begin: `hookbox uninstall --system` removes these lines\n";

/// The last line of the block.
const END: &str = "# hookbox end\n";

/// Returns the configuration with a block of these entries at its end. The block also switches hooks on,
/// because a project can switch them off otherwise.
pub(super) fn merge_block(text: &str, desired: &[DesiredEntry]) -> Result<String, DocumentError> {
    let mut merged = remove_block(text)?;
    let table = toml_table(&merged)?;
    if !merged.is_empty() {
        merged.push_str(if merged.ends_with('\n') { "\n" } else { "\n\n" });
    }
    merged.push_str(BEGIN);
    match (table.contains_key("features"), has_toml_hooks(&table)) {
        (_, Some(true)) => {}
        (false, _) => merged.push_str("[features]\nhooks = true\n"),
        (true, _) => {
            let what = "expected hooks = true in its [features]: without it a project can switch hooks off";
            return Err(DocumentError::new(what, "add that line by hand, and run the command again"));
        }
    }
    for entry in desired {
        let _ = write!(merged, "\n[[hooks.{0}]]\n[[hooks.{0}.hooks]]\ntype = \"command\"\n", entry.event);
        write_keys(&mut merged, entry);
    }
    merged.push_str(END);
    toml_table(&merged).map_err(|_| {
        let what = "expected hooks in [[hooks.EVENT]] tables, found them in another form";
        DocumentError::new(what, "write each hook as such a table; nothing was changed")
    })?;
    Ok(merged)
}

/// Returns the configuration without the block.
pub(super) fn remove_block(text: &str) -> Result<String, DocumentError> {
    let Some((before, rest)) = text.split_once(BEGIN) else { return Ok(text.to_owned()) };
    let Some((_, after)) = rest.split_once(END) else {
        let what = "expected the line \"# hookbox end\" after \"# hookbox begin\"";
        return Err(DocumentError::new(what, "remove hookbox's lines by hand; nothing was changed"));
    };
    // The blank line that separates the block from the lines before it.
    let before = before.strip_suffix('\n').filter(|it| it.ends_with('\n') || it.is_empty()).unwrap_or(before);
    Ok(format!("{before}{after}"))
}
