//! Reads the bytes of a text.

use std::borrow::Cow;
use std::ops::Range;

use crate::list::{List, Next, Pending};
use crate::{Input, MAX_DEPTH, MAX_RAW, MAX_SEARCHED, Script};

/// Reads a text.
pub fn read(text: &str) -> Script {
    let mut reader = Reader::of(text.as_bytes());
    reader.list(None, Vec::new());
    reader.script
}

/// A word without its quotes, or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word.
    Word(String),
    /// One of `|`, `&`, `;`, `(`, `)`, `{` and `}`; a line break is `;`.
    Operator(char),
}

/// Reads a text as a row of words and operators. Comments and the signs of redirections are left out.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader::of(text.as_bytes());
    let (mut found, mut list) = (Vec::new(), List::default());
    while let Some(byte) = reader.peek() {
        reader.at += 1;
        let ends = byte.is_ascii_whitespace() || b"|&;(){}<>".contains(&byte);
        let is_comment = byte == b'#' && list.word.is_none();
        if !ends && !is_comment {
            reader.part(byte, &mut list);
            continue;
        }
        let word = list.word.take().map(|(word, _)| String::from_utf8_lossy(&word).into_owned());
        found.extend(word.map(Token::Word));
        match byte {
            b'#' => {
                reader.at -= 1;
                reader.comment();
            }
            b'\n' => found.push(Token::Operator(';')),
            b'<' | b'>' => {}
            byte if !byte.is_ascii_whitespace() => found.push(Token::Operator(char::from(byte))),
            _ => {}
        }
    }
    let word = list.word.map(|(word, _)| String::from_utf8_lossy(&word).into_owned());
    found.extend(word.map(Token::Word));
    found
}

pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) script: Script,
}

impl<'a> Reader<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, script: Script::default() }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Skips a comment, if one begins here.
    fn comment(&mut self) {
        if self.peek() != Some(b'#') {
            return;
        }
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Reads commands to the end of the text, or to and including the byte that closes a substitution.
    pub(crate) fn list(&mut self, close: Option<u8>, base: Vec<Range<usize>>) {
        let mut list = List { flow: self.script.next_flow(), base, ..List::default() };
        let mut closed = close.is_none();
        while let Some(byte) = self.peek() {
            self.at += 1;
            if self.pattern(byte, &mut list) {
                continue;
            }
            match byte {
                b'(' if list.word.as_ref().is_some_and(|(word, _)| word.ends_with(b"=")) => {
                    list.array = true;
                    self.comment();
                }
                b')' if list.array => list.array = false,
                byte if list.array && byte.is_ascii_whitespace() => {
                    list.push(b' ');
                    self.comment();
                }
                b')' if close == Some(b')') && !list.groups.iter().any(|it| it.end == ")") => {
                    closed = true;
                    break;
                }
                b'}' if close == Some(b'}') && list.is_at_start() => {
                    closed = true;
                    break;
                }
                b'#' if list.word.is_none() => {
                    self.at -= 1;
                    self.comment();
                }
                b'<' | b'>' if list.is_arithmetic() => {
                    list.end_word(&mut self.script);
                    // A shell without arithmetic reads a here-document.
                    self.script.odd |= self.eat(b'<');
                }
                b'<' | b'>' => self.redirection(byte, &mut list),
                b'&' if self.eat(b'>') => {
                    list.end_word(&mut self.script);
                    self.eat(b'>');
                    list.redirect(Next::Output, &mut self.script);
                }
                b'\n' => {
                    list.end_command(&mut self.script, false);
                    self.bodies(&mut list, close);
                }
                b';' => {
                    list.end_command(&mut self.script, false);
                    let is_double = self.eat(b';') | self.eat(b'&');
                    if is_double && list.groups.last().is_some_and(|it| it.end == "esac") {
                        list.pattern = Some(0);
                    }
                }
                b'&' => {
                    let after = self.eat(b'&');
                    list.end_command(&mut self.script, false);
                    list.after = after;
                }
                b'|' => {
                    let pipe = !self.eat(b'|');
                    self.eat(b'&');
                    list.end_command(&mut self.script, pipe);
                }
                b'(' => {
                    list.end_command(&mut self.script, list.command.is_none() && list.word.is_none());
                    let is_arithmetic = list.is_arithmetic() || self.begins_arithmetic();
                    list.open(")", &mut self.script);
                    list.groups.last_mut().into_iter().for_each(|it| it.is_arithmetic = is_arithmetic);
                }
                b')' => {
                    list.end_command(&mut self.script, false);
                    list.close(")", &mut self.script);
                }
                byte if byte.is_ascii_whitespace() => list.end_word(&mut self.script),
                byte => self.part(byte, &mut list),
            }
        }
        list.end_command(&mut self.script, false);
        self.script.odd |= !closed || !list.pending.is_empty();
    }

    /// Reads a byte of the patterns of `case`. Returns false for one that is read as elsewhere.
    fn pattern(&mut self, byte: u8, list: &mut List) -> bool {
        let Some(depth) = list.pattern else { return false };
        match byte {
            b'(' if list.word.is_some() => list.pattern = Some(depth + 1),
            b')' if depth > 0 => list.pattern = Some(depth - 1),
            b'(' => list.next = Next::Ignored,
            b'|' | b')' | b';' | b'\n' | b' ' | b'\t' if depth == 0 => {
                list.end_word(&mut self.script);
                match byte {
                    // The word was `esac`.
                    _ if list.pattern.is_none() => self.at -= 1,
                    b')' => list.pattern = None,
                    b'|' => list.next = Next::Ignored,
                    _ => {}
                }
            }
            b'|' | b'\n' | b' ' | b'\t' => {}
            _ => return false,
        }
        true
    }

    /// Returns true after the second bracket of `((` and `$((`, if `))` closes it, as bash looks for it.
    fn begins_arithmetic(&mut self) -> bool {
        if !self.bytes.get(..self.at).is_some_and(|it| it.ends_with(b"((")) {
            return false;
        }
        let (mut depth, mut quote) = (0, None);
        let mut rest = self.bytes.get(self.at..).unwrap_or_default().iter();
        while let Some(byte) = rest.next() {
            self.script.searched += 1;
            if self.script.searched > MAX_SEARCHED {
                self.script.unread = true;
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

    /// Reads the rest of a `$(…)` or `<(…)`.
    pub(crate) fn substitution(&mut self, list: &mut List) {
        self.inside(list, self.at.saturating_sub(2), |reader, base| reader.list(Some(b')'), base));
    }

    /// Reads the commands of a substitution that began here, and adds it to the word as it was written.
    pub(crate) fn inside(
        &mut self,
        list: &mut List,
        start: usize,
        read: impl FnOnce(&mut Self, Vec<Range<usize>>),
    ) {
        if self.depth >= MAX_DEPTH {
            self.script.unread = true;
            return;
        }
        let from = self.script.commands.len();
        let level = self.script.level;
        self.script.level += 1;
        self.depth += 1;
        read(self, list.feeding());
        self.depth -= 1;
        list.inner.extend(from..self.script.commands.len());
        self.script.level = level;
        self.script.merge(from, list.flow);
        if from < self.script.commands.len() {
            let raw = self.bytes.get(start..self.at).filter(|raw| raw.len() <= MAX_RAW);
            list.word.get_or_insert_default().0.extend(raw.unwrap_or(b"$()"));
        }
    }

    /// Reads a text apart from this one, into the same script.
    pub(crate) fn apart(&mut self, bytes: &[u8], read: impl FnOnce(&mut Reader<'_>)) {
        let mut inner = Reader { bytes, at: 0, depth: self.depth, script: std::mem::take(&mut self.script) };
        read(&mut inner);
        self.script = inner.script;
    }

    /// Reads a redirection after its `<` or `>`.
    fn redirection(&mut self, byte: u8, list: &mut List) {
        if list.word.as_ref().is_some_and(|(word, _)| word.iter().all(u8::is_ascii_digit)) {
            // The number of a file descriptor.
            list.word = None;
        }
        if self.eat(b'(') {
            list.end_word(&mut self.script);
            let before = list.inner.len();
            self.substitution(list);
            if byte == b'>' {
                let feeding = list.command(&mut self.script);
                for fed in list.inner.drain(before..) {
                    self.script
                        .commands
                        .get_mut(fed)
                        .into_iter()
                        .for_each(|it| it.upstream.push(feeding..feeding + 1));
                }
            }
            return;
        }
        list.end_word(&mut self.script);
        if byte == b'>' {
            let _ = self.eat(b'>') || self.eat(b'|') || self.eat(b'&');
            list.redirect(Next::Output, &mut self.script);
        } else if self.eat(b'>') {
            list.redirect(Next::Output, &mut self.script);
        } else if self.eat(b'<') {
            list.redirect(Next::Word, &mut self.script);
            let is_string = self.eat(b'<');
            let strips_tabs = !is_string && self.eat(b'-');
            list.feed(Input::Given, &mut self.script);
            let command = list.command(&mut self.script);
            let (text, is_quoted) = self.word(list);
            if !is_string {
                list.pending.push(Pending { command, delimiter: text, strips_tabs, expands: !is_quoted });
            } else if let Some(command) = self.script.commands.get_mut(command) {
                command.texts.push(text);
            }
        } else {
            self.eat(b'&');
            list.redirect(Next::Input, &mut self.script);
        }
    }

    /// Reads one word apart from its list. The flag is true if it has quotes.
    fn word(&mut self, list: &mut List) -> (String, bool) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let mut apart = List { flow: list.flow, base: list.feeding(), ..List::default() };
        while let Some(byte) = self.peek().filter(|it| !it.is_ascii_whitespace() && !b";&|<>()".contains(it))
        {
            self.at += 1;
            self.part(byte, &mut apart);
        }
        let raw = self.bytes.get(start..self.at).unwrap_or_default();
        list.inner.append(&mut apart.inner);
        let (word, _) = apart.word.unwrap_or_default();
        (String::from_utf8_lossy(&word).into_owned(), raw.iter().any(|byte| b"'\"\\".contains(byte)))
    }

    /// Reads the bodies of the here-documents of the line that has just ended.
    fn bodies(&mut self, list: &mut List, close: Option<u8>) {
        for Pending { command, delimiter, strips_tabs, expands } in std::mem::take(&mut list.pending) {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let (mut body, mut taken, mut is_closed) = (0, 0, false);
            let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
            while let Some(line) = lines.next() {
                taken += line.len();
                let mut line = Cow::Borrowed(line);
                while expands && is_continued(&line) {
                    let Some(next) = lines.next() else { break };
                    taken += next.len();
                    let whole = line.to_mut();
                    whole.truncate(whole.len().saturating_sub(2));
                    whole.extend(next);
                }
                let tabs = line.iter().take_while(|it| strips_tabs && **it == b'\t').count();
                if let Some(after) = line.get(tabs..).and_then(|it| it.strip_prefix(delimiter.as_bytes())) {
                    is_closed = matches!(after, b"" | b"\n");
                    // Bash ends it also at `EOF)`, if that is the end of a substitution; other shells do not.
                    let is_last = close == Some(b')') && after.contains(&b')');
                    if is_last {
                        // A line that was joined is read once more, as commands.
                        let is_whole = matches!(line, Cow::Borrowed(_));
                        taken = body + if is_whole { tabs + delimiter.len() } else { 0 };
                    }
                    if is_closed || is_last {
                        break;
                    }
                }
                body = taken;
            }
            self.at += taken;
            self.script.odd |= !is_closed;
            let body = rest.get(..body).unwrap_or_default();
            let flow = self.script.commands.get(command).map_or(0, |it| it.flow);
            let inner = if expands { self.expand(body, flow) } else { Vec::new() };
            if let Some(command) = self.script.commands.get_mut(command) {
                command.inner.extend(inner);
                command.texts.push(String::from_utf8_lossy(body).into_owned());
            }
        }
    }

    /// Reads the substitutions in a here-document, and returns their commands.
    fn expand(&mut self, body: &[u8], flow: usize) -> Vec<usize> {
        if self.depth >= MAX_DEPTH {
            self.script.unread = true;
            return Vec::new();
        }
        let mut words = List { flow, ..List::default() };
        self.depth += 1;
        self.apart(body, |inner| {
            while let Some(byte) = inner.peek() {
                inner.at += 1;
                match byte {
                    b'\\' => inner.at += 1,
                    b'$' if inner.eat(b'(') => inner.substitution(&mut words),
                    b'`' => inner.backquotes(&mut words, false),
                    _ => {}
                }
            }
        });
        self.depth -= 1;
        words.inner
    }
}

/// Returns true if a line of a here-document goes on in the next one.
fn is_continued(line: &[u8]) -> bool {
    let backslashes =
        line.strip_suffix(b"\n").map_or(0, |it| it.iter().rev().take_while(|it| **it == b'\\').count());
    backslashes % 2 == 1
}
