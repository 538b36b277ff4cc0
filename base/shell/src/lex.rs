//! Words and the expansions in them.

use std::rc::Rc;

use super::parse::Parser;
use super::tree::{List, Parameter, Part, Word};

/// The longest text of a substitution that is kept as it was written.
const MAX_RAW: usize = 200;

/// The open quotes behind which a text is read once more: each costs the length of the rest.
const MAX_REOPENED: usize = 32;

/// Adds text to the last part, or begins one.
pub(super) fn push(parts: &mut Vec<Part>, bytes: &[u8], is_quoted: bool) {
    let text = String::from_utf8_lossy(bytes);
    match (parts.last_mut(), is_quoted) {
        (Some(Part::Bare(last)), false) | (Some(Part::Quoted(last)), true) => last.push_str(&text),
        (_, true) => parts.push(Part::Quoted(text.into_owned())),
        (_, false) => parts.push(Part::Bare(text.into_owned())),
    }
}

impl Parser<'_> {
    pub(super) fn slice(&self, from: usize) -> Vec<u8> {
        let slice = self.bytes.get(from..self.at).unwrap_or_default();
        self.count(slice.len());
        slice.to_vec()
    }

    /// Reads a word, if one begins here.
    pub(crate) fn word(&mut self) -> Option<Word> {
        let mut parts = Vec::new();
        let start = self.at;
        if self.is_worn() {
            return None;
        }
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.bytes.get(self.at + 1) == Some(&b'(') => {
                    self.at += 2;
                    let list = self.substitution();
                    parts.push(Part::Process(Rc::new(list), byte == b'<'));
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')' => break,
                b'(' => {
                    // A pattern such as `!(x)`.
                    let before = self.at.checked_sub(1).filter(|it| *it >= start);
                    let sign =
                        before.and_then(|it| self.bytes.get(it)).is_some_and(|it| b"?*+@!".contains(it));
                    if !sign || !matches!(parts.last(), Some(Part::Bare(_))) {
                        break;
                    }
                    let from = self.at;
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let Some(end) = rest.iter().take(256).position(|it| *it == b')') else { break };
                    self.at += end + 1;
                    push(&mut parts, &self.slice(from), false);
                }
                _ => self.part(&mut parts),
            }
        }
        (self.at > start).then_some(Word { parts })
    }

    /// Reads one part of a word.
    pub(super) fn part(&mut self, parts: &mut Vec<Part>) {
        match self.peek() {
            Some(b'\\') => {
                self.at += 1;
                match self.peek() {
                    Some(b'\n') => self.at += 1,
                    Some(_) => {
                        let from = self.at;
                        self.at += 1;
                        while self.peek().is_some_and(|it| it & 0xC0 == 0x80) {
                            self.at += 1;
                        }
                        push(parts, &self.slice(from), true);
                    }
                    None => push(parts, b"\\", true),
                }
            }
            Some(b'\'') => {
                let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
                let end = rest.iter().position(|it| *it == b'\'');
                self.count(end.unwrap_or(rest.len()));
                match end {
                    Some(end) => {
                        push(parts, rest.get(..end).unwrap_or_default(), true);
                        self.at += end + 2;
                    }
                    None => self.open_quote(),
                }
            }
            Some(b'"') => self.double(parts),
            Some(b'$' | b'`') => self.expansion(parts, false),
            _ => {
                let from = self.at;
                let stop = |it: u8| b" \t\n;&|<>()\\'\"$`".contains(&it);
                self.at += 1;
                while self.peek().is_some_and(|it| !stop(it)) {
                    self.at += 1;
                }
                push(parts, &self.slice(from), false);
            }
        }
    }

    /// Skips a quote that is never closed, so that what is behind it is read, too.
    pub(super) fn open_quote(&mut self) {
        self.error();
        self.reopened += 1;
        if self.reopened > MAX_REOPENED {
            self.is_cut = true;
            self.at = self.bytes.len();
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// Reads `"…"`.
    pub(super) fn double(&mut self, parts: &mut Vec<Part>) {
        let start = self.at;
        let count = parts.len();
        self.at += 1;
        push(parts, b"", true);
        loop {
            let from = self.at;
            while self.peek().is_some_and(|it| !b"\"\\$`".contains(&it)) {
                self.at += 1;
            }
            if self.at > from {
                push(parts, &self.slice(from), true);
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    match self.bytes.get(self.at + 1) {
                        Some(b'\n') => {}
                        Some(byte) if b"\"\\$`".contains(byte) => push(parts, &[*byte], true),
                        Some(byte) if byte.is_ascii() => push(parts, &[b'\\', *byte], true),
                        _ => {
                            push(parts, b"\\", true);
                            self.at += 1;
                            continue;
                        }
                    }
                    self.at += 2;
                }
                Some(_) => self.expansion(parts, true),
                None => {
                    if self.is_cut {
                        return;
                    }
                    self.at = start;
                    parts.truncate(count);
                    self.open_quote();
                    return;
                }
            }
        }
    }

    /// Reads the text of a here-document.
    pub(crate) fn document(&mut self, text: &[u8], is_quoted: bool) -> Word {
        let mut parts = Vec::new();
        if is_quoted {
            push(&mut parts, text, true);
            return Word { parts };
        }
        let mut inner = self.inner(text);
        while let Some(byte) = inner.peek() {
            match byte {
                b'\\' => {
                    match inner.bytes.get(inner.at + 1) {
                        Some(b'\n') => {}
                        Some(byte) if b"\\$`".contains(byte) => push(&mut parts, &[*byte], true),
                        _ => {
                            push(&mut parts, b"\\", true);
                            inner.at += 1;
                            continue;
                        }
                    }
                    inner.at += 2;
                }
                b'$' | b'`' => inner.expansion(&mut parts, true),
                _ => {
                    let from = inner.at;
                    while inner.peek().is_some_and(|it| !b"\\$`".contains(&it)) {
                        inner.at += 1;
                    }
                    push(&mut parts, &inner.slice(from), true);
                }
            }
        }
        let Parser { documents, errors, is_cut, searched, reopened, work, .. } = inner;
        (self.reopened, self.work) = (reopened, work);
        self.join(documents, errors, is_cut, searched);
        Word { parts }
    }

    /// Returns a reader of a text inside this one.
    fn inner<'b>(&mut self, text: &'b [u8]) -> Parser<'b> {
        let mut inner = Parser::new(text, self.depth);
        inner.documents = std::mem::take(&mut self.documents);
        inner.errors = self.errors;
        inner.searched = self.searched;
        inner.reopened = self.reopened;
        inner.work = self.work.clone();
        inner.max_work = self.max_work;
        inner.count(text.len());
        inner
    }

    fn join(&mut self, documents: Vec<Rc<Word>>, errors: usize, is_cut: bool, searched: usize) {
        (self.documents, self.errors, self.searched) = (documents, errors, searched);
        if is_cut {
            self.is_cut = true;
            self.at = self.bytes.len();
        }
    }

    /// Reads the list of a substitution, and its `)`.
    fn substitution(&mut self) -> List {
        let pending = std::mem::take(&mut self.pending);
        self.substitutions += 1;
        let list = self.list();
        self.substitutions -= 1;
        if !self.pending.is_empty() {
            self.bodies();
        }
        self.pending = pending;
        self.close(b")");
        list
    }

    /// Reads what begins with `$` or a backquote.
    pub(crate) fn expansion(&mut self, parts: &mut Vec<Part>, is_quoted: bool) {
        let start = self.at;
        if self.eat(b"`") {
            return self.backquotes(parts, is_quoted);
        }
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.starts(b"((") && self.closes_arithmetic(2) => {
                self.at += 2;
                let inner = self.arithmetic();
                parts.push(Part::Arithmetic(inner));
            }
            Some(b'(') => {
                self.at += 1;
                let list = self.substitution();
                let raw = self
                    .bytes
                    .get(start..self.at)
                    .filter(|it| it.len() <= MAX_RAW)
                    .unwrap_or(b"$(\xe2\x80\xa6)");
                let raw: Rc<str> = String::from_utf8_lossy(raw).into();
                parts.push(Part::Substitution(Rc::new(list), raw, is_quoted));
            }
            Some(b'[') => {
                self.at += 1;
                let inner = self.old_arithmetic();
                parts.push(Part::Arithmetic(inner));
            }
            Some(b'{') if self.bytes.get(self.at + 1).is_some_and(|it| b"| \t\n".contains(it)) => {
                // A substitution without a shell of its own, since bash 5.3.
                self.at += 2;
                let list = self.list();
                self.close(b"}");
                parts.push(Part::Substitution(Rc::new(list), "${ \u{2026}; }".into(), is_quoted));
            }
            Some(b'{') => self.braced(parts, is_quoted),
            Some(b'\'') if !is_quoted => {
                self.at += 1;
                self.escaped(parts);
            }
            Some(b'"') if !is_quoted => self.double(parts),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let from = self.at;
                while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
                    self.at += 1;
                }
                self.parameter(parts, from, is_quoted);
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(&byte) => {
                self.at += 1;
                self.parameter(parts, self.at - 1, is_quoted);
            }
            _ => push(parts, b"$", true),
        }
    }

    fn parameter(&self, parts: &mut Vec<Part>, from: usize, is_quoted: bool) {
        let name = String::from_utf8_lossy(&self.slice(from)).into_owned();
        let parameter =
            Parameter { name, place: Word::default(), operator: String::new(), operand: Word::default() };
        parts.push(Part::Parameter(Box::new(parameter), is_quoted));
    }

    fn backquotes(&mut self, parts: &mut Vec<Part>, is_quoted: bool) {
        let start = self.at - 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = self.bytes.get(self.at + 1).copied();
                    let is_escape = next.is_some_and(|it| b"`\\$".contains(&it) || is_quoted && it == b'"');
                    if !is_escape {
                        text.push(b'\\');
                    }
                    text.extend(next);
                    self.at = (self.at + 2).min(self.bytes.len());
                }
                Some(byte) => {
                    text.push(byte);
                    self.at += 1;
                }
                None => {
                    self.at = start;
                    return self.open_quote();
                }
            }
        }
        self.at += 1;
        let mut inner = self.inner(&text);
        let mut list = List::default();
        loop {
            list.pipelines.extend(inner.list().pipelines);
            if inner.at >= inner.bytes.len() || inner.is_cut {
                break;
            }
            inner.error();
            inner.at += 1;
        }
        inner.bodies();
        let Parser { documents, errors, is_cut, searched, reopened, work, .. } = inner;
        (self.reopened, self.work) = (reopened, work);
        let raw = self.bytes.get(start..self.at).filter(|it| it.len() <= MAX_RAW).unwrap_or(b"``");
        let raw: Rc<str> = String::from_utf8_lossy(raw).into();
        self.join(documents, errors, is_cut, searched);
        parts.push(Part::Substitution(Rc::new(list), raw, is_quoted));
    }

    /// Reads the rest of `$'…'`.
    fn escaped(&mut self, parts: &mut Vec<Part>) {
        let start = self.at - 1;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (mut end, mut is_escape) = (0, false);
        while let Some(byte) = rest.get(end) {
            if *byte == b'\'' && !is_escape {
                break;
            }
            is_escape = *byte == b'\\' && !is_escape;
            end += 1;
        }
        self.count(end);
        if end >= rest.len() {
            self.at = start;
            return self.open_quote();
        }
        let text = super::escapes::quoted(rest.get(..end).unwrap_or_default());
        push(parts, text.as_bytes(), true);
        self.at += end + 1;
    }
}
