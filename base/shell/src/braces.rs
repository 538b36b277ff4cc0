//! Braces in a word.

/// The number of words that are made of one.
const MAX_WORDS: usize = 64;

/// The longest word whose braces are read, in bytes: a path is shorter.
const MAX_LENGTH: usize = 4096;

/// Returns the words that a shell makes of one with braces: of `a{b,c}` they are `ab` and `ac`. A word with spaces was
/// quoted, and stays.
pub(crate) fn braces(word: &str) -> Vec<String> {
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
    // The open braces, each with the places of its commas.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut first: Option<(usize, Vec<usize>, usize)> = None;
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'{' => open.push((at, Vec::new())),
            b',' => open.last_mut().into_iter().for_each(|(_, commas)| commas.push(at)),
            b'}' => {
                let Some((from, commas)) = open.pop() else { continue };
                let is_parameter = word.get(..from).is_some_and(|it| it.ends_with('$'));
                let is_first = first.as_ref().is_none_or(|(before, ..)| from < *before);
                if !commas.is_empty() && !is_parameter && is_first {
                    first = Some((from, commas, at));
                }
            }
            _ => {}
        }
    }
    let (from, commas, end) = first?;
    let begins = [from].into_iter().chain(commas.iter().copied());
    let ends = commas.iter().copied().chain([end]);
    let parts: Option<Vec<&str>> = begins.zip(ends).map(|(begin, end)| word.get(begin + 1..end)).collect();
    Some((word.get(..from)?, parts?, word.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::braces;

    #[test]
    fn braces_make_words() {
        for (word, want) in [
            ("a", vec!["a"]),
            ("{rm,-rf,x}", vec!["rm", "-rf", "x"]),
            ("s{u,}do", vec!["sudo", "sdo"]),
            ("a{b,{c,d}e}f", vec!["abf", "acef", "adef"]),
            ("{a}{b,c}", vec!["{a}b", "{a}c"]),
            ("${a,b}", vec!["${a,b}"]),
            ("{a, b}", vec!["{a, b}"]),
            ("{a,b", vec!["{a,b"]),
        ] {
            assert_eq!(braces(word), want, "{word}");
        }
        assert!(braces(&"{a,b}".repeat(1000)).len() <= 2 * 64, "it is bounded");
    }
}
