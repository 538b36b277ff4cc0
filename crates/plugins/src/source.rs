//! The sources of plugins, as users and the lock file write them. No I/O.

mod oci;
mod url;

use std::fmt;
use std::path::{Path, PathBuf};

use super::{PluginError, PluginErrorKind, PluginName};
use hookbox::hook::Digest;
use hookbox_system::files::normalize_path;
use hookbox_system::{limits, text};

pub use oci::OciReference;
pub use url::GitUrl;

/// The git host of `org/repo`, unless the settings name another one.
pub const DEFAULT_GIT_HOST: &str = "https://github.com";

/// The source of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A git repository.
    Git {
        /// The address.
        url: GitUrl,
        /// The branch, tag or commit; `None` for the default branch.
        reference: Option<String>,
    },
    /// A local directory.
    Directory {
        /// The directory, absolute.
        path: PathBuf,
    },
    /// An artifact in an OCI registry.
    Oci(OciReference),
}

/// The revision of a source that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The commit of a git repository, in hexadecimal digits.
    Commit(String),
    /// The digest of the manifest of an artifact.
    Manifest(Digest),
    /// A directory has no revision but the digest of its tree.
    Directory,
}

/// The defaults for reading a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The address before `/org/repo`, such as `https://github.com`.
    pub git: String,
    /// The directory to which a relative path refers.
    pub cwd: PathBuf,
}

impl Hosts {
    /// Returns the defaults, with this working directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { git: DEFAULT_GIT_HOST.to_owned(), cwd: cwd.into() }
    }
}

impl Source {
    /// Reads `org/repo[@ref]`, the URL of a git repository (with `@ref` in its last part, too), a directory
    /// (`./`, `../` or `/` first), or `oci://…`.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Source`] or [`PluginErrorKind::Name`].
    pub fn parse(source: &str, hosts: &Hosts) -> Result<Self, PluginError> {
        let wrong = |what: &str| {
            PluginError::new(url::without_user(source), PluginErrorKind::Source(what.to_owned()))
                .hint("give org/repo[@ref], the URL of a git repository, a directory (./DIR), or oci://HOST/ORG/NAME:TAG")
        };
        if source.is_empty() || source.len() > limits::MESSAGE || source.chars().any(char::is_control) {
            return Err(wrong("expected a source of 1 to 2048 bytes without control characters"));
        }
        if let Some(rest) = source.strip_prefix("oci://") {
            return OciReference::parse(rest).map(Self::Oci).map_err(wrong);
        }
        if matches!(source, "." | "..") || ["./", "../", "/"].iter().any(|it| source.starts_with(it)) {
            let path = normalize_path(&hosts.cwd.join(source));
            if path.to_str().is_none() {
                let what =
                    "is in a directory whose path is not UTF-8, so that plugins.lock could not name it";
                return Err(wrong(what).hint("expected a directory whose whole path is UTF-8"));
            }
            return Ok(Self::Directory { path });
        }
        let before_slash = source.split('/').next().unwrap_or_default();
        if before_slash.starts_with('-') || before_slash.contains(':') {
            return Self::git(source).map_err(wrong);
        }
        let (name, reference) = match source.split_once('@') {
            Some((name, reference)) => (name, Some(reference)),
            None => (source, None),
        };
        let name: PluginName =
            name.parse().map_err(|error| PluginError { kind: PluginErrorKind::Name(error), ..wrong("") })?;
        let url = GitUrl::new(format!("{}/{name}", hosts.git.trim_end_matches('/'))).map_err(wrong)?;
        Ok(Self::Git { url, reference: checked(reference).map_err(wrong)? })
    }

    /// Reads a git URL, with an optional `@ref` in its last part.
    fn git(url: &str) -> Result<Self, &'static str> {
        // An `@` before the path belongs to the user and the host.
        let last = match url.find("://").map(|at| at + 3) {
            Some(host) => match url.rfind('/') {
                Some(last) if last >= host => last,
                _ => return Err("expected a path after the host"),
            },
            None => url.rfind(['/', ':']).unwrap_or_default(),
        };
        let (head, tail) = url.split_at(last);
        let (tail, reference) = match tail.split_once('@') {
            Some((tail, reference)) => (tail, Some(reference)),
            None => (tail, None),
        };
        Ok(Self::Git { url: GitUrl::new(format!("{head}{tail}"))?, reference: checked(reference)? })
    }

    /// Sets the branch, tag or commit.
    ///
    /// # Errors
    ///
    /// An error if the source has another one, or is not a git repository.
    pub fn at(self, reference: Option<&str>) -> Result<Self, PluginError> {
        let Some(name) = reference else { return Ok(self) };
        let shown = self.shown();
        let wrong = |what: &str| PluginError::new(&shown, PluginErrorKind::Source(what.to_owned()));
        match self {
            Self::Git { url, reference: None } => {
                Ok(Self::Git { url, reference: checked(Some(name)).map_err(wrong)? })
            }
            Self::Git { reference: Some(ref has), .. } if has == name => Ok(self),
            Self::Git { .. } => Err(wrong("names another branch, tag or commit than --ref")),
            _ => Err(wrong("expected a git repository: nothing else has branches, tags and commits")),
        }
    }

    /// Returns the requested branch, tag or commit.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Git { reference, .. } => reference.as_deref(),
            _ => None,
        }
    }

    /// Returns the default name of the plugin: the last two parts of the path.
    ///
    /// # Errors
    ///
    /// An error if these are not a name.
    pub fn name(&self) -> Result<PluginName, PluginError> {
        let (path, fallback) = match self {
            Self::Git { url, .. } => {
                let path = url.path();
                let path = path.trim_end_matches('/');
                (path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/').to_owned(), None)
            }
            Self::Directory { path } => {
                let last = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
                // The directory of an installed plugin.
                if let Ok(name) = PluginName::from_dir(&last) {
                    return Ok(name);
                }
                (path.to_string_lossy().into_owned(), Some("local"))
            }
            Self::Oci(reference) => (format!("{}/{}", reference.registry, reference.repository), None),
        };
        let mut parts = path.rsplit('/');
        let (repo, org) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        // If this is a host, its user and port are not part of the name.
        let org = org.rsplit('@').next().unwrap_or_default();
        let org = org.split(':').next().unwrap_or_default();
        let named = PluginName::new(org, repo);
        let named = match (named, fallback) {
            (Err(_), Some(fallback)) => PluginName::new(fallback, repo),
            (named, _) => named,
        };
        named.map_err(|error| {
            PluginError::new(self.shown(), PluginErrorKind::Name(error))
                .hint("give the plugin a name: --name ORG/REPO")
        })
    }

    /// Returns the text for the lock file, without a reference and a password. The path of a directory below
    /// `base` is relative to it. [`parse`](Self::parse) reads this back with `base` as the working directory.
    pub fn text(&self, base: &Path) -> String {
        match self {
            Self::Git { url, .. } => url.for_lock(),
            Self::Directory { path } => match path.strip_prefix(base) {
                Ok(relative) => format!("./{}", relative.display()),
                Err(_) => path.display().to_string(),
            },
            Self::Oci(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Source {
    /// Writes the source as a user does. It may have a password: see [`Source::shown`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { url, reference: Some(reference) } => write!(f, "{}@{reference}", url.as_str()),
            Self::Git { url, reference: None } => f.write_str(url.as_str()),
            Self::Directory { path } => write!(f, "{}", path.display()),
            Self::Oci(reference) => reference.fmt(f),
        }
    }
}

impl Source {
    /// Returns the source for people: escaped, and without a password.
    pub fn shown(&self) -> String {
        let shown = match self {
            Self::Git { url, reference: Some(reference) } => format!("{}@{reference}", url.shown()),
            Self::Git { url, reference: None } => url.shown(),
            _ => self.to_string(),
        };
        text::escape(&shown, limits::MESSAGE)
    }

    /// Returns true if the address has a password, which must not get into the lock file.
    pub fn has_password(&self) -> bool {
        matches!(self, Self::Git { url, .. } if url.has_password())
    }
}

/// Checks the name of a branch, tag or commit (git-check-ref-format(1)), which git must not take for an
/// option.
pub(super) fn checked(reference: Option<&str>) -> Result<Option<String>, &'static str> {
    const WRONG: &str = "names no branch, tag or commit after @: expected a name as git allows it";
    let Some(name) = reference else { return Ok(None) };
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_odd = name.is_empty()
        || name == "@"
        || name.len() > 255
        || name.starts_with(['-', '/'])
        || name.ends_with(['/', '.'])
        || name.contains("..")
        || name.contains("//")
        || name.contains("@{")
        || name.contains(odd)
        || name.split('/').any(|part| part.starts_with('.') || part.ends_with(".lock"));
    if is_odd { Err(WRONG) } else { Ok(Some(name.to_owned())) }
}

#[cfg(test)]
mod tests;
