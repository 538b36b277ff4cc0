//! Writes the answers that came into case files.

use std::fs;
use std::path::Path;

use hookbox_system::files::write_atomic;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::case::to_toml;
use super::error::{CaseError, CaseErrorKind};
use super::player::Played;

/// Writes the answers that came into a case file, for its cases that differ. Comments, the order and the mode of the
/// file stay. Returns the number of cases that were written.
///
/// # Errors
///
/// [`CaseError`] if the file cannot be read or written, or has changed.
pub fn update(path: &Path, played: &[Played]) -> Result<usize, CaseError> {
    let io = |error| CaseErrorKind::Io(error).at(path);
    let changed = || CaseErrorKind::Surroundings("the file has changed meanwhile".to_owned()).at(path);
    let text = fs::read_to_string(path).map_err(io)?;
    let mut document: DocumentMut = text.parse().map_err(|_| changed())?;
    let mut written = 0;
    for played in played.iter().filter(|it| it.file == path && !it.differences.is_empty()) {
        let cases = document.get_mut("case").ok_or_else(changed)?;
        let case: &mut dyn TableLike = match cases {
            Item::ArrayOfTables(tables) => tables.get_mut(played.position).ok_or_else(changed)?,
            Item::Value(list) => {
                let case = list.as_array_mut().and_then(|list| list.get_mut(played.position));
                case.and_then(|case| case.as_inline_table_mut()).ok_or_else(changed)?
            }
            _ => return Err(changed()),
        };
        written += usize::from(write(case, played).ok_or_else(changed)?);
    }
    if written > 0 {
        let mode = fs::metadata(path).map_err(io)?.permissions();
        write_atomic(path, document.to_string().as_bytes()).map_err(io)?;
        fs::set_permissions(path, mode).map_err(io)?;
    }
    Ok(written)
}

/// Writes the differences of a case. Returns true if there was something to write.
fn write(case: &mut dyn TableLike, played: &Played) -> Option<bool> {
    let writable: Vec<_> = played.differences.iter().filter(|it| it.is_writable).collect();
    if writable.is_empty() {
        return Some(false);
    }
    let expect = case.entry("expect").or_insert_with(|| Item::Table(Table::new()));
    let expect = expect.as_table_like_mut()?;
    for difference in writable {
        let came = match (difference.key.as_str(), played.came.failures.first()) {
            // The message is for people.
            ("failure", Some(failure)) => Value::from(failure.cause.as_str()),
            _ => difference.came.clone(),
        };
        match &difference.name {
            None => set(expect, &difference.key, &came),
            Some(name) => {
                let table = expect.entry(&difference.key).or_insert_with(|| Item::Table(Table::new()));
                set(table.as_table_like_mut()?, name, &came);
            }
        }
    }
    Some(true)
}

/// Sets a key. The comments above an old key and behind its value stay.
fn set(table: &mut dyn TableLike, key: &str, value: &Value) {
    let Some(mut value) = to_toml(value) else {
        table.remove(key);
        return;
    };
    if let Some(old) = table.get_mut(key).and_then(Item::as_value_mut) {
        value.decor_mut().clone_from(old.decor());
        *old = value;
        return;
    }
    // The name of a table of its own is written differently.
    table.remove(key);
    table.insert(key, Item::Value(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_replaces_one_or_a_table_of_its_name() {
        for (text, want) in [
            ("[t]\n# Always.\na = 1 # now\n", "[t]\n# Always.\na = \"x\" # now\n"),
            ("[t]\nb = 1\n", "[t]\nb = 1\na = \"x\"\n"),
            ("[t.a]\ncontains = 'y'\n", "[t]\na = \"x\"\n"),
            ("[t]\na.contains = 'y'\n", "[t]\na = \"x\"\n"),
            ("t = { a = { contains = 'y' } }\n", "t = { a = \"x\" }\n"),
        ] {
            let mut document: DocumentMut = text.parse().unwrap();
            set(document["t"].as_table_like_mut().unwrap(), "a", &Value::from("x"));
            assert_eq!(document.to_string().trim_start(), want, "{text}");
        }
    }
}
