//! Strict JSON with the position of each value, and its faults: each one once, with its position and what was expected.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{ParseOptions, parse_to_ast};

use hookbox_shell::is_in;
use hookbox_system::{Hint, json, limits, text};

/// The depth of a declaration. The deepest known key is at level six.
const MAX_NESTED: usize = 32;

/// The number of members of an object. Readers compare them with each other.
const MAX_MEMBERS: usize = 4096;

/// A position in a text. Its line and column are counted when it is shown: from 1, the column in characters.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    document: &'a Document<'a>,
    at: usize,
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { text, lines, .. } = self.document;
        let line = lines.partition_point(|start| *start <= self.at);
        let start = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = text.get(start..self.at).unwrap_or_default();
        write!(f, "line {line}, column {}", 1 + before.chars().count())
    }
}

/// The text of a file, parsed.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    root: Value<'a>,
    /// The offset of each line.
    lines: Vec<usize>,
}

impl<'a> Document<'a> {
    /// Parses a text after its byte order mark, which editors of Windows write.
    ///
    /// # Errors
    ///
    /// The first mistake, with its position.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut document = Self { text, root: Value::NullKeyword(NULL), lines };
        let fault = |document: &Self, at: usize, what: &str| Err(self::at(Spot { document, at }, what));
        // Before the parser: its recursion takes stack.
        if json::nested(text) > MAX_NESTED {
            return fault(&document, 0, &format!("is nested more than {MAX_NESTED} levels deep"));
        }
        match parse_to_ast(text, &Default::default(), &STRICT).map(|parsed| parsed.value) {
            Ok(Some(root)) => document.root = root,
            Ok(None) => return fault(&document, 0, "is not JSON: it is empty"),
            Err(error) => {
                let what = format!("is not JSON: {}", text::escape(&error.kind().to_string(), 200));
                return fault(&document, error.range().start, &what);
            }
        }
        match crowded(&document.root) {
            Some(at) => fault(&document, at, &format!("has more than {MAX_MEMBERS} members in one object")),
            None => Ok(document),
        }
    }

    /// The outermost value.
    pub fn root(&self) -> Node<'_> {
        Node { document: self, value: &self.root }
    }
}

const NULL: jsonc_parser::ast::NullKeyword =
    jsonc_parser::ast::NullKeyword { range: jsonc_parser::common::Range { start: 0, end: 0 } };

/// JSON and no extension of it.
pub const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The offset of an object with too many members.
fn crowded(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Object(object) if object.properties.len() > MAX_MEMBERS => Some(object.range.start),
        Value::Object(object) => object.properties.iter().find_map(|member| crowded(&member.value)),
        Value::Array(array) => array.elements.iter().find_map(crowded),
        _ => None,
    }
}

/// A value with its position.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    document: &'a Document<'a>,
    value: &'a Value<'a>,
}

/// A name of an object, and its value.
#[derive(Clone)]
pub struct Member<'a> {
    /// The position of the name.
    pub at: Spot<'a>,
    pub name: String,
    pub value: Node<'a>,
}

/// The members of an object.
pub struct Object<'a> {
    /// Each name once: the first counts.
    pub members: Vec<Member<'a>>,
    /// The members whose name came before.
    pub again: Vec<Member<'a>>,
}

/// A value by its type.
pub enum Form<'a> {
    Object(Object<'a>),
    Array(Vec<Node<'a>>),
    Text(String),
    Number(f64),
    Boolean(bool),
    Null,
}

impl<'a> Node<'a> {
    /// The text of the value, as it is in the file.
    pub fn raw(self) -> &'a str {
        self.document.text.get(self.value.start()..self.value.end()).unwrap_or_default()
    }

    /// The beginning of the value.
    pub fn spot(self) -> Spot<'a> {
        Spot { document: self.document, at: self.value.start() }
    }

    /// Returns true if it is this text.
    pub fn is_text(self, text: &str) -> bool {
        matches!(self.value, Value::StringLit(it) if it.value == text)
    }

    /// Returns the text, if it is one.
    pub fn text(self) -> Option<String> {
        match self.value {
            Value::StringLit(text) => Some(text.value.to_string()),
            _ => None,
        }
    }

    /// Returns the items, if it is a list.
    pub fn items(self) -> Option<Vec<Self>> {
        match self.form() {
            Form::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns true or false, if it is one of them.
    pub fn flag(self) -> Option<bool> {
        match self.value {
            Value::BooleanLit(it) => Some(it.value),
            _ => None,
        }
    }

    pub fn form(self) -> Form<'a> {
        match self.value {
            Value::Object(object) => Form::Object(self.object(object)),
            Value::Array(array) => {
                Form::Array(array.elements.iter().map(|value| Self { value, ..self }).collect())
            }
            Value::StringLit(text) => Form::Text(text.value.to_string()),
            // A number beyond every float is infinite, and no key takes that.
            Value::NumberLit(number) => Form::Number(number.value.parse().unwrap_or(f64::INFINITY)),
            Value::BooleanLit(it) => Form::Boolean(it.value),
            Value::NullKeyword(_) => Form::Null,
        }
    }

    fn object(self, object: &'a jsonc_parser::ast::Object<'a>) -> Object<'a> {
        let mut names = HashSet::new();
        let member = |it: &'a jsonc_parser::ast::ObjectProp<'a>| Member {
            at: Spot { document: self.document, at: it.range.start },
            name: match &it.name {
                ObjectPropName::String(name) => name.value.to_string(),
                ObjectPropName::Word(name) => name.value.to_owned(),
            },
            value: Self { value: &it.value, ..self },
        };
        let all = object.properties.iter().map(member);
        let (members, again) = all.partition(|member| names.insert(member.name.clone()));
        Object { members, again }
    }

    /// The value for a message: a short one as it is, another by its type.
    pub fn shown(self) -> String {
        match self.value {
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::StringLit(it) => format!("\"{}\"", text::escape(&it.value, 80)),
            _ => text::escape(self.raw(), 80),
        }
    }
}

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position and the fault, in words that follow the path.
    pub message: String,
    pub hint: Option<Hint>,
}

/// Collects faults.
#[derive(Default)]
pub struct Reader {
    faults: Vec<Fault>,
    /// The number of further faults.
    unnamed: usize,
}

/// Describes a value of another type or form than was expected, in words that follow the path.
pub fn wrong(key: &str, expected: &str, value: Node<'_>) -> String {
    at(value.spot(), &format!("{}: expected {expected}, found {}", text::escape(key, 80), value.shown()))
}

/// Puts the position before a description.
pub fn at(spot: Spot<'_>, what: &str) -> String {
    format!("{spot}: {what}")
}

/// Keys that describe an entry or mean something elsewhere only, in the formats of all agents and in published plugins.
/// Claude Code ignores `once` in a file of settings or of a plugin, and no model is woken.
const HARMLESS: &str = "$comment $schema _comment additionalContextLimit command_windows commandWindows comment description \
    id once rewakeMessage rewakeSummary statusMessage";

/// Returns true if a key changes nothing about its entry here: it is passed over in silence.
pub fn is_harmless(key: &str) -> bool {
    is_in(HARMLESS, key)
}

/// Returns the members of an object without a repeated name.
pub(super) fn members<'a>(key: &str, expected: &str, value: Node<'a>) -> Result<Vec<Member<'a>>, String> {
    let Form::Object(Object { members, again }) = value.form() else {
        return Err(wrong(key, expected, value));
    };
    again.first().map_or(Ok(members), |member| Err(twice(member)))
}

pub(super) fn word(key: &str, expected: &str, value: Node<'_>) -> Result<String, String> {
    value.text().filter(|text| is_clean(text)).ok_or_else(|| wrong(key, expected, value))
}

/// Returns true for a text that is not blank and can be an argument of a program.
pub(super) fn is_clean(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0')
}

/// Reads variables or headers. A text that no process takes is as wrong as a name.
pub(super) fn map(key: &str, value: Node<'_>) -> Result<BTreeMap<String, String>, String> {
    let text = |member: Member<'_>| match member.value.text() {
        Some(text) if !text.contains('\0') && is_a_name(key, &member.name) => Ok((member.name, text)),
        Some(_) => {
            let what = format!("{key}: {:?} cannot be a name", text::escape(&member.name, 80));
            Err(at(member.at, &what))
        }
        None => Err(wrong(&member.name, "a text", member.value)),
    };
    members(key, "an object of texts", value)?.into_iter().map(text).collect()
}

/// Returns true if a variable or a header can have this name; a header's is a token of HTTP.
fn is_a_name(key: &str, name: &str) -> bool {
    let is_header = key == "headers";
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && !name.contains(['=', '\0', '\n', '\r', ':', ' '])
        && (!is_header || name.chars().all(is_token))
}

/// Reads an address of HTTP. One that begins with a variable is checked when it is used.
pub(super) fn address(value: Node<'_>) -> Result<String, String> {
    let expected = "an address that begins with http:// or https://";
    let url = word("url", expected, value)?;
    let scheme = url.split_once("://").filter(|(_, rest)| !rest.is_empty()).map(|(scheme, _)| scheme);
    let is_http =
        scheme.is_some_and(|it| it.eq_ignore_ascii_case("http") || it.eq_ignore_ascii_case("https"));
    if is_http || url.starts_with("${") { Ok(url) } else { Err(wrong("url", expected, value)) }
}

/// The number of words of a command, and of tools that a matcher names.
pub const MAX_WORDS: usize = 256;

/// Returns the words of a list; `None` if it is anything else.
pub fn words(value: Node<'_>) -> Option<Vec<String>> {
    let items = value.items().filter(|items| items.len() <= MAX_WORDS)?;
    items.into_iter().map(|item| item.text().filter(|word| !word.contains('\0'))).collect()
}

/// Describes an unknown key, with the nearest known one.
pub fn unknown(member: &Member<'_>, known: &[&str]) -> String {
    let meant = text::or_meant(text::nearest(&member.name, known.iter().copied()));
    at(member.at, &format!("unknown key \"{}\"{meant}", text::escape(&member.name, 80)))
}

impl Reader {
    /// Adds a fault. Its message is only made if it is shown.
    pub fn fault(&mut self, message: impl FnOnce() -> String) {
        self.push(|| Fault { message: message(), hint: None });
    }

    pub fn push(&mut self, fault: impl FnOnce() -> Fault) {
        if self.faults.len() < limits::NAMED { self.faults.push(fault()) } else { self.unnamed += 1 }
    }

    /// Returns the faults: the first ones, and the number of the others.
    pub fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { message, hint: None });
        }
        self.faults
    }

    /// Passes on a value that was read; `None` is a fault, with `consequence` behind it.
    pub fn checked<T>(
        &mut self,
        key: &str,
        expected: &str,
        value: Node<'_>,
        read: Option<T>,
        consequence: &str,
    ) -> Option<T> {
        if read.is_none() {
            self.fault(|| format!("{}{consequence}", wrong(key, expected, value)));
        }
        read
    }

    /// Returns the members of an object, each name once: the first counts. Anything else is a fault and
    /// `None`.
    pub fn object<'a>(&mut self, key: &str, expected: &str, value: Node<'a>) -> Option<Vec<Member<'a>>> {
        let Form::Object(object) = value.form() else {
            self.fault(|| wrong(key, expected, value));
            return None;
        };
        for member in object.again {
            self.fault(|| twice(&member));
        }
        Some(object.members)
    }
}

/// Describes a key that appears twice.
pub fn twice(member: &Member<'_>) -> String {
    let key = text::escape(&member.name, 80);
    at(member.at, &format!("\"{key}\" appears twice: the first one counts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_line_and_column() {
        let text = "\n{\"é\": [1,\n  {\"b\": true}]}";
        let document = Document::parse(text).unwrap();
        let Form::Object(Object { members, .. }) = document.root().form() else { panic!() };
        let Form::Array(items) = members[0].value.form() else { panic!() };
        let Form::Object(Object { members: inner, .. }) = items[1].form() else { panic!() };
        let (name, inside) = (members[0].at, inner[0].at);
        let nodes = [members[0].value, items[0], items[1], inner[0].value].map(Node::spot);
        let spots: Vec<String> = [name, inside].into_iter().chain(nodes).map(|it| it.to_string()).collect();
        let want = [(2, 2), (3, 4), (2, 7), (2, 8), (3, 3), (3, 9)];
        assert_eq!(spots, want.map(|(line, column)| format!("line {line}, column {column}")));
        assert_eq!(members[0].name, "é");
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{\n \"a\": }", 2, 7),
            ("{} x", 1, 4),
            ("{\"a\": \"x", 1, 7),
            ("{\"a\": 1,}", 1, 8),
            ("{a: 1}", 1, 2),
            ("\u{feff}\u{feff}{}", 1, 1),
        ] {
            let what = Document::parse(text).unwrap_err();
            let want = format!("line {line}, column {column}: is not JSON: ");
            assert!(what.starts_with(&want), "{text:?}: {what}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let want = "line 1, column 1: is nested more than 32 levels deep";
        assert_eq!(Document::parse(&deep).unwrap_err(), want);
        let full = (0..=MAX_MEMBERS).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(",");
        let what = Document::parse(&format!("[{{{full}}}]")).unwrap_err();
        assert_eq!(what, "line 1, column 2: has more than 4096 members in one object");
    }
}
