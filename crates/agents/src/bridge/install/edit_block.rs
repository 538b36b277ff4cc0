//! Adds our hooks to Codex's `requirements.toml` as one block of lines, and takes the block out. Every other
//! line stays as it is.

use std::fmt::Write as _;

use super::desired::DesiredEntry;
use super::edit_toml::write_keys;
use crate::config::{DocumentError, has_toml_hooks, toml_table};

/// The first line of the block.
const BEGIN: &str = "# hookbox begin: `hookbox uninstall --system` removes these lines\n";

/// The last line of the block.
const END: &str = "# hookbox end\n";

/// Returns the configuration with a block of these entries at its end. The block also switches hooks on,
/// because a project can switch them off otherwise.
pub(super) fn merge(text: &str, desired: &[DesiredEntry]) -> Result<String, DocumentError> {
    let mut merged = remove(text)?;
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
pub(super) fn remove(text: &str) -> Result<String, DocumentError> {
    let Some((before, rest)) = text.split_once(BEGIN) else { return Ok(text.to_owned()) };
    let Some((_, after)) = rest.split_once(END) else {
        let what = "expected the line \"# hookbox end\" after \"# hookbox begin\"";
        return Err(DocumentError::new(what, "remove hookbox's lines by hand; nothing was changed"));
    };
    // The blank line that separates the block from the lines before it.
    let before = before.strip_suffix('\n').filter(|it| it.ends_with('\n') || it.is_empty()).unwrap_or(before);
    Ok(format!("{before}{after}"))
}
