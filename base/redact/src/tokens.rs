//! Finds secrets that need no name of a secret before them: private keys, tokens by their beginnings, passwords of URLs,
//! and tokens of headers.

use crate::names::is_marker;
use crate::values::{prefix, run};
use crate::{Secret, random};

/// The kind of a token, its beginnings, the least number of characters after them, and the characters that it has beside
/// ASCII letters and digits.
type Form = (&'static str, &'static [&'static str], usize, &'static str);

/// The tokens that give themselves away, in the forms that their services publish.
const TOKENS: [Form; 29] = [
    ("aws", &["AKIA", "ASIA", "ABIA", "ACCA"], 16, ""),
    ("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 20, ""),
    ("github", &["github_pat_"], 20, "_"),
    (
        "github",
        &["glpat-", "glrt-", "gldt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-"],
        16,
        WORD,
    ),
    ("github", &["gloas-", "glffct-"], 16, WORD),
    ("slack", &["xox"], 12, WORD),
    ("slack", &["xapp-"], 10, WORD),
    ("slack", &["hooks.slack.com/services/", "hooks.slack.com/workflows/"], 8, "_-/"),
    ("api_key", &["sk-", "sq0atp-", "sq0csp-"], 20, WORD),
    ("api_key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], 16, ""),
    ("api_key", &["AIza"], 30, WORD),
    ("api_key", &["npm_", "hf_"], 30, ""),
    ("api_key", &["pypi-"], 24, WORD),
    ("api_key", &["SG."], 16, "_-."),
    // DigitalOcean, Supabase, Linear, Notion, New Relic, Shopify, Vercel, Netlify, PlanetScale, Buildkite, Fly.
    ("api_key", &["dop_v1_", "doo_v1_", "dor_v1_", "sbp_", "lin_api_", "lin_oauth_", "ntn_", "nfp_"], 32, ""),
    ("api_key", &["shpat_", "shpca_", "shppa_", "shpss_", "rubygems_", "bkua_", "NRAK-", "vercel_"], 24, ""),
    (
        "api_key",
        &["vercel_blob_rw_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "fm1_", "fm2_"],
        30,
        TOKEN68,
    ),
    // Models: Groq, Replicate, xAI, Perplexity, Nvidia, Tavily.
    ("api_key", &["gsk_", "r8_", "xai-", "pplx-"], 30, ""),
    ("api_key", &["nvapi-", "tvly-"], 30, WORD),
    // Vault, Docker, Figma, Sentry, Google's OAuth, Atlassian, Stripe's webhooks.
    ("api_key", &["hvs.", "hvb.", "hvr.", "dckr_pat_", "dckr_oat_", "figd_", "GOCSPX-", "whsec_"], 20, WORD),
    ("api_key", &["sntrys_", "sntryu_", "ya29.", "ATATT3", "ATCTT3", "ops_eyJ"], 30, "_-+/="),
    // Tailscale, Grafana, Postman, Doppler, Brevo.
    ("api_key", &["tskey-", "glsa_", "glc_", "PMAK-", "xkeysib-"], 24, "_-+/="),
    ("api_key", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], 30, "_-."),
    // age, and crates.io.
    ("api_key", &["AGE-SECRET-KEY-1"], 40, ""),
    ("api_key", &["cio"], 32, ""),
    // Pulumi, Twilio, Databricks and Mailgun, with hexadecimal digits, and Cloudflare.
    ("api_key", &["pul-"], 40, ""),
    ("api_key", &["SK", "dapi", MAILGUN], 32, ""),
    ("api_key", &["v1.0-"], 24, "-"),
    // Terraform and Telegram: the first part of the token is an id.
    ("api_key", &[TERRAFORM, TELEGRAM], 33, "_-="),
];
/// The length of the shortest token, with its beginning.
const MIN_TOKEN: usize = 15;
/// The beginning of a token that is the end of many names, such as `cache-key-`.
const MAILGUN: &str = "key-";
/// The middles of tokens whose first part is an id.
const TERRAFORM: &str = ".atlasv1.";
const TELEGRAM: &str = ":AA";
/// The characters of words, and of tokens in a header (RFC 7235), beside ASCII letters and digits.
const WORD: &str = "_-";
const TOKEN68: &str = "-._~+/=";
/// The host of Slack's webhooks.
const WEBHOOK: &str = "hooks.slack.com/";
/// The least number of characters after a beginning of the user's own.
const MIN_AFTER_OWN: usize = 8;
/// The shortest first part of a JSON Web Token.
const MIN_JWT_HEAD: usize = 8;
/// The shortest lone user name of a URL that is taken for a token.
const MIN_USER: usize = 20;
/// The shortest token behind `Bearer` in prose.
const MIN_BEARER: usize = 12;
/// The longest title of a private key, such as `RSA PRIVATE KEY`, and one byte.
const MAX_TITLE: usize = 50;
const DASHES: &str = "-----";

/// Returns the private keys in PEM, in order, each to its end or the end of the text.
pub(crate) fn private_keys(text: &str) -> Vec<Secret> {
    let mut from = 0;
    let find = |(at, begin): (usize, &str)| {
        let rest = text.get(at..).filter(|_| at >= from)?;
        let body = rest.get(boundary(rest, begin)?..)?;
        let mut ends = body.match_indices("-----END ");
        let end = ends.find_map(|(at, end)| Some(at + boundary(body.get(at..)?, end)?));
        from = text.len() - body.len() + end.unwrap_or(body.len());
        Some(("private_key", at..from))
    };
    text.match_indices("-----BEGIN ").filter_map(find).collect()
}

/// Returns the other tokens, in order. `own` has more beginnings of tokens.
pub(crate) fn find(text: &str, own: &[String]) -> Vec<Secret> {
    let mut found = Vec::new();
    let (mut from, mut last) = (0, b' ');
    // The end of a word that has no JSON Web Token, which would be read again at each beginning of one.
    let mut no_jwt = 0;
    let mut is_first = [false; 256];
    for byte in forms(own).filter_map(|(_, prefix, ..)| prefix.bytes().next()) {
        is_first.get_mut(usize::from(byte)).into_iter().for_each(|it| *it = true);
    }
    for (at, byte) in text.bytes().enumerate() {
        let before = std::mem::replace(&mut last, byte);
        let Some(rest) = text.get(at..).filter(|_| at >= from) else { continue };
        let head = text.get(from..at).unwrap_or_default();
        let begins = !(before.is_ascii_alphanumeric() || before == b'_');
        // The kind of a token says more than its place.
        let by_place = |(kind, range): Secret| {
            let value = rest.get(range.start..)?;
            (jwt(value).is_none() && token(value, own).is_none()).then_some((kind, range))
        };
        let secret = match byte {
            b':' => url(head, rest).and_then(by_place),
            b'k' | b'K' => random::find(head, rest).and_then(by_place),
            b'b' | b'B' if begins => bearer(rest).and_then(by_place),
            b'M' | b'N' | b'O' if begins => discord(rest),
            b'e' if begins && at >= no_jwt && rest.starts_with("eyJ") => {
                no_jwt = at + run(rest, WORD);
                jwt(rest)
            }
            _ => None,
        };
        let has_id = || {
            let id = head.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            rest.starts_with(TELEGRAM) && !id.is_empty() && id.bytes().all(|c| c.is_ascii_digit())
        };
        let is_middle = || byte == b'.' || byte == b':' && has_id();
        // `x_ghp_…`, and `-pghp_…`
        let is_joined = || before == b'_' || before.is_ascii_alphabetic() && rest.starts_with("gh");
        let may_begin = is_first.get(usize::from(byte)) == Some(&true)
            && (begins || is_middle() || is_joined() || rest.starts_with(WEBHOOK))
            && !(before == b'-' && rest.starts_with(MAILGUN));
        // Most words are too short for a look at the table.
        let may_begin =
            may_begin && (!own.is_empty() || rest.bytes().take(MIN_TOKEN).all(|c| c.is_ascii_graphic()));
        if let Some((kind, range)) = secret.or_else(|| if may_begin { token(rest, own) } else { None }) {
            from = at + range.end;
            found.push((kind, at + range.start..from));
        }
    }
    found
}

/// Returns each beginning of a token with its kind and the characters after it.
fn forms(own: &[String]) -> impl Iterator<Item = (&'static str, &str, usize, &'static str)> {
    let known = TOKENS.iter().flat_map(|(kind, prefixes, min, more)| {
        prefixes.iter().map(move |prefix| (*kind, *prefix, *min, *more))
    });
    let own = own.iter().filter(|prefix| !prefix.is_empty());
    known.chain(own.map(|prefix| ("own", prefix.as_str(), MIN_AFTER_OWN, TOKEN68)))
}

/// Returns the beginnings of the tokens that give themselves away.
pub fn beginnings() -> impl Iterator<Item = &'static str> {
    TOKENS.iter().flat_map(|(_, prefixes, ..)| prefixes.iter().copied())
}

/// Finds a token at the beginning of a text.
fn token(rest: &str, own: &[String]) -> Option<Secret> {
    let first = rest.bytes().next();
    forms(own).filter(|(_, prefix, ..)| prefix.bytes().next() == first).find_map(
        |(kind, prefix, min, more)| {
            let tail = rest.strip_prefix(prefix)?;
            // The first characters decide: a long word that is not a token must not be read whole at each beginning.
            let first = tail.get(..min).filter(|first| run(first, more) == min)?;
            let is_one = match prefix {
                "AKIA" | "ASIA" | "ABIA" | "ACCA" => !first.bytes().any(|c| c.is_ascii_lowercase()),
                "xox" => {
                    first.starts_with(|c: char| c.is_ascii_lowercase()) && first.get(1..)?.starts_with('-')
                }
                "SG." => !first.contains('.'),
                "pul-" | "SK" | "dapi" | MAILGUN => first.bytes().all(|c| c.is_ascii_hexdigit()),
                "v1.0-" => !first.contains('-') && first.bytes().any(|c| c.is_ascii_digit()),
                // Otherwise words with dashes, such as the name of a package.
                _ => {
                    kind == "own"
                        || !more.contains('-')
                        || first.bytes().any(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
                }
            };
            // The address of a webhook is not secret.
            let start = if prefix.starts_with(WEBHOOK) { prefix.len() } else { 0 };
            is_one.then(|| (kind, start..prefix.len() + run(tail, more)))
        },
    )
}

/// Finds a token of a bot of Discord: three parts with the lengths that they have there.
fn discord(rest: &str) -> Option<Secret> {
    let mut end = 0;
    for (part, range) in [23..=28, 6..=6, 27..=80].into_iter().enumerate() {
        let at = end + usize::from(part > 0);
        let tail = rest.get(at..).filter(|_| part == 0 || rest.get(end..at) == Some("."))?;
        end = at + Some(run(prefix(tail, 81), WORD)).filter(|length| range.contains(length))?;
    }
    Some(("api_key", 0..end))
}

/// Finds a JSON Web Token: two JSON objects in base64, and perhaps a signature.
fn jwt(rest: &str) -> Option<Secret> {
    let head = run(rest.starts_with("eyJ").then_some(rest)?, WORD);
    let body = rest.get(head..)?.strip_prefix(".eyJ").filter(|_| head >= MIN_JWT_HEAD)?;
    let tail = body.get(run(body, WORD)..)?;
    let signature = tail.strip_prefix('.').map_or(0, |tail| 1 + run(tail, WORD));
    Some(("jwt", 0..rest.len() - tail.len() + signature))
}

/// Returns the length of a line such as `-----BEGIN RSA PRIVATE KEY-----`.
fn boundary(text: &str, begin: &str) -> Option<usize> {
    let rest = text.strip_prefix(begin)?;
    let title = rest.get(..rest.bytes().take(MAX_TITLE).position(|c| c == b'-')?)?;
    let is_private = title.ends_with("PRIVATE KEY") || title.ends_with("PRIVATE KEY BLOCK");
    let is_one = is_private && rest.get(title.len()..)?.starts_with(DASHES);
    is_one.then_some(begin.len() + title.len() + DASHES.len())
}

/// Finds the password of a URL, or its long user name without one, from the text before its `://` and the rest.
fn url(head: &str, rest: &str) -> Option<Secret> {
    let authority = rest.strip_prefix("://")?;
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let ends = |c: char| c.is_whitespace() || "/?#\"'<>".contains(c);
    let authority = authority.split(ends).next().filter(|_| head.ends_with(in_scheme))?;
    let (login, _) = authority.rsplit_once('@')?;
    let parts = login.split_once(':').filter(|(user, _)| !user.contains(['@', '[', ']']));
    let password = parts.map(|(_, password)| password).filter(|password| !password.is_empty());
    let value = password.unwrap_or(login);
    let is_one = !value.starts_with(['$', '{', '*']) && !is_marker(value);
    let start = 3 + login.len() - value.len();
    (is_one && (password.is_some() || login.len() >= MIN_USER)).then(|| ("url", start..3 + login.len()))
}

/// Finds a token behind `Bearer` or `Basic`, but not the next word of a sentence.
fn bearer(rest: &str) -> Option<Secret> {
    let is_at =
        |scheme: &&str| rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let tail = rest.get(["bearer", "basic"].iter().find(|scheme| is_at(scheme))?.len()..)?;
    let value = tail.trim_start_matches([' ', '\t']);
    let start = rest.len() - value.len();
    let value = value.get(..run(value, TOKEN68)).filter(|_| value.len() < tail.len())?;
    let has_capital = |word: &str| word.bytes().skip(1).any(|c| c.is_ascii_uppercase());
    let is_word = !value.bytes().any(|c| c.is_ascii_digit() || b"+=".contains(&c))
        && !value.split(['/', '-', '_', '.']).any(has_capital);
    (value.len() >= MIN_BEARER && !is_word).then(|| ("bearer", start..start + value.len()))
}

#[cfg(test)]
mod tests {
    use crate::{classify, redact};

    fn clean(text: &str) -> String {
        redact(text, &[], &classify, &|kind| format!("[REDACTED:{kind}]"))
            .map_or_else(|| text.to_owned(), |clean| clean.replace("REDACTED:", ""))
    }

    #[test]
    fn a_token_is_known_by_its_form() {
        let long = "aB3-".repeat(1_000);
        let run = "Zx81kQp0vR7tYw3uBn5mLc2d";
        let hex = "0123456789abcdef0123456789abcdef01234567";
        for (text, expected) in [
            (format!("eyJ{long}.eyJ{long}.{long} ok"), "[jwt] ok"),
            (format!("see-eyJ{run}.eyJ{run}, ok"), "see-[jwt], ok"),
            ("\\n-----BEGIN EC PRIVATE KEY-----\\nMIIE".to_owned(), "\\n[private_key]"),
            ("xoxb------BEGIN PRIVATE KEY-----\nMIIE".to_owned(), "xoxb-[private_key]"),
            (format!("https://{run}:@host"), "https://[url]@host"),
            (format!("https://{run}:x-oauth-basic@host"), &format!("https://{run}:[url]@host")),
            (format!("https://ghp_{run}@host"), "https://[github]@host"),
            (format!("Bearer sk-{run}"), "Bearer [api_key]"),
            (format!("x\\nhooks.slack.com/workflows/{run}"), "x\\nhooks.slack.com/workflows/[slack]"),
            (format!("\"my-key\": \"{run}\""), "\"my-key\": \"[entropy]\""),
            (format!("api_key => '{run}'"), "api_key => '[entropy]'"),
            (format!("dop_v1_{hex}{hex} sbp_{hex} pul-{hex}"), "[api_key] [api_key] [api_key]"),
            (format!("SK{hex} dapi{hex} shpat_{hex}"), "[api_key] [api_key] [api_key]"),
            (format!("v1.0-{hex}-{hex}"), "[api_key]"),
            (format!("sq0atp-{run} sq0csp-{run}"), "[api_key] [api_key]"),
            (format!("api:key-{hex}"), "api:[api_key]"),
            (format!("x_ghp_{run} -pghp_{run}"), "x_[github] -p[github]"),
        ] {
            assert_eq!(clean(&text), expected, "{text}");
        }
        for text in [
            "AKIAiosfodnn7examplex",
            "SG.Views.Pages.Models.Controllers",
            "pypi-a-very-long-name-of-a-package",
            "xoxB-12345678901234",
            "cache-key-0123456789abcdef0123456789abcdef",
            "key-0123456789abcdef0123456789abcdeX",
            "Bearer eyJa.b",
            &format!("public-key: {run}"),
            &format!("PrimaryKey = {run}"),
        ] {
            assert_eq!(clean(text), text);
        }
    }
}
