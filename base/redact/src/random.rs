//! Finds long random values of names that end in `key`.

use std::collections::BTreeMap;

use crate::Secret;
use crate::values::{LOOK, prefix, run};

/// Words before `key` that mark a key as public, or as a key of a table.
const NO_SECRET_KEYS: [&str; 6] = ["primary", "foreign", "public", "partition", "sort", "cache"];
/// The characters of base64, in both alphabets, beside ASCII letters and digits.
const BASE64: &str = "+/=_-";
/// The shortest random value, in characters.
const MIN_RANDOM: usize = 20;
/// The shortest piece without separators that no words beside it make ordinary, in characters.
const MIN_PART: usize = 16;
/// The least entropy of a secret, in bits per character: words and paths have less, random letters more.
const MIN_BITS: f64 = 3.5;

/// Finds the value of a name that ends with the `key` at the beginning of `rest`: `SIGNING_KEY=…`, `"my-key": "…"`. `head`
/// is the text before it.
pub(crate) fn find(head: &str, rest: &str) -> Option<Secret> {
    let after = rest.get(3..).filter(|_| prefix(rest, 3).eq_ignore_ascii_case("key"))?;
    let after = unquoted(after).trim_start_matches([' ', '\t']);
    let after = after.strip_prefix("=>").or_else(|| after.strip_prefix([':', '=']))?;
    let value = unquoted(after.trim_start_matches([' ', '\t']));
    let seen = prefix(value, LOOK);
    let start = rest.len() - value.len();
    let is_one = !is_public(head) && is_random(seen.get(..run(seen, BASE64))?);
    is_one.then(|| ("entropy", start..start + run(value, BASE64)))
}

/// Returns the text without a quote at its beginning, and without the backslashes before the quote.
fn unquoted(text: &str) -> &str {
    text.trim_start_matches('\\').strip_prefix(['"', '\'']).unwrap_or(text)
}

/// Returns true if the name of a key ends so that the key is public, or one of a table.
fn is_public(head: &str) -> bool {
    let head = head.trim_end_matches(['_', '-', '.']);
    let end = |length| head.get(head.len().checked_sub(length)?..);
    NO_SECRET_KEYS.iter().any(|word| end(word.len()).is_some_and(|end| end.eq_ignore_ascii_case(word)))
}

/// Returns true for letters and digits, many different ones, that are not words in a row.
fn is_random(text: &str) -> bool {
    let mixed = text.bytes().any(|c| c.is_ascii_digit()) && text.bytes().any(|c| c.is_ascii_alphabetic());
    let parts = || text.split(['_', '-']).filter(|part| !part.is_empty());
    let words = parts().filter(|part| part.bytes().all(|c| c.is_ascii_alphabetic())).count();
    let is_long = parts().any(|part| part.len() >= MIN_PART);
    mixed && (is_long || words < 2) && text.len() >= MIN_RANDOM && bits(text) >= MIN_BITS
}

/// Returns Shannon's entropy, in bits per character.
fn bits(text: &str) -> f64 {
    let mut counts = BTreeMap::<u8, u32>::new();
    for byte in text.bytes() {
        *counts.entry(byte).or_default() += 1;
    }
    let all = f64::from(counts.values().sum::<u32>().max(1));
    counts.values().map(|count| f64::from(*count) / all).map(|share| -share * share.log2()).sum()
}
