//! Finds secrets in a text. By hand: a regular expression engine is larger than most hooks.

use std::ops::Range;

use hookbox_redact::{Sensitivity, classify, is_marker};
use serde::Deserialize;
use serde_json::Value;

/// The replacement of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Further secrets beside the well-known tokens. The default adds none.
///
/// ```
/// use hookbox_sdk::text::Secrets;
///
/// let secrets = Secrets::default();
/// assert_eq!(secrets.redact("password=hunter2 ok").as_deref(), Some("password=[REDACTED] ok"));
/// assert_eq!(secrets.redact("nothing here"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Secrets {
    /// More beginnings of secrets, such as `glpat-`.
    pub prefixes: Vec<String>,
    /// More names whose values are secrets, such as `pin`.
    pub keys: Vec<String>,
}

impl Secrets {
    /// Returns the text with each secret replaced by [`REDACTED`]; `None` if it has none. This is a best
    /// effort: keys of AWS, Google, Stripe, SendGrid and those that begin with `sk-`, tokens of GitHub,
    /// GitLab, Slack, npm, PyPI and Hugging Face, JSON Web Tokens, private keys in PEM, passwords in URLs,
    /// bearer tokens, and values of names such as `password` or `api_key`, also as options of a command
    /// (`--password …`). Time is linear in the text's length.
    pub fn redact(&self, text: &str) -> Option<String> {
        redact(text, self)
    }

    /// Replaces the secrets in a value, however deep, and everything in fields whose names say that they hold one. Returns
    /// whether there were any. Numbers of tokens stay.
    ///
    /// ```
    /// use hookbox_sdk::prelude::json;
    /// use hookbox_sdk::text::Secrets;
    ///
    /// let mut output = json!({ "stdout": "password=hunter2", "api_key": ["x"], "max_tokens": 5 });
    /// assert!(Secrets::default().redact_value(&mut output));
    /// let clean = json!({ "stdout": "password=[REDACTED]", "api_key": ["[REDACTED]"], "max_tokens": 5 });
    /// assert_eq!(output, clean);
    /// ```
    pub fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Some(clean) => {
                    *text = clean;
                    true
                }
                None => false,
            },
            Value::Array(items) => items.iter_mut().fold(false, |any, item| self.redact_value(item) | any),
            Value::Object(fields) => fields.iter_mut().fold(false, |any, (key, field)| {
                let numbers = !key.to_ascii_lowercase().trim_end_matches('s').ends_with("token");
                let found = if self.is_secret(key) { cover(field, numbers) } else { false };
                found | self.redact_value(field) | any
            }),
            _ => false,
        }
    }

    /// Returns whether the value of this name is a secret: `db_password`, `apiKey`, `X-Auth-Token`.
    pub fn is_secret(&self, name: &str) -> bool {
        is_secret(name, self)
    }
}

/// Replaces every text of a secret field, however deep, and its numbers.
fn cover(value: &mut Value, numbers: bool) -> bool {
    match value {
        Value::String(text) if text.is_empty() || text == REDACTED => false,
        Value::Number(_) if !numbers => false,
        Value::String(_) | Value::Number(_) => {
            *value = REDACTED.into();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| cover(item, numbers) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, field| cover(field, numbers) | any),
        _ => false,
    }
}

/// The characters of a kind of token.
type Charset = fn(char) -> bool;

/// The prefix of a recognisable token, the least number of characters after it, and their kind.
const TOKENS: [(&str, usize, Charset); 24] = [
    ("AKIA", 16, upper),
    ("ASIA", 16, upper),
    ("ABIA", 16, upper),
    ("ACCA", 16, upper),
    ("ghp_", 20, alphanumeric),
    ("gho_", 20, alphanumeric),
    ("ghu_", 20, alphanumeric),
    ("ghs_", 20, alphanumeric),
    ("ghr_", 20, alphanumeric),
    ("github_pat_", 20, word),
    ("glpat-", 16, word),
    ("xapp-", 10, word),
    ("hooks.slack.com/services/", 8, path),
    ("hooks.slack.com/workflows/", 8, path),
    ("sk-", 20, word),
    ("sk_live_", 16, alphanumeric),
    ("sk_test_", 16, alphanumeric),
    ("rk_live_", 16, alphanumeric),
    ("rk_test_", 16, alphanumeric),
    ("AIza", 30, word),
    ("npm_", 30, alphanumeric),
    ("hf_", 30, alphanumeric),
    ("pypi-", 24, word),
    ("SG.", 16, sendgrid),
];
/// The number of rounds: one replacement may reveal the beginning of another secret.
const MAX_ROUNDS: usize = 4;
/// The longest scheme of a URL, in bytes, and the shortest lone user name that is taken for a token.
const MAX_SCHEME: usize = 32;
const MIN_USER: usize = 20;

/// The least number of characters after a prefix of the user's.
const MIN_AFTER_PREFIX: usize = 8;
/// The longest first part of a JSON Web Token and the longest user and password of a URL: a text with many
/// beginnings must not be read again and again to its end.
const MAX_JWT_HEAD: usize = 1024;
const MAX_USER: usize = 1024;
/// The shortest token behind `Bearer` in prose; behind `Authorization:` any.
const MIN_BEARER: usize = 12;

fn upper(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit()
}

fn alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn path(c: char) -> bool {
    word(c) || c == '/'
}

fn sendgrid(c: char) -> bool {
    word(c) || c == '.'
}

fn token68(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/=".contains(c)
}

/// Returns the text without its secrets; `None` if it has none.
fn redact(text: &str, secrets: &Secrets) -> Option<String> {
    let mut clean: Option<String> = None;
    for _ in 0..MAX_ROUNDS {
        let current = clean.as_deref().unwrap_or(text);
        let tokens = without(current, &tokens(current, secrets));
        let current = tokens.as_deref().unwrap_or(current);
        let named = without(current, &hookbox_redact::find(current, &|name| sensitivity(name, secrets)));
        let Some(cleaner) = named.or(tokens) else { break };
        clean = Some(cleaner);
    }
    clean
}

/// Returns the text with [`REDACTED`] in place of each of these sorted ranges; `None` if there are none.
fn without(text: &str, found: &[Range<usize>]) -> Option<String> {
    let end = found.last()?.end;
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for range in found {
        clean.push_str(text.get(copied..range.start).unwrap_or_default());
        clean.push_str(REDACTED);
        copied = range.end;
    }
    Some(clean + text.get(end..).unwrap_or_default())
}

/// Finds the recognisable tokens.
fn tokens(text: &str, secrets: &Secrets) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let starts_word = !(before.is_ascii_alphanumeric() || before == '_');
        before = c;
        if at < from {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let secret = match c {
            ':' => password_of_url(text.get(from..at).unwrap_or_default(), rest),
            _ if starts_word => {
                pem(rest).or_else(|| token(rest, secrets)).map(|n| (0, n)).or_else(|| bearer(rest))
            }
            _ => None,
        };
        let value = secret.and_then(|(skip, length)| rest.get(skip..skip + length));
        if let Some((skip, length)) =
            secret.filter(|_| value.is_some_and(|value| !value.is_empty() && !is_marker(value)))
        {
            from = at + skip + length;
            found.push(at + skip..from);
        }
    }
    found
}

/// Finds the password of a URL, or its long user name without one, from the text before its `:` and the rest.
fn password_of_url(head: &str, rest: &str) -> Option<(usize, usize)> {
    let user = rest.strip_prefix("://")?;
    let in_scheme = |c: &u8| c.is_ascii_alphanumeric() || b"+.-".contains(c);
    if head.bytes().rev().take(MAX_SCHEME).take_while(in_scheme).count() == 0 {
        return None;
    }
    let ends = |c: &char| c.is_whitespace() || "/?#\"'<>".contains(*c);
    let mut length = 0;
    let mut colon = None;
    let mut sign = None;
    for c in user.chars().take(MAX_USER).take_while(|c| !ends(c)) {
        match c {
            ':' if sign.is_none() && colon.is_none() => colon = Some(length + 1),
            '@' => sign = Some(length),
            _ => {}
        }
        length += c.len_utf8();
    }
    let (start, end) = (colon.unwrap_or(0), sign?);
    let value = user.get(start..end)?;
    let is_one = !value.starts_with(['$', '{', '<', '*']) && (colon.is_some() || value.len() >= MIN_USER);
    is_one.then_some((3 + start, end - start))
}

/// A private key block, to its end or the end of the text.
fn pem(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("-----BEGIN ")?;
    let dashes = body.bytes().take(64).position(|c| c == b'-')?;
    let title = body.get(..dashes)?;
    let body = body.get(dashes..)?.strip_prefix("-----")?;
    if !(title.ends_with("PRIVATE KEY") || title.ends_with("PRIVATE KEY BLOCK")) || title.len() > 50 {
        return None;
    }
    let end = format!("-----END {title}-----");
    Some(body.find(&end).map_or(rest.len(), |at| rest.len() - body.len() + at + end.len()))
}

fn token(rest: &str, secrets: &Secrets) -> Option<usize> {
    let known = TOKENS.iter().find_map(|(prefix, min, allowed)| {
        let tail = run(rest.strip_prefix(prefix)?, *allowed);
        (tail >= *min).then_some(prefix.len() + tail)
    });
    // The name of a package, not a token.
    let is_word = |length: &usize| {
        rest.starts_with("pypi-")
            && !rest.bytes().take(*length).any(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    let known = known.filter(|length| !is_word(length));
    known.or_else(|| slack(rest)).or_else(|| jwt(rest)).or_else(|| {
        secrets.prefixes.iter().filter(|prefix| !prefix.is_empty()).find_map(|prefix| {
            let tail = run(rest.strip_prefix(prefix.as_str())?, token68);
            (tail >= MIN_AFTER_PREFIX).then_some(prefix.len() + tail)
        })
    })
}

/// `xoxb-` and the like.
fn slack(rest: &str) -> Option<usize> {
    let tail = rest.strip_prefix("xox")?.strip_prefix(|c: char| c.is_ascii_lowercase())?.strip_prefix('-')?;
    let length = run(tail, word);
    (length >= 10).then_some(5 + length)
}

/// A JSON Web Token: two JSON objects in base64, and perhaps a signature.
fn jwt(rest: &str) -> Option<usize> {
    let head = run_of(rest.strip_prefix("eyJ")?, word, MAX_JWT_HEAD) + 3;
    let body = run(rest.get(head..)?.strip_prefix(".eyJ")?, word) + 4;
    let signature = rest.get(head + body..)?.strip_prefix('.').map_or(0, |tail| run(tail, word) + 1);
    Some(head + body + signature)
}

/// `Bearer` or `Basic` and a token, not the next word of a sentence.
fn bearer(rest: &str) -> Option<(usize, usize)> {
    let scheme = ["bearer", "basic"]
        .into_iter()
        .find(|scheme| rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
    let tail = rest.get(scheme.len()..)?;
    let gap = tail.bytes().take(8).take_while(|c| [b' ', b'\t'].contains(c)).count();
    let tail = tail.get(gap..).filter(|_| gap > 0)?;
    let length = run(tail, token68);
    let value = tail.get(..length)?;
    let capital = |word: &str| word.bytes().skip(1).any(|c| c.is_ascii_uppercase());
    let is_word = !value.bytes().any(|c| c.is_ascii_digit() || b"+=".contains(&c))
        && !value.split(['/', '-', '_', '.']).any(capital);
    (length >= MIN_BEARER && !is_word).then_some((scheme.len() + gap, length))
}

/// Returns the sensitivity of a name, with the user's own names.
fn sensitivity(name: &str, secrets: &Secrets) -> Option<Sensitivity> {
    classify(name).or_else(|| is_own(name, secrets).then_some(Sensitivity::Secret))
}

/// Returns whether the value of this name is a secret: `db_password`, `apiKey`, `X-Auth-Token`. Names whose
/// values only count if they look like secrets are not.
fn is_secret(name: &str, secrets: &Secrets) -> bool {
    sensitivity(name, secrets).is_some_and(|class| class != Sensitivity::Maybe)
}

/// Returns whether a name ends in one of the user's.
fn is_own(name: &str, secrets: &Secrets) -> bool {
    if secrets.keys.is_empty() {
        return false;
    }
    let mut plain = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && small {
            plain.push('_');
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
        plain.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    let ends =
        |key: &str| plain.strip_suffix(key).is_some_and(|head| head.is_empty() || head.ends_with(['_', '.']));
    secrets.keys.iter().any(|key| !key.is_empty() && ends(&key.to_ascii_lowercase()))
}

/// Returns the length of the run of these characters at the start, in bytes.
fn run(text: &str, allowed: Charset) -> usize {
    text.find(|c| !allowed(c)).unwrap_or(text.len())
}

/// Like [`run`], for ASCII characters, and at most `max`.
fn run_of(text: &str, allowed: Charset, max: usize) -> usize {
    text.chars().take(max).take_while(|c| allowed(*c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        redact(text, &Secrets::default()).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4fwpM";
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        for (text, expected) in [
            ("id AKIAIOSFODNN7EXAMPLE.", "id [REDACTED]."),
            ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[REDACTED]"),
            ("github_pat_11AAAAAAA0_0123456789abcdef", "[REDACTED]"),
            ("xoxb-123456789012-abcdef (bot)", "[REDACTED] (bot)"),
            ("key sk-proj-0123456789abcdefghij ok", "key [REDACTED] ok"),
            (jwt, "[REDACTED]"),
            (pem, "[REDACTED]"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", "[REDACTED]"),
            ("password=hunter2 next", "password=[REDACTED] next"),
            ("DB_PASSWORD = 'a b c d'", "DB_PASSWORD = '[REDACTED]'"),
            ("{\"api_key\": \"abcd1234\"}", "{\"api_key\": \"[REDACTED]\"}"),
            ("{\\\"api_key\\\": \\\"abcd1234\\\"}", "{\\\"api_key\\\": \\\"[REDACTED]\\\"}"),
            ("token: abcd1234, next", "token: [REDACTED], next"),
            ("?access_token=abcd&x=1", "?access_token=[REDACTED]&x=1"),
            ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [REDACTED]"),
            (
                "curl -H 'Authorization: Bearer abcdef0123456789'",
                "curl -H 'Authorization: Bearer [REDACTED]'",
            ),
            ("Bearer abcdef0123456789", "Bearer [REDACTED]"),
            ("Zürich: pässword, password=ünïcode!", "Zürich: pässword, password=[REDACTED]"),
        ] {
            assert_eq!(clean(text), expected);
            assert_eq!(clean(expected), expected, "twice is once");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "",
            "a plain line",
            "password: String,",
            "token::new()",
            "max_tokens=4096",
            "the bearer of bad news",
            "sk-short",
            "task-0123456789abcdefghijklmnop",
            "AKIA",
            "password=$PASSWORD",
            "if token == other {",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        ] {
            assert_eq!(redact(text, &Secrets::default()), None, "{text}");
        }
    }

    #[test]
    fn secrets_add_beginnings_and_names() {
        let secrets = Secrets { prefixes: vec!["glpat-".into()], keys: vec!["pin".into()] };
        let text = "glpat-abcdefgh1234 pin=1234 card_pin: 9876 spin=1234";
        let expected = "[REDACTED] pin=[REDACTED] card_pin: [REDACTED] spin=1234";
        assert_eq!(redact(text, &secrets).as_deref(), Some(expected));
    }

    #[test]
    fn the_shared_list_of_secret_and_ordinary_texts_holds() {
        let planted = "Zq7hunter2XwVk9";
        let list = include_str!("../../tests-data/secrets.txt");
        for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (kind, value) = line.split_once(' ').unwrap();
            let value = value.replace('⏎', "\n").replace("{V}", planted);
            let cleaned = clean(&value);
            match kind {
                "secret" => assert!(!cleaned.contains("hunter2"), "{value}: {cleaned}"),
                _ => assert_eq!(cleaned, value),
            }
            assert_eq!(clean(&cleaned), cleaned, "twice is once");
        }
    }
}
