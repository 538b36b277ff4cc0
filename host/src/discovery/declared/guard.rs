//! Guards in what is left out: who wrote `on_failure` there wanted to be protected, and a mistake beside it must not
//! undo that.

use super::document::{Member, Node, Object};
use crate::json;
use crate::text;

/// How many values of one file are looked at one by one.
const MAX_LOOKS: usize = 65_536;

/// How long a misspelt `on_failure` can be, in bytes.
const MAX_KEY: usize = 64;

/// Looks for guards, and remembers how much it has looked at.
pub(super) struct Search(usize);

impl Default for Search {
    fn default() -> Self {
        Self(MAX_LOOKS)
    }
}

/// Whether a key says what follows a failure, or was to say so.
pub(super) fn is_policy(key: &str) -> bool {
    key.len() <= MAX_KEY && text::distance(&key.trim().to_ascii_lowercase(), "on_failure") <= 2
}

impl Search {
    /// Whether a value holds an `on_failure` that is not `"pass"`, at any depth.
    pub(super) fn finds_in(&mut self, node: Node<'_>) -> bool {
        let Some(left) = self.0.checked_sub(1) else { return node.raw().contains("on_failure") };
        self.0 = left;
        match node.raw().as_bytes().first() {
            // The text was found to be nested only so deep before anything of it was read.
            Some(b'{') => self.finds_among(&node.fields()),
            Some(b'[') => node.items().into_iter().any(|item| self.finds_in(item)),
            _ => false,
        }
    }

    /// The same for fields, by their names as they stand.
    pub(super) fn finds_among(&mut self, fields: &[(&str, Node<'_>)]) -> bool {
        fields.iter().any(|(name, value)| {
            let is_policy = name.len() <= MAX_KEY && is_policy(&json::text(name));
            (is_policy && !value.is_text("pass")) || self.finds_in(*value)
        })
    }

    /// Whether an object holds one deeper than among its own first members.
    pub(super) fn finds_beneath(&mut self, object: &Object<'_>) -> bool {
        let Object { members, again, rest } = object;
        members.iter().chain(again).any(|Member { value, .. }| self.finds_in(*value))
            || self.finds_among(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    #[test]
    fn a_guard_is_found_wherever_it_stands() {
        for (text, want) in [
            (r#"{"on_failure": "block"}"#, true),
            (r#"[[{"a": {"On-Failure": 5}}]]"#, true),
            (r#"{"a": 1, "a": {"on_failure": "stop"}}"#, true),
            (r#"{"on_failure": "pass"}"#, false),
            (r#"{"a": "on_failure"}"#, false),
            ("5", false),
        ] {
            assert_eq!(Search::default().finds_in(Document::new(text).node().unwrap()), want, "{text}");
        }
        let many = format!(r#"[{}{{"on_failure": "block"}}]"#, "1,".repeat(MAX_LOOKS));
        assert!(Search::default().finds_in(Document::new(&many).node().unwrap()));
    }
}
