//! The table of patterns.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use hookbox_redact::{classify, is_marker};
use regex::{Captures, Regex, RegexBuilder};

/// The patterns, in the order of their search. Each has the literals of which a match has one, in
/// either case, and the group `s` is the secret part. Values that are secret by their name come after them
/// ([`hookbox_redact`]).
const TABLE: &[(&str, &[&str], &str)] = &[
    (
        "private_key",
        &["-----BEGIN "],
        r"(?s)(?P<s>-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|\z))",
    ),
    ("jwt", &["eyJ"], r"(?-u:\b)(?P<s>eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?)"),
    ("aws", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?-u:\b)(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,})"),
    (
        "github",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"],
        r"(?-u:\b)(?P<s>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
    ),
    (
        "slack",
        &["xox", "xapp-", "hooks.slack.com/"],
        r"(?-u:\b)(?P<s>xox[a-z]-[A-Za-z0-9_-]{10,}|xapp-[A-Za-z0-9_-]{10,})|hooks\.slack\.com/(?:services|workflows)/(?P<s2>[A-Za-z0-9_/-]{8,})",
    ),
    (
        "api_key",
        &["sk-", "k_live_", "k_test_", "AIza", "npm_", "hf_", "pypi-", "SG."],
        r"(?-u:\b)(?P<s>sk-[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{24,}|SG\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?)",
    ),
    (
        "url",
        &["://"],
        r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{0,31}://(?P<u>[^\s/?#@:"'<>\[\]]*:)?(?P<s>[^\s/?#"'<>]+)@"#,
    ),
    ("bearer", &["bearer", "basic"], r"(?i)(?-u:\b)(?:bearer|basic)[ \t]+(?P<s>[A-Z0-9._~+/=-]{12,})"),
    (
        "entropy",
        &["key"],
        r#"(?i)(?P<n>[A-Z0-9_.-]{0,61}key)(?:\\*["'])?[ \t]{0,8}(?:=>|[:=])[ \t]{0,8}(?:\\*["'])?(?P<s>[A-Z0-9+/=_-]{20,})"#,
    ),
];

/// The largest size of one compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// The longest text whose literals are searched before its patterns, in bytes: in a longer one, a pattern is faster.
const SHORT: usize = 1 << 10;

/// The shortest lone user name of a URL that is taken for a token.
const MIN_USER: usize = 20;
/// The shortest random value of a name that ends in `key`, in characters.
const MIN_RANDOM: usize = 20;
/// The shortest piece without separators that no words beside it make ordinary, in characters.
const MIN_PART: usize = 16;
/// The least entropy of a secret, in bits per character: words and paths have less, random letters more.
const MIN_BITS: f64 = 3.5;

struct Pattern {
    kind: &'static str,
    literals: &'static [&'static str],
    source: &'static str,
    /// Compiled for the first text that may match: a process for one event mostly needs none, and to compile all takes as
    /// long as the event.
    regex: OnceLock<Option<Regex>>,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let pattern = |&(kind, literals, source)| Pattern { kind, literals, source, regex: OnceLock::new() };
    TABLE.iter().map(pattern).collect()
});

impl Pattern {
    /// Returns the pattern for a text; `None` if the text has nothing of it.
    fn search(&self, text: &str) -> Option<&Regex> {
        // In either case, a few other letters count as ASCII ones.
        let is_short = text.len() <= SHORT && text.is_ascii();
        let may_match = !is_short || self.literals.iter().any(|it| has(text, it));
        let build = || RegexBuilder::new(self.source).size_limit(MAX_COMPILED).build().ok();
        may_match.then(|| self.regex.get_or_init(build).as_ref()).flatten()
    }
}

/// Returns true if a text has a literal, in either case.
fn has(text: &str, literal: &str) -> bool {
    text.as_bytes().windows(literal.len()).any(|it| it.eq_ignore_ascii_case(literal.as_bytes()))
}

/// The text that replaces a secret of this kind.
pub(super) fn marker(kind: &str) -> String {
    format!("[REDACTED:{kind}]")
}

/// The text after every pattern; `None` where none applies.
pub(super) fn apply(text: &str) -> Option<String> {
    let mut clean: Option<String> = None;
    for pattern in PATTERNS.iter() {
        if let Some(cleaner) = replace(pattern, clean.as_deref().unwrap_or(text)) {
            clean = Some(cleaner);
        }
    }
    let said = clean.as_deref().unwrap_or(text);
    let found = hookbox_redact::find(said, &classify);
    if found.is_empty() {
        clean
    } else {
        Some(without(said, found.into_iter().map(|range| ("field", range))))
    }
}

/// The text with a marker in the place of each of these secrets, which are in order.
fn without(text: &str, secrets: impl Iterator<Item = Secret>) -> String {
    let mut clean = String::new();
    let mut copied = 0;
    for (kind, range) in secrets {
        clean.push_str(text.get(copied..range.start).unwrap_or_default());
        clean.push_str(&marker(kind));
        copied = range.end;
    }
    clean + text.get(copied..).unwrap_or_default()
}

fn replace(pattern: &Pattern, text: &str) -> Option<String> {
    let found = pattern.search(text)?.captures_iter(text).filter_map(|found| token(pattern.kind, &found));
    let mut found = found.peekable();
    found.peek()?;
    Some(without(text, found))
}

type Secret = (&'static str, Range<usize>);

/// A secret that gives itself away.
fn token(kind: &'static str, found: &Captures<'_>) -> Option<Secret> {
    let secret = found.name("s").or_else(|| found.name("s2"))?;
    let said = secret.as_str();
    let is_one = match kind {
        _ if is_marker(said) => false,
        "url" if said.starts_with(['$', '{', '<', '*']) => false,
        "url" => found.name("u").is_some() || said.len() >= MIN_USER,
        "bearer" => is_no_word(said),
        "entropy" => {
            let name = found.name("n").map_or("", |name| name.as_str()).to_ascii_lowercase();
            let says_id = ["primary", "foreign", "public", "partition", "sort", "cache"]
                .iter()
                .any(|what| name.trim_end_matches("key").trim_end_matches(['_', '-', '.']).ends_with(what));
            !says_id && is_random(said)
        }
        _ if said.starts_with("pypi-") => said.bytes().any(|c| c.is_ascii_uppercase() || c.is_ascii_digit()),
        _ => true,
    };
    is_one.then(|| (kind, secret.range()))
}

/// Returns true unless this is the next word of a sentence: it has a digit, or a capital inside a word.
fn is_no_word(text: &str) -> bool {
    let capital = |word: &str| word.bytes().skip(1).any(|c| c.is_ascii_uppercase());
    text.bytes().any(|c| c.is_ascii_digit() || b"+=".contains(&c))
        || text.split(['/', '-', '_', '.']).any(capital)
}

/// Returns true if this is long and random: letters and digits, many different ones, and not words in a row.
fn is_random(text: &str) -> bool {
    let mixed = text.bytes().any(|c| c.is_ascii_digit()) && text.bytes().any(|c| c.is_ascii_alphabetic());
    let mut words = 0;
    let mut longest = 0;
    for part in text.split(['_', '-']) {
        longest = longest.max(part.len());
        words += usize::from(!part.is_empty() && part.bytes().all(|c| c.is_ascii_alphabetic()));
    }
    mixed && (longest >= MIN_PART || words < 2) && text.len() >= MIN_RANDOM && bits(text) >= MIN_BITS
}

/// Shannon's entropy, in bits a character.
fn bits(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<u8, u32>::new();
    for byte in text.bytes().take(1024) {
        *counts.entry(byte).or_default() += 1;
    }
    let all = f64::from(counts.values().sum::<u32>().max(1));
    counts.values().map(|count| f64::from(*count) / all).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_table_compiles() {
        assert_eq!(PATTERNS.len(), TABLE.len());
    }
}
