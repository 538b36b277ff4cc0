//! The directories and environment variables that can be named in a right.

use std::fmt;
use std::path::{Path, PathBuf};

/// A directory, as it is written in a right: absolute, or below `$REPO`, `$HOME` or `$DATA`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Directory {
    base: Base,
    /// The parts after the base; none is empty, `.` or `..`.
    parts: Vec<String>,
}

/// The base of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// `/`.
    Root,
    /// `$REPO`: the repository.
    Repo,
    /// `$HOME`: the user's home directory.
    Home,
    /// `$DATA`: a directory of the hook's own, below hookbox's data directory.
    Data,
}

impl Base {
    const NAMED: [(Self, &'static str); 3] =
        [(Self::Repo, "$REPO"), (Self::Home, "$HOME"), (Self::Data, "$DATA")];
}

impl Directory {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.chars().any(char::is_control) {
            return Err("a directory has no control characters".to_owned());
        }
        let named = Base::NAMED.into_iter().find_map(|(base, name)| {
            let rest = text.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((base, rest))
        });
        let (base, rest) = match (named, text.strip_prefix('/')) {
            (Some((base, rest)), _) => (base, rest.strip_prefix('/')),
            (None, Some("")) => (Base::Root, None),
            (None, Some(rest)) => (Base::Root, Some(rest)),
            (None, None) => {
                return Err("a directory starts with /, $REPO, $HOME or $DATA".to_owned());
            }
        };
        let parts: Vec<String> =
            rest.map(|rest| rest.split('/').map(str::to_owned).collect()).unwrap_or_default();
        for part in &parts {
            match part.as_str() {
                "" => return Err("a part of the directory is empty".to_owned()),
                "." | ".." => return Err(format!("a directory has no `{part}`")),
                part if part.contains(['*', '?']) => {
                    return Err("a directory is not a pattern; everything below it is included".to_owned());
                }
                _ => {}
            }
        }
        Ok(Self { base, parts })
    }

    /// Returns the base.
    pub fn base(&self) -> Base {
        self.base
    }

    /// Returns the parts after the base as a relative path; empty for the base itself.
    pub fn rest(&self) -> PathBuf {
        self.parts.iter().collect()
    }

    /// Returns the path for this directory as the base.
    pub fn below(&self, base: &Path) -> PathBuf {
        if self.parts.is_empty() { base.to_owned() } else { base.join(self.rest()) }
    }

    /// Returns the deeper of the two, if one is inside the other.
    pub(super) fn intersect(&self, other: &Self) -> Option<Self> {
        let (outer, inner) =
            if self.parts.len() <= other.parts.len() { (self, other) } else { (other, self) };
        (outer.base == inner.base && inner.parts.starts_with(&outer.parts)).then(|| inner.clone())
    }

    pub(super) fn explain(&self) -> String {
        let base = match self.base {
            Base::Root => return self.to_string(),
            Base::Repo => "the repository",
            Base::Home => "your home directory",
            Base::Data => "a data directory of its own",
        };
        if self.parts.is_empty() { base.to_owned() } else { format!("{} in {base}", self.parts.join("/")) }
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Base::NAMED.into_iter().find(|(base, _)| *base == self.base) {
            Some((_, name)) => f.write_str(name)?,
            None if self.parts.is_empty() => f.write_str("/")?,
            None => {}
        }
        self.parts.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(String);

impl Variable {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty() || text.len() > 255 || !text.bytes().all(fits) {
            return Err("a variable's name has letters, digits and `_` only".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
