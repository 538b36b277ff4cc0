//! What the commands that trust and grant need to know of a hook.

use std::path::PathBuf;

use super::entry::EntryStatus;
use crate::event::EventName;
use crate::hook::{Digest, Manifest, OnFailure, Tier};
use crate::report::Kind;
use crate::trust::tree::Belongings;
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
    /// Whether it runs only as far as the user trusts it as it is: a repository brought it, or hookbox installed it as
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
    /// What the user said of it, whatever it was then.
    pub record: Option<Record>,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// Whether it only observes, as far as that is known.
    pub observe: bool,
    /// The hooks that it takes the place of where the user agrees: later ones of its name that are the user's own, or
    /// trusted.
    pub namesakes: Vec<Namesake>,
    /// The digest of its bytes, where they were read.
    pub(super) bytes: Option<Digest>,
    /// What its digest is taken of, where it needs trust.
    pub(super) belongings: Option<Belongings>,
}

/// A hook that has the name of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namesake {
    /// What the trust file calls it.
    pub key: (Place, PathBuf),
    /// What a command finds it by.
    pub reference: PathBuf,
    /// Where it was found.
    pub tier: Tier,
    /// What its owner says of its failures; a component may say it itself.
    pub on_failure: Option<OnFailure>,
}

impl Approvable {
    /// The files and directories of the repository that its command line or its shebang names, and that its digest
    /// covers beside the hook's own directory; relative to the repository.
    pub fn names(&self) -> Vec<PathBuf> {
        self.named().0
    }

    /// What the repository's settings say of it, key by key: a part of its digest.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.belongings.iter().flat_map(|it| &it.settings);
        settings.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The digest of the entry that declares it, with its place in its file.
    #[cfg(feature = "plugin")]
    pub(crate) fn entry(&self) -> Option<Digest> {
        let declared = self.belongings.as_ref().map(|it| &it.declared).filter(|it| !it.is_empty())?;
        Some(Digest::of(format!("{declared:?}").as_bytes()))
    }

    /// Whether its command line may use files of the repository that no word of it names, so that its digest does not
    /// cover them: because of a variable, a pattern, what another command prints, or a program such as `make`.
    pub fn may_use_more(&self) -> bool {
        self.named().1
    }

    fn named(&self) -> (Vec<PathBuf>, bool) {
        let files = self.belongings.as_ref().filter(|_| self.kind != Kind::Component);
        files.and_then(|it| it.names().ok()).unwrap_or_default()
    }

    /// The digest that trust and grants hold for: of a component what was read when it was found, of any other hook that
    /// needs trust worked out anew. `None` where it was not read.
    ///
    /// # Errors
    ///
    /// [`TreeError`] says why what belongs to a hook has no digest.
    pub fn digest(&self) -> Result<Option<Digest>, TreeError> {
        match &self.belongings {
            Some(it) if self.kind != Kind::Component => it.digest().map(Some),
            _ => Ok(self.bytes.as_ref().map(|bytes| self.digest_of(bytes))),
        }
    }

    /// The digest that trust and grants hold for of a component of these bytes.
    pub fn digest_of(&self, bytes: &Digest) -> Digest {
        self.belongings.as_ref().map_or_else(|| bytes.clone(), |it| it.of_component(bytes))
    }
}
