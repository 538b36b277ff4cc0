//! Redirections and here-documents.

use std::rc::Rc;

use super::parse::{Parser, Pending};
use super::tree::{Mode, Redirect, Word};

impl Parser<'_> {
    /// Reads a redirection, if one is here.
    pub(crate) fn redirect(&mut self) -> Option<Redirect> {
        let rest = self.bytes.get(self.at..)?;
        let digits = rest.iter().take(6).take_while(|it| it.is_ascii_digit()).count();
        let (first, second) = (rest.get(digits)?, rest.get(digits + 1));
        let is_both = digits == 0 && *first == b'&' && second == Some(&b'>');
        if !is_both && !matches!(first, b'<' | b'>') || second == Some(&b'(') {
            return None;
        }
        let mut descriptor =
            rest.get(..digits).and_then(|it| std::str::from_utf8(it).ok()).and_then(|it| it.parse().ok());
        self.at += digits + usize::from(is_both);
        let mut document = None;
        let mode = if self.eat(b"<<<") {
            Mode::Text
        } else if self.eat(b"<<") {
            let strips_tabs = self.eat(b"-");
            self.blanks();
            let start = self.at;
            let word = self.word();
            let raw = self.bytes.get(start..self.at).unwrap_or_default();
            if word.is_none() {
                self.error();
            }
            let is_quoted = raw.iter().any(|it| b"'\"\\".contains(it));
            let delimiter = crate::unquoted(&String::from_utf8_lossy(raw));
            document = Some(self.documents.len());
            self.documents.push(Rc::default());
            let number = self.documents.len() - 1;
            self.pending.push(Pending { document: number, delimiter, is_quoted, strips_tabs });
            Mode::Text
        } else if self.eat(b"<>") {
            Mode::Both
        } else if self.eat(b"<&") {
            Mode::Copy
        } else if self.eat(b"<") {
            Mode::Read
        } else if self.eat(b">>") {
            Mode::Append
        } else if self.eat(b">&") {
            Mode::Copy
        } else {
            self.at += 1;
            self.eat(b"|");
            Mode::Write
        };
        let mut target = Word::default();
        let mut mode = mode;
        if document.is_none() {
            self.blanks();
            target = self.word().unwrap_or_else(|| {
                self.error();
                Word::default()
            });
            let is_number =
                target.bare().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit() || it == b'-'));
            if mode == Mode::Copy && !is_number && descriptor.is_none() {
                mode = Mode::Write;
            }
        }
        if is_both && descriptor.is_none() {
            descriptor = Some(1);
        }
        Some(Redirect { descriptor, mode, target, document })
    }

    /// Reads the here-documents of the line that has just ended.
    pub(crate) fn bodies(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let mut text = Vec::new();
            while self.at < self.bytes.len() {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                let end = line_end(rest, !pending.is_quoted);
                self.count(end + 1);
                let mut line = rest.get(..end).unwrap_or_default();
                if pending.strips_tabs {
                    let tabs = line.iter().take_while(|it| **it == b'\t').count();
                    line = line.get(tabs..).unwrap_or_default();
                }
                let mut joined = line.split(|it| *it == b'\n').peekable();
                let mut rest_of_delimiter = Some(pending.delimiter.as_bytes());
                while let Some(part) = joined.next() {
                    let part =
                        if joined.peek().is_some() { part.strip_suffix(b"\\").unwrap_or(part) } else { part };
                    rest_of_delimiter = rest_of_delimiter.and_then(|it| it.strip_prefix(part));
                }
                if rest_of_delimiter.is_some_and(<[u8]>::is_empty) {
                    self.at += end + usize::from(end < rest.len());
                    break;
                }
                // The end of a substitution may be on the line of the delimiter. Without a delimiter bash takes the rest.
                let after = line.strip_prefix(pending.delimiter.as_bytes());
                if self.depth > 1 && after.is_some_and(|it| it.first() == Some(&b')')) {
                    self.at += rest.len().min(end) - after.map_or(0, <[u8]>::len);
                    break;
                }
                text.extend_from_slice(line);
                text.push(b'\n');
                self.at += end + usize::from(end < rest.len());
            }
            let word = self.document(&text, pending.is_quoted);
            if let Some(place) = self.documents.get_mut(pending.document) {
                *place = Rc::new(word);
            }
        }
    }
}

/// Returns the length of a line. Without quotes around the delimiter, a backslash at its end joins the next one.
fn line_end(text: &[u8], joins: bool) -> usize {
    let mut from = 0;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let Some(end) = rest.iter().position(|it| *it == b'\n') else { return text.len() };
        let backslashes =
            rest.get(..end).unwrap_or_default().iter().rev().take_while(|it| **it == b'\\').count();
        if !joins || backslashes % 2 == 0 {
            return from + end;
        }
        from += end + 1;
    }
}
