//! Finds secrets in a text. By hand: a regular expression engine is larger than most hooks.

use serde::Deserialize;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// What counts as a secret beside what everybody's tokens look like. The default adds nothing.
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
    /// The text without its secrets, each replaced by [`REDACTED`]; `None` where it has none. A best effort: keys of AWS,
    /// tokens of GitHub and Slack, JSON Web Tokens, private keys in PEM, bearer tokens, and values of names such as
    /// `password` or `api_key`.
    pub fn redact(&self, text: &str) -> Option<String> {
        redact(text, self)
    }

    /// Whether a name says that its value is a secret: `db_password`, `apiKey`, `X-Auth-Token`.
    pub fn is_secret(&self, name: &str) -> bool {
        is_secret(name, self)
    }
}

/// Which characters belong to something.
type Charset = fn(char) -> bool;

/// How a token that gives itself away begins, how many characters follow at least, and which.
const TOKENS: [(&str, usize, Charset); 14] = [
    ("AKIA", 16, upper),
    ("ASIA", 16, upper),
    ("ghp_", 20, alphanumeric),
    ("gho_", 20, alphanumeric),
    ("ghu_", 20, alphanumeric),
    ("ghs_", 20, alphanumeric),
    ("ghr_", 20, alphanumeric),
    ("github_pat_", 20, word),
    ("xoxb-", 10, word),
    ("xoxa-", 10, word),
    ("xoxp-", 10, word),
    ("xoxr-", 10, word),
    ("xoxs-", 10, word),
    ("sk-", 20, word),
];

/// Names whose values are secrets, alone or at the end of a longer name.
const KEYS: [&str; 9] = [
    "password",
    "passwd",
    "token",
    "api_key",
    "apikey",
    "secret",
    "access_key",
    "private_key",
    "authorization",
];

/// Values that are a type or nothing: source code is output, too.
const NOT_A_VALUE: [&str; 14] = [
    "string",
    "str",
    "&str",
    "number",
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
];

/// The shortest value of a name that is taken for a secret.
const MIN_VALUE: usize = 4;
/// How many characters follow a beginning of the user's at least.
const MIN_AFTER_PREFIX: usize = 8;
/// The longest name and the longest first part of a JSON Web Token: a text of many beginnings must not be read over
/// and over to its end.
const MAX_NAME: usize = 64;
const MAX_JWT_HEAD: usize = 1024;
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

fn token68(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/=".contains(c)
}

/// The text without its secrets; `None` where it has none.
fn redact(text: &str, secrets: &Secrets) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    let mut before = None;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let starts_word = !before.is_some_and(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let found = if starts_word { secret(rest, secrets) } else { None };
        if let Some((skip, length)) = found.filter(|(_, length)| *length > 0) {
            clean.push_str(text.get(copied..at + skip).unwrap_or_default());
            clean.push_str(REDACTED);
            at += skip + length;
            copied = at;
            before = None;
        } else {
            before = rest.chars().next();
            at += before.map_or(1, char::len_utf8);
        }
    }
    (copied > 0).then(|| clean + text.get(copied..).unwrap_or_default())
}

/// Where the secret stands that begins here, or behind the name that begins here: how far, and how long.
fn secret(rest: &str, secrets: &Secrets) -> Option<(usize, usize)> {
    pem(rest)
        .or_else(|| token(rest, secrets))
        .map(|length| (0, length))
        .or_else(|| bearer(rest))
        .or_else(|| assignment(rest, secrets))
}

/// A private key block, to its end or the end of the text.
fn pem(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix("-----BEGIN ")?;
    let (title, body) = body.split_once("-----")?;
    if !title.ends_with("PRIVATE KEY") || title.len() > 40 {
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
    known.or_else(|| jwt(rest)).or_else(|| {
        secrets.prefixes.iter().filter(|prefix| !prefix.is_empty()).find_map(|prefix| {
            let tail = run(rest.strip_prefix(prefix.as_str())?, token68);
            (tail >= MIN_AFTER_PREFIX).then_some(prefix.len() + tail)
        })
    })
}

/// A JSON Web Token: three parts, the first two of which are JSON objects in base64.
fn jwt(rest: &str) -> Option<usize> {
    let head = run_of(rest.strip_prefix("eyJ")?, word, MAX_JWT_HEAD) + 3;
    let body = run(rest.get(head..)?.strip_prefix(".eyJ")?, word) + 4;
    let signature = run(rest.get(head + body..)?.strip_prefix('.')?, word) + 1;
    Some(head + body + signature)
}

/// `Bearer` and a token.
fn bearer(rest: &str) -> Option<(usize, usize)> {
    let (scheme, tail) = rest.split_at_checked(7)?;
    let length = run(tail, token68);
    (scheme.eq_ignore_ascii_case("bearer ") && length >= MIN_BEARER).then_some((7, length))
}

/// A name that says secret, `=` or `:`, and a value.
fn assignment(rest: &str, secrets: &Secrets) -> Option<(usize, usize)> {
    let name = run_of(rest, word, MAX_NAME);
    let (key, tail) = rest.split_at_checked(name)?;
    if !is_secret(key, secrets) {
        return None;
    }
    // `"password": "x"`, and the same in JSON that stands in a string.
    let tail = tail.strip_prefix('\\').unwrap_or(tail);
    let tail = tail.strip_prefix(['"', '\'']).unwrap_or(tail).trim_start_matches([' ', '\t']);
    let tail = tail.strip_prefix(['=', ':'])?.trim_start_matches([' ', '\t']);
    let bare = tail.strip_prefix('\\').unwrap_or(tail);
    let (value, length) = match bare.strip_prefix(['"', '\'']) {
        Some(value) => {
            let quote = bare.chars().next().unwrap_or('"');
            (value, value.find([quote, '\\', '\n']).unwrap_or(value.len()))
        }
        None => {
            let stop = |c: char| c.is_whitespace() || ",;&\"'\\)}]".contains(c);
            let scheme = ["bearer ", "basic ", "token "].into_iter().find(|scheme| {
                tail.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            });
            let value = tail.get(scheme.map_or(0, str::len)..)?;
            (value, value.find(stop).unwrap_or(value.len()))
        }
    };
    let text = value.get(..length)?;
    let nothing = text.len() < MIN_VALUE
        || text.starts_with([':', '=', '$', '<', '{', '('])
        || text == REDACTED.trim_end_matches(']')
        || text == REDACTED
        || NOT_A_VALUE.iter().any(|word| text.eq_ignore_ascii_case(word));
    (!nothing).then_some((rest.len() - value.len(), length))
}

/// Whether a name says that its value is a secret: `db_password`, `apiKey`, `X-Auth-Token`.
fn is_secret(name: &str, secrets: &Secrets) -> bool {
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
    KEYS.iter().any(|key| ends(key))
        || secrets.keys.iter().any(|key| !key.is_empty() && ends(&key.to_ascii_lowercase()))
}

/// How many bytes of these characters come first.
fn run(text: &str, allowed: Charset) -> usize {
    text.find(|c| !allowed(c)).unwrap_or(text.len())
}

/// The same, of these ASCII characters, and at most so many.
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
}
