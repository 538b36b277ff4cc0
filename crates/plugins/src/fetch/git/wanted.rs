//! What of a repository is asked for. No I/O.

use crate::{PluginError, PluginErrorKind, source};

/// How few digits of a commit git takes for one.
const MIN_DIGITS: usize = 4;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// What exactly.
    pub(super) what: What,
    /// The branch or tag that it was asked for by.
    pub(super) reference: Option<String>,
}

/// A commit, or what leads to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// What `HEAD` of the repository is.
    Head,
    /// A branch or a tag; perhaps the first digits of a commit.
    Name(String),
    /// The commit or tag object with this id.
    Object(String),
    /// The commit with this id and nothing else.
    Pin(String),
}

impl Wanted {
    /// Reads what is asked for.
    ///
    /// # Errors
    ///
    /// Where the reference could be taken for something else by git, or the pin is no commit.
    pub(super) fn new(reference: Option<&str>, pin: Option<&str>) -> Result<Self, PluginError> {
        let wrong = |about: &str, why: &str| PluginError::new(about, PluginErrorKind::Source(why.to_owned()));
        let checked = source::checked(reference).map_err(|_| {
            wrong(
                reference.unwrap_or_default(),
                "is no branch, tag or commit: expected a name as git allows it",
            )
        })?;
        let what = match (pin, &checked) {
            (Some(pin), _) if is_id(pin) && !pin.bytes().any(|it| it.is_ascii_uppercase()) => {
                What::Pin(pin.to_owned())
            }
            (Some(pin), _) => {
                let why = "is no commit: expected 40 or 64 hexadecimal digits in small letters";
                return Err(wrong(pin, why).with_kind(PluginErrorKind::Mismatch(why.to_owned())));
            }
            (None, None) => What::Head,
            (None, Some(id)) if is_id(id) => What::Object(id.to_ascii_lowercase()),
            (None, Some(name)) => What::Name(name.clone()),
        };
        Ok(Self { what, reference: checked })
    }
}

/// Whether this is the whole id of an object, in SHA-1 or SHA-256.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Whether this may be the first digits of an id.
pub(super) fn may_abbreviate(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.len() < 64 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_or_an_id() {
        let (id, long) = ("0123456789abcdef0123456789ABCDEF01234567", "a".repeat(64));
        for (reference, what) in [
            (None, What::Head),
            (Some("main"), What::Name("main".into())),
            (Some("feature/x+y"), What::Name("feature/x+y".into())),
            (Some("refs/heads/v1"), What::Name("refs/heads/v1".into())),
            (Some("+main"), What::Name("+main".into())),
            (Some("tag"), What::Name("tag".into())),
            (Some("0123abc"), What::Name("0123abc".into())),
            (Some(id), What::Object(id.to_ascii_lowercase())),
            (Some(&long), What::Object(long.clone())),
        ] {
            assert_eq!(Wanted::new(reference, None).unwrap().what, what, "{reference:?}");
        }
        let pinned = Wanted::new(Some("main"), Some(&long)).unwrap();
        assert_eq!(pinned, Wanted { what: What::Pin(long.clone()), reference: Some("main".into()) });
        for pin in ["", "main", "0123abc", id, &"g".repeat(40)] {
            assert!(Wanted::new(None, Some(pin)).is_err(), "{pin}");
        }
    }

    #[test]
    fn nothing_reaches_git_that_it_could_take_for_an_option_or_a_command() {
        for reference in [
            "",
            "-x",
            "--upload-pack=x",
            "a b",
            "a..b",
            "a:b",
            "^a",
            "a~1",
            "a^{}",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "a\nb",
            "a\u{7f}",
            "@",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
        ] {
            assert!(Wanted::new(Some(reference), None).is_err(), "{reference:?}");
        }
    }
}
