//! The records of trust and grants: pure data. And the file of them, `trust.json` in the private data directory.

use std::path::{Path, PathBuf};

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::private_file::{Contents, PrivateFile, Version};
use crate::capability::Capability;
use crate::hook::{Digest, Kind, OnFailure};

/// The scope of trust and grants: a hook of another scope has none of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The hooks that the user installed.
    Global,
    /// One repository, by its path without symlinks.
    Repository(PathBuf),
}

impl Scope {
    /// Returns the identity of a hook's state: 64 hexadecimal digits that depend on this scope, the hook's plugin and its
    /// full name. A hook of the same name in another repository has another identity.
    pub fn identity(&self, plugin: Option<&str>, name: &str) -> String {
        use std::os::unix::ffi::OsStrExt as _;
        let scope = match self {
            Self::Global => &b"global"[..],
            Self::Repository(path) => path.as_os_str().as_bytes(),
        };
        let mut fields = Vec::new();
        for field in [scope, plugin.unwrap_or_default().as_bytes(), name.as_bytes()] {
            fields.extend_from_slice(&(field.len() as u64).to_le_bytes());
            fields.extend_from_slice(field);
        }
        Digest::of(&fields).hex()
    }

    /// Returns the path of the repository, if this is one.
    pub fn repository(&self) -> Option<&Path> {
        match self {
            Self::Global => None,
            Self::Repository(path) => Some(path),
        }
    }
}

/// The trust and the grants that the user gave to one hook, with the bytes that it had then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The scope of the hook.
    #[serde(rename = "place")]
    pub scope: Scope,
    /// The full name.
    pub name: String,
    /// The hook's file, or the file that declares it with its position there (`hooks.json#PreToolUse[0]`): relative to
    /// the repository or to the home directory, and absolute outside of them.
    pub path: PathBuf,
    /// The kind.
    pub kind: Kind,
    /// The digest that the user approved: of all that belongs to a hook that needs trust, or of the bytes of a component
    /// of the user's own.
    pub digest: Digest,
    /// True if the user trusts it.
    pub trusted: bool,
    /// The rights that the user granted.
    pub grants: Vec<Capability>,
    /// The rights that it asked for then.
    pub asked: Vec<Capability>,
    /// The effect of its failures, as it was shown to the user.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The hooks of the same name that it replaces, as the user agreed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<(Scope, PathBuf)>,
    /// The time of the approval, in RFC 3339.
    pub when: String,
}

/// All records. There is at most one for each file in each scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    version: Version,
    #[serde(rename = "records", deserialize_with = "unique")]
    list: Vec<Record>,
}

/// Reads records, of which no two are of the same file.
fn unique<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Record>, D::Error> {
    let mut records = Records::default();
    for record in Vec::<Record>::deserialize(list)? {
        if records.get(&record.scope, &record.path).is_some() {
            return Err(D::Error::custom("two records of the same file"));
        }
        records.insert(record);
    }
    Ok(records.list)
}

impl Records {
    /// Returns the last record of the file at this path, whatever its bytes were then.
    pub fn get(&self, scope: &Scope, path: &Path) -> Option<&Record> {
        self.list.iter().find(|it| it.scope == *scope && it.path == path)
    }

    /// Returns the record of exactly these bytes.
    pub fn current(&self, scope: &Scope, path: &Path, digest: &Digest) -> Option<&Record> {
        self.get(scope, path).filter(|it| it.digest == *digest)
    }

    /// Adds a record, and replaces an earlier one of the same file.
    pub fn insert(&mut self, record: Record) {
        self.remove(&record.scope, &record.path);
        self.list.push(record);
        self.list.sort_by(|a, b| (&a.scope, &a.path).cmp(&(&b.scope, &b.path)));
    }

    /// Removes and returns the record of a file.
    pub fn remove(&mut self, scope: &Scope, path: &Path) -> Option<Record> {
        let at = self.list.iter().position(|it| it.scope == *scope && it.path == path)?;
        Some(self.list.remove(at))
    }

    /// Iterates over all records, by scope and path.
    pub fn iter(&self) -> std::slice::Iter<'_, Record> {
        self.list.iter()
    }
}

/// The trust file of a private data directory. If it cannot be read, nothing is trusted or granted.
pub type TrustFile = PrivateFile<Records>;

impl Contents for Records {
    const FILE: &'static str = "trust.json";
    const TITLE: &'static str = "record of trust";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(scope: Scope, path: &str, bytes: &str) -> Record {
        Record {
            scope,
            name: path.to_owned(),
            path: path.into(),
            kind: Kind::Native,
            digest: Digest::of(bytes.as_bytes()),
            trusted: true,
            grants: vec!["store".parse().unwrap()],
            asked: Vec::new(),
            on_failure: OnFailure::Pass,
            replaces: Vec::new(),
            when: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn a_record_holds_for_these_bytes_at_this_path_in_this_scope_only() {
        let here = Scope::Repository("/here".into());
        let mut records = Records::default();
        records.insert(record(here.clone(), "x", "1"));
        let digest = Digest::of(b"1");
        assert!(records.current(&here, Path::new("x"), &digest).is_some());
        for (scope, path, bytes) in [
            (Scope::Global, "x", "1"),
            (Scope::Repository("/there".into()), "x", "1"),
            (here.clone(), "y", "1"),
            (here.clone(), "x", "2"),
        ] {
            assert!(records.current(&scope, Path::new(path), &Digest::of(bytes.as_bytes())).is_none());
        }
        records.insert(record(here.clone(), "x", "2"));
        assert_eq!(records.iter().count(), 1, "the newer record takes the place of the older");
        assert!(records.current(&here, Path::new("x"), &digest).is_none());
        assert!(records.remove(&here, Path::new("x")).is_some());
        assert!(records.remove(&here, Path::new("x")).is_none());
    }

    #[test]
    fn each_hook_has_an_identity_of_its_own() {
        let repo = |path: &str| Scope::Repository(path.into());
        let all = [
            Scope::Global.identity(None, "x"),
            Scope::Global.identity(None, "y"),
            Scope::Global.identity(Some("x"), ""),
            Scope::Global.identity(Some("o/r"), "o/r/x"),
            repo("/a").identity(None, "x"),
            repo("/ax").identity(None, ""),
            repo("/b").identity(None, "x"),
        ];
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        assert!(all.iter().all(|it| it.len() == 64));
    }
}
