//! Removes secrets from a text or a value.

use hookbox_redact::{Sensitivity, classify};
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
    /// GitLab, Slack, npm, PyPI, Hugging Face and some forty other services, JSON Web Tokens, private keys in PEM,
    /// passwords in URLs, bearer tokens, values of names such as `password` or `api_key`, also as options of a command
    /// (`--password …`, `docker login -p …`), and long random values of names that end in `key`. Time is linear in the
    /// text's length.
    pub fn redact(&self, text: &str) -> Option<String> {
        let marker = |_: &str| REDACTED.to_owned();
        hookbox_redact::redact(text, &self.prefixes, &|name| self.sensitivity(name), &marker)
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

    /// Returns whether the value of this name is a secret: `db_password`, `apiKey`, `X-Auth-Token`. Names whose
    /// values only count if they look like secrets are not.
    pub fn is_secret(&self, name: &str) -> bool {
        self.sensitivity(name).is_some_and(|class| class != Sensitivity::Maybe)
    }

    /// Returns the sensitivity of a name, with the user's own names.
    fn sensitivity(&self, name: &str) -> Option<Sensitivity> {
        classify(name).or_else(|| is_own(name, &self.keys).then_some(Sensitivity::Secret))
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

/// Returns whether a name ends in one of the user's.
fn is_own(name: &str, keys: &[String]) -> bool {
    if keys.is_empty() {
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
    keys.iter().any(|key| !key.is_empty() && ends(&key.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        Secrets::default().redact(text).unwrap_or_else(|| text.to_owned())
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
            assert_eq!(Secrets::default().redact(text), None, "{text}");
        }
    }

    #[test]
    fn secrets_add_beginnings_and_names() {
        let secrets = Secrets { prefixes: vec!["glpat-".into()], keys: vec!["pin".into()] };
        let text = "glpat-abcdefgh1234 pin=1234 card_pin: 9876 spin=1234";
        let expected = "[REDACTED] pin=[REDACTED] card_pin: [REDACTED] spin=1234";
        assert_eq!(secrets.redact(text).as_deref(), Some(expected));
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
