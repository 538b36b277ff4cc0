//! Values put into and taken out of a text, with every other byte left as it is.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use serde_json::Value;

use crate::dialect::agent::comments::{comment_end, comments};

/// A change of a text: these bytes become those.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Edit {
    fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    fn delete(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// The text with these changes, which do not overlap.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|it| it.range.start);
    let mut out = String::with_capacity(text.len() + edits.iter().map(|it| it.text.len()).sum::<usize>());
    let mut at = 0;
    for Edit { range, text: new } in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = at.max(range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// An object or a list in a text.
#[derive(Debug)]
pub(super) struct Container {
    open: usize,
    close: usize,
    items: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        let items = object.properties.iter().map(|it| it.range.start..it.range.end);
        Self { open: object.range.start, close: object.range.end.saturating_sub(1), items: items.collect() }
    }
}

impl From<&Array<'_>> for Container {
    fn from(list: &Array<'_>) -> Self {
        use jsonc_parser::common::Ranged as _;
        let items = list.elements.iter().map(|it| it.start()..it.end());
        Self { open: list.range.start, close: list.range.end.saturating_sub(1), items: items.collect() }
    }
}

impl Container {
    /// How many items it has.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// What stands between its brackets.
    pub(super) fn inner(&self) -> Range<usize> {
        self.open + 1..self.close
    }

    /// Whether this item stands on a line of its own.
    pub(super) fn has_line(&self, text: &str, item: usize) -> bool {
        let before = self.end_before(item);
        let start = self.items.get(item).map_or(self.close, |it| it.start);
        text.get(before..start).is_some_and(|between| between.contains('\n'))
    }

    /// Whether a comment stands in it, outside of this item.
    pub(super) fn has_comment_beside(&self, text: &str, item: usize) -> bool {
        let Some(item) = self.items.get(item) else { return false };
        [self.open..item.start, item.end..self.close]
            .into_iter()
            .any(|it| has_comment(text.get(it).unwrap_or_default()))
    }

    fn end_before(&self, item: usize) -> usize {
        let before = item.checked_sub(1).and_then(|it| self.items.get(it));
        before.map_or(self.open + 1, |it| it.end)
    }

    /// Puts an item behind the last one. `in_lines` is for a container without items: whether it gets lines of its own.
    pub(super) fn append(&self, text: &str, layout: &Layout, in_lines: bool, item: &Item<'_>) -> Vec<Edit> {
        let Some(last) = self.items.last() else { return self.fill(text, layout, in_lines, item) };
        let comma = comma_after(text, last.end, self.close);
        let behind = comma.map_or(last.end, |at| at + 1);
        let mut edits = Vec::new();
        if comma.is_none() {
            edits.push(Edit::insert(last.end, ","));
        }
        let trailing = if comma.is_some() { "," } else { "" };
        if self.has_line(text, self.items.len() - 1) {
            let indent = indent_at(text, last.start);
            let new = format!("{}{indent}{}{trailing}", layout.newline, item.text(layout, Some(indent)));
            edits.push(Edit::insert(line_comments_end(text, behind), new));
        } else {
            edits
                .push(Edit::insert(behind, format!("{}{}{trailing}", layout.space, item.text(layout, None))));
        }
        edits
    }

    fn fill(&self, text: &str, layout: &Layout, in_lines: bool, item: &Item<'_>) -> Vec<Edit> {
        let inner = text.get(self.inner()).unwrap_or_default();
        if !in_lines && !has_comment(inner) {
            return vec![Edit::insert(self.open + 1, item.text(layout, None))];
        }
        let own = indent_at(text, self.open);
        let indent = format!("{own}{}", layout.unit);
        let mut at = self.open + 1;
        loop {
            let next = skip_space(text, at);
            match comment_end(text, next) {
                Some(end) => at = end,
                None => break,
            }
        }
        let mut new = format!("{}{indent}{}", layout.newline, item.text(layout, Some(&indent)));
        if !text.get(at..self.close).is_some_and(|rest| rest.contains('\n')) {
            new.push_str(&format!("{}{own}", layout.newline));
        }
        vec![Edit::insert(at, new)]
    }

    /// Takes an item out, with the one comma that it needed: what [`Container::append`] put there, exactly.
    pub(super) fn remove(&self, text: &str, item: usize) -> Vec<Edit> {
        let Some(range) = self.items.get(item) else { return Vec::new() };
        let before = self.end_before(item);
        let blanks = text.get(before..range.start).unwrap_or_default();
        let mut start = before + blanks.trim_end_matches(is_space).len();
        let comma = comma_after(text, range.end, self.close);
        let rest = text.get(range.end..).unwrap_or_default();
        let ends_line = rest.trim_start_matches([' ', '\t', ',']).starts_with(['\n', '\r']);
        if !ends_line && ends_in_line_comment(text.get(before..start).unwrap_or_default()) {
            // What follows must not become a part of the comment.
            start =
                text.get(start..range.start).and_then(|it| it.find('\n')).map_or(start, |at| start + at + 1);
        }
        let mut edits = vec![Edit::delete(start..range.end)];
        match comma {
            Some(at) => edits.push(Edit::delete(at..at + 1)),
            None if item > 0 => {
                let at = comma_after(text, before, range.start);
                edits.extend(at.map(|at| Edit::delete(at..at + 1)));
            }
            None => {}
        }
        edits
    }
}

/// What goes into a container.
pub(super) struct Item<'a> {
    /// In an object.
    pub(super) name: Option<&'a str>,
    pub(super) value: &'a Value,
}

impl Item<'_> {
    fn text(&self, layout: &Layout, indent: Option<&str>) -> String {
        let value = layout.write(self.value, indent);
        match self.name {
            Some(name) => format!("{}:{}{value}", Value::from(name), layout.space),
            None => value,
        }
    }
}

/// How a text is laid out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    newline: &'static str,
    /// One level of indentation.
    unit: String,
    /// What stands after a colon, and between two values of one line.
    space: &'static str,
}

impl Layout {
    /// The layout of a text with this object in it.
    pub(super) fn of(text: &str, root: Option<&Object<'_>>) -> Self {
        let has_returns =
            text.find('\n').is_some_and(|at| text.get(..at).is_some_and(|it| it.ends_with('\r')));
        let first = root.and_then(|it| it.properties.first());
        let root = root.map(Container::from);
        let unit = first.filter(|_| root.as_ref().is_some_and(|it| it.has_line(text, 0)));
        let unit =
            unit.map(|it| indent_at(text, it.range.start)).filter(|it| !it.is_empty() && it.len() <= 16);
        let colon = first.and_then(|it| text.get(it.range.start..it.range.end)).and_then(|it| {
            let name_end = it.get(1..)?.find("\":")? + 3;
            it.get(name_end..)?.chars().next()
        });
        Self {
            newline: if has_returns { "\r\n" } else { "\n" },
            unit: unit.unwrap_or("  ").to_owned(),
            space: if colon.is_none_or(char::is_whitespace) { " " } else { "" },
        }
    }

    /// A value in a line (`None`), or in lines of their own at this indentation.
    fn write(&self, value: &Value, indent: Option<&str>) -> String {
        let (open, close, items): (_, _, Vec<String>) = match value {
            Value::Object(object) if !object.is_empty() => {
                let deeper = indent.map(|it| format!("{it}{}", self.unit));
                let item = |(name, value): (&String, &Value)| {
                    Item { name: Some(name), value }.text(self, deeper.as_deref())
                };
                ("{", "}", object.iter().map(item).collect())
            }
            Value::Array(list) if !list.is_empty() => {
                let deeper = indent.map(|it| format!("{it}{}", self.unit));
                ("[", "]", list.iter().map(|value| self.write(value, deeper.as_deref())).collect())
            }
            other => return other.to_string(),
        };
        match indent {
            None => format!("{open}{}{close}", items.join(&format!(",{}", self.space))),
            Some(indent) => {
                let newline = format!("{}{indent}{}", self.newline, self.unit);
                let items = items.join(&format!(",{newline}"));
                format!("{open}{newline}{items}{}{indent}{close}", self.newline)
            }
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + (rest.len() - rest.trim_start_matches(is_space).len())
}

/// Where the comma is that follows, with nothing but blanks and comments before it.
fn comma_after(text: &str, at: usize, until: usize) -> Option<usize> {
    let mut at = skip_space(text, at);
    while let Some(end) = comment_end(text, at) {
        at = skip_space(text, end);
    }
    (at < until && text.get(at..)?.starts_with(',')).then_some(at)
}

/// The end of the comments that begin on this line.
fn line_comments_end(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let next = at + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        match comment_end(text, next) {
            Some(end) if text.get(next..end).is_some_and(|it| it.contains('\n')) => return end,
            Some(end) => at = end,
            None => return at,
        }
    }
}

/// The blanks with which the line of this place begins.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// Whether a comment stands in this piece of JSON.
pub(super) fn has_comment(text: &str) -> bool {
    comments(text).next().is_some()
}

fn ends_in_line_comment(text: &str) -> bool {
    comments(text).last().is_some_and(|(range, is_line)| is_line && range.end == text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::config::Document;
    use super::*;
    use crate::dialect::agent::Agent;

    /// The text with `"b": [1]` in its object, and that without it again.
    fn there_and_back(text: &str) -> (String, String) {
        let with = {
            let document = Document::parse(Agent::Gemini, text.as_bytes()).unwrap();
            let root = document.root.unwrap();
            let layout = Layout::of(text, Some(&root));
            let item = Item { name: Some("b"), value: &json!([1]) };
            apply(text, Container::from(&root).append(text, &layout, true, &item))
        };
        let document =
            Document::parse(Agent::Gemini, with.as_bytes()).unwrap_or_else(|error| panic!("{error}: {with}"));
        let root = Container::from(&document.root.unwrap());
        let back = apply(&with, root.remove(&with, root.len() - 1));
        (with, back)
    }

    #[test]
    fn an_item_goes_in_as_the_others_stand_and_out_without_a_trace() {
        for (text, want) in [
            ("{\"a\": 1}", "{\"a\": 1, \"b\": [1]}"),
            ("{\"a\":1}", "{\"a\":1,\"b\":[1]}"),
            ("{ \"a\" : 1 , }", "{ \"a\" : 1 , \"b\": [1], }"),
            ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}\n"),
            ("{\n\t\"a\": 1,\n}", "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t1\n\t],\n}"),
            ("{\r\n \"a\": 1\r\n}", "{\r\n \"a\": 1,\r\n \"b\": [\r\n  1\r\n ]\r\n}"),
            ("{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"b\": [\n    1\n  ]\n}"),
            (
                "{\n  \"a\": 1, /* x */ // one\n // end\n}",
                "{\n  \"a\": 1, /* x */ // one\n  \"b\": [\n    1\n  ],\n // end\n}",
            ),
            ("{\n  \"a\": \"// , }\" /* , */ }", "{\n  \"a\": \"// , }\", /* , */\n  \"b\": [\n    1\n  ] }"),
        ] {
            let (with, back) = there_and_back(text);
            assert_eq!(with, want);
            assert_eq!(back, text, "back from {with}");
        }
    }

    #[test]
    fn an_empty_object_gets_lines_and_keeps_its_comments() {
        for (text, want, back) in [
            ("{}", "{\n  \"b\": [\n    1\n  ]\n}", "{\n}"),
            ("{\n}\n", "{\n  \"b\": [\n    1\n  ]\n}\n", "{\n}\n"),
            ("{ // none\n}", "{ // none\n  \"b\": [\n    1\n  ]\n}", "{ // none\n}"),
        ] {
            assert_eq!(there_and_back(text), (want.to_owned(), back.to_owned()));
        }
    }

    #[test]
    fn what_follows_a_comment_never_becomes_a_part_of_it() {
        let text = "[ 1, // one\n 2 /* two */ ]";
        let wrapped = format!("{{\"a\": {text}}}");
        let document = Document::parse(Agent::Gemini, wrapped.as_bytes()).unwrap();
        let root = document.root.unwrap();
        let list = Container::from(root.get_array("a").unwrap());
        let without = apply(&wrapped, list.remove(&wrapped, 1));
        let document = Document::parse(Agent::Gemini, without.as_bytes()).unwrap();
        assert_eq!(document.root.unwrap().get_array("a").unwrap().elements.len(), 1, "{without}");
    }

    #[test]
    fn comments_are_not_looked_for_in_strings() {
        for (text, want) in [
            ("\"// no\" 1", false),
            ("\"\\\" // no\"", false),
            ("\"a\" // yes", true),
            ("/* yes */", true),
            ("\"\\\\\" /* yes", true),
            ("1 / 2", false),
            ("\"", false),
        ] {
            assert_eq!(has_comment(text), want, "{text}");
        }
    }
}
