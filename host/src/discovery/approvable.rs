//! What the commands that trust and grant need to know of a hook.

use std::path::PathBuf;

use super::entry::EntryStatus;
use crate::event::EventName;
use crate::hook::{Digest, Manifest, Tier};
use crate::report::Kind;
use crate::trust::tree::Subject;
use crate::trust::{Place, Record, TreeError};

/// A hook that was found, as somebody sees it who is to trust it or to grant rights to it.
#[derive(Clone, Debug)]
pub struct Approvable {
    /// The full name.
    pub name: String,
    /// Its file, absolute.
    pub path: PathBuf,
    /// What a command finds it by, and no other hook: its file, or of an entry of a hooks.json or mcp.json that file
    /// with the entry's place after it, such as `hooks.json#PreToolUse[0]`.
    pub reference: PathBuf,
    /// What an entry of a hooks.json or mcp.json starts or calls: a command line, or a tool and its server. Not escaped.
    pub runs: Option<String>,
    /// The events that such an entry is for.
    pub events: Vec<EventName>,
    /// The tools that such an entry is for, as its matcher says; all of them where it says none.
    pub tools: Vec<String>,
    /// Its kind.
    pub kind: Kind,
    /// Where it was found.
    pub tier: Tier,
    /// Whether it runs only as far as the user trusts these bytes: a repository brought it, or hookbox installed it as
    /// part of a plugin.
    pub needs_trust: bool,
    /// What becomes of it now.
    pub status: EntryStatus,
    /// Whether the user trusts it: by its tier, by the policy or by a record.
    pub trusted: bool,
    /// What a component says of itself, where it could be asked.
    pub manifest: Option<Manifest>,
    /// What the trust file calls it: its place, and its path there. `None` where the repository's own path is not
    /// known, so that nothing can be recorded.
    pub key: Option<(Place, PathBuf)>,
    /// What the user said of this file, whatever its bytes were then.
    pub record: Option<Record>,
    /// The digest of its bytes, where they were read.
    pub(super) bytes: Option<Digest>,
    /// What the digest of a repository's native hook is taken of.
    pub(super) tree: Option<Subject>,
}

impl Approvable {
    /// The files and directories of the repository that its command line or its shebang names, and that its digest
    /// covers beside the hook's own directory; relative to the repository.
    pub fn names(&self) -> Vec<PathBuf> {
        self.named().0
    }

    /// Whether settings beside it say something of it: those of a repository are part of its digest.
    pub fn has_settings(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| !tree.settings.is_empty())
    }

    /// Whether its command line may use files of the repository that no word of it names, so that its digest does not
    /// cover them: because of a variable, a pattern, what another command prints, or a program such as `make`.
    pub fn may_use_more(&self) -> bool {
        self.named().1
    }

    fn named(&self) -> (Vec<PathBuf>, bool) {
        self.tree.as_ref().and_then(|tree| tree.names().ok()).unwrap_or_default()
    }

    /// The digest that trust and grants hold for: of a repository's native hook worked out anew, of anything else
    /// what was read when it was found. `None` where it was not read.
    ///
    /// # Errors
    ///
    /// [`TreeError`] says why what belongs to a native hook has no digest.
    pub fn digest(&self) -> Result<Option<Digest>, TreeError> {
        match &self.tree {
            Some(tree) => tree.digest().map(Some),
            None => Ok(self.bytes.clone()),
        }
    }
}
