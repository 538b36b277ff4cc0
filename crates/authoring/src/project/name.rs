//! The name of a project.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The longest name, in bytes: it is part of file names, of a crate's name and of an npm package's.
const MAX: usize = 64;

/// Words that cargo or a compiler does not accept as the name of a crate, or that the project's own SDK has.
const RESERVED: [&str; 50] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "hookbox-calls",
    "hookbox-redact",
    "hookbox-sdk",
    "hookbox-shell",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "type",
    "unsafe",
    "use",
    "while",
];

/// The name of a project: lower-case letters, digits and single hyphens, with a letter first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        if text.len() > MAX {
            return Err(InvalidName::Long);
        }
        if !text.split('-').all(is_word) || text.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(InvalidName::Letters);
        }
        if RESERVED.contains(&text) {
            return Err(InvalidName::Reserved);
        }
        Ok(Self(text.to_owned()))
    }
}

/// The text is not the name of a project.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidName {
    /// A letter is not allowed.
    #[error(
        "expected lower-case letters, digits and single hyphens, with a letter first, such as no-force-push"
    )]
    Letters,
    /// It is too long.
    #[error("expected at most {MAX} letters")]
    Long,
    /// It means something else to a compiler.
    #[error("expected a name that is not a word of the language")]
    Reserved,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_a_file_a_crate_and_a_package() {
        for (text, want) in [
            ("no-force-push", Ok("no-force-push")),
            ("guard2", Ok("guard2")),
            ("a-1", Ok("a-1")),
            ("", Err(InvalidName::Letters)),
            ("No", Err(InvalidName::Letters)),
            ("a_b", Err(InvalidName::Letters)),
            ("-a", Err(InvalidName::Letters)),
            ("a--b", Err(InvalidName::Letters)),
            ("a-", Err(InvalidName::Letters)),
            ("2a", Err(InvalidName::Letters)),
            ("../a", Err(InvalidName::Letters)),
            ("a/b", Err(InvalidName::Letters)),
            ("ä", Err(InvalidName::Letters)),
            ("hookbox-shell", Err(InvalidName::Reserved)),
            ("fn", Err(InvalidName::Reserved)),
        ] {
            assert_eq!(text.parse::<Name>().as_ref().map(Name::as_str), want.as_ref().copied(), "{text}");
        }
        assert_eq!("a".repeat(65).parse::<Name>(), Err(InvalidName::Long));
    }
}
