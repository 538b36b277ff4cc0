//! Text of others, made fit to be stored, compared or shown to a model: without secrets ([`Secrets`]), on one
//! line and short ([`excerpt`]), or as a number ([`hash`]).

mod secrets;

pub use secrets::{REDACTED, Secrets};

/// Returns a text on one line, of at most `max` bytes. Control characters, line breaks and invisible
/// characters that reorder a line become one space with the white space around them; a longer text is cut and
/// ends with `…`. Use it for stored and injected text, so that the text of a tool or a file cannot pass for
/// lines of the hook.
///
/// ```
/// use hookbox_sdk::text::excerpt;
///
/// assert_eq!(excerpt("  error:\n\u{1b}[31m no   such file ", 100), "error: [31m no such file");
/// assert_eq!(excerpt("a long text", 9), "a long…");
/// ```
pub fn excerpt(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            gap = !out.is_empty();
            continue;
        }
        let needed = c.len_utf8() + usize::from(gap);
        if out.len() + needed > max {
            let room = out.floor_char_boundary(max.saturating_sub('…'.len_utf8()));
            out.truncate(room);
            out.truncate(out.trim_end().len());
            if max >= '…'.len_utf8() {
                out.push('…');
            }
            break;
        }
        if gap {
            out.push(' ');
            gap = false;
        }
        out.push(c);
    }
    out
}

/// Returns whether a character reorders a line or is invisible (CVE-2021-42574).
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c), 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x2069 | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

/// Returns a number for these texts, in order, to use in a key of the store: FNV-1a with 64 bits, the same in
/// every build. It is not a digest: an attacker can find texts with the same hash.
///
/// ```
/// use hookbox_sdk::text::hash;
///
/// assert_eq!(hash(["a", "bc"]), hash(["a", "bc"]));
/// assert_ne!(hash(["a", "bc"]), hash(["ab", "c"]));
/// ```
pub fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    // 0xff is in no UTF-8: it ends each text.
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_and_short_enough() {
        for (text, max, expected) in [
            ("", 8, ""),
            (" \n\t ", 8, ""),
            ("a\r\n\r\nb", 8, "a b"),
            ("a\u{0}\u{7}b", 8, "a b"),
            ("rm\u{202e}fdp\u{2028}x", 16, "rm fdp x"),
            ("abcdefgh", 8, "abcdefgh"),
            ("abcdefghi", 8, "abcde…"),
            ("abcd efghi", 8, "abcd…"),
            ("漢字漢字", 9, "漢字…"),
            ("漢字", 3, "…"),
            ("ab", 1, ""),
        ] {
            assert_eq!(excerpt(text, max), expected, "{text:?}");
        }
        for max in 0..40 {
            let text = "ä\u{1F600} \u{202e}漢字x ".repeat(20);
            assert!(excerpt(&text, max).len() <= max, "{max}");
        }
    }

    #[test]
    fn a_hash_is_the_same_in_every_build() {
        assert_eq!(hash([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash([""]), (0xcbf2_9ce4_8422_2325 ^ 0xff_u64).wrapping_mul(0x0100_0000_01b3));
    }
}
