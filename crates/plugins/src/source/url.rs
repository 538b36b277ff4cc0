//! The address of a git repository, which may have a user and a password. No I/O.

use std::fmt;
use std::str::FromStr;

use crate::{PluginError, PluginErrorKind};

/// The text in place of a user and password.
const HIDDEN: &str = "…@";

/// The address of a git repository: `https`, `http`, `ssh`, `git`, `file`, `user@host:path`, or an absolute
/// path.
///
/// Git cannot take it for an option, a command, a remote helper (`NAME::`), the name of a remote, or a
/// relative path.
#[derive(Clone, PartialEq, Eq)]
pub struct GitUrl(String);

impl GitUrl {
    /// Reads an address.
    pub(super) fn new(url: impl Into<String>) -> Result<Self, &'static str> {
        let url = url.into();
        if url.starts_with('-') {
            return Err("begins with a dash: expected a source");
        }
        if url.contains(char::is_control) {
            return Err("has a control character: expected a URL");
        }
        if is_helper(&url) {
            return Err("names a helper of git (NAME::): expected a URL");
        }
        match url.split_once("://") {
            Some((scheme, _)) if !["https", "http", "ssh", "git", "file"].contains(&scheme) => {
                Err("expected a URL that begins with https, http, ssh, git, file or oci")
            }
            // ssh would take the rest for an option.
            Some((_, rest)) if rest.starts_with('-') || rest.is_empty() => {
                Err("expected a host after the scheme")
            }
            None if !url.starts_with('/') && !url.contains(':') => {
                Err("is not the address of a git repository: expected https://HOST/ORG/REPO")
            }
            _ => Ok(Self(url)),
        }
    }

    /// Returns the address for git. It may have a password.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path, after the host if there is one.
    pub(super) fn path(&self) -> String {
        match self.0.split_once("://") {
            Some((_, rest)) => rest.to_owned(),
            None => self.0.replacen(':', "/", 1),
        }
    }

    /// Returns the address for people, without a password; not escaped. The name of an ssh user stays.
    pub fn shown(&self) -> String {
        self.with(HIDDEN)
    }

    /// Returns the address for the lock file, without user and password. The name of an ssh user stays.
    pub fn for_lock(&self) -> String {
        self.with("")
    }

    /// Returns true if the address has a password, or a user, which may be a token.
    pub fn has_password(&self) -> bool {
        Parts::of(&self.0).is_some_and(|parts| parts.secret().is_some())
    }

    fn with(&self, instead: &str) -> String {
        match Parts::of(&self.0) {
            Some(parts) if parts.secret().is_some() => parts.with(instead),
            _ => self.0.clone(),
        }
    }

    /// Removes the password of this address from a message of git, and the user and password of any other
    /// address.
    pub(crate) fn hide_in(&self, message: &str) -> String {
        let mut message = message.to_owned();
        if let Some(user) = Parts::of(&self.0).and_then(|parts| parts.user) {
            let parts = [Some(user), user.split_once(':').map(|(_, password)| password)];
            // A short password would match parts of words. In an address it is removed below.
            for secret in parts.into_iter().flatten().filter(|it| it.len() >= 4 && *it != "git") {
                message = message.replace(secret, "…");
            }
        }
        message.split(' ').map(without_user).collect::<Vec<_>>().join(" ")
    }
}

/// The parts of a URL with a scheme.
struct Parts<'a> {
    scheme: &'a str,
    /// The user, and an optional password after a colon.
    user: Option<&'a str>,
    /// The host, with its port.
    host: &'a str,
    path: &'a str,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Some(Self { scheme, user, host, path })
    }

    /// Returns the user and password, but not the mere name of an ssh user.
    fn secret(&self) -> Option<&'a str> {
        self.user.filter(|user| self.scheme != "ssh" || user.contains(':'))
    }

    fn with(&self, instead: &str) -> String {
        format!("{}://{instead}{}{}", self.scheme, self.host, self.path)
    }
}

/// Removes the user and password of a text that may be an address; not escaped.
pub(super) fn without_user(source: &str) -> String {
    match Parts::of(source) {
        Some(parts) if parts.user.is_some() => parts.with(HIDDEN),
        _ => source.to_owned(),
    }
}

/// Returns true for `NAME::…`, which runs a remote helper of git (gitremote-helpers(7)).
fn is_helper(url: &str) -> bool {
    url.split_once("::")
        .is_some_and(|(name, _)| name.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it)))
}

impl FromStr for GitUrl {
    type Err = PluginError;

    fn from_str(url: &str) -> Result<Self, PluginError> {
        Self::new(url)
            .map_err(|why| PluginError::new(without_user(url), PluginErrorKind::Source(why.to_owned())))
    }
}

impl fmt::Debug for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitUrl({:?})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_nothing_else_for_git() {
        for url in [
            "",
            "-x",
            "--upload-pack=x",
            "ext::sh -c x",
            "fd::3",
            "foo+bar::x",
            "::x",
            "ssh://-oProxyCommand=x/y",
            "ftp://h/a",
            "javascript://x/y",
            "https://h/a\nb",
            "-oProxyCommand=x:y",
            "origin",
            "a/b",
            "../a",
            "https://",
        ] {
            assert!(url.parse::<GitUrl>().is_err(), "{url:?}");
        }
        for url in [
            "https://[::1]/a/b",
            "git@h:a/b",
            "git@[::1]:a/b",
            "/srv/a/b",
            "file:///srv/a b",
            "ssh://git@h:22/a/b",
        ] {
            assert_eq!(url.parse::<GitUrl>().unwrap().as_str(), url);
        }
        let error = "ftp://u:secret@h/a".parse::<GitUrl>().unwrap_err().to_string();
        assert!(error.starts_with("ftp://…@h/a: expected a URL that begins with"), "{error}");
    }

    #[test]
    fn a_password_is_neither_shown_nor_locked() {
        let long = format!("https://h/{}", "\u{feff}/".repeat(600));
        for (url, shown, locked) in [
            ("https://u:secret@h/a/b", "https://…@h/a/b", "https://h/a/b"),
            ("https://token@h/a/b", "https://…@h/a/b", "https://h/a/b"),
            ("https://u:se@cret@h:8/a/b", "https://…@h:8/a/b", "https://h:8/a/b"),
            ("ssh://git:secret@h/a/b", "ssh://…@h/a/b", "ssh://h/a/b"),
            ("ssh://git@h/a/b", "ssh://git@h/a/b", "ssh://git@h/a/b"),
            ("git@h:a/b", "git@h:a/b", "git@h:a/b"),
            ("https://h/a/b@c", "https://h/a/b@c", "https://h/a/b@c"),
            ("file:///srv/u:p@x/b", "file:///srv/u:p@x/b", "file:///srv/u:p@x/b"),
            (&long, &long, &long),
        ] {
            let parsed = GitUrl::new(url).unwrap();
            assert_eq!((parsed.shown().as_str(), parsed.for_lock().as_str()), (shown, locked));
            assert_eq!(parsed.has_password(), url != shown, "{url}");
            assert!(!format!("{parsed:?}").contains("secret"));
        }
    }

    #[test]
    fn messages_of_git_are_shown_without_passwords() {
        let url = GitUrl::new("https://me:s3cretpass@h/a/b").unwrap();
        for (said, shown) in [
            ("at 'https://me:s3cretpass@h/a/b/': x", "at 'https://…@h/a/b/': x"),
            ("Password for 'https://me:s3cretpass@h'", "Password for 'https://…@h'"),
            ("s3cretpass is wrong", "… is wrong"),
            ("to http://u:s3@o/x and ssh://git@o/y", "to http://…@o/x and ssh://…@o/y"),
            ("nothing://else to hide", "nothing://else to hide"),
        ] {
            assert_eq!(url.hide_in(said), shown);
        }
    }
}
