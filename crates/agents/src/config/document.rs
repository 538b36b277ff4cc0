//! A parsed configuration file, with the line and column of every value.

use std::borrow::Cow;
use std::sync::LazyLock;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use regex::{Captures, Regex};

use super::error::{BY_HAND, DocumentError};
use super::toml_hooks::hooks_json;
use crate::spec::Spec;
use crate::text;
use hookbox::discovery::document::{Document, Form, Member, Node, Object};
use hookbox::discovery::reader::at;

/// The largest configuration file, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// The text of an agent's configuration file.
#[derive(Debug)]
pub(crate) struct ConfigText<'a> {
    spec: &'static Spec,
    /// The text without its byte order mark.
    text: &'a str,
    /// The same text in strict JSON, in which every value has its line and column; of a TOML file only the
    /// hooks.
    strict: Cow<'a, str>,
}

impl<'a> ConfigText<'a> {
    /// Checks the bytes of a file of this agent.
    pub(crate) fn new(spec: &'static Spec, bytes: &'a [u8]) -> Result<Self, DocumentError> {
        let text = text_of(bytes)?;
        let strict = match &spec.config {
            config if config.is_toml => Cow::Owned(hooks_json(text)?),
            config if config.reads_comments => strict(text),
            _ => Cow::Borrowed(text),
        };
        Ok(Self { spec, text, strict })
    }

    /// Parses the text; `None` if it has only blanks and comments.
    pub(crate) fn parse(&self) -> Result<Option<Document<'_>>, DocumentError> {
        if self.strict.trim().is_empty() {
            return Ok(None);
        }
        let document = Document::parse(&self.strict).map_err(|(spot, why)| {
            let why = why.trim_start_matches("is not JSON: ");
            let hint = match Document::parse(&strict(self.text)) {
                Ok(_) if !self.spec.config.reads_comments => format!(
                    "{} reads no comments and no comma after the last value: it runs no hook of this file",
                    self.spec.title
                ),
                _ => BY_HAND.to_owned(),
            };
            DocumentError::new(format!("expected JSON, found {}", at(spot, why)), hint)
        })?;
        match document.root().form() {
            Form::Object(_) => {}
            _ => return Err(DocumentError::unexpected("an object", document.root(), "in the file")),
        }
        Ok(Some(document))
    }

    /// Parses the text into a tree that can be edited, and that keeps comments and blanks.
    pub(crate) fn tree(&self) -> Result<CstRootNode, DocumentError> {
        let is_lenient = self.spec.config.reads_comments;
        let options = ParseOptions {
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
        };
        CstRootNode::parse(self.text, &options).map_err(|error| {
            let what = format!("expected JSON, found {}", text::escape(&error.to_string(), 200));
            DocumentError::new(what, BY_HAND)
        })
    }
}

/// Returns the text of a file without its byte order mark.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, DocumentError> {
    if bytes.len() > MAX_BYTES {
        let what = format!("expected at most {MAX_BYTES} bytes, found {}", bytes.len());
        return Err(DocumentError::new(what, "see what made the file so large"));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let what = format!("expected UTF-8, found something else at byte {}", error.valid_up_to());
        DocumentError::new(what, BY_HAND)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns the member of this name. A duplicate is an error: one reader takes the first, another the last.
pub(crate) fn only<'o, 'a>(
    object: &'o Object<'a>,
    name: &str,
) -> Result<Option<&'o Member<'a>>, DocumentError> {
    match object.again.iter().find(|it| it.name == name) {
        None => Ok(object.members.iter().find(|it| it.name == name)),
        Some(second) => {
            let what = format!("expected \"{}\" once, found it again", text::escape(name, 64));
            Err(DocumentError::new(at(second.at.spot(), &what), "keep one of the two; nothing was changed"))
        }
    }
}

/// Returns the last value of a name: the one that the agents' parsers take.
pub(crate) fn last<'a>(object: &Object<'a>, name: &str) -> Option<Node<'a>> {
    let mut all = object.again.iter().rev().chain(&object.members);
    all.find(|it| it.name == name).map(|it| it.value)
}

/// Returns a value in JSON. The last of duplicate keys counts.
pub(crate) fn json(node: Node<'_>) -> serde_json::Value {
    serde_json::from_str(node.raw()).unwrap_or_default()
}

/// Returns the value of a JSON file with comments; null if it is not an object, or cannot be parsed. The last
/// of duplicate keys counts.
pub(crate) fn json_value(bytes: &[u8]) -> serde_json::Value {
    let text = str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}');
    let value: serde_json::Value = serde_json::from_str(&strict(text)).unwrap_or_default();
    if value.is_object() { value } else { serde_json::Value::Null }
}

/// A comment, or a text, in which `//` begins none.
static COMMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?s)"(?:[^"\\]|\\.)*"?|//[^\n\r]*|/\*.*?(?:\*/|$)"#).ok());

/// A comma after a last value, with the bracket that follows it, or a text.
static LAST_COMMA: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?s)"(?:[^"\\]|\\.)*"?|,[ \t\r\n]*[\]}]"#).ok());

/// Returns the text with blanks in the place of comments, so that everything else keeps its line and column.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    replaced(&COMMENT, text, |comment| {
        comment.chars().map(|c| if matches!(c, '\n' | '\r') { c } else { ' ' }).collect()
    })
}

/// Returns the text with blanks in the place of comments and of commas after a last value.
fn strict(text: &str) -> Cow<'_, str> {
    let text = without_comments(text);
    match replaced(&LAST_COMMA, &text, |found| found.replacen(',', " ", 1)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => Cow::Owned(text),
    }
}

/// Replaces what a pattern finds, but for texts.
fn replaced<'t>(pattern: &Option<Regex>, text: &'t str, new: fn(&str) -> String) -> Cow<'t, str> {
    let Some(pattern) = pattern else { return Cow::Borrowed(text) };
    pattern.replace_all(text, |found: &Captures<'_>| {
        let found = found.get(0).map_or("", |it| it.as_str());
        if found.starts_with('"') { found.to_owned() } else { new(found) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    /// Returns the number of members of the object.
    fn members(agent: Agent, text: &[u8]) -> Result<Option<usize>, DocumentError> {
        let text = ConfigText::new(agent.spec(), text)?;
        Ok(text.parse()?.map(|document| match document.root().form() {
            Form::Object(object) => object.members.len(),
            _ => unreachable!("it is an object"),
        }))
    }

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
            let error = members(agent, text).unwrap_err();
            assert!(error.what.contains(want), "{error}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(members(Agent::Gemini, deep.as_bytes()).is_err());
        let large = vec![b' '; MAX_BYTES + 1];
        assert!(members(Agent::Gemini, &large).is_err());
    }

    #[test]
    fn comments_are_read_where_the_agent_reads_them() {
        let text = "\u{feff}// mine\n{\"a\": 1, /* b */}\n";
        assert_eq!(members(Agent::Gemini, text.as_bytes()), Ok(Some(1)));
        let error = members(Agent::Claude, text.as_bytes()).unwrap_err();
        assert!(error.hint.contains("Claude Code reads no comments"), "{}", error.hint);
        assert_eq!(members(Agent::Codex, b" \n"), Ok(None));
    }
}
