//! The entry of one plugin in the lock file.

use super::PluginName;
use crate::hook::{Digest, Kind};

/// A plugin, as it was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Its name.
    pub name: PluginName,
    /// Its source, in the text form that parses back to it.
    pub source: String,
    /// The branch, tag or commit that was asked for; none for the source's own choice.
    pub reference: Option<String>,
    /// The commit that this was then, of a git repository: hexadecimal digits.
    pub commit: Option<String>,
    /// The digest of the manifest that this was then, of an OCI artifact.
    pub manifest: Option<Digest>,
    /// The digest of all that was installed: names, modes and bytes.
    pub tree: Digest,
    /// The digest of the public key (its SubjectPublicKeyInfo) that a signature was verified against.
    pub key: Option<Digest>,
    /// When, in RFC 3339.
    pub installed: String,
    /// Its hooks, in the order of their names.
    pub hooks: Vec<LockedHook>,
}

/// A hook of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedHook {
    /// Its name in the plugin, such as `guard.wasm` or `hooks.json#PreToolUse[0]`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The digest of its file; of an entry of a hooks.json, of that file.
    pub digest: Digest,
}
