//! Reads the parts of a word: quotes, escapes, and all that begins with `$`.

use crate::MAX_DEPTH;
use crate::list::List;
use crate::reader::Reader;

impl Reader<'_> {
    /// Reads a part of a word that begins with this byte.
    pub(crate) fn part(&mut self, byte: u8, list: &mut List) {
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
            b'$' if self.eat(b'(') => self.substitution(list),
            b'$' if self.eat(b'{') => self.enclosed(list, [b'{', b'}'], false),
            b'$' if self.eat(b'[') => {
                // Only bash knows it.
                self.script.odd = true;
                self.enclosed(list, [b'[', b']'], false);
            }
            b'`' => self.backquotes(list, false),
            byte => {
                list.push(byte);
                if let Some((_, glob)) = &mut list.word {
                    *glob |= matches!(byte, b'*' | b'?' | b'[');
                }
            }
        }
    }

    /// Reads the rest of `${…}` or `$[…]`, all of which belongs to the word. `${ …; }` and `${|…; }` are substitutions.
    fn enclosed(&mut self, list: &mut List, [open, close]: [u8; 2], quoted: bool) {
        if open == b'{' && self.peek().is_some_and(|it| it == b'|' || it.is_ascii_whitespace()) {
            self.at += 1;
            let start = self.at.saturating_sub(3);
            return self.inside(list, start, |reader, base| reader.list(Some(close), base));
        }
        list.push(b'$');
        list.push(open);
        if self.depth >= MAX_DEPTH {
            self.script.unread = true;
            return;
        }
        self.depth += 1;
        let mut closed = false;
        while let Some(byte) = self.peek().filter(|_| !closed) {
            self.at += 1;
            closed = byte == close;
            // It is a quote for bash, and a letter for others.
            self.script.odd |= quoted && byte == b'\'';
            match byte {
                b'\\' | b'\'' | b'"' | b'$' | b'`' => self.part(byte, list),
                byte => list.push(byte),
            }
        }
        self.depth -= 1;
        self.script.odd |= !closed;
    }

    /// Reads to the closing single quote; with `escapes` as in `$'…'`, in which a zero ends the text.
    fn single_quotes(&mut self, list: &mut List, escapes: bool) {
        list.quote();
        let mut end = None;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\'' => {
                    list.word.iter_mut().for_each(|(word, _)| word.truncate(end.unwrap_or(usize::MAX)));
                    return;
                }
                b'\\' if escapes => {
                    let before = list.word.as_ref().map(|(word, _)| word.len());
                    if self.escape(list) == Some('\0') {
                        end = end.or(before);
                    }
                }
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    /// Reads the rest of an escape in `$'…'`, and returns its letter.
    fn escape(&mut self, list: &mut List) -> Option<char> {
        let kind = self.peek()?;
        self.at += usize::from(!matches!(kind, b'0'..=b'7'));
        let value = match kind {
            b'x' if self.eat(b'{') => {
                let value = self.number(16, usize::MAX).unwrap_or_default();
                self.eat(b'}');
                Some(value & 0xFF)
            }
            b'x' => self.number(16, 2),
            b'u' => self.number(16, 4),
            b'U' => self.number(16, 8),
            b'0'..=b'7' => self.number(8, 3).map(|it| it & 0xFF),
            b'c' => {
                let letter = self.peek()?;
                self.at += 1;
                Some(u32::from(letter & 0x1F))
            }
            b'n' => Some(u32::from(b'\n')),
            b't' | b'r' => Some(u32::from(b' ')),
            kind => Some(u32::from(kind)),
        };
        let Some(value) = value else {
            list.push(b'\\');
            list.push(kind);
            return None;
        };
        let letter = char::from_u32(value).unwrap_or(' ');
        letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| list.push(byte));
        Some(letter)
    }

    /// Reads at most this many digits.
    fn number(&mut self, base: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|it| char::from(it).to_digit(base)) else { break };
            value = Some(value.unwrap_or(0u32).wrapping_mul(base).wrapping_add(digit));
            self.at += 1;
        }
        value
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
                b'$' if self.eat(b'(') => self.substitution(list),
                b'$' if self.eat(b'{') => self.enclosed(list, [b'{', b'}'], true),
                b'`' => self.backquotes(list, true),
                byte => list.push(byte),
            }
        }
        self.script.odd = true;
    }

    /// Reads the rest of `` `…` ``: a text of its own, in which a backslash protects a few letters.
    pub(crate) fn backquotes(&mut self, list: &mut List, quoted: bool) {
        let start = self.at.saturating_sub(1);
        let mut text = Vec::new();
        let mut closed = false;
        while let Some(byte) = self.peek().filter(|_| !closed) {
            self.at += 1;
            match byte {
                b'`' => closed = true,
                b'\\' => match self.peek() {
                    Some(b'$' | b'`' | b'\\') => {}
                    Some(b'"') if quoted => {}
                    _ => text.push(byte),
                },
                byte => text.push(byte),
            }
            if byte == b'\\'
                && let Some(escaped) = self.peek()
            {
                self.at += 1;
                text.push(escaped);
            }
        }
        self.script.odd |= !closed;
        self.inside(list, start, |reader, base| reader.apart(&text, |inner| inner.list(None, base)));
    }
}
