//! A parsed configuration file, with the line and column of every value, and the errors of the parsers.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use hookbox::Hint;
use hookbox::discovery::document::{Document, Form, Member, Node, Object, STRICT, at};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use regex::{Captures, Regex};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use crate::spec::Spec;
use crate::text;
use hookbox_system::limits;

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
            config if config.is_toml => Cow::Owned(hooks_json(spec, text)?),
            config if config.entry.is_list => list_json(spec, text).map_or(Cow::Borrowed(text), Cow::Owned),
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
        let document = Document::parse(&self.strict).map_err(|why| {
            let hint = match Document::parse(&strict(self.text)) {
                Ok(_) if !self.spec.config.reads_comments => format!(
                    "remove {} and run it again: {} runs no hook of this file",
                    surplus(self.text),
                    self.spec.title
                ),
                _ => BY_HAND.to_owned(),
            };
            DocumentError::new(format!("expected JSON, found {}", why.replacen("is not JSON: ", "", 1)), hint)
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
        let options =
            ParseOptions { allow_comments: is_lenient, allow_trailing_commas: is_lenient, ..STRICT };
        CstRootNode::parse(self.text, &options).map_err(|error| {
            let what = format!("expected JSON, found {}", text::escape(&error.to_string(), 200));
            DocumentError::new(what, BY_HAND)
        })
    }
}

/// Returns the text of a file without its byte order mark.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, DocumentError> {
    if bytes.len() as u64 > limits::FILE {
        let what = format!("expected at most {} bytes, found {}", limits::FILE, bytes.len());
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
            Err(DocumentError::new(at(second.at, &what), "keep one of the two; nothing was changed"))
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

/// Names the first comment and the first comma after a last value, with their lines.
fn surplus(text: &str) -> String {
    let line = |pattern: &LazyLock<Option<Regex>>, text: &str, begin: char| {
        let mut all = pattern.as_ref()?.find_iter(text);
        let found = all.find(|it| it.as_str().starts_with(begin))?;
        Some(text.get(..found.start())?.matches('\n').count() + 1)
    };
    let comment = line(&COMMENT, text, '/').map(|line| format!("the comment in line {line}"));
    let comma = line(&LAST_COMMA, &without_comments(text), ',');
    let comma = comma.map(|line| format!("the comma after the last value in line {line}"));
    comment.into_iter().chain(comma).collect::<Vec<_>>().join(" and ")
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

    /// Returns the error for a value of an unexpected type.
    pub(crate) fn unexpected(expected: &str, found: Node<'_>, what: &str) -> Self {
        let kind = match found.form() {
            Form::Text(_) => "a string",
            Form::Number(_) => "a number",
            Form::Boolean(_) => "a boolean",
            Form::Null => "null",
            Form::Object(_) => "an object",
            Form::Array(_) => "an array",
        };
        Self::new(at(found.spot(), &format!("expected {expected} {what}, found {kind}")), BY_HAND)
    }
}

/// The hint of most errors.
pub(crate) const BY_HAND: &str = "correct the file by hand; nothing was changed";

/// Returns the hooks of a TOML file as JSON; an empty object without any.
pub(crate) fn hooks_json(spec: &Spec, text: &str) -> Result<String, DocumentError> {
    let Some(hooks) = table(text)?.remove("hooks") else { return Ok("{}".to_owned()) };
    let toml::Value::Array(hooks) = hooks else {
        return Err(DocumentError::new("expected [[hooks]] tables, found another hooks", BY_HAND));
    };
    let hooks = hooks.into_iter().map(|hook| serde_json::to_value(hook).unwrap_or_default());
    Ok(by_event(spec, hooks))
}

/// The version of a file with a list of hooks.
pub(crate) const LIST_VERSION: &str = "v1";

/// Returns the hooks of a JSON file with one list; none of another version. An entry here has the fields of its action.
/// `None` if it is not an object.
fn list_json(spec: &Spec, text: &str) -> Option<String> {
    let mut file: Map<String, Value> = serde_json::from_str(text).ok()?;
    let is_known = file.get("version").is_some_and(|it| it == LIST_VERSION);
    let Some(Value::Array(hooks)) = file.remove("hooks").filter(|_| is_known) else {
        return Some("{}".to_owned());
    };
    let flat = hooks.into_iter().map(|mut hook| {
        let fields = hook.as_object_mut();
        if let Some((Value::Object(action), fields)) = fields.and_then(|it| Some((it.remove("action")?, it)))
        {
            fields.extend(action);
        }
        hook
    });
    Some(by_event(spec, flat))
}

/// Returns these hooks as lists of their events.
fn by_event(spec: &Spec, hooks: impl Iterator<Item = Value>) -> String {
    let mut events = Map::new();
    for mut hook in hooks {
        let event = hook.as_object_mut().and_then(|it| it.shift_remove(spec.config.entry.event_key));
        let name = event.as_ref().and_then(Value::as_str).unwrap_or_default();
        let list = events.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.push(hook.clone()));
    }
    json!({ "hooks": events }).to_string()
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

/// A byte order mark.
const MARK: char = '\u{feff}';

/// Returns the reason why an agent does not read these bytes as its configuration, with line and column. An
/// empty file is not an error, and neither is anything in a file of an agent whose parser is not known.
///
/// Seen in Claude Code 2.1 and Copilot CLI 1.0, which read JSON, and in Gemini CLI 0.61 and Qwen Code 0.24,
/// which read JSON with comments. Only Claude Code and Qwen Code read a byte order mark.
pub(crate) fn parser_error(spec: &Spec, bytes: &[u8]) -> Option<String> {
    let parser = spec.config.parser?;
    let Ok(whole) = str::from_utf8(bytes) else { return Some("it is not UTF-8".to_owned()) };
    let text = whole.strip_prefix(MARK).unwrap_or(whole);
    if text.len() < whole.len() && !parser.reads_mark {
        return Some(format!("line 1, column 1: {} reads no file with a byte order mark", spec.title));
    }
    if spec.config.is_toml {
        return (parser.check)(text);
    }
    let plain = if spec.config.reads_comments { without_comments(text) } else { Cow::Borrowed(text) };
    if plain.chars().all(char::is_whitespace) {
        return None;
    }
    match serde_json::from_str::<IgnoredAny>(&plain) {
        Ok(_) => (parser.check)(&plain),
        Err(error) => Some(json_error(&error, spec.title)),
    }
}

/// Returns an error of a JSON parser with its position.
pub(crate) fn json_error(error: &serde_json::Error, title: &str) -> String {
    let whole = error.to_string();
    let what = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(what, _)| what);
    let (line, column) = (error.line(), error.column());
    format!("line {line}, column {column}: {}, which {title} does not read", text::escape(what, 300))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;
    use crate::config::document::ConfigText;

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
        let large = vec![b' '; (4 << 20) + 1];
        assert!(members(Agent::Gemini, &large).is_err());
    }

    #[test]
    fn comments_are_read_where_the_agent_reads_them() {
        let text = "\u{feff}// mine\n{\"a\": 1, /* b */}\n";
        assert_eq!(members(Agent::Gemini, text.as_bytes()), Ok(Some(1)));
        let error = members(Agent::Claude, text.as_bytes()).unwrap_err();
        let both = "remove the comment in line 1 and the comma after the last value in line 2 and run it again: \
                    Claude Code runs no hook of this file";
        assert_eq!(error.hint.to_string(), both);
        assert_eq!(members(Agent::Codex, b" \n"), Ok(None));
    }

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
        assert_eq!(
            serde_json::from_str::<Value>(&hooks_json(Agent::Kimi.spec(), text).unwrap()).unwrap(),
            want
        );
        assert_eq!(hooks_json(Agent::Kimi.spec(), "").unwrap(), "{}");
        assert!(hooks_json(Agent::Kimi.spec(), "hooks = 5").is_err());
    }

    #[test]
    fn what_the_agents_parser_refuses_is_refused_with_its_place() {
        let all = [Agent::Claude, Agent::Codex, Agent::Copilot, Agent::Gemini, Agent::Qwen];
        for (text, agents) in [
            ("{\"hooks\": {\"Unheard\": \"a\tb\"}}", &all[..]),
            ("{\"hooks\":\u{a0}{}}", &all),
            ("{\"hooks\":\u{b}{}}", &all),
            ("\u{feff}\u{feff}{}", &all),
            ("\u{feff}{}", &[Agent::Codex, Agent::Copilot, Agent::Gemini]),
            ("{\"hooks\": {},}", &all),
            ("{\"hooks\": {/* x */}} // y\n", &[Agent::Claude, Agent::Codex, Agent::Copilot]),
            ("{\"hooks\": {}, \"version\": 1}", &[Agent::Codex]),
            ("{\"hooks\": {}, \"description\": 1}", &[Agent::Codex]),
            ("{\"hooks\": {}, \"description\": null}", &[]),
            ("{\"hooks\": {\"Unheard\": [5], \"state\": {}}}", &[]),
            ("{}", &[]),
            (" \n", &[]),
        ] {
            for agent in all {
                let found = parser_error(agent.spec(), text.as_bytes());
                assert_eq!(found.is_some(), agents.contains(&agent), "{agent} {text:?} {found:?}");
                assert!(found.is_none_or(|it| it.contains("line 1, column")), "{agent} {text:?}");
            }
        }
        assert_eq!(parser_error(Agent::Cursor.spec(), "\u{feff}{\"a\": 1,} // x".as_bytes()), None);
        let error =
            parser_error(Agent::Gemini.spec(), "{\n  // \u{e9} \"\n  \"a\": 1,\n}".as_bytes()).unwrap();
        assert!(error.starts_with("line 4, column 1: "), "{error}");
        assert!(parser_error(Agent::Claude.spec(), b"\xff").is_some());
    }

    #[test]
    fn what_is_refused_here_is_read_by_the_parser_that_edits() {
        for (agent, text) in [
            (Agent::Claude, "{\"a\": \"x\ty\"}"),
            (Agent::Codex, "\u{feff}{\"version\": 1}"),
            (Agent::Gemini, "{\"a\": 1,}"),
        ] {
            assert!(
                ConfigText::new(agent.spec(), text.as_bytes()).unwrap().tree().is_ok()
                    && parser_error(agent.spec(), text.as_bytes()).is_some()
            );
        }
    }
}
