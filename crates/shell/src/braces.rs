//! Braces in a word.

/// The number of words that are made of one.
const MAX_WORDS: usize = 64;

/// The number of braces that are tried in a word.
const MAX_BRACES: usize = 16;

/// The longest word whose braces are read, in bytes: a path is shorter.
const MAX_LENGTH: usize = 4096;

/// Returns the words that a shell makes of one with braces: of `a{b,c}` they are `ab` and `ac`. A word with spaces was
/// quoted, and stays.
pub fn braces(word: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut waiting = vec![word.to_owned()];
    while let Some(word) = waiting.pop() {
        let is_read = word.len() < MAX_LENGTH && !word.contains(char::is_whitespace);
        let parts = (is_read && done.len() + waiting.len() < MAX_WORDS).then(|| list(&word)).flatten();
        match parts {
            Some((before, parts, after)) => {
                waiting.extend(parts.iter().rev().map(|part| format!("{before}{part}{after}")));
            }
            None => done.push(word),
        }
    }
    done
}

/// Returns the first `{a,b}` of a word, with the text before and after it.
fn list(word: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (from, _) in word
        .match_indices('{')
        .filter(|(at, _)| !word.get(..*at).is_some_and(|it| it.ends_with('$')))
        .take(MAX_BRACES)
    {
        let (mut depth, mut parts, mut begin) = (0usize, Vec::new(), from + 1);
        for (at, byte) in word.bytes().enumerate().skip(from) {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 1 => {
                    parts.push(word.get(begin..at)?);
                    begin = at + 1;
                }
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                parts.push(word.get(begin..at)?);
                if parts.len() > 1 {
                    return Some((word.get(..from)?, parts, word.get(at + 1..)?));
                }
                break;
            }
        }
    }
    None
}
