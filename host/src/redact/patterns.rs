//! The table of patterns.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexBuilder};

use crate::text as plain;

/// What is looked for, in this order. The part that is secret is the group `s`; where there is a name `n`, it is the
/// value that follows ([`value_after`]).
const TABLE: &[(&str, &str)] = &[
    (
        "private_key",
        r"(?s)(?P<s>-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|\z))",
    ),
    ("jwt", r"(?-u:\b)(?P<s>eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?)"),
    ("aws", r"(?-u:\b)(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,})"),
    (
        "github",
        r"(?-u:\b)(?P<s>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
    ),
    (
        "slack",
        r"(?-u:\b)(?P<s>xox[a-z]-[A-Za-z0-9_-]{10,}|xapp-[A-Za-z0-9_-]{10,})|hooks\.slack\.com/(?:services|workflows)/(?P<s2>[A-Za-z0-9_/-]{8,})",
    ),
    (
        "api_key",
        r"(?-u:\b)(?P<s>sk-[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,})",
    ),
    ("url", r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{0,31}://(?P<u>[^\s/?#@:"'<>\[\]]*:)?(?P<s>[^\s/?#"'<>]+)@"#),
    ("bearer", r"(?i)(?-u:\b)(?:bearer|basic)[ \t]+(?P<s>[A-Z0-9._~+/=-]{12,})"),
    ("field", r#"(?P<n>[A-Za-z0-9_.-]{1,64})(?:\\?["'])?[ \t]{0,8}(?:=>|[:=])[ \t]{0,8}"#),
];

/// How large one compiled pattern may become, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// The endings of names that say secret, without separators.
const ENDINGS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authorization",
    "credential",
    "credentials",
];
/// Last parts of names that say secret; as an ending they would be too short to mean it.
const PARTS: [&str; 4] = ["pwd", "pass", "cookie", "bearer"];

/// Values that are a type, nothing, or a variable: source code is text, too.
const NOT_A_VALUE: [&str; 28] = [
    "string",
    "str",
    "&str",
    "number",
    "integer",
    "bool",
    "boolean",
    "bytes",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "option",
    "self",
    "this",
    "text",
    "object",
    "char",
    "void",
    "default",
    "token",
    "password",
    "secret",
    "passwd",
];
/// The shortest value of a name that is taken for a secret, in characters.
const MIN_VALUE: usize = 4;
/// How much of a value is looked at to tell whether it is one, in bytes: a text of many names must not be read over
/// and over to its end.
const LOOK: usize = 256;
/// The shortest lone user name of a URL that is taken for a token.
const MIN_USER: usize = 20;
/// The shortest random value of a name that ends in `key`, in characters.
const MIN_RANDOM: usize = 20;
/// How many bits a character of it carries at least: words and paths stay below, random letters and digits above.
const MIN_BITS: f64 = 3.5;

struct Pattern {
    kind: &'static str,
    regex: Regex,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let compiled = TABLE.iter().filter_map(|(kind, source)| {
        let regex = RegexBuilder::new(source).size_limit(MAX_COMPILED).build().ok()?;
        Some(Pattern { kind, regex })
    });
    compiled.collect()
});

/// What stands in the place of a secret of this kind.
pub(super) fn marker(kind: &str) -> String {
    format!("[REDACTED:{kind}]")
}

/// Whether this is what stands in the place of a secret, and nothing else.
pub(super) fn is_marker(text: &str) -> bool {
    let kind = text.strip_prefix("[REDACTED:").and_then(|rest| rest.strip_suffix(']'));
    kind.is_some_and(|kind| kind.len() <= 16 && kind.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}

/// The text after every pattern; `None` where none applies.
pub(super) fn apply(text: &str) -> Option<String> {
    let mut clean: Option<String> = None;
    for pattern in PATTERNS.iter() {
        if let Some(cleaner) = replace(pattern, clean.as_deref().unwrap_or(text)) {
            clean = Some(cleaner);
        }
    }
    clean
}

fn replace(pattern: &Pattern, text: &str) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = pattern.regex.captures_at(text, at) {
        let Some(whole) = found.get(0) else { break };
        let secret = match found.name("n") {
            Some(name) => field(name.as_str(), text, whole.end()),
            None => token(pattern.kind, &found),
        };
        // The value may itself be a name: `x = password=…`.
        at = whole.end();
        let Some((kind, range)) = secret else { continue };
        clean.push_str(text.get(copied..range.start).unwrap_or_default());
        clean.push_str(&marker(kind));
        copied = range.end;
        at = range.end;
    }
    (copied > 0).then(|| clean + text.get(copied..).unwrap_or_default())
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
        // Not the next word of a sentence.
        "bearer" => {
            said.bytes().skip(1).any(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || b"+/=_".contains(&c))
        }
        _ => true,
    };
    is_one.then(|| (kind, secret.range()))
}

/// The secret that follows a name, at `at`.
fn field(name: &str, text: &str, at: usize) -> Option<Secret> {
    let says = says_secret(name);
    if !says && !name.to_ascii_lowercase().ends_with("key") {
        return None;
    }
    let rest = text.get(at..)?;
    let start = at + before_value(rest);
    let whole_line = name.to_ascii_lowercase().ends_with("cookie");
    let seen = plain::prefix(text.get(start..)?, LOOK);
    let begins = seen.get(..end_of_value(text.get(at..start)?, seen, whole_line))?;
    let kind = match () {
        () if is_marker(begins) => return None,
        () if says && is_value(begins) => "field",
        () if is_random(begins) => "entropy",
        () => return None,
    };
    let value = text.get(start..)?;
    let end = start + end_of_value(text.get(at..start)?, value, whole_line);
    Some((kind, start..end))
}

/// How many bytes come before the value proper: `Bearer`, a quote, or a quote in JSON that stands in a string.
fn before_value(rest: &str) -> usize {
    let quote = |rest: &str| {
        let bare = rest.strip_prefix('\\').unwrap_or(rest);
        if bare.starts_with(['"', '\'']) { rest.len() - bare.len() + 1 } else { 0 }
    };
    let outer = quote(rest);
    let inner = rest.get(outer..).unwrap_or_default();
    let scheme = ["bearer ", "basic ", "token "]
        .into_iter()
        .find(|scheme| inner.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    outer + scheme.map_or(0, str::len)
}

/// How many bytes the value has, by what opened it.
fn end_of_value(opened: &str, value: &str, whole_line: bool) -> usize {
    let quote = opened.chars().find(|c| ['"', '\''].contains(c));
    let in_a_string = opened.starts_with('\\');
    let mut escaped = false;
    let end = value.char_indices().find(|(_, c)| {
        if escaped {
            escaped = false;
            return false;
        }
        match quote {
            _ if *c == '\n' => true,
            Some(_) if *c == '\\' && !in_a_string => {
                escaped = true;
                false
            }
            Some(quote) => *c == quote || *c == '\\',
            None if whole_line => ['"', '\'', '\\'].contains(c),
            None => c.is_whitespace() || ",;&\"'\\)}".contains(*c),
        }
    });
    end.map_or(value.len(), |(at, _)| at)
}

/// Whether the value of this name is a secret.
pub(super) fn says_secret(name: &str) -> bool {
    // A name that was itself a secret, and is named after its kind now.
    if name.rfind("[REDACTED:").and_then(|at| name.get(at..)).is_some_and(is_marker) {
        return false;
    }
    let joined: String =
        name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    if ENDINGS.iter().any(|ending| joined.ends_with(ending)) {
        return true;
    }
    let part = name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // The last hump of a name such as `dbPass`.
    let hump = part.char_indices().rfind(|(_, c)| c.is_ascii_uppercase()).map_or(0, |(at, _)| at);
    let is_part = |part: &str| PARTS.iter().any(|known| part.eq_ignore_ascii_case(known));
    is_part(part) || part.get(hump..).is_some_and(is_part)
}

/// Whether this may be a secret: not too short, not a variable, a call or a type.
fn is_value(text: &str) -> bool {
    let bare = text.trim_end_matches(['?', '!', '.', ']']);
    text.chars().count() >= MIN_VALUE
        && !text.starts_with([':', '=', '$', '<', '{', '(', '%', '&', '*'])
        && !(text.contains('(') || text.contains("::") || text.contains('<'))
        && text != "[REDACTED"
        && text != "[REDACTED]"
        && bare.chars().any(char::is_alphanumeric)
        && !NOT_A_VALUE.iter().any(|word| bare.eq_ignore_ascii_case(word))
}

/// Whether this is long and without order: letters and digits, many different ones.
fn is_random(text: &str) -> bool {
    let fits = text.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-".contains(c));
    let mixed = text.bytes().any(|c| c.is_ascii_digit()) && text.bytes().any(|c| c.is_ascii_alphabetic());
    fits && mixed && text.len() >= MIN_RANDOM && bits(text) >= MIN_BITS
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
