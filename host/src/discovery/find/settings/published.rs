//! The lists of keys in the book, and the JSON Schema of `hookbox.toml`. `cargo xtask tables` writes both.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::keys::{ALL_HOOKS, HOOK, Key, TABLES};

/// Set to write the files instead of comparing them.
const WRITE: &str = "HOOKBOX_WRITE_GOLDEN";

/// Checks that the file has this text, or writes it.
fn assert_written(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os(WRITE).is_some() {
        return fs::write(&path, text).unwrap();
    }
    assert!(fs::read_to_string(&path).is_ok_and(|it| it == text), "{file} is old; hint: cargo xtask tables");
}

/// Replaces the list of the keys of this table in a page.
fn replace<T>(page: &mut String, table: &str, keys: &[Key<T>]) {
    let (begin, end) = (format!("<!-- keys of {table}: `cargo xtask tables` -->\n"), "<!-- end of keys -->");
    let at = page.find(&begin).unwrap_or_else(|| panic!("no list of {table}")) + begin.len();
    let length = page[at..].find(end).unwrap();
    let rows = keys.iter().map(|it| format!("| `{}` | {} | {} |\n", it.name, it.default, it.meaning));
    let rows: String = rows.collect();
    page.replace_range(
        at..at + length,
        &format!("\n| key | default | meaning |\n| --- | --- | --- |\n{rows}\n"),
    );
}

#[test]
fn the_list_of_settings_is_the_one_that_is_generated() {
    let file = "../docs/src/settings.md";
    let mut page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    replace(&mut page, "a hook", HOOK);
    replace(&mut page, "all hooks", ALL_HOOKS);
    TABLES.iter().for_each(|(table, keys)| replace(&mut page, &format!("`[{table}]`"), keys));
    assert_written(file, &page);
}

/// Returns Markdown without the addresses of links, which lead nowhere outside the book.
fn without_addresses(markdown: &str) -> String {
    let Some((before, after)) = markdown.split_once("](") else { return markdown.to_owned() };
    let (text, link) = before.rsplit_once('[').unwrap();
    format!("{text}{link}{}", without_addresses(after.split_once(')').unwrap().1))
}

/// Returns the schema of a table with these keys.
fn schema_of<T>(keys: &[Key<T>]) -> Value {
    let schema = |key: &Key<T>| {
        let mut schema: Map<String, Value> = serde_json::from_str(key.form.schema).unwrap();
        let about = without_addresses(&format!("{}. Default: {}.", key.meaning, key.default));
        schema.insert("description".to_owned(), json!(about));
        (key.name.to_owned(), Value::Object(schema))
    };
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": keys.iter().map(schema).collect::<Map<_, _>>(),
    })
}

#[test]
fn the_schema_of_settings_is_the_one_that_is_generated() {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://hookbox.dev/schema/0.1/settings.json",
        "title": "hookbox 0.1: settings",
        "description": "hookbox.toml: the settings of hooks",
    });
    schema.as_object_mut().unwrap().extend(schema_of(ALL_HOOKS).as_object().unwrap().clone());
    let hooks = json!({
        "type": "object",
        "description": "A table for each hook of this root, under its full name.",
        "additionalProperties": schema_of(HOOK),
    });
    let tables = TABLES.iter().map(|(table, keys)| ((*table).to_owned(), schema_of(keys)));
    let tables = std::iter::once(("hooks".to_owned(), hooks)).chain(tables);
    schema["properties"].as_object_mut().unwrap().extend(tables);
    assert_written("schema/0.1/settings.json", &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}
