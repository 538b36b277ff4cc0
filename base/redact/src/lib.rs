//! Removes secrets from text, by a table of tokens and by the names before values: `password=…`, `--token …`,
//! `<password>…`. It is a best effort.
//!
//! It has no dependencies and builds for `wasm32-wasip2`, so that the host and a hook recognize the same
//! secrets. Time is linear in the length of the text.
//!
//! ```
//! use hookbox_redact::{classify, redact};
//!
//! let clean = redact("user=me password=hunter2", &[], &classify, &|kind| format!("[REDACTED:{kind}]"));
//! assert_eq!(clean.as_deref(), Some("user=me password=[REDACTED:field]"));
//! ```
//!
//! | kind | text |
//! | --- | --- |
//! | `private_key` | a private key in PEM, to its end or the end of the text |
//! | `jwt` | a JSON Web Token |
//! | `aws` | an AWS access key id (`AKIA…`, `ASIA…`) |
//! | `github` | a token of GitHub (`ghp_…`, `gho_…`, `ghu_…`, `ghs_…`, `ghr_…`, `github_pat_…`) or GitLab (`glpat-…`, `glrt-…` and the like) |
//! | `slack` | a token of Slack (`xoxb-…` and the like, `xapp-…`) or a webhook's path |
//! | `api_key` | a key that begins with `sk-` (OpenAI, Anthropic), `sk_live_`, `sk_test_`, `rk_live_` (Stripe), `AIza` (Google), `npm_`, `hf_`, `pypi-`, `SG.` (SendGrid), or as the keys of some forty other services do, such as `dop_v1_`, `hvs.`, `gsk_` and `AGE-SECRET-KEY-1` |
//! | `own` | a token with a beginning of the caller's own |
//! | `url` | the password, or the lone user name, of a URL: `https://user:…@host` |
//! | `bearer` | the text after `Bearer` or `Basic` in a header |
//! | `field` | the value of a name that marks a secret: `password=…`, `api_key: …`, `--token …`, `<password>…`, a cell beside it, `password '…'`; the password in `-u user:…` and in the words of some fifty programs: `mysql -p…`, `docker login -p …`, `htpasswd -b f user …` |
//! | `entropy` | a long random value of a name that ends in `key`: `SIGNING_KEY=…` |
//!
//! A name marks a secret if it ends, whatever its case and separators and with or without an `s`, in `password`,
//! `passwd`, `passphrase`, `token`, `secret`, `api_key`, `access_key`, `secret_key`, `private_key`, `authorization` or
//! `credential`, or if its last part is `pwd`, `pass`, `cookie` or `bearer`; a signature and `…tokens` if the value looks
//! like a secret. A name and a value that have a line of their own, or a line each, count if the value looks random.
//! Values shorter than four characters, variables (`$PASSWORD`), types (`password: String`), `your-key-here` and plain words
//! of code stay. Numbers of tokens stay.

mod commands;
mod named;
mod names;
mod random;
mod tokens;
mod values;

use std::ops::Range;

pub use names::{Sensitivity, classify, is_marker};
pub use tokens::beginnings;
pub use values::looks_secret;

/// The number of rounds: one replacement may reveal the beginning of another secret.
const MAX_ROUNDS: usize = 8;

/// The kind of a secret, and its place.
type Secret = (&'static str, Range<usize>);
/// Finds the secrets of a text, in order.
type Search<'a> = &'a dyn Fn(&str) -> Vec<Secret>;

/// Returns the text with a marker in place of each secret; `None` if it has none.
///
/// `own` has more beginnings of tokens. `sensitivity` judges names; [`classify`] is the default. `marker` returns the
/// marker of a kind: `[REDACTED]`, or with the kind `[REDACTED:kind]`.
pub fn redact(
    text: &str,
    own: &[String],
    sensitivity: &dyn Fn(&str) -> Option<Sensitivity>,
    marker: &dyn Fn(&str) -> String,
) -> Option<String> {
    // A private key comes first: the dashes before it could belong to a token.
    let searches: [Search<'_>; 3] =
        [&tokens::private_keys, &|text| tokens::find(text, own), &|text| named::find(text, sensitivity)];
    let mut clean: Option<String> = None;
    for _ in 0..MAX_ROUNDS {
        let mut is_clean = true;
        for search in searches {
            let current = clean.as_deref().unwrap_or(text);
            if let Some(cleaner) = replace(current, search(current), marker) {
                (clean, is_clean) = (Some(cleaner), false);
            }
        }
        if is_clean {
            break;
        }
    }
    clean
}

/// Returns the text with markers in place of these secrets, which are in order; `None` without secrets.
fn replace(text: &str, secrets: Vec<Secret>, marker: &dyn Fn(&str) -> String) -> Option<String> {
    let mut clean = String::new();
    let mut copied = 0;
    for (kind, range) in secrets {
        clean.push_str(text.get(copied..range.start).unwrap_or_default());
        clean.push_str(&marker(kind));
        copied = range.end;
    }
    (copied > 0).then(|| clean + text.get(copied..).unwrap_or_default())
}
