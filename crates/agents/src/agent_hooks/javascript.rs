//! Regular expressions of JavaScript, which most agents take, by an engine that reads some of them otherwise.

/// What of an expression may mean something else in JavaScript (without flags) than it does here, on names in ASCII. What
/// is known to mean the same is allowed, and nothing else: names, `.`, groups, alternatives, classes, repetitions.
pub(super) fn differs(pattern: &str) -> Option<&str> {
    let mut rest = pattern;
    let mut can_repeat = false;
    while !rest.is_empty() {
        let Some((len, repeats)) = token(rest, can_repeat) else {
            let end = rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at);
            return rest.get(..end);
        };
        can_repeat = repeats;
        rest = rest.get(len..)?;
    }
    None
}

/// The length of the next part, and whether it may be repeated. `None` where it may differ.
fn token(rest: &str, can_repeat: bool) -> Option<(usize, bool)> {
    let first = rest.chars().next()?;
    match first {
        '\\' => match rest.chars().nth(1)? {
            'b' | 'B' => Some((2, false)),
            c if is_escape(c) => Some((2, true)),
            _ => None,
        },
        '[' => class(rest).map(|len| (len, true)),
        '(' if rest.starts_with("(?:") => Some((3, false)),
        '(' if rest.starts_with("(?") => None,
        '(' | '|' | '^' | '$' => Some((1, false)),
        ')' | '.' => Some((1, true)),
        '*' | '+' | '?' if can_repeat => Some((1 + lazy(rest, 1), false)),
        '{' if can_repeat => {
            let inner = rest.get(1..rest.find('}')?)?;
            let (least, most) = inner.split_once(',').unwrap_or((inner, "0"));
            let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
            let len = inner.len() + 2;
            (is_number(least) && (most.is_empty() || is_number(most))).then(|| (len + lazy(rest, len), false))
        }
        c if c.is_ascii_alphanumeric() || " _-,:/@#=%&~!<>\"';".contains(c) => Some((1, true)),
        _ => None,
    }
}

/// Whether a repetition that ends here is a lazy one.
fn lazy(rest: &str, at: usize) -> usize {
    usize::from(rest.get(at..).is_some_and(|it| it.starts_with('?')))
}

/// What stands for the same behind a backslash, in a class and outside.
fn is_escape(c: char) -> bool {
    "wWdDsS.*+?()[]{}|^$\\/-".contains(c)
}

/// The length of a class. An empty one, one in another, and what would take one from another differ.
fn class(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let inner = inner.strip_prefix('^').unwrap_or(inner);
    let mut chars = inner.chars();
    let mut last = None;
    loop {
        match chars.next()? {
            ']' => return last.map(|_: char| rest.len() - chars.as_str().len()),
            '\\' if is_escape(chars.next()?) => last = Some('\\'),
            '-' if last != Some('-') => last = Some('-'),
            c if c.is_ascii_alphanumeric() || " _.:/@*+?|".contains(c) => last = Some(c),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_allowed_and_nothing_else() {
        for pattern in [
            "",
            "Bash",
            "Edit|Write",
            "^(Bash|Edit)$",
            "(?:run_shell_command|replace)+?",
            "mcp__.*__write",
            "[A-Z][a-z_]*",
            "[^\\]\\-a]{2,}",
            "\\w{1,3}\\b",
            "a{2}?",
            "Ba\\.\\/sh",
        ] {
            assert_eq!(differs(pattern), None, "{pattern}");
        }
        for (pattern, what) in [
            ("(?i)bash", "(?i"),
            ("\\ABash", "\\AB"),
            ("Bash\\z", "\\z"),
            ("Bash\\Z", "\\Z"),
            ("(?x) Bash", "(?x"),
            ("\\QBash\\E", "\\QB"),
            ("[[:alpha:]]+", "[[:"),
            ("(?!Edit).*", "(?!"),
            ("(?<name>Bash)", "(?<"),
            ("(a)\\1", "\\1"),
            ("a**", "*"),
            ("^*Bash", "*Ba"),
            ("(|*)", "*)"),
            ("a{,3}", "{,3"),
            ("a{2}{3}", "{3}"),
            ("a{x}", "{x}"),
            ("[]a]", "[]a"),
            ("[^]", "[^]"),
            ("[a&&b]", "[a&"),
            ("[a--b]", "[a-"),
            ("[a", "[a"),
            ("\\<Bash", "\\<B"),
            ("\\x42ash", "\\x4"),
            ("\\pL", "\\pL"),
            ("B\u{e4}sh", "\u{e4}sh"),
            ("Bash\\", "\\"),
            ("a]", "]"),
        ] {
            assert_eq!(differs(pattern), Some(what), "{pattern}");
        }
    }
}
