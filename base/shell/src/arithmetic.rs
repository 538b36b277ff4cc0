//! Arithmetic.

use super::parse::Parser;
use super::tree::Part;

/// The number of bytes in which the ends of `((` are searched.
const MAX_SEARCHED: usize = 1 << 18;

impl Parser<'_> {
    /// Returns true if `))` closes the `((` whose inside begins in this many bytes.
    pub(crate) fn closes_arithmetic(&mut self, skip: usize) -> bool {
        let (mut depth, mut quote) = (0usize, None);
        let mut rest = self.bytes.get(self.at + skip..).unwrap_or_default().iter();
        while let Some(byte) = rest.next() {
            self.searched += 1;
            self.count(1);
            if self.searched > MAX_SEARCHED {
                self.is_cut = true;
                self.at = self.bytes.len();
                return false;
            }
            match (byte, quote) {
                (b'\\', None | Some(b'"')) => drop(rest.next()),
                (b'\'' | b'"', None) => quote = Some(*byte),
                (_, Some(end)) if *byte == end => quote = None,
                (b'(', None) => depth += 1,
                (b')', None) if depth == 0 => return rest.next() == Some(&b')'),
                (b')', None) => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// Returns true at a `<<` that a number does not follow.
    fn begins_document(&self) -> bool {
        let mut rest = self.bytes.get(self.at..).unwrap_or_default().iter();
        let is_sign = rest.next() == Some(&b'<') && rest.next() == Some(&b'<');
        let next = rest.take(64).find(|it| !matches!(it, b' ' | b'\t'));
        is_sign && next.is_some_and(|it| it.is_ascii_alphabetic() || b"_'\"\\".contains(it))
    }

    /// Reads the rest of `((…))`, and returns the expansions in it, and behind them its other text.
    pub(crate) fn arithmetic(&mut self) -> Vec<Part> {
        // Substitutions run in any quotes.
        let (mut parts, mut depth, mut quote) = (Vec::new(), 0usize, None);
        let begin = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if quote != Some(b'\'') => self.at += 2,
                b'"' | b'\'' if quote.is_none_or(|it| it == byte) => {
                    quote = if quote.is_some() { None } else { Some(byte) };
                    self.at += 1;
                }
                b'(' | b')' | b'<' if quote.is_some() => self.at += 1,
                b'$' | b'`' => self.expansion(&mut parts, true),
                b')' if depth == 0 => {
                    self.at += 2;
                    break;
                }
                b'<' if self.begins_document() => {
                    // A shell without arithmetic reads a here-document.
                    self.error();
                    self.at += 2;
                }
                _ => {
                    depth += usize::from(byte == b'(');
                    depth -= usize::from(byte == b')');
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.bytes.len());
        let text = self.slice(begin);
        let mut parts = expansions(parts);
        super::lex::push(&mut parts, &text, true);
        parts
    }

    /// Reads the rest of `$[…]`, which only bash knows, and returns the expansions in it.
    pub(crate) fn old_arithmetic(&mut self) -> Vec<Part> {
        self.error();
        expansions(self.bracketed())
    }

    /// Reads up to the `]` of an open bracket, and returns the expansions, and behind them the other text.
    pub(crate) fn bracketed(&mut self) -> Vec<Part> {
        let (mut parts, mut depth, begin) = (Vec::new(), 0usize, self.at);
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 1,
                b'$' | b'`' => {
                    self.expansion(&mut parts, true);
                    continue;
                }
                b'[' => depth += 1,
                b']' if depth == 0 => break,
                b']' => depth -= 1,
                // The bracket is open.
                b'}' => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
        let text = self.slice(begin);
        if !self.eat(b"]") {
            self.error();
        }
        let mut parts = expansions(parts);
        super::lex::push(&mut parts, &text, true);
        parts
    }
}

/// Returns the parts that are no texts.
fn expansions(parts: Vec<Part>) -> Vec<Part> {
    let mut parts = parts;
    parts.retain(|it| !matches!(it, Part::Bare(_) | Part::Quoted(_)));
    parts
}
