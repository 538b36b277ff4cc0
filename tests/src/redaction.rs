//! The rules of redaction for any text.

use hookbox::redact;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Pieces that patterns are made of, so that random texts come near them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,8}",
        "[A-Za-z0-9_-]{1,40}",
        prop::sample::select(vec![
            "password=",
            "token: ",
            "\"api_key\": \"",
            "\\\"secret\\\": \\\"",
            "Bearer ",
            "Authorization: ",
            "https://",
            "user:",
            "@host/",
            "ghp_",
            "AKIA",
            "sk-",
            "xoxb-",
            "eyJ",
            ".",
            "\"",
            "'",
            "\n",
            "\\",
            "[REDACTED:",
            "[REDACTED:aws]",
            "]",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "SIGNING_KEY=",
            "Cookie: ",
        ])
        .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

/// Secrets of each kind, and the part of them that must not be visible.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "gh[pousr]_[A-Za-z0-9]{36}",
        "AKIA[A-Z0-9]{16}",
        "sk-ant-[A-Za-z0-9]{30}",
        "xoxb-[0-9]{12}-[A-Za-z0-9]{20}",
        "eyJ[A-Za-z0-9]{20}\\.eyJ[A-Za-z0-9]{20}\\.[A-Za-z0-9]{20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn to_redact_twice_is_to_redact_once(text in text()) {
        let once = redact::text(&text).into_owned();
        prop_assert_eq!(redact::text(&once), once.as_str());
        let value = json!({ &text: [&text, 1, { "token": &text }] });
        let once = redact::value(&value);
        prop_assert_eq!(redact::value(&once), once);
    }

    #[test]
    fn a_known_secret_never_survives(before in text(), secret in secret(), after in text(), max in 0usize..400) {
        let said = format!("{before} {secret} {after}");
        prop_assert!(!redact::text(&said).contains(&secret), "{}", redact::text(&said));
        let value = json!([{ "said": &said }]);
        // Nor half of it, wherever a text is cut.
        prop_assert!(!redact::line(&value, max).contains(&secret[..16]), "{}", redact::line(&value, max));
        prop_assert!(!redact::value(&value).to_string().contains(&secret));
    }

    #[test]
    fn what_a_secret_field_holds_never_survives(held in "[a-z]{3}[0-9]{9}", max in 0usize..200) {
        for name in ["password", "DB-Password", "x_api.key", "Authorization", "clientSecret", "access token"] {
            let value = json!({ "a": { name: { "deep": [&held, { "x": &held }] } } });
            prop_assert!(!redact::value(&value).to_string().contains(&held));
            prop_assert!(!redact::line(&value, max).contains(&held));
        }
        for text in [format!("password={held}"), format!("{{\"token\":\"{held}\"}}"), format!("pg://u:{held}@h/d")] {
            prop_assert!(!redact::text(&text).contains(&held), "{}", redact::text(&text));
        }
    }

    #[test]
    fn an_excerpt_is_no_longer_than_it_may_be(text in text(), copies in 0usize..50, max in 0usize..2_000) {
        let value = Value::Array(vec![json!({ "a": text }); copies]);
        prop_assert!(redact::line(&value, max).len() <= max + 64);
    }
}
