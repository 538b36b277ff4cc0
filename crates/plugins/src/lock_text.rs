//! Printing a lock file.

use std::path::Path;

use hookbox::lockfile::VERSION;
use serde::Serialize;

use super::{Lock, Locked, LockedHook};
use hookbox::hook::Digest;
use hookbox::hook::Kind;

/// The comment at the top.
const HEAD: &str = "# Written by hookbox. `hookbox plugin add` without a source installs exactly this.\n\n";

#[derive(Serialize)]
struct Wire<'a> {
    version: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plugin: Vec<Plugin<'a>>,
}

#[derive(Serialize)]
struct Plugin<'a> {
    name: String,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'a Digest>,
    tree: &'a Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a Digest>,
    installed: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<&'a Path>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hook: Vec<Hook<'a>>,
}

#[derive(Serialize)]
struct Hook<'a> {
    name: &'a str,
    kind: Kind,
    digest: &'a Digest,
}

/// Returns the text of a lock file. [`Lock::parse`] reads it back.
///
/// # Errors
///
/// No error is known: all fields are text.
pub(super) fn print(lock: &Lock) -> Result<String, toml::ser::Error> {
    let wire = Wire { version: VERSION, plugin: lock.iter().map(Plugin::of).collect() };
    Ok(format!("{HEAD}{}", toml::to_string(&wire)?))
}

impl<'a> Plugin<'a> {
    fn of(locked: &'a Locked) -> Self {
        let hook = |it: &'a LockedHook| Hook { name: &it.name, kind: it.kind, digest: &it.digest };
        Self {
            name: locked.name.to_string(),
            source: &locked.source,
            reference: locked.reference.as_deref(),
            commit: locked.commit.as_deref(),
            manifest: locked.manifest.as_ref(),
            tree: &locked.tree,
            key: locked.key.as_ref(),
            installed: &locked.installed,
            files: locked.files.iter().collect(),
            hook: locked.hooks.iter().map(hook).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::lockfile::InstalledFiles;

    #[test]
    fn a_printed_lock_file_is_read_back() {
        let hook = |name: &str, kind| LockedHook {
            name: name.to_owned(),
            kind,
            digest: Digest::of(name.as_bytes()),
        };
        let mut lock = Lock::default();
        lock.insert(Locked {
            name: "z/z".parse().unwrap(),
            source: "oci://localhost:5000/z/z:1".to_owned(),
            reference: None,
            commit: None,
            manifest: Some(Digest::of(b"m")),
            tree: Digest::of(b"t"),
            key: Some(Digest::of(b"k")),
            installed: "2026-01-01T00:00:00Z".to_owned(),
            files: ["hooks/guard.wasm".into(), "it's \"odd\"".into()].into_iter().collect(),
            hooks: vec![hook("guard.wasm", Kind::Component), hook("hooks.json#PreToolUse[0]", Kind::Command)],
        });
        lock.insert(Locked {
            name: "a/b".parse().unwrap(),
            source: "./it's \"odd\"".to_owned(),
            reference: Some("v1".to_owned()),
            commit: Some("0".repeat(40)),
            manifest: None,
            key: None,
            files: InstalledFiles::default(),
            hooks: Vec::new(),
            ..lock.iter().next().unwrap().clone()
        });
        let text = print(&lock).unwrap();
        assert_eq!(Lock::parse(&text).unwrap(), lock, "{text}");
        assert!(text.starts_with("# Written by hookbox."), "{text}");
        assert!(text.find("a/b").unwrap() < text.find("z/z").unwrap(), "{text}");
        assert_eq!(Lock::parse(&print(&Lock::default()).unwrap()).unwrap(), Lock::default());
    }
}
