//! Guards in the parts of a file that are left out: an author who wrote `on_failure` wanted protection, and a mistake
//! beside it must not undo that.

use std::sync::LazyLock;

use regex::Regex;

use super::document::Member;
use crate::hook::OnFailure;
use hookbox_system::text;

/// Returns true if a key is `on_failure`, or a misspelt one.
pub(super) fn is_policy(key: &str) -> bool {
    text::distance(&key.trim().to_ascii_lowercase(), "on_failure") <= 2
}

/// Returns the failure policy in these members. A value other than `"pass"`, a misspelt key, and a guard in a nested
/// value, where no policy belongs, all block.
pub(super) fn policy<'m>(members: impl Iterator<Item = &'m Member<'m>>) -> Option<OnFailure> {
    let of = |member: &Member<'_>| match is_policy(&member.name) {
        true if member.value.is_text("pass") => Some(OnFailure::Pass),
        is_policy => (is_policy || hides_guard(member.value.raw())).then_some(OnFailure::Block),
    };
    members.filter_map(of).reduce(|a, b| if a == OnFailure::Block { a } else { b })
}

/// Returns true if the text of a value has an `on_failure` that is not `"pass"`, at any depth.
pub(super) fn hides_guard(raw: &str) -> bool {
    // A name is text in quotes before a colon; the longest misspelt one has 12 letters and some blanks.
    static MEMBER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""([^"\\]{7,20})"\s*:\s*("pass")?"#).ok());
    let Some(member) = MEMBER.as_ref() else { return raw.contains("on_failure") };
    member
        .captures_iter(raw)
        .any(|found| found.get(2).is_none() && found.get(1).is_some_and(|name| is_policy(name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_found_at_any_depth() {
        for (text, want) in [
            (r#"{"on_failure": "block"}"#, true),
            (r#"[[{"a": {"On-Failure": 5}}]]"#, true),
            (r#"{"a": 1, "a": {"on_failure": "stop"}}"#, true),
            (r#"{"on_failure": "pass", "on_failure" : "block"}"#, true),
            (r#"{"on_failure": "pass"}"#, false),
            (r#"{"a": "on_failure"}"#, false),
            (r#"{"a": "\"on_failure\": 1"}"#, false),
            ("5", false),
        ] {
            assert_eq!(hides_guard(text), want, "{text}");
        }
    }
}
