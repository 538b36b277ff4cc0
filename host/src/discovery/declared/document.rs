//! JSON with the place of everything in it.

use std::fmt;

use serde_json::value::RawValue;

use crate::json::{self, Members};
use crate::text;

/// How deep a declaration may be nested: the deepest that says anything has six levels.
const MAX_NESTED: usize = 32;

/// A place in a text, counted from 1; the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value as it stands in the text of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a> {
    whole: &'a str,
    raw: &'a str,
}

/// A name of an object, and its value.
pub(super) struct Member<'a> {
    /// Where the name stands.
    pub(super) at: Node<'a>,
    pub(super) name: String,
    pub(super) value: Node<'a>,
}

/// What a value is.
pub(super) enum Form<'a> {
    Object(Vec<Member<'a>>),
    Array(Vec<Node<'a>>),
    Text(String),
    Number(f64),
    Boolean(bool),
    Null,
}

impl<'a> Node<'a> {
    /// Reads a whole text. Nothing is copied, and no value in it is read yet.
    ///
    /// # Errors
    ///
    /// Where it is no JSON, and what is wrong there.
    pub(super) fn of(text: &'a str) -> Result<Self, (Spot, String)> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            (Spot { line: error.line().max(1), column: error.column().max(1) }, text::escape(what, 200))
        })?;
        let node = Self { whole: text, raw: raw.get() };
        if json::nested(node.raw) > MAX_NESTED {
            return Err((node.spot(), format!("nested more than {MAX_NESTED} levels deep")));
        }
        Ok(node)
    }

    fn within(self, raw: &'a RawValue) -> Self {
        Self { raw: raw.get(), ..self }
    }

    /// The text of the value, as it stands.
    pub(super) fn raw(self) -> &'a str {
        self.raw
    }

    /// Where it begins.
    pub(super) fn spot(self) -> Spot {
        // What was read borrows from the text.
        let at = (self.raw.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
        let before = self.whole.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Spot { line: 1 + before.matches('\n').count(), column: 1 + line.chars().count() }
    }

    /// What it is.
    pub(super) fn form(self) -> Form<'a> {
        let raw = self.raw;
        match raw.as_bytes().first() {
            Some(b'{') => serde_json::from_str(raw).map_or(Form::Null, |Members(members)| {
                let member = |(name, value): (&'a RawValue, &'a RawValue)| Member {
                    at: self.within(name),
                    name: json::text(name.get()),
                    value: self.within(value),
                };
                Form::Object(members.into_iter().map(member).collect())
            }),
            Some(b'[') => serde_json::from_str::<Vec<&'a RawValue>>(raw).map_or(Form::Null, |items| {
                Form::Array(items.into_iter().map(|item| self.within(item)).collect())
            }),
            Some(b'"') => Form::Text(json::text(raw)),
            Some(b't') => Form::Boolean(true),
            Some(b'f') => Form::Boolean(false),
            Some(b'n') | None => Form::Null,
            // A number beyond every float is infinite, and nothing takes that.
            Some(_) => Form::Number(raw.parse().unwrap_or(f64::INFINITY)),
        }
    }

    /// The value for a message: a short one as it stands, another by its type.
    pub(super) fn shown(self) -> String {
        match self.form() {
            Form::Object(_) => "an object".to_owned(),
            Form::Array(_) => "an array".to_owned(),
            Form::Text(text) => format!("\"{}\"", text::escape(&text, 80)),
            Form::Number(_) | Form::Boolean(_) | Form::Null => text::escape(self.raw, 80),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_line_and_column() {
        let text = "\n{\"é\": [1,\n  {\"b\": true}]}";
        let Form::Object(members) = Node::of(text).unwrap().form() else { panic!() };
        let Form::Array(items) = members[0].value.form() else { panic!() };
        let Form::Object(inner) = items[1].form() else { panic!() };
        let spots = [members[0].at, members[0].value, items[0], items[1], inner[0].at, inner[0].value]
            .map(|node| (node.spot().line, node.spot().column));
        assert_eq!(spots, [(2, 2), (2, 7), (2, 8), (3, 3), (3, 4), (3, 9)]);
        assert_eq!(members[0].name, "é");
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, line, column) in
            [("", 1, 1), ("{\n \"a\": }", 2, 7), ("{} x", 1, 4), ("{\"a\": \"x", 1, 8), ("\u{feff}{}", 1, 1)]
        {
            let (spot, _) = Node::of(text).unwrap_err();
            assert_eq!((spot.line, spot.column), (line, column), "{text:?}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Node::of(&deep).unwrap_err().1, "nested more than 32 levels deep");
    }
}
