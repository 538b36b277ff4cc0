//! The hooks of a TOML file, as the JSON that the readers of hooks take: `[[hooks]]` tables with an `event`
//! each become lists by event.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use super::error::{BY_HAND, DocumentError};
use crate::text;

/// Returns the hooks of a TOML file as JSON; an empty object without any.
pub(crate) fn hooks_json(text: &str) -> Result<String, DocumentError> {
    let Some(hooks) = table(text)?.remove("hooks") else { return Ok("{}".to_owned()) };
    let toml::Value::Array(hooks) = hooks else {
        return Err(DocumentError::new("expected [[hooks]] tables, found another hooks", BY_HAND));
    };
    let mut events = Map::new();
    for hook in hooks {
        let mut hook = serde_json::to_value(hook).unwrap_or_default();
        let event = hook.as_object_mut().and_then(|it| it.shift_remove("event"));
        let name = event.as_ref().and_then(Value::as_str).unwrap_or_default();
        let list = events.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.push(hook.clone()));
    }
    Ok(json!({ "hooks": events }).to_string())
}

/// Parses a TOML file.
pub(crate) fn table(text: &str) -> Result<toml::Table, DocumentError> {
    text.parse().map_err(|error: toml::de::Error| {
        DocumentError::new(
            format!("expected TOML, found: {}", text::escape(error.to_string().trim(), 500)),
            BY_HAND,
        )
    })
}

/// A `[[hooks]]` table in the text of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HookTable {
    /// Its lines, with the line break of the last one.
    pub(crate) lines: Range<usize>,
    /// Its command; empty if it has none.
    pub(crate) command: String,
}

/// Returns the `[[hooks]]` tables of a file, in order. `None` if the hooks are written in another way.
pub(crate) fn hook_tables(text: &str) -> Result<Option<Vec<HookTable>>, DocumentError> {
    table(text)?;
    let Ok(root) = DeTable::parse(text) else { return Ok(None) };
    let Some(hooks) = root.get_ref().get("hooks") else { return Ok(Some(Vec::new())) };
    let Some(hooks) = hooks.get_ref().as_array() else { return Ok(None) };
    Ok(hooks
        .iter()
        .map(|hook| {
            let header = hook.span();
            let fields = hook.get_ref().as_table()?;
            let is_table = text.get(header.clone())?.starts_with("[[");
            // A table within an entry has a header of its own, after which the end of the entry is not known.
            let is_flat = fields.values().all(|it| !matches!(it.get_ref(), DeValue::Table(_)));
            let end = fields.values().map(|it| it.span().end).fold(header.end, usize::max);
            let start = text.get(..header.start)?.rfind('\n').map_or(0, |at| at + 1);
            let rest = text.get(end..)?;
            let end = end + rest.find('\n').map_or(rest.len(), |at| at + 1);
            let command = fields.get("command").and_then(|it| it.get_ref().as_str());
            let command = command.unwrap_or_default().to_owned();
            (is_table && is_flat).then_some(HookTable { lines: start..end, command })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_found_with_its_lines_whatever_its_texts_contain() {
        let first = "[[hooks]] # mine\nevent = \"Stop\"\ncommand = '''\n[[hooks]]\n''' # end\n";
        let second = "[[hooks]]\ncommand = \"b\"\nevent = \"PreToolUse\"";
        let text = format!("a = 1\n\n{first}\n# others\n{second}");
        let tables = hook_tables(&text).unwrap().unwrap();
        let lines: Vec<&str> = tables.iter().map(|it| &text[it.lines.clone()]).collect();
        assert_eq!(lines, [first, second]);
        assert_eq!((tables[0].command.as_str(), tables[1].command.as_str()), ("[[hooks]]\n", "b"));
        for (text, want) in [
            ("", Some(0)),
            ("a = 1", Some(0)),
            ("hooks = []", Some(0)),
            ("hooks = [{command = \"x\"}]", None),
            ("hooks = 5", None),
            ("[[hooks]]\n[hooks.env]\na = 1", None),
        ] {
            assert_eq!(hook_tables(text).unwrap().map(|it| it.len()), want, "{text}");
        }
        assert!(hook_tables("a = ").unwrap_err().what.contains("line 1"));
    }

    #[test]
    fn tables_become_lists_by_event() {
        let text = "[[hooks]]\nevent = \"Stop\"\ncommand = \"a\"\n[[hooks]]\nevent = \"X\"\n[[hooks]]\nevent = \"Stop\"\ntimeout = 5\n";
        let want = json!({"hooks": {"Stop": [{"command": "a"}, {"timeout": 5}], "X": [{}]}});
        assert_eq!(serde_json::from_str::<Value>(&hooks_json(text).unwrap()).unwrap(), want);
        assert_eq!(hooks_json("").unwrap(), "{}");
        assert!(hooks_json("hooks = 5").is_err());
    }
}
