//! Reading a lock file. A repository may have brought it, so that every field is checked.

use std::path::{Component, Path};

use serde::Deserialize;
use toml::Spanned;

use super::{FILE, Lock, Locked, MAX_FILE, MAX_PLUGINS, VERSION};
use hookbox_system::{limits, text};

/// The reason why a lock file cannot be used, in words that read after its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file is too large.
    #[error("is larger than {} MiB: no {FILE} is", MAX_FILE >> 20)]
    TooLarge,
    /// The text is not TOML of this shape.
    #[error("is not a {FILE}: {}", text::escape(.0.message(), limits::EXCERPT))]
    Garbage(#[source] Box<toml::de::Error>),
    /// A newer version of hookbox wrote the file.
    #[error("has version {0}, and this program knows version {VERSION}")]
    Version(i64),
    /// One of its entries cannot be used.
    #[error("line {line}: {what}")]
    Entry {
        /// The line.
        line: usize,
        /// The fault.
        what: String,
    },
}

/// The wire.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(rename = "version")]
    _version: i64,
    #[serde(default)]
    plugin: Vec<Spanned<Locked>>,
}

/// The version of a file of hookbox. It is read first, and alone: another version may hold other fields.
fn version(file: &str) -> Result<i64, toml::de::Error> {
    #[derive(Deserialize)]
    struct Version {
        version: i64,
    }
    toml::from_str(file).map(|Version { version }| version)
}

impl Lock {
    /// Reads the bytes of a lock file.
    ///
    /// # Errors
    ///
    /// As for [`Lock::parse`], and for bytes that are not text.
    pub fn from_bytes(file: &[u8]) -> Result<Self, LockError> {
        match str::from_utf8(file) {
            Ok(file) => Self::parse(file),
            Err(error) => Err(LockError::Entry {
                line: line(file, error.valid_up_to()),
                what: "is not UTF-8".to_owned(),
            }),
        }
    }

    /// Reads the text of a lock file.
    ///
    /// # Errors
    ///
    /// Anything but a whole file of this version, with names that can be used and no name twice.
    pub fn parse(file: &str) -> Result<Self, LockError> {
        if file.len() as u64 > MAX_FILE {
            return Err(LockError::TooLarge);
        }
        let garbage = |error| LockError::Garbage(Box::new(error));
        let version = version(file).map_err(garbage)?;
        if version != VERSION {
            return Err(LockError::Version(version));
        }
        let wire: Wire = toml::from_str(file).map_err(|error| match error.span() {
            Some(span) => LockError::Entry {
                line: line(file.as_bytes(), span.start),
                what: text::escape(error.message(), 300),
            },
            None => garbage(error),
        })?;
        let mut lock = Self::default();
        let mut folded = std::collections::HashSet::new();
        for plugin in wire.plugin {
            let at = plugin.span().start;
            let wrong = |what: String| LockError::Entry { line: line(file.as_bytes(), at), what };
            let locked = plugin.into_inner().checked().map_err(wrong)?;
            if !folded.insert(locked.name.folded()) {
                return Err(wrong(format!("{}: appears twice", locked.name)));
            }
            if folded.len() > MAX_PLUGINS {
                return Err(wrong(format!("more than {MAX_PLUGINS} plugins")));
            }
            lock.insert(locked);
        }
        Ok(lock)
    }
}

impl Locked {
    /// Checks the fields, and sorts the hooks.
    fn checked(mut self) -> Result<Self, String> {
        let texts = [("source", Some(&self.source)), ("reference", self.reference.as_ref())];
        for (key, value) in texts {
            let Some(value) = value else { continue };
            if value.is_empty() || value.chars().any(char::is_control) {
                return Err(format!("{key}: expected one line, found none or several"));
            }
        }
        let is_commit = |commit: &String| {
            matches!(commit.len(), 40 | 64)
                && commit.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if !self.commit.as_ref().is_none_or(is_commit) {
            return Err("commit: expected 40 or 64 hexadecimal digits".to_owned());
        }
        if self.key.is_some() && self.manifest.is_none() {
            return Err("key: expected a manifest beside it: nothing else is signed".to_owned());
        }
        if self.installed.parse::<jiff::Timestamp>().is_err() {
            return Err("installed: expected a time such as 2026-01-31T12:00:00Z".to_owned());
        }
        let leads_out = |path: &&Path| {
            path.as_os_str().is_empty() || !path.components().all(|it| matches!(it, Component::Normal(_)))
        };
        if let Some(path) = self.files.iter().find(leads_out) {
            let path = text::escape(&path.to_string_lossy(), 300);
            return Err(format!("files: expected paths in the plugin, found \"{path}\""));
        }
        self.hooks.sort_by(|a, b| a.name.cmp(&b.name));
        match self.hooks.first() {
            Some(hook) if hook.name.is_empty() => Err("hook: expected a name, found none".to_owned()),
            _ if self.hooks.is_sorted_by(|a, b| a.name < b.name) => Ok(self),
            _ => Err("hook: a name appears twice".to_owned()),
        }
    }
}

/// The line of a byte.
fn line(file: &[u8], at: usize) -> usize {
    file.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
