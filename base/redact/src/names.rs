//! Names whose values are secrets.

/// The degree to which a name marks its value as a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// The value is a secret.
    Secret,
    /// The value is a secret unless it is a number or a word of code: parsers and models also have tokens.
    Token,
    /// The value is a secret if it [looks like one](crate::looks_secret).
    Maybe,
}

/// The endings of names of secrets, without separators.
const ENDINGS: &str =
    "password passwd passphrase secret apikey accesskey secretkey privatekey authorization credential";
/// The last parts of names of secrets. They are too short to count as endings.
const PARTS: &str = "pwd pass cookie bearer";
/// Words before `token` in the vocabulary of parsers and models.
const NO_SECRET_TOKENS: &str = "stop next max min eos bos pad unk sep cls mask peek special";
/// Words before `tokens` that are secrets, not a number of words.
const SECRET_TOKENS: &str = "access auth refresh api session bearer secret";

/// Returns how far a name marks its value as a secret; `None` if it does not. Case, separators and one `s` at
/// the end do not matter.
pub fn classify(name: &str) -> Option<Sensitivity> {
    // The name was a secret itself, and a marker has replaced it.
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
        let is_one_of = |words: &str| words.split(' ').any(|word| before.eq_ignore_ascii_case(word));
        return match joined.ends_with('s') {
            _ if is_one_of(NO_SECRET_TOKENS) => None,
            true if !is_one_of(SECRET_TOKENS) => Some(Sensitivity::Maybe),
            _ => Some(Sensitivity::Token),
        };
    }
    if ENDINGS.split(' ').any(|ending| single.ends_with(ending)) {
        return Some(Sensitivity::Secret);
    }
    let last = parts(name).last().unwrap_or_default();
    let is_part = |known: &str| {
        [last, last.strip_suffix(['s', 'S']).unwrap_or(last)]
            .iter()
            .any(|part| part.eq_ignore_ascii_case(known))
    };
    // `settings_to_pass` has settings with which a call passes.
    let is_verb = part_before_last(name).eq_ignore_ascii_case("to");
    if PARTS.split(' ').any(is_part) && !is_verb {
        return Some(Sensitivity::Secret);
    }
    (single.ends_with("signature") || is_part("sig")).then_some(Sensitivity::Maybe)
}

/// Splits a name into its parts: `db-pass` and `dbPass` have two.
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

/// Returns the length of the marker of a removed secret at the beginning of the text; 0 without a marker.
pub(crate) fn marker_length(text: &str) -> usize {
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

/// Returns whether the text is the marker of a removed secret (`[REDACTED]`, `[REDACTED:kind]`) and nothing
/// else.
pub fn is_marker(text: &str) -> bool {
    !text.is_empty() && marker_length(text) == text.len()
}

#[cfg(test)]
mod tests {
    use super::classify;

    #[test]
    fn a_name_says_secret_whatever_its_case_and_separators() {
        for name in [
            "password",
            "DB_PASSWORD",
            "apiKey",
            "API-KEY",
            "x-api-key",
            "api.key",
            "accessToken",
            "AWS_SECRET_ACCESS_KEY",
            "Authorization",
            "client_secret",
            "dbPass",
            "MYSQL_PWD",
            "Set-Cookie",
            "privateKey",
            "credentials",
            "SECRETS",
            "apiKeys",
            "cookies",
        ] {
            assert!(classify(name).is_some(), "{name}");
        }
        for name in [
            "",
            "max_tokens",
            "stop_token",
            "NextToken",
            "token_count",
            "tokenizer",
            "secretary",
            "compass",
            "bypass",
            "settings_to_pass",
            "key",
            "keyboard",
            "author",
            "passed",
        ] {
            assert!(classify(name).is_none(), "{name}");
        }
    }
}
