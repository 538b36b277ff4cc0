//! The name of a plugin.

use std::fmt;
use std::str::FromStr;

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

/// The reason why a text is not the name of a plugin. Text from outside in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

impl NameError {
    fn shape(found: &str) -> Self {
        Self(format!("expected ORG/REPO, found {:?}", text::escape(found, 200)))
    }
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
            return Err(NameError(format!(
                "begins with {OWN}, as hookbox's own files beside the plugins do"
            )));
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
            None => Err(NameError::shape(dir)),
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
    let wrong = if part.is_empty() {
        "a part of the name is empty: expected ORG/REPO".to_owned()
    } else if part.len() > MAX_PART {
        format!("a part of the name has more than {MAX_PART} bytes")
    } else if let Some(c) = part.chars().find(|c| !allowed(*c)) {
        let (part, found) = (text::escape(part, 200), text::escape(&c.to_string(), 16));
        format!("{part:?} has the character {found:?}: expected letters, digits and any of . _ - + ~")
    } else if part == "." || part == ".." || part.starts_with(['-', '~']) {
        // A shell takes `~` and `~name` for a home directory, and a program takes what begins with a dash for an option.
        format!("{part:?} cannot be a part of the name of a plugin")
    } else {
        return Ok(());
    };
    Err(NameError(wrong))
}

impl FromStr for PluginName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        match name.split_once('/') {
            Some((org, repo)) if !repo.contains('/') => Self::new(org, repo),
            _ => Err(NameError::shape(name)),
        }
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.repo)
    }
}

hookbox_system::serde_by_text!(PluginName);
