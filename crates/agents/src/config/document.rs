//! A parsed configuration file, with the line and column of every value.

use std::borrow::Cow;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::cst::CstRootNode;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use crate::spec::Spec;
use crate::text;
use hookbox::Hint;

/// The largest configuration file, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// The reason why a configuration file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DocumentError {
    /// The problem, with line and column if they are known.
    pub what: String,
    /// The next step for the user.
    pub hint: Hint,
}

impl DocumentError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// The text of a configuration file, and its syntax tree.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    /// The text without its byte order mark.
    pub(crate) text: &'a str,
    /// The file's object; `None` for a file of blanks and comments.
    pub(crate) root: Option<Object<'a>>,
}

impl<'a> Document<'a> {
    /// Parses a file of this agent.
    pub(crate) fn parse(spec: &Spec, bytes: &'a [u8]) -> Result<Self, DocumentError> {
        let by_hand = "correct the file by hand; nothing was changed";
        if bytes.len() > MAX_BYTES {
            let what = format!("expected at most {MAX_BYTES} bytes, found {}", bytes.len());
            return Err(DocumentError::new(what, "see what made the file so large"));
        }
        let whole = str::from_utf8(bytes).map_err(|error| {
            let what = format!("expected UTF-8, found something else at byte {}", error.valid_up_to());
            DocumentError::new(what, by_hand)
        })?;
        let text = whole.strip_prefix('\u{feff}').unwrap_or(whole);
        let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
        let takes_comments = spec.config.reads_comments;
        let parsed = parse_to_ast(text, &collect, &options(takes_comments)).map_err(|error| {
            let reads = !takes_comments && parse_to_ast(text, &collect, &options(true)).is_ok();
            let hint = if reads {
                format!(
                    "{} reads no comments and no comma after the last value: it runs no hook of this file",
                    spec.title
                )
            } else {
                by_hand.to_owned()
            };
            unreadable(&error, hint)
        })?;
        let document = Self { text, root: None };
        match parsed.value {
            None => Ok(document),
            Some(Value::Object(root)) => Ok(Self { root: Some(root), ..document }),
            Some(other) => Err(document.unexpected("an object", &other, "in the file")),
        }
    }

    /// Parses the text once more into a tree that can be edited, and that keeps comments and blanks.
    pub(crate) fn tree(&self, spec: &Spec) -> Result<CstRootNode, DocumentError> {
        let parsed = CstRootNode::parse(self.text, &options(spec.config.reads_comments));
        parsed.map_err(|error| unreadable(&error, "correct the file by hand; nothing was changed".to_owned()))
    }

    /// Returns the error for a value of an unexpected type.
    pub(crate) fn unexpected(&self, expected: &str, found: &Value<'_>, what: &str) -> DocumentError {
        let at = self.position(start(found));
        let what = format!("{at}: expected {expected} {what}, found {}", kind(found));
        DocumentError::new(what, "correct the file by hand; nothing was changed")
    }

    /// Returns the property of this name. A duplicate is an error: one reader takes the first, another the
    /// last.
    pub(crate) fn only<'o>(
        &self,
        object: &'o Object<'a>,
        name: &str,
    ) -> Result<Option<&'o ObjectProp<'a>>, DocumentError> {
        let mut found = object.properties.iter().filter(|it| it.name.as_str() == name);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(second) => {
                let at = self.position(second.range.start);
                let what = format!("{at}: expected \"{}\" once, found it again", text::escape(name, 64));
                Err(DocumentError::new(what, "keep one of the two; nothing was changed"))
            }
        }
    }

    /// Returns the line and column of a byte of the text.
    pub(crate) fn position(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}")
    }
}

/// Returns the value of a JSON file; null if it is not an object, or cannot be parsed. The last of duplicate
/// keys counts.
pub(crate) fn json_value(has_comments: bool, bytes: &[u8]) -> serde_json::Value {
    let text = str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}');
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let root = parse_to_ast(text, &collect, &options(has_comments)).ok().and_then(|it| it.value);
    root.filter(|it| matches!(it, Value::Object(_))).map_or(serde_json::Value::Null, Into::into)
}

/// Returns the text with blanks in the place of comments, so that everything else keeps its line and column.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    while let Some(first) = rest.chars().next() {
        let comment = match rest {
            _ if in_string => 0,
            _ if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => 0,
        };
        let (part, after) = rest.split_at(match comment {
            0 if in_string && first == '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
            0 => first.len_utf8(),
            comment => comment,
        });
        if comment > 0 {
            out.extend(part.chars().map(|c| if matches!(c, '\n' | '\r') { c } else { ' ' }));
        } else {
            in_string ^= first == '"';
            out.push_str(part);
        }
        rest = after;
    }
    Cow::Owned(out)
}

fn unreadable(error: &ParseError, hint: impl Into<Hint>) -> DocumentError {
    let kind = text::escape(&error.kind().to_string(), 200);
    let (line, column) = (error.line_display(), error.column_display());
    DocumentError::new(format!("expected JSON, found line {line}, column {column}: {kind}"), hint)
}

fn options(is_lenient: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: is_lenient,
        allow_trailing_commas: is_lenient,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn start(value: &Value<'_>) -> usize {
    match value {
        Value::StringLit(it) => it.range.start,
        Value::NumberLit(it) => it.range.start,
        Value::BooleanLit(it) => it.range.start,
        Value::NullKeyword(it) => it.range.start,
        Value::Object(Object { range, .. }) | Value::Array(Array { range, .. }) => range.start,
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::NullKeyword(_) => "null",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    #[test]
    fn what_cannot_be_read_is_said_with_its_place() {
        for (agent, text, want) in [
            (Agent::Claude, &b"{\n  \"a\": }"[..], "line 2, column 8"),
            (Agent::Claude, b"[1]", "line 1, column 1: expected an object in the file, found an array"),
            (Agent::Codex, b"{\"a\": \"\xff\"}", "at byte 7"),
            (Agent::Claude, b"{} // x", "line 1, column 4"),
            (Agent::Claude, b"{\"a\":1,}", "line 1"),
            (Agent::Gemini, b"{'a':1}", "line 1, column 2"),
            (Agent::Gemini, b"{\"a\":1} {}", "line 1"),
        ] {
            let error = Document::parse(agent.spec(), text).unwrap_err();
            assert!(error.what.contains(want), "{error}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(Document::parse(Agent::Gemini.spec(), deep.as_bytes()).is_err());
        let large = vec![b' '; MAX_BYTES + 1];
        assert!(Document::parse(Agent::Gemini.spec(), &large).is_err());
    }

    #[test]
    fn comments_are_read_where_the_agent_reads_them() {
        let text = "\u{feff}// mine\n{\"a\": 1, /* b */}\n";
        let document = Document::parse(Agent::Gemini.spec(), text.as_bytes()).unwrap();
        assert_eq!(document.root.unwrap().properties.len(), 1);
        let error = Document::parse(Agent::Claude.spec(), text.as_bytes()).unwrap_err();
        assert!(error.hint.contains("Claude Code reads no comments"), "{}", error.hint);
        assert!(Document::parse(Agent::Codex.spec(), b" \n").unwrap().root.is_none());
    }
}
