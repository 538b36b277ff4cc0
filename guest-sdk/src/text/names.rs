//! Names that say that what stands beside them is secret. The host and the SDK hold the same text of this file; a test
//! of the host compares them.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// It is a secret.
    Secret,
    /// It is a secret, but not as a number or as a word of code: parsers and models have tokens, too.
    Token,
    /// It is a secret if it looks like one.
    Perhaps,
}

/// The endings of names that say secret, without separators.
const ENDINGS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authorization",
    "credential",
];
/// Last parts of names that say secret; as an ending they would be too short to mean it.
const PARTS: [&str; 4] = ["pwd", "pass", "cookie", "bearer"];
/// What comes before `token` in the words of parsers and models.
const NO_SECRET_TOKENS: [&str; 13] =
    ["stop", "next", "max", "min", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "peek", "special"];
/// What comes before `tokens` where they are secrets, not a number of words.
const SECRET_TOKENS: [&str; 7] = ["access", "auth", "refresh", "api", "session", "bearer", "secret"];

/// What a name says of its value; `None`: nothing. Case and separators do not matter, nor does one `s` at the end.
pub(super) fn says(name: &str) -> Option<Says> {
    // A name that was itself a secret, and is named after its kind now.
    let marked = name.rfind("[REDACTED").and_then(|at| name.get(at..)).unwrap_or_default();
    let length = marker_length(marked);
    if length > 0 && !marked.chars().skip(length).any(char::is_alphanumeric) {
        return None;
    }
    let joined: String =
        name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    let single = joined.strip_suffix('s').unwrap_or(&joined);
    if single.ends_with("token") {
        let before = part_before_last(name);
        let is_one_of = |words: &[&str]| words.iter().any(|word| before.eq_ignore_ascii_case(word));
        return match joined.ends_with('s') {
            _ if is_one_of(&NO_SECRET_TOKENS) => None,
            true if !is_one_of(&SECRET_TOKENS) => Some(Says::Perhaps),
            _ => Some(Says::Token),
        };
    }
    if ENDINGS.iter().any(|ending| single.ends_with(ending)) {
        return Some(Says::Secret);
    }
    let last = parts(name).last().unwrap_or_default();
    let is_part = |known: &&str| {
        [last, last.strip_suffix(['s', 'S']).unwrap_or(last)]
            .iter()
            .any(|part| part.eq_ignore_ascii_case(known))
    };
    if PARTS.iter().any(is_part) {
        return Some(Says::Secret);
    }
    (single.ends_with("signature") || is_part(&"sig")).then_some(Says::Perhaps)
}

/// The parts of a name: `db-pass` and `dbPass` have two.
fn parts(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    let humps = |part: &'_ str| -> Option<usize> {
        let small = part.chars().any(|c| c.is_ascii_lowercase());
        part.char_indices().rfind(|(at, c)| *at > 0 && small && c.is_ascii_uppercase()).map(|(at, _)| at)
    };
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).flat_map(move |part| {
        let (head, tail) =
            humps(part).map_or((part, ""), |at| part.split_at_checked(at).unwrap_or((part, "")));
        [head, tail].into_iter().filter(|piece| !piece.is_empty())
    })
}

fn part_before_last(name: &str) -> &str {
    parts(name).rev().nth(1).unwrap_or_default()
}

/// The length of what stands in the place of a secret, where the text begins with it; 0 where it does not.
pub(super) fn marker_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("[REDACTED") else { return 0 };
    let kind = match rest.strip_prefix(':') {
        Some(kind) => 1 + kind.chars().take(16).take_while(|c| c.is_ascii_lowercase() || *c == '_').count(),
        None => 0,
    };
    if rest.get(kind..).is_some_and(|end| end.starts_with(']')) {
        text.len() - rest.len() + kind + 1
    } else {
        0
    }
}

/// Whether this is what stands in the place of a secret, and nothing else.
pub(super) fn is_marker(text: &str) -> bool {
    !text.is_empty() && marker_length(text) == text.len()
}
