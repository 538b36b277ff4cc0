//! Reads the bytes of a text.

use crate::list::{List, Next, Pending};
use crate::{Input, MAX_DEPTH, MAX_RAW, Script};

/// Reads a text.
pub fn read(text: &str) -> Script {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, depth: 0, script: Script::default() };
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
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, depth: 0, script: Script::default() };
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
                while reader.peek().is_some_and(|byte| byte != b'\n') {
                    reader.at += 1;
                }
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

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    script: Script,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Reads commands to the end of the text, or to and including the byte that closes a substitution.
    fn list(&mut self, close: Option<u8>, base: Vec<usize>) {
        let mut list = List { flow: self.script.next_flow(), base, ..List::default() };
        let mut closed = close.is_none();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' if list.word.as_ref().is_some_and(|(word, _)| word.ends_with(b"=")) => list.array = true,
                b')' if list.array => list.array = false,
                byte if list.array && byte.is_ascii_whitespace() => list.push(b' '),
                b')' if close == Some(b')') && !list.groups.iter().any(|it| it.end == ")") => {
                    closed = true;
                    break;
                }
                b'`' if close == Some(b'`') => {
                    closed = true;
                    break;
                }
                b'#' if list.word.is_none() => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'<' | b'>' => self.redirection(byte, &mut list),
                b'&' if self.eat(b'>') => {
                    list.end_word(&mut self.script);
                    self.eat(b'>');
                    list.redirect(Next::Output, &mut self.script);
                }
                b'\n' => {
                    list.end_command(&mut self.script, false);
                    self.bodies(&mut list);
                }
                b';' => list.end_command(&mut self.script, false),
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
                    list.open(")", &mut self.script);
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

    /// Reads a part of a word that begins with this byte.
    fn part(&mut self, byte: u8, list: &mut List) {
        match byte {
            b'\\' => match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(escaped) => {
                    self.at += 1;
                    list.push(escaped);
                }
                None => {}
            },
            b'\'' => self.single_quotes(list, false),
            b'"' => self.double_quotes(list),
            b'$' if self.eat(b'\'') => self.single_quotes(list, true),
            b'$' if self.peek() == Some(b'"') => {}
            b'$' if self.eat(b'(') => self.substitution(list, 2, b')'),
            b'$' if self.eat(b'{') => {
                // Everything in the braces belongs to the word.
                list.push(b'$');
                list.push(b'{');
                while let Some(byte) = self.peek().filter(|byte| !b"}'\"`$\n".contains(byte)) {
                    self.at += 1;
                    list.push(byte);
                }
            }
            b'`' => self.substitution(list, 1, b'`'),
            byte => {
                list.push(byte);
                if let Some((_, glob)) = &mut list.word {
                    *glob |= matches!(byte, b'*' | b'?' | b'[');
                }
            }
        }
    }

    /// Reads to the closing single quote; with `escapes` as in `$'…'`.
    fn single_quotes(&mut self, list: &mut List, escapes: bool) {
        list.quote();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\'' => return,
                b'\\' if escapes => self.escape(list),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    fn escape(&mut self, list: &mut List) {
        let Some(kind) = self.peek() else { return };
        let (skipped, most, base) = match kind {
            b'x' => (1, 2, 16),
            b'u' => (1, 4, 16),
            b'U' => (1, 8, 16),
            b'0'..=b'7' => (0, 3, 8),
            _ => {
                self.at += 1;
                list.push(match kind {
                    b'n' => b'\n',
                    b't' | b'r' => b' ',
                    kind => kind,
                });
                return;
            }
        };
        self.at += skipped;
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|it| char::from(it).to_digit(base)) else { break };
            value = value * base + digit;
            self.at += 1;
        }
        let mut letter = [0; 4];
        let letter = char::from_u32(value).unwrap_or(' ').encode_utf8(&mut letter);
        letter.bytes().for_each(|byte| list.push(byte));
    }

    fn double_quotes(&mut self, list: &mut List) {
        list.quote();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => match self.peek() {
                    Some(b'\n') => self.at += 1,
                    Some(escaped @ (b'"' | b'\\' | b'$' | b'`')) => {
                        self.at += 1;
                        list.push(escaped);
                    }
                    _ => list.push(b'\\'),
                },
                b'$' if self.eat(b'(') => self.substitution(list, 2, b')'),
                b'`' => self.substitution(list, 1, b'`'),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    /// Reads the rest of a `$(…)`, `` `…` `` or `<(…)`, after its beginning of this many bytes.
    fn substitution(&mut self, list: &mut List, beginning: usize, close: u8) {
        let start = self.at.saturating_sub(beginning);
        if self.depth >= MAX_DEPTH {
            self.script.odd = true;
            return;
        }
        let from = self.script.commands.len();
        let level = self.script.level;
        self.script.level += 1;
        self.depth += 1;
        self.list(Some(close), list.feeding());
        self.depth -= 1;
        list.inner.extend(from..self.script.commands.len());
        self.script.level = level;
        self.script.merge(from, list.flow);
        let raw = self.bytes.get(start..self.at).filter(|raw| raw.len() <= MAX_RAW);
        list.word.get_or_insert_default().0.extend(raw.unwrap_or(b"$()"));
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
            self.substitution(list, 2, b')');
            if byte == b'>' {
                let feeding = list.command(&mut self.script);
                for fed in list.inner.drain(before..) {
                    self.script.commands.get_mut(fed).into_iter().for_each(|it| it.upstream.push(feeding));
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
    fn bodies(&mut self, list: &mut List) {
        for Pending { command, delimiter, strips_tabs, expands } in std::mem::take(&mut list.pending) {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let (mut body, mut taken, mut is_closed) = (0, 0, false);
            for line in rest.split_inclusive(|byte| *byte == b'\n') {
                let tabs = line.iter().take_while(|it| strips_tabs && **it == b'\t').count();
                taken += line.len();
                let plain = line.get(tabs..).unwrap_or_default();
                if plain.strip_suffix(b"\n").unwrap_or(plain) == delimiter.as_bytes() {
                    is_closed = true;
                    break;
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
            self.script.odd = true;
            return Vec::new();
        }
        let script = std::mem::take(&mut self.script);
        let mut inner = Reader { bytes: body, at: 0, depth: self.depth + 1, script };
        let mut words = List { flow, ..List::default() };
        while let Some(byte) = inner.peek() {
            inner.at += 1;
            match byte {
                b'\\' => inner.at += 1,
                b'$' if inner.eat(b'(') => inner.substitution(&mut words, 2, b')'),
                b'`' => inner.substitution(&mut words, 1, b'`'),
                _ => {}
            }
        }
        self.script = inner.script;
        words.inner
    }
}
