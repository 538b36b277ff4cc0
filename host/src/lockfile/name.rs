//! The name of a plugin.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::OWN;
use hookbox_system::text;

/// The longest part of a name, in bytes. Both parts and the `@` fit into the name of a directory.
const MAX_PART: usize = 100;

/// The name of a plugin: `org/repo` for users, `org@repo` on disk (ADR 029).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginName {
    org: String,
    repo: String,
}

/// The reason why a text is not the name of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name does not have exactly two parts.
    #[error("expected ORG/REPO, found {0:?}")]
    Shape(String),
    /// A part is empty.
    #[error("a part of the name is empty: expected ORG/REPO")]
    Empty,
    /// A part is too long.
    #[error("a part of the name has more than {MAX_PART} bytes")]
    TooLong,
    /// Its directory would have the name of one of hookbox's own beside the plugins.
    #[error("begins with {OWN}, as hookbox's own files beside the plugins do")]
    Own,
    /// A part is `.` or `..`, or begins with a dash.
    #[error("{0:?} cannot be a part of the name of a plugin")]
    Part(String),
    /// A part has another character than those that are allowed.
    #[error("{part:?} has the character {found:?}: expected letters, digits and any of . _ - + ~")]
    Character {
        /// The part, escaped.
        part: String,
        /// The character, escaped.
        found: String,
    },
}

impl PluginName {
    /// The plugin of these two parts. Letters (ASCII), digits and `.` `_` `-` `+` `~` may be in them.
    ///
    /// # Errors
    ///
    /// If a part is empty, `.`, `..` or longer than 100 bytes, begins with a dash or `~`, or has another
    /// character, or if the first part begins with `.hookbox-`.
    pub fn new(org: &str, repo: &str) -> Result<Self, NameError> {
        part(org)?;
        part(repo)?;
        if org.to_ascii_lowercase().starts_with(OWN) {
            return Err(NameError::Own);
        }
        Ok(Self { org: org.to_owned(), repo: repo.to_owned() })
    }

    /// The plugin in a directory of this name, `org@repo`.
    ///
    /// # Errors
    ///
    /// As for [`PluginName::new`], and without exactly one `@`.
    pub fn from_dir(dir: &str) -> Result<Self, NameError> {
        match dir.split_once('@') {
            Some((org, repo)) => Self::new(org, repo),
            None => Err(NameError::Shape(text::escape(dir, 200))),
        }
    }

    /// The name of its directory, `org@repo`.
    pub fn dir(&self) -> String {
        format!("{}@{}", self.org, self.repo)
    }

    /// The second part.
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// The name of its directory in small letters: two plugins whose names differ by case only would be one on some
    /// file systems.
    pub fn folded(&self) -> String {
        self.dir().to_ascii_lowercase()
    }
}

fn part(part: &str) -> Result<(), NameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '~');
    if part.is_empty() {
        return Err(NameError::Empty);
    }
    if part.len() > MAX_PART {
        return Err(NameError::TooLong);
    }
    if let Some(c) = part.chars().find(|c| !allowed(*c)) {
        let (part, found) = (text::escape(part, 200), text::escape(&c.to_string(), 16));
        return Err(NameError::Character { part, found });
    }
    // A shell takes `~` and `~name` for a home directory, and a program takes what begins with a dash for an option.
    if part == "." || part == ".." || part.starts_with(['-', '~']) {
        return Err(NameError::Part(part.to_owned()));
    }
    Ok(())
}

impl FromStr for PluginName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        match name.split_once('/') {
            Some((org, repo)) if !repo.contains('/') => Self::new(org, repo),
            _ => Err(NameError::Shape(text::escape(name, 200))),
        }
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.repo)
    }
}

impl Serialize for PluginName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PluginName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|error| de::Error::custom(format_args!("name: {error}")))
    }
}
