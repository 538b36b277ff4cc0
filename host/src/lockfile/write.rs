//! Printing a lock file.

use serde::Serialize;

use super::{Lock, Locked, VERSION};
use crate::hook::Digest;
use crate::report::Kind;

/// What stands above everything else.
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
    hook: Vec<Hook<'a>>,
}

#[derive(Serialize)]
struct Hook<'a> {
    name: &'a str,
    kind: Kind,
    digest: &'a Digest,
}

impl Lock {
    /// The text of the file. [`Lock::parse`] reads it back.
    ///
    /// # Errors
    ///
    /// None that is known of: all fields are text.
    pub fn print(&self) -> Result<String, toml::ser::Error> {
        let wire = Wire { version: VERSION, plugin: self.iter().map(Plugin::of).collect() };
        Ok(format!("{HEAD}{}", toml::to_string(&wire)?))
    }
}

impl<'a> Plugin<'a> {
    fn of(locked: &'a Locked) -> Self {
        let hook = |it: &'a super::LockedHook| Hook { name: &it.name, kind: it.kind, digest: &it.digest };
        Self {
            name: locked.name.to_string(),
            source: &locked.source,
            reference: locked.reference.as_deref(),
            commit: locked.commit.as_deref(),
            manifest: locked.manifest.as_ref(),
            tree: &locked.tree,
            key: locked.key.as_ref(),
            installed: &locked.installed,
            hook: locked.hooks.iter().map(hook).collect(),
        }
    }
}
