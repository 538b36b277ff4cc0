//! What the user said of hooks: pure data.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::hook::{Digest, OnFailure};
use crate::report::Kind;

/// Where a hook is found: trust and grants hold there only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// What the user installed.
    Global,
    /// One repository, by its path without symlinks.
    Repository(PathBuf),
}

impl Place {
    /// Names the state of one hook: 64 hexadecimal digits that depend on this place, the hook's plugin and its full
    /// name. A hook of the same name in another repository has another one.
    pub fn identity(&self, plugin: Option<&str>, name: &str) -> String {
        use std::os::unix::ffi::OsStrExt as _;
        let place = match self {
            Self::Global => &b"global"[..],
            Self::Repository(path) => path.as_os_str().as_bytes(),
        };
        let mut fields = Vec::new();
        for field in [place, plugin.unwrap_or_default().as_bytes(), name.as_bytes()] {
            fields.extend_from_slice(&(field.len() as u64).to_le_bytes());
            fields.extend_from_slice(field);
        }
        Digest::of(&fields).hex()
    }

    /// The repository, if it is one.
    pub fn repository(&self) -> Option<&Path> {
        match self {
            Self::Global => None,
            Self::Repository(path) => Some(path),
        }
    }
}

/// What the user said of one hook, as it was then, in this place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Where it is found.
    pub place: Place,
    /// Its full name.
    pub name: String,
    /// Its file, or the file that declares it with its position there (`hooks.json#PreToolUse[0]`): relative to the
    /// repository or to the home directory, absolute where it lies outside of them.
    pub path: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// What the user looked at: the digest of all that belongs to a hook that needs trust, or of the bytes of a
    /// component of the user's own.
    pub digest: Digest,
    /// Whether the user trusts it.
    pub trusted: bool,
    /// The rights that the user gave to it.
    pub grants: Vec<Capability>,
    /// What it asked for then.
    pub asked: Vec<Capability>,
    /// What happened when it failed, as the user saw it.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The hooks of the same name that it takes the place of, as the user asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<(Place, PathBuf)>,
    /// When, in RFC 3339.
    pub when: String,
}

/// What the user said of all hooks. There is at most one record for each file in each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    list: Vec<Record>,
}

impl Records {
    /// What was said last of the file at this path, whatever its bytes were then.
    pub fn get(&self, place: &Place, path: &Path) -> Option<&Record> {
        self.list.iter().find(|it| it.place == *place && it.path == path)
    }

    /// What was said of exactly these bytes.
    pub fn current(&self, place: &Place, path: &Path, digest: &Digest) -> Option<&Record> {
        self.get(place, path).filter(|it| it.digest == *digest)
    }

    /// Adds a record in place of what was said of the same file.
    pub fn insert(&mut self, record: Record) {
        self.remove(&record.place, &record.path);
        self.list.push(record);
        self.list.sort_by(|a, b| (&a.place, &a.path).cmp(&(&b.place, &b.path)));
    }

    /// Takes back what was said of a file, and says what that was.
    pub fn remove(&mut self, place: &Place, path: &Path) -> Option<Record> {
        let at = self.list.iter().position(|it| it.place == *place && it.path == path)?;
        Some(self.list.remove(at))
    }

    /// All of them, by place and path.
    pub fn iter(&self) -> std::slice::Iter<'_, Record> {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(place: Place, path: &str, bytes: &str) -> Record {
        Record {
            place,
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
    fn a_record_holds_for_these_bytes_at_this_path_in_this_place_only() {
        let here = Place::Repository("/here".into());
        let mut records = Records::default();
        records.insert(record(here.clone(), "x", "1"));
        let digest = Digest::of(b"1");
        assert!(records.current(&here, Path::new("x"), &digest).is_some());
        for (place, path, bytes) in [
            (Place::Global, "x", "1"),
            (Place::Repository("/there".into()), "x", "1"),
            (here.clone(), "y", "1"),
            (here.clone(), "x", "2"),
        ] {
            assert!(records.current(&place, Path::new(path), &Digest::of(bytes.as_bytes())).is_none());
        }
        records.insert(record(here.clone(), "x", "2"));
        assert_eq!(records.iter().count(), 1, "the newer record takes the place of the older");
        assert!(records.current(&here, Path::new("x"), &digest).is_none());
        assert!(records.remove(&here, Path::new("x")).is_some());
        assert!(records.remove(&here, Path::new("x")).is_none());
    }

    #[test]
    fn each_hook_has_an_identity_of_its_own() {
        let repo = |path: &str| Place::Repository(path.into());
        let all = [
            Place::Global.identity(None, "x"),
            Place::Global.identity(None, "y"),
            Place::Global.identity(Some("x"), ""),
            Place::Global.identity(Some("o/r"), "o/r/x"),
            repo("/a").identity(None, "x"),
            repo("/ax").identity(None, ""),
            repo("/b").identity(None, "x"),
        ];
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        assert!(all.iter().all(|it| it.len() == 64));
    }
}
