//! Escapes in texts.

/// Returns the text of `$'…'`, which a zero ends.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = decoded(bytes, true);
    text.truncate(text.find('\0').unwrap_or(text.len()));
    text
}

/// Returns the text of the format of `printf`, and of the words of `echo -e`.
pub(crate) fn printed(text: &str) -> String {
    decoded(text.as_bytes(), false)
}

fn decoded(bytes: &[u8], is_quote: bool) -> String {
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let number = |from: usize, base: u32, most: usize| {
        let digits = bytes.get(from..).unwrap_or_default().iter().take(most);
        let digits: Vec<u32> = digits.map_while(|it| char::from(*it).to_digit(base)).collect();
        let value = digits.iter().fold(0u32, |sum, it| sum.wrapping_mul(base).wrapping_add(*it));
        (digits.len(), value)
    };
    while let Some(byte) = bytes.get(at) {
        at += 1;
        let Some(kind) = bytes.get(at).filter(|_| *byte == b'\\') else {
            found.push(*byte);
            continue;
        };
        at += 1;
        let simple = match kind {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' | b'b' | b'f' | b'v' => b' ',
            b'e' | b'E' => 0x1B,
            // `\cJ` is a control character.
            b'c' if is_quote && bytes.get(at).is_some() => {
                at += 1;
                bytes.get(at - 1).map_or(b' ', |it| it & 0x1F)
            }
            b'x' if is_quote && bytes.get(at) == Some(&b'{') => {
                let (count, value) = number(at + 1, 16, bytes.len());
                at += 1 + count;
                at += usize::from(bytes.get(at) == Some(&b'}'));
                u8::try_from(value & 0xFF).unwrap_or(b' ')
            }
            b'x' | b'u' | b'U' | b'0'..=b'7' => {
                let (from, base, most) = match kind {
                    b'x' => (at, 16, 2),
                    b'u' => (at, 16, 4),
                    b'U' => (at, 16, 8),
                    b'0' if !is_quote => (at, 8, 3),
                    _ => (at - 1, 8, 3),
                };
                let (count, value) = number(from, base, most);
                if count == 0 && *kind != b'0' {
                    found.extend([b'\\', *kind]);
                } else if matches!(kind, b'u' | b'U') {
                    let letter = char::from_u32(value).unwrap_or(' ');
                    found.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                } else {
                    found.push(u8::try_from(value & 0xFF).unwrap_or(b' '));
                }
                at = from + count;
                continue;
            }
            b'\\' | b'\'' | b'"' | b'?' => *kind,
            kind => {
                found.extend([b'\\', *kind]);
                continue;
            }
        };
        found.push(simple);
    }
    String::from_utf8_lossy(&found).into_owned()
}

/// Returns the text of base64, if it is some.
pub(crate) fn base64(text: &str) -> Option<String> {
    let (mut found, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in text.bytes().filter(|it| !it.is_ascii_whitespace() && *it != b'=') {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            found.push(u8::try_from(bits >> count & 0xFF).unwrap_or_default());
        }
    }
    String::from_utf8(found).ok()
}

/// Returns the bytes of a text of hexadecimal digits, if it is one.
pub(crate) fn hexadecimal(text: &str) -> Option<String> {
    let digits: Option<Vec<u32>> =
        text.chars().filter(|it| !it.is_whitespace()).map(|it| it.to_digit(16)).collect();
    let pairs = digits?;
    let bytes = pairs.chunks(2).map(|it| it.iter().fold(0, |sum, digit| sum * 16 + digit));
    String::from_utf8(bytes.map(|it| u8::try_from(it).unwrap_or(b' ')).collect()).ok()
}
