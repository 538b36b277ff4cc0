//! Redirections and here-documents.

use std::rc::Rc;

use super::parse::{Parser, Pending};
use super::tree::{Mode, Redirect, Word};

impl Parser<'_> {
    /// Reads a redirection, if one is here.
    pub(crate) fn redirect(&mut self) -> Option<Redirect> {
        let rest = self.bytes.get(self.at..)?;
        // `{NAME}>FILE` puts a number into the variable, the first of which is 10.
        if let Some(inner) = rest.strip_prefix(b"{")
            && let end =
                inner.iter().take(64).take_while(|it| it.is_ascii_alphanumeric() || **it == b'_').count()
            && matches!(inner.get(end..), Some([b'}', b'<' | b'>', third, ..]) if *third != b'(')
        {
            self.at += end + 2;
            return self.redirect().map(|it| Redirect { descriptor: Some(10), ..it });
        }
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
            let delimiter = super::unquoted(&String::from_utf8_lossy(raw));
            document = Some(self.documents.len());
            self.documents.push(Rc::default());
            let number = self.documents.len() - 1;
            self.pending.push(Pending { document: number, delimiter, is_quoted, strips_tabs });
            Mode::Text
        } else if self.eat(b"<>") {
            Mode::Both
        } else if self.eat(b"<&") {
            descriptor = descriptor.or(Some(0));
            Mode::Copy
        } else if self.eat(b"<") {
            Mode::Read
        } else if self.eat(b">>") {
            Mode::Append
        } else if !is_both && self.eat(b">&") {
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
            // `< 2>f` has no file: the number is the next redirection's.
            let is_next = target.bare().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
            if is_next && matches!(self.peek(), Some(b'<' | b'>')) {
                self.error();
            }
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
            let text = self.text_of(&pending);
            let word = self.document(&text, pending.is_quoted);
            if let Some(place) = self.documents.get_mut(pending.document) {
                *place = Rc::new(word);
            }
        }
    }

    /// Reads the text of a here-document, up to its delimiter.
    fn text_of(&mut self, pending: &Pending) -> Vec<u8> {
        let mut text = Vec::new();
        while self.at < self.bytes.len() {
            let begin = self.at;
            let mut line = self.line();
            while !pending.is_quoted && is_continued(&line) && self.at < self.bytes.len() {
                line.truncate(line.len().saturating_sub(1));
                line.extend(self.line());
            }
            if pending.strips_tabs {
                let tabs = line.iter().take_while(|it| **it == b'\t').count();
                line.drain(..tabs);
            }
            let after = line.strip_prefix(pending.delimiter.as_bytes());
            if after.is_some_and(<[u8]>::is_empty) {
                break;
            }
            // The end of a substitution may be on the line of the delimiter. Without a delimiter bash takes the rest.
            if self.substitutions > 0 && after.is_some_and(|it| it.contains(&b')')) {
                // A line that was joined is read once more, as commands.
                let is_whole = self.bytes.get(begin..self.at).is_some_and(|it| it.len() <= line.len() + 1);
                self.at = begin;
                if is_whole {
                    self.at += line.len() - after.map_or(0, <[u8]>::len);
                }
                break;
            }
            text.extend(line);
            text.push(b'\n');
        }
        text
    }

    /// Reads a line, without its end.
    fn line(&mut self) -> Vec<u8> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len());
        self.count(end + 1);
        self.at += end + usize::from(end < rest.len());
        rest.get(..end).unwrap_or_default().to_vec()
    }
}

/// Returns true if a line of a here-document goes on in the next one.
fn is_continued(line: &[u8]) -> bool {
    line.iter().rev().take_while(|it| **it == b'\\').count() % 2 == 1
}
