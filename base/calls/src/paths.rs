//! The paths in the input of a file tool, as they are written.

use serde_json::Value;

use hookbox_shell::is_in;

use crate::files::CONTENTS;
use crate::kinds::{ToolKind, kind_of, plain};
use crate::lines::{is_destination, is_of_moves, name_words, path};

/// The most paths of one call; further ones are not read.
pub const MAX_PATHS: usize = 256;

/// The fields that hold a path, or several; in the form of [`plain`].
const FIELDS: &str = "filepath filepaths path paths file files filename notebookpath absolutepath relativepath \
    relativeworkspacepath targetfile targetnotebook targetdirectory dirpath directory oldpath newpath \
    sourcepath destination destinationpath";

/// Those of them that name the one file that a call is about.
const FILE_FIELDS: &str = "filepath path file filename absolutepath relativeworkspacepath targetfile";

/// The fields of an edit with the text that it looks for, and with words about it.
const OLD: &str = "oldstring oldstr oldtext oldsource oldcontent targetcontent old new search find pattern regex diff patch command insertline \
    description explanation instruction instructions reason symbol";

/// The fields with a pattern for names of files, in a tool that searches.
const PATTERN_FIELDS: &str = "glob include includepattern filepattern";

/// Returns the paths in the input of a file tool, as they are written, each once. At most [`MAX_PATHS`].
///
/// A tool that changes files may have a path in any field, but for those with contents. The place to which something moves is
/// the last.
pub fn named<'a>(tool: &str, input: &'a Value) -> Vec<&'a str> {
    let kind = kind_of(tool);
    let tool = Tool {
        changes: matches!(kind, ToolKind::Write | ToolKind::Edit),
        moves: kind == ToolKind::Write && is_of_moves(&name_words(tool)),
        is_patch: is_in("applypatch patch", &plain(tool)),
        has_includes: plain(tool) == "readmanyfiles",
    };
    let mut named = Vec::new();
    tool.collect("", input, &mut named);
    if tool.moves {
        named.sort_by_key(|(is_destination, _)| *is_destination);
    }
    named.into_iter().map(|(_, path)| path).collect()
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

/// The shape of a file tool's input.
struct Tool {
    changes: bool,
    moves: bool,
    is_patch: bool,
    has_includes: bool,
}

impl Tool {
    /// Collects the paths in a value of this field, each with true if something moves there.
    fn collect<'a>(&self, field: &str, value: &'a Value, named: &mut Vec<(bool, &'a str)>) {
        let mut push = |path: &'a str| {
            if !path.is_empty() && named.len() < MAX_PATHS && !named.iter().any(|it| it.1 == path) {
                named.push((is_destination(field), path));
            }
        };
        match value {
            Value::String(text) => {
                if self.is_patch {
                    hookbox_shell::patched(text).for_each(&mut push);
                }
                if is_in(FIELDS, field) || self.has_includes && field == "include" {
                    push(text);
                } else if self.changes && !is_in(CONTENTS, field) && (self.moves || !is_in(OLD, field)) {
                    path(field, text, self.moves).into_iter().for_each(push);
                }
            }
            Value::Array(items) => items.iter().for_each(|it| self.collect(field, it, named)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, it)| self.collect(&plain(name), it, named))
            }
            _ => {}
        }
    }
}
