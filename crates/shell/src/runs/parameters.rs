//! Parameters in braces.

use super::lex::push;
use super::parse::Parser;
use super::tree::{Parameter, Part, Word};

impl Parser<'_> {
    /// Reads `${…}` from its brace on.
    pub(super) fn braced(&mut self, parts: &mut Vec<Part>, is_quoted: bool) {
        self.at += 1;
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
        if self.peek() == Some(b'[') {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let end = rest.iter().take(256).position(|it| *it == b']').unwrap_or_default();
            let index = String::from_utf8_lossy(rest.get(..=end).unwrap_or_default()).into_owned();
            self.at += end + 1;
            name.push_str(&index);
        }
        let from = self.at;
        self.at += usize::from(self.peek() == Some(b':'));
        if self.peek().is_some_and(|it| b"-=?+%#/^,@".contains(&it)) {
            self.at += 1;
        }
        let operator = String::from_utf8_lossy(&self.slice(from)).into_owned();
        let mut operand = Vec::new();
        let is_deep = self.deeper();
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
        let parameter = Parameter { name, operator, operand: Word { parts: operand } };
        parts.push(Part::Parameter(Box::new(parameter), is_quoted));
    }
}
