//! The languages of hooks.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The language of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A component, built by cargo.
    Rust,
    /// A component with a Python interpreter, built by componentize-py.
    Python,
    /// A component with a JavaScript interpreter, built by esbuild and componentize-qjs.
    TypeScript,
    /// Data without code: a rules file.
    Rules,
    /// An executable, outside of a sandbox.
    Script,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 5] = [Self::Rust, Self::Python, Self::TypeScript, Self::Rules, Self::Script];

    /// Returns the name, as `hookbox new --lang` reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Rules => "rules",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(UnknownLanguage)
    }
}

/// The text is not the name of a language.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("expected a language: {}", Language::ALL.map(Language::as_str).join(", "))]
pub struct UnknownLanguage;
