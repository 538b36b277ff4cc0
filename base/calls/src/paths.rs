//! The paths in the input of a file tool, as they are written.

use serde_json::Value;

use crate::kinds::plain;
use hookbox_shell::is_in;

/// The most paths of one call; further ones are not read.
pub const MAX_PATHS: usize = 256;

/// The greatest depth of nested lists of files with edits.
const MAX_DEPTH: usize = 4;

/// The fields that hold a path, or several; in the form of [`plain`].
const FIELDS: &str = "filepath filepaths path paths file files filename notebookpath absolutepath relativepath \
    relativeworkspacepath targetfile targetnotebook targetdirectory dirpath directory oldpath newpath \
    sourcepath destination destinationpath";

/// Those of them that name the one file that a call is about.
const FILE_FIELDS: &str = "filepath path file filename absolutepath relativeworkspacepath targetfile";

/// The fields with a pattern for names of files, in a tool that searches.
const PATTERN_FIELDS: &str = "glob include includepattern filepattern";

/// Returns the paths in the input of a file tool, as they are written, each once. At most [`MAX_PATHS`].
pub fn named<'a>(tool: &str, input: &'a Value) -> Vec<&'a str> {
    let mut named = Vec::new();
    fields(input, 0, &mut named);
    match plain(tool).as_str() {
        "applypatch" | "patch" => patch(input, 0, &mut named),
        // read_many_files
        "readmanyfiles" => {
            let include =
                input.get("include").map(|it| it.as_array().map_or(std::slice::from_ref(it), Vec::as_slice));
            include.into_iter().flatten().filter_map(Value::as_str).for_each(|path| push(path, &mut named));
        }
        _ => {}
    }
    named
}

/// Returns the patterns for names of files in the input of a tool that searches, but for those that leave files out (`!`).
pub fn patterns(input: &Value) -> impl Iterator<Item = &str> {
    let fields = input.as_object().into_iter().flatten();
    let named = fields.filter(|(name, _)| is_in(PATTERN_FIELDS, &plain(name)));
    named.filter_map(|(_, value)| value.as_str()).filter(|it| !it.starts_with('!'))
}

/// Returns true if a field of a file tool names the one file that the call is about.
pub fn is_file(field: &str) -> bool {
    is_in(FILE_FIELDS, &plain(field))
}

/// Collects what the path fields of an object hold: a string, a list, or objects with path fields of their own.
fn fields<'a>(value: &'a Value, depth: usize, named: &mut Vec<&'a str>) {
    let Value::Object(object) = value else { return };
    if depth > MAX_DEPTH {
        return;
    }
    for (name, value) in object {
        let name = plain(name);
        let is_path = is_in(FIELDS, &name);
        if !is_path && name != "edits" {
            continue;
        }
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for item in items {
            match item {
                Value::String(path) if is_path => push(path, named),
                item => fields(item, depth + 1, named),
            }
        }
    }
}

/// Collects the files that a patch names, wherever in the input it stands.
fn patch<'a>(value: &'a Value, depth: usize, named: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => hookbox_shell::patched(text).for_each(|path| push(path, named)),
        Value::Array(items) if depth < MAX_DEPTH => {
            items.iter().for_each(|item| patch(item, depth + 1, named));
        }
        Value::Object(object) if depth < MAX_DEPTH => {
            object.values().for_each(|value| patch(value, depth + 1, named));
        }
        _ => {}
    }
}

fn push<'a>(path: &'a str, named: &mut Vec<&'a str>) {
    if !path.is_empty() && named.len() < MAX_PATHS && !named.contains(&path) {
        named.push(path);
    }
}
