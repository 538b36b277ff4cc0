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

    /// Reads the rest of `((…))`, and returns the expansions in it.
    pub(crate) fn arithmetic(&mut self) -> Vec<Part> {
        let (mut parts, mut depth) = (Vec::new(), 0usize);
        while let Some(byte) = self.peek() {
            match byte {
                b'$' | b'`' => self.expansion(&mut parts, true),
                b')' if depth == 0 => {
                    self.at += 2;
                    break;
                }
                _ => {
                    depth += usize::from(byte == b'(');
                    depth -= usize::from(byte == b')');
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.bytes.len());
        parts.retain(|it| !matches!(it, Part::Bare(_) | Part::Quoted(_)));
        parts
    }
}
