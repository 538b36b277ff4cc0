//! The texts of an input, whatever its shape.

use std::borrow::Cow;

use hookbox_shell::is_in;
use serde_json::Value;

use crate::Call;
use crate::kinds::{ToolKind, plain};

/// Fields with the directory in which a tool works, in their plain form.
const DIRECTORIES: &str =
    "cwd workdir workingdir workingdirectory currentdirectory basedir basepath repopath";

/// Fields with that of a shell. In other tools they may be what the tool is about.
const OF_SHELLS: &str = "directory dir dirpath";

/// Returns every text in an input with the [plain](plain) name of its field, in their order. A text that is JSON is read as
/// well, and stands behind its own texts. The name of a field that is a path is a text as well.
pub fn texts(input: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect("", input, &mut found);
    found
}

/// Returns the input of a call as its tool takes it. A text that is a JSON object or list is what it says.
pub fn decoded(input: &Value) -> Cow<'_, Value> {
    match input.as_str().and_then(json) {
        Some(Ok(value)) => Cow::Owned(value),
        _ => Cow::Borrowed(input),
    }
}

/// Returns true if a part of an input cannot be read: JSON that is too deep, or a text that should be an object.
pub(crate) fn is_unreadable(input: &Value) -> bool {
    let is_too_deep = |text: &str| {
        let error = json(text).and_then(Result::err);
        error.is_some_and(|it| it.to_string().starts_with("recursion limit"))
    };
    input.as_str().is_some_and(|it| it.trim_start().starts_with('{'))
        || texts(input).iter().any(|it| is_too_deep(&it.1))
}

/// Reads a text as JSON if it begins as an object or a list.
fn json(text: &str) -> Option<serde_json::Result<Value>> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text))
}

fn collect(field: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            if let Some(Ok(inner)) = json(text) {
                collect(field, &inner, found);
            }
            found.push((field.to_owned(), text.clone()));
        }
        Value::Array(values) => values.iter().for_each(|it| collect(field, it, found)),
        Value::Object(fields) => {
            for (name, it) in fields {
                // Some tools have a path as the name of a field.
                if name.starts_with(['/', '~', '.']) && name.contains('/') {
                    found.push(("path".to_owned(), name.clone()));
                }
                collect(&plain(name), it, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the directories in which a tool may work by its input, as they are written.
pub fn directories(input: &Value) -> impl Iterator<Item = &str> {
    let fields = input.as_object().into_iter().flatten();
    let named = fields.filter(|(name, _)| [DIRECTORIES, OF_SHELLS].iter().any(|it| is_in(it, &plain(name))));
    named.filter_map(|(_, value)| value.as_str()).filter(|it| !it.is_empty())
}

/// Returns the directory in which a call runs its lines, if its input names one, as it is written.
pub fn directory<'a>(call: &Call<'a>) -> Option<&'a str> {
    let is_one = |name: &str| match call.kind {
        ToolKind::Shell => is_in(DIRECTORIES, name) || is_in(OF_SHELLS, name),
        ToolKind::Mcp | ToolKind::Other => is_in(DIRECTORIES, name),
        _ => false,
    };
    let (_, value) = call.input.as_object()?.iter().find(|(name, _)| is_one(&plain(name)))?;
    value.as_str().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_has_the_name_of_its_field() {
        let input = json!({"a_B": ["x", {"c": "y"}], "args": "{\"cmd\": [\"ls\", 5]}", "~/n": 1});
        let found = texts(&input);
        let found: Vec<(&str, &str)> = found.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
        let args = "{\"cmd\": [\"ls\", 5]}";
        assert_eq!(found, [("ab", "x"), ("c", "y"), ("cmd", "ls"), ("args", args), ("path", "~/n")]);
    }

    #[test]
    fn a_text_that_is_an_object_or_a_list_is_that() {
        for (input, want) in [
            (json!("{\"command\": \"ls\"}"), json!({"command": "ls"})),
            (json!("\n [\"rm\", \"x\"]"), json!(["rm", "x"])),
            (json!({"a": "{}"}), json!({"a": "{}"})),
            (json!("{\"a\""), json!("{\"a\"")),
            (json!("ls"), json!("ls")),
            (json!("5"), json!("5")),
        ] {
            assert_eq!(*decoded(&input), want);
        }
    }

    #[test]
    fn a_directory_has_many_names() {
        let input = json!({"workDir": "/srv", "cwd": "", "repo_path": "x", "path": "y", "dir": 5});
        assert_eq!(directories(&input).collect::<Vec<_>>(), ["/srv", "x"]);
    }
}
