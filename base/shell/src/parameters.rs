//! Parameters in braces.

use super::lex::push;
use super::parse::Parser;
use super::tree::{Parameter, Part, Word};

/// Returns a value after `${x:2:3}`, `${x/a/b}`, `${x//a/b}`, `${x^}`, `${x^^}`, `${x,}` or `${x,,}`.
pub(crate) fn edited(value: &str, operator: &str, operand: &str) -> Option<String> {
    let first = |letter: char, rest: &str, is_upper: bool| {
        let letter = if is_upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        format!("{letter}{rest}")
    };
    match (operator, operand) {
        (":", range) => {
            let (from, count) =
                range.split_once(':').map_or((range, None), |(from, count)| (from, Some(count)));
            let from: usize = from.trim().parse().ok()?;
            let count = count.map_or(Ok(usize::MAX), |it| it.trim().parse()).ok()?;
            Some(value.chars().skip(from).take(count).collect())
        }
        ("/", change) => {
            let (change, is_all) = change.strip_prefix('/').map_or((change, false), |it| (it, true));
            let (old, new) = change.split_once('/').unwrap_or((change, ""));
            if old.is_empty() || old.starts_with(['#', '%']) {
                return None;
            }
            Some(value.replacen(old, new, if is_all { usize::MAX } else { 1 }))
        }
        ("^", "^") => Some(value.to_ascii_uppercase()),
        (",", ",") => Some(value.to_ascii_lowercase()),
        ("^" | ",", "") => {
            let letter = value.chars().next()?;
            Some(first(letter, value.get(letter.len_utf8()..)?, operator == "^"))
        }
        _ => None,
    }
}

impl Parser<'_> {
    /// Reads `${…}` from its brace on.
    pub(super) fn braced(&mut self, parts: &mut Vec<Part>, is_quoted: bool) {
        self.at += 1;
        let is_deep = self.deeper();
        let from = self.at;
        if self.peek().is_some_and(|it| it == b'!' || it == b'#')
            && self.bytes.get(self.at + 1) != Some(&b'}')
        {
            self.at += 1;
        }
        while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
            self.at += 1;
        }
        let begins = self.slice(from);
        if begins.is_empty() || begins == b"!" || begins == b"#" {
            self.at += usize::from(self.peek().is_some_and(|it| b"@*#?$!-".contains(&it)));
        }
        let mut name = String::from_utf8_lossy(&self.slice(from)).into_owned();
        if name.is_empty() {
            self.errors += 1;
        }
        let mut place = Word::default();
        if self.peek() == Some(b'[') {
            let from = self.at;
            self.at += 1;
            place.parts = self.bracketed();
            name.push_str(&String::from_utf8_lossy(&self.slice(from)));
        }
        let from = self.at;
        self.at += usize::from(self.peek() == Some(b':'));
        if self.peek().is_some_and(|it| b"-=?+%#/^,@".contains(&it)) {
            self.at += 1;
        }
        let operator = String::from_utf8_lossy(&self.slice(from)).into_owned();
        let mut operand = Vec::new();
        while let Some(byte) = self.peek().filter(|it| *it != b'}') {
            let before = self.at;
            match byte {
                b'"' => self.double(&mut operand),
                b'$' | b'`' => self.expansion(&mut operand, is_quoted),
                b'\\' | b'\'' if !is_quoted => self.part(&mut operand),
                b'\\' => {
                    self.at = (self.at + 2).min(self.bytes.len());
                    push(&mut operand, &self.slice(before + 1), true);
                }
                _ => {
                    self.at += 1;
                    while self.peek().is_some_and(|it| !b"}\"$`\\'".contains(&it)) {
                        self.at += 1;
                    }
                    push(&mut operand, &self.slice(before), is_quoted);
                }
            }
        }
        self.depth -= usize::from(is_deep);
        if !self.eat(b"}") {
            self.error();
        }
        let parameter = Parameter { name, place, operator, operand: Word { parts: operand } };
        parts.push(Part::Parameter(Box::new(parameter), is_quoted));
    }
}
