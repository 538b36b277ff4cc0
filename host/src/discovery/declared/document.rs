//! JSON with the place of everything in it.

use std::cell::OnceCell;
use std::fmt;

use serde_json::value::RawValue;

use crate::json::{self, Members};
use crate::text;

/// How deep a declaration may be nested: the deepest that says anything has six levels.
const MAX_NESTED: usize = 32;

/// How many members of one object are looked at.
pub(super) const MAX_MEMBERS: usize = 256;

/// How many bytes lie between two places whose line and column are remembered.
const STEP: usize = 1024;

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

impl Spot {
    const FIRST: Self = Self { line: 1, column: 1 };

    /// The place behind this text, which begins here.
    fn after(self, text: &str) -> Self {
        match text.rsplit_once('\n') {
            Some((before, last)) => {
                Self { line: self.line + 1 + before.matches('\n').count(), column: 1 + last.chars().count() }
            }
            None => Self { column: self.column + text.chars().count(), ..self },
        }
    }
}

/// A text that was read.
#[derive(Debug)]
pub(super) struct Document<'a> {
    text: &'a str,
    /// Places all along the text, so that none is counted from the beginning; made for the first that is asked for.
    marks: OnceCell<Vec<(usize, Spot)>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, marks: OnceCell::new() }
    }

    fn spot(&self, at: usize) -> Spot {
        let marks = self.marks.get_or_init(|| {
            let (mut marks, mut at, mut spot) = (Vec::new(), 0, Spot::FIRST);
            while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
                marks.push((at, spot));
                let step = text::prefix(rest, STEP);
                at += step.len();
                spot = spot.after(step);
            }
            marks
        });
        let next = marks.partition_point(|(mark, _)| *mark <= at);
        let (mark, spot) = marks.get(next.saturating_sub(1)).copied().unwrap_or((0, Spot::FIRST));
        spot.after(self.text.get(mark..at).unwrap_or_default())
    }

    /// Reads the whole text. Nothing is copied, and no value in it is read yet.
    ///
    /// # Errors
    ///
    /// Where it is no JSON, and what is wrong there.
    pub(super) fn node(&'a self) -> Result<Node<'a>, (Spot, String)> {
        let raw: &RawValue = serde_json::from_str(self.text).map_err(|error| {
            let what = error.to_string();
            let what = what.split_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            (Spot { line: error.line().max(1), column: error.column().max(1) }, text::escape(what, 200))
        })?;
        let node = Node { whole: self, raw: raw.get() };
        if json::nested(node.raw) > MAX_NESTED {
            return Err((node.spot(), format!("nested more than {MAX_NESTED} levels deep")));
        }
        Ok(node)
    }
}

/// A value as it stands in the text of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a> {
    whole: &'a Document<'a>,
    raw: &'a str,
}

/// A name of an object, and its value.
pub(super) struct Member<'a> {
    /// Where the name stands.
    pub(super) at: Node<'a>,
    pub(super) name: String,
    pub(super) value: Node<'a>,
}

/// The members of an object.
pub(super) struct Object<'a> {
    /// Each name once: the first counts.
    pub(super) members: Vec<Member<'a>>,
    /// Those whose name is there already.
    pub(super) again: Vec<Member<'a>>,
    /// What stands behind the first [`MAX_MEMBERS`].
    pub(super) rest: Vec<(&'a str, Node<'a>)>,
}

/// What a value is.
pub(super) enum Form<'a> {
    Object(Object<'a>),
    Array(Vec<Node<'a>>),
    Text(String),
    Number(f64),
    Boolean(bool),
    Null,
}

impl<'a> Node<'a> {
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
        self.whole.spot((self.raw.as_ptr() as usize).saturating_sub(self.whole.text.as_ptr() as usize))
    }

    /// Every name of an object, as it stands, with its value; nothing for any other value.
    pub(super) fn fields(self) -> Vec<(&'a str, Node<'a>)> {
        let Some(Members(members)) =
            self.raw.starts_with('{').then(|| serde_json::from_str(self.raw).ok()).flatten()
        else {
            return Vec::new();
        };
        members.into_iter().map(|(name, value)| (name.get(), self.within(value))).collect()
    }

    /// The items of a list; nothing for any other value.
    pub(super) fn items(self) -> Vec<Node<'a>> {
        match self.raw.as_bytes().first() {
            Some(b'[') => serde_json::from_str::<Vec<&'a RawValue>>(self.raw)
                .map_or(Vec::new(), |items| items.into_iter().map(|item| self.within(item)).collect()),
            _ => Vec::new(),
        }
    }

    /// Whether it is this text.
    pub(super) fn is_text(self, text: &str) -> bool {
        self.raw.starts_with('"') && json::text(self.raw) == text
    }

    /// What it is.
    pub(super) fn form(self) -> Form<'a> {
        let raw = self.raw;
        match raw.as_bytes().first() {
            Some(b'{') => Form::Object(self.object()),
            Some(b'[') => Form::Array(self.items()),
            Some(b'"') => Form::Text(json::text(raw)),
            Some(b't') => Form::Boolean(true),
            Some(b'f') => Form::Boolean(false),
            Some(b'n') | None => Form::Null,
            // A number beyond every float is infinite, and nothing takes that.
            Some(_) => Form::Number(raw.parse().unwrap_or(f64::INFINITY)),
        }
    }

    fn object(self) -> Object<'a> {
        let Members(mut all) = serde_json::from_str(self.raw).unwrap_or(Members(Vec::new()));
        let rest = all.split_off(all.len().min(MAX_MEMBERS));
        let mut names = std::collections::HashSet::new();
        let member = |(name, value): (&'a RawValue, &'a RawValue)| Member {
            at: self.within(name),
            name: json::text(name.get()),
            value: self.within(value),
        };
        let (members, again) =
            all.into_iter().map(member).partition(|member| names.insert(member.name.clone()));
        let rest = rest.into_iter().map(|(name, value)| (name.get(), self.within(value))).collect();
        Object { members, again, rest }
    }

    /// The value for a message: a short one as it stands, another by its type.
    pub(super) fn shown(self) -> String {
        match self.raw.as_bytes().first() {
            Some(b'{') => "an object".to_owned(),
            Some(b'[') => "an array".to_owned(),
            Some(b'"') => format!("\"{}\"", text::escape(&json::text(self.raw), 80)),
            _ => text::escape(self.raw, 80),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_line_and_column() {
        let text = "\n{\"é\": [1,\n  {\"b\": true}]}";
        let document = Document::new(text);
        let Form::Object(Object { members, .. }) = document.node().unwrap().form() else { panic!() };
        let Form::Array(items) = members[0].value.form() else { panic!() };
        let Form::Object(Object { members: inner, .. }) = items[1].form() else { panic!() };
        let spots = [members[0].at, members[0].value, items[0], items[1], inner[0].at, inner[0].value]
            .map(|node| (node.spot().line, node.spot().column));
        assert_eq!(spots, [(2, 2), (2, 7), (2, 8), (3, 3), (3, 4), (3, 9)]);
        assert_eq!(members[0].name, "é");
    }

    #[test]
    fn a_place_is_the_same_however_far_into_the_text_it_is() {
        for step in ["é", "\n", "é\né", "1,\n  "] {
            let text = step.repeat(3000);
            let document = Document::new(&text);
            for at in [0, 2 * step.len(), 1000 * step.len(), 2999 * step.len(), text.len()] {
                assert_eq!(document.spot(at), Spot::FIRST.after(&text[..at]), "{step:?} {at}");
            }
        }
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, line, column) in
            [("", 1, 1), ("{\n \"a\": }", 2, 7), ("{} x", 1, 4), ("{\"a\": \"x", 1, 8), ("\u{feff}{}", 1, 1)]
        {
            let (spot, _) = Document::new(text).node().unwrap_err();
            assert_eq!((spot.line, spot.column), (line, column), "{text:?}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Document::new(&deep).node().unwrap_err().1, "nested more than 32 levels deep");
    }
}
