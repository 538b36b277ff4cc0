//! The revision to fetch. No I/O.

use crate::{PluginError, PluginErrorKind, source};

/// The fewest digits that git takes for an abbreviated commit.
const MIN_DIGITS: usize = 4;

/// A revision to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    /// The `HEAD` of the repository.
    Head,
    /// A branch or a tag, or the first digits of a commit.
    Name(String),
    /// The commit or tag object with this id.
    Object(String),
    /// Exactly this commit, and the branch or tag that led to it before.
    Pin(String, Option<String>),
}

impl Revision {
    /// Reads a reference and a pin.
    ///
    /// # Errors
    ///
    /// If git could take the reference for an option or an expression, or the pin is not a commit id.
    pub(super) fn new(reference: Option<&str>, pin: Option<&str>) -> Result<Self, PluginError> {
        let wrong = |about: &str, why: &str| PluginError::new(about, PluginErrorKind::Source(why.to_owned()));
        let checked = source::checked(reference).map_err(|_| {
            wrong(
                reference.unwrap_or_default(),
                "is not a branch, tag or commit: expected a name that git allows",
            )
        })?;
        Ok(match (pin, checked) {
            (Some(pin), reference) if is_id(pin) && !pin.bytes().any(|it| it.is_ascii_uppercase()) => {
                Self::Pin(pin.to_owned(), reference)
            }
            (Some(pin), _) => {
                let why = "is not a commit: expected 40 or 64 hexadecimal digits in small letters";
                return Err(wrong(pin, why).with_kind(PluginErrorKind::Mismatch(why.to_owned())));
            }
            (None, None) => Self::Head,
            (None, Some(id)) if is_id(&id) => Self::Object(id.to_ascii_lowercase()),
            (None, Some(name)) => Self::Name(name),
        })
    }
}

/// Returns true for the whole id of an object, in SHA-1 or SHA-256.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns true for text that may be the first digits of an id.
pub(super) fn may_abbreviate(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.len() < 64 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_or_an_id() {
        let (id, long) = ("0123456789abcdef0123456789ABCDEF01234567", "a".repeat(64));
        for (reference, revision) in [
            (None, Revision::Head),
            (Some("main"), Revision::Name("main".into())),
            (Some("feature/x+y"), Revision::Name("feature/x+y".into())),
            (Some("refs/heads/v1"), Revision::Name("refs/heads/v1".into())),
            (Some("+main"), Revision::Name("+main".into())),
            (Some("tag"), Revision::Name("tag".into())),
            (Some("0123abc"), Revision::Name("0123abc".into())),
            (Some(id), Revision::Object(id.to_ascii_lowercase())),
            (Some(&long), Revision::Object(long.clone())),
        ] {
            assert_eq!(Revision::new(reference, None).unwrap(), revision, "{reference:?}");
        }
        let pinned = Revision::new(Some("main"), Some(&long)).unwrap();
        assert_eq!(pinned, Revision::Pin(long.clone(), Some("main".into())));
        for pin in ["", "main", "0123abc", id, &"g".repeat(40)] {
            assert!(Revision::new(None, Some(pin)).is_err(), "{pin}");
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
            assert!(Revision::new(Some(reference), None).is_err(), "{reference:?}");
        }
    }
}
