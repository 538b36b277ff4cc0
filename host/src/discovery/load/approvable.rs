//! The properties of a hook for the commands that trust hooks and grant rights.

use std::path::PathBuf;

use super::entry::EntryStatus;
use crate::capability::Capability;
use crate::discovery::find::PluginFile;
use crate::event::EventName;
use crate::hook::{Digest, Kind, Manifest, OnFailure, Origin, Tier};
use crate::trust::native_digest::DigestInput;
use crate::trust::{Record, Scope, TreeError};

/// A hook for the commands that trust it and grant rights to it.
#[derive(Clone, Debug)]
pub struct Approvable {
    /// The full name.
    pub name: String,
    /// Its file, absolute.
    pub path: PathBuf,
    /// The path by which a command finds this hook and no other: its file, or the hooks.json or mcp.json that
    /// declares it with the entry's position, such as `hooks.json#PreToolUse[0]`.
    pub reference: PathBuf,
    /// The command line of an entry of a hooks.json or mcp.json, or its tool and server. Not escaped.
    pub runs: Option<String>,
    /// The variable with its plugin that its line would have to quote, because the directory has a space in its name.
    pub unquoted: Option<&'static str>,
    /// The files of its plugin that such a command runs, as far as its text shows them.
    pub plugin_files: Vec<PluginFile>,
    /// The events of such an entry.
    pub events: Vec<EventName>,
    /// The tools of such an entry's matcher; empty if it has none and gets all tools.
    pub tools: Vec<String>,
    /// Such an entry's matcher in Claude Code's shape, as it was written. Not escaped.
    pub matcher: Option<String>,
    /// Such an entry's `if`, as it was written. Not escaped.
    pub condition: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// The tier in which it was found.
    pub tier: Tier,
    /// True if it runs only after the user trusted it as it is: a repository brought it, or hookbox installed
    /// it as part of a plugin.
    pub needs_trust: bool,
    /// Its present status.
    pub status: EntryStatus,
    /// True if the user trusts it: by its tier, by the policy or by a record.
    pub trusted: bool,
    /// The description that a component or a rules file gives of itself, if it loads.
    pub manifest: Option<Manifest>,
    /// Its key in the trust file: scope, and path there. `None` if the real path of the repository is not
    /// known, so that nothing can be recorded.
    pub key: Option<(Scope, PathBuf)>,
    /// The user's record of it, also if it has changed since.
    pub record: Option<Record>,
    /// The policy for its failures.
    pub on_failure: OnFailure,
    /// True if it only observes, as far as that is known.
    pub observe: bool,
    /// The hooks that it replaces if the user agrees: later ones of its name that are the user's own, or
    /// trusted.
    pub namesakes: Vec<Namesake>,
    /// The digest of its bytes, if they were read.
    pub(super) bytes: Option<Digest>,
    /// The files and settings that its digest covers, if it needs trust.
    pub(super) digest_input: Option<DigestInput>,
}

/// A hook that has the name of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namesake {
    /// Its key in the trust file.
    pub key: (Scope, PathBuf),
    /// The path by which a command finds it.
    pub reference: PathBuf,
    /// The tier in which it was found.
    pub tier: Tier,
    /// Its owner's policy for its failures; a component may have one of its own.
    pub on_failure: Option<OnFailure>,
}

impl Approvable {
    /// Returns the files and directories of the repository that its command line or its shebang names. Its
    /// digest covers them beside the hook's own directory. Paths are relative to the repository.
    pub fn names(&self) -> Vec<PathBuf> {
        let input = self.digest_input.as_ref().filter(|_| !self.kind.is_one_file());
        input.and_then(|it| it.names().ok()).unwrap_or_default()
    }

    /// Returns the repository's settings for it, key by key: a part of its digest.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.digest_input.iter().flat_map(|it| &it.settings);
        settings.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the rights that it asks for. A hook of a repository cannot have `allow`.
    pub fn asked(&self) -> Vec<Capability> {
        let mut asked = self.manifest.as_ref().map(|it| it.capabilities.clone()).unwrap_or_default();
        asked.retain(|right| *right != Capability::Allow || self.tier.origin() != Origin::Repo);
        asked
    }

    /// Returns the digest of the entry that declares it, with its position in its file.
    #[doc(hidden)]
    pub fn entry(&self) -> Option<Digest> {
        let declared = self.digest_input.as_ref().map(|it| &it.declared).filter(|it| !it.is_empty())?;
        Some(Digest::of(format!("{declared:?}").as_bytes()))
    }

    /// Returns the digest that trust and grants are bound to. A component's and a rules file's is the one of the bytes
    /// that were read; for any other hook that needs trust it is computed anew. `None` if the file was not read.
    ///
    /// # Errors
    ///
    /// [`TreeError`] is the reason why the files of a hook have no digest.
    pub fn digest(&self) -> Result<Option<Digest>, TreeError> {
        match &self.digest_input {
            Some(it) if !self.kind.is_one_file() => it.digest().map(Some),
            _ => Ok(self.bytes.as_ref().map(|bytes| self.digest_of(bytes))),
        }
    }

    /// Returns the digest that trust and grants are bound to, for a component of these bytes.
    pub fn digest_of(&self, bytes: &Digest) -> Digest {
        self.digest_input.as_ref().map_or_else(|| bytes.clone(), |it| it.of_component(bytes))
    }
}
