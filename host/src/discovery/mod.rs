//! Finds hooks: roots, tiers, plugins and settings become hooks, a list to show, and problems.
//!
//! Finding reads directories, declarations and settings, and runs nothing. Loading uses its candidates: the gate of
//! [`crate::trust`] decides which of them run, native hooks are asked for their events, and components are
//! compiled. Discovery never fails: one bad file or directory is one [`Problem`].
//!
//! A [`Manager`](crate::manager::Manager) does this for an agent. The functions here are for programs that look at hooks
//! without a session. Hooks in files that hookbox does not know, such as the configuration of an agent, come from a
//! [`HookSource`], which is given to [`Builder::source`](crate::manager::Builder::source).

mod find;
mod load;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

pub use self::find::{
    Area, DEFAULT_ROOTS, Declared, Finder, FoundComponent, Handler, HookSource, Kept, MANIFEST, MARKETPLACE,
    MAX_FILES, MAX_HOOKS, ManagedDir, Options, PluginFile, PluginPolicy, Progress, ReadFile, Service,
    SourceFile, SwitchedOff, WiredCommand, collector, components, document, git_host, group, names,
    repository,
};
pub(crate) use self::find::{GlobalSettings, outermost_repository};
pub use self::load::{Discovery, examine_plugin, forget, remembered};
pub(crate) use self::load::{LastGood, discover, guard_of_unseen};
use crate::capability::Capability;
use crate::event::EventName;
use crate::hook::{
    DEFAULT_PRIORITY, Descriptor, Digest, Kind, Manifest, Mode, OnFailure, Origin, Settings, Tier,
};
use crate::outcome::Warning;
use crate::trust::native_digest::DigestInput;
use crate::trust::{Record, Scope, TreeError};
use hookbox_system::files::FileAccess;
use hookbox_system::{Hint, text, units};

/// A problem with a file, directory or hook. It is local: everything else still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or directory.
    pub path: PathBuf,
    /// The hook that it is about, if it is about one.
    pub hook: Option<String>,
    /// The problem, in words that follow the path; text from outside in it is escaped.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<Hint>,
    /// True if it hides which hooks the user has, or what they do. A guard may be among them, so that it
    /// counts as a hook that fails in every event, and blocks there.
    pub hides: bool,
    /// True if a hook is off that the user relies on: a guard of the user's own, or a trusted hook. An
    /// agent's user sees it in every event.
    pub is_off: bool,
    /// True if the user's trust and grants cannot be read, so that none count.
    pub is_without_trust: bool,
}

impl Problem {
    /// Returns true if a warning tells that the hook of this problem failed, and the problem has the same message.
    pub fn says(&self, warning: &Warning) -> bool {
        let failure = warning.text.split_once(" failed (").and_then(|(_, rest)| rest.split_once("): "));
        // The message of another hook may be any part of this one.
        self.hook.is_some()
            && self.hook == warning.hook
            && failure.is_some_and(|(_, message)| self.message.contains(message))
    }

    /// Makes a problem with this path.
    pub fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            hook: None,
            message: message.into(),
            hint: None,
            hides: false,
            is_off: false,
            is_without_trust: false,
        }
    }

    /// Adds the hook.
    #[must_use]
    fn of(mut self, hook: &str) -> Self {
        self.hook = Some(hook.to_owned());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks that a hook is off that the user relies on.
    #[must_use]
    fn off(self) -> Self {
        Self { is_off: true, ..self }
    }

    /// Marks that it hides hooks of the user's or the administrator's, if these files are theirs. If another user may write
    /// the file, it gets a hint.
    #[must_use]
    fn hiding(mut self, access: &FileAccess) -> Self {
        self.hides = matches!(access, FileAccess::Global | FileAccess::System(_));
        self.hint = self.hint.or_else(|| access.permission_hint(&self.path).map(Hint::from));
        self
    }
}

impl fmt::Display for Problem {
    /// Writes one line without the hint, safe to show: `PATH: MESSAGE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", text::shown_path(&self.path), self.message)
    }
}

named! {
    /// The status of a hook that was found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[non_exhaustive]
    pub enum EntryStatus {
        /// It runs.
        Active = "active",
        /// Its owner has switched it off.
        Disabled = "disabled",
        /// An earlier hook of the same name runs in its place.
        Shadowed = "shadowed",
        /// A repository brought it, and the user has not trusted it: it fails in every event.
        Untrusted = "untrusted",
        /// It cannot be used. With `on_failure = "block"` it fails in every event, else it is only listed.
        Invalid = "invalid",
    }
}

/// A hook that was found, or that runs. Serialised, an object of `list --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The full name.
    pub name: String,
    /// Its file, absolute, if it has one; symlinks are not resolved.
    #[serde(serialize_with = "lossy")]
    pub path: Option<PathBuf>,
    /// Its kind; guessed from its name if it could not be read.
    pub kind: Kind,
    /// The events that it subscribes to, if it is active. An untrusted entry of a hooks.json or mcp.json has
    /// events, too: they are declared.
    pub events: Vec<EventName>,
    /// Its priority: the lowest of its subscriptions.
    pub priority: i32,
    /// The tier in which it was found.
    pub tier: Tier,
    /// The plugin that it belongs to, as `org/repo`.
    pub plugin: Option<String>,
    /// True if the user trusts it.
    pub trusted: bool,
    /// Its status.
    pub status: EntryStatus,
    /// The reason why it does not run although its owner wants it, or why its last working version runs.
    pub problem: Option<String>,
    /// The digest of its file, if it was read; for a native hook of a repository, the digest of everything
    /// that belongs to it.
    pub digest: Option<Digest>,
    /// The permissions that it asks for and does not have in full, if it is an active component.
    pub lacks: Vec<Capability>,
    /// The policy for its failures.
    pub on_failure: OnFailure,
    /// True if all its subscriptions only observe.
    pub observe: bool,
    /// Its mode: in shadow mode it does not guard.
    pub mode: Mode,
    /// Its wall-clock limit, such as `30s`.
    pub timeout: String,
    /// Its settings that a repository made stricter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tightened: Vec<Tightened>,
    /// The part of it that a list does not show; empty if it has no file.
    #[serde(skip)]
    pub found: Found,
}

/// A setting of the user's hook that a repository made stricter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tightened {
    /// The name of the setting.
    pub setting: String,
    /// The value in this repository, as the hook gets it.
    pub value: String,
    /// The value that it replaces: the user's or the default.
    pub instead_of: String,
    /// The repository's settings file.
    #[serde(serialize_with = "lossy_path")]
    pub file: PathBuf,
    /// The line of the setting.
    pub line: usize,
}

/// The part of a hook in a file that a list does not show: its declaration, trust and settings. It is empty for a hook from
/// code, of the program that embeds hookbox, or built in, and for one whose file is missing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The path by which a command finds this hook and no other: its file, or the hooks.json or mcp.json that
    /// declares it with the entry's position, such as `hooks.json#PreToolUse[0]`.
    pub reference: PathBuf,
    /// Its number in the order of registration: tier, root, plugin directory name and file name.
    pub order: usize,
    /// The place of its declaration in its file, such as `line 3, column 5`.
    pub declared_at: Option<String>,
    /// The command line of its declaration in a hooks.json or mcp.json, or its tool and server. Not escaped.
    pub runs: Option<String>,
    /// The variable with its plugin that its line would have to quote, because the directory has a space in its name.
    pub unquoted: Option<&'static str>,
    /// The files of its plugin that such a command runs, as far as its text shows them.
    pub plugin_files: Vec<PluginFile>,
    /// The events of its declaration.
    pub events: Vec<EventName>,
    /// The tools of its declaration's matcher; empty if it has none and gets all tools.
    pub tools: Vec<String>,
    /// The matcher of its declaration in Claude Code's shape, as it was written. Not escaped.
    pub matcher: Option<String>,
    /// The `if` of its declaration, as it was written. Not escaped.
    pub condition: Option<String>,
    /// True if it runs only after the user trusted it as it is: a repository brought it, or hookbox installed
    /// it as part of a plugin.
    pub needs_trust: bool,
    /// The description that a component or a rules file gives of itself, if it loads.
    pub manifest: Option<Manifest>,
    /// Its key in the trust file: scope, and path there. `None` if the real path of the repository is not
    /// known, so that nothing can be recorded.
    pub key: Option<(Scope, PathBuf)>,
    /// The user's record of it, also if it has changed since.
    pub record: Option<Record>,
    /// The hooks that it replaces if the user agrees: later ones of its name that are the user's own, or
    /// trusted.
    pub namesakes: Vec<Namesake>,
    /// Its own settings.
    pub settings: Settings,
    /// The line of its table in [`Entry::settings_file`], if it has one.
    pub settings_line: Option<usize>,
    /// The path of the hook that runs in its place.
    pub shadowed_by: Option<PathBuf>,
    /// The files and settings that its digest covers, if it needs trust.
    digest_input: Option<DigestInput>,
    /// Every other setting and its declaration, as text for comparison.
    rest: String,
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

impl Found {
    /// Returns true if the hook was found in a file.
    pub fn is_in_file(&self) -> bool {
        !self.reference.as_os_str().is_empty()
    }

    /// Returns the repository's settings for it, key by key: a part of its digest.
    pub fn repository_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.digest_input.iter().flat_map(|it| &it.settings);
        settings.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the digest of the entry that declares it, with its position in its file.
    #[doc(hidden)]
    pub fn declaration(&self) -> Option<Digest> {
        let declared = self.digest_input.as_ref().map(|it| &it.declared).filter(|it| !it.is_empty())?;
        Some(Digest::of(format!("{declared:?}").as_bytes()))
    }

    /// Returns the digest that trust and grants are bound to, for a component of these bytes.
    pub fn digest_of(&self, bytes: &Digest) -> Digest {
        self.digest_input.as_ref().map_or_else(|| bytes.clone(), |it| it.of_component(bytes))
    }
}

impl Entry {
    /// The longest command line of a hook that can be trusted, in bytes: nobody would read more.
    pub const MAX_LINE: usize = 4096;

    /// Returns the row of the hook with this descriptor.
    pub fn new(descriptor: &Descriptor, status: EntryStatus) -> Self {
        let active = status == EntryStatus::Active
            || (descriptor.kind.is_declared() && status == EntryStatus::Untrusted);
        let subscriptions = &descriptor.subscriptions;
        let mut events: Vec<EventName> = Vec::new();
        for subscription in subscriptions.iter().filter(|_| active) {
            if !events.contains(&subscription.event) {
                events.push(subscription.event.clone());
            }
        }
        Self {
            name: descriptor.name.clone(),
            path: descriptor.path.clone(),
            kind: descriptor.kind,
            events,
            priority: subscriptions.iter().map(|it| it.priority).min().unwrap_or(DEFAULT_PRIORITY),
            tier: descriptor.tier,
            plugin: descriptor.plugin.clone(),
            trusted: descriptor.trusted,
            status,
            problem: None,
            digest: descriptor.digest.clone(),
            lacks: Vec::new(),
            on_failure: descriptor.on_failure,
            observe: active && !subscriptions.is_empty() && subscriptions.iter().all(|it| it.observe),
            mode: descriptor.mode,
            timeout: units::show_duration(descriptor.budget.wall),
            tightened: Vec::new(),
            found: Found::default(),
        }
    }

    /// Returns the permissions that it asks for. A hook of a repository cannot have `allow`.
    pub fn asked(&self) -> Vec<Capability> {
        let mut asked = self.found.manifest.as_ref().map(|it| it.capabilities.clone()).unwrap_or_default();
        asked.retain(|right| *right != Capability::Allow || self.tier.origin() != Origin::Repo);
        asked
    }

    /// Returns the record of this hook as trusted now, with these grants and without a hook that it replaces. `None` if
    /// nothing can be recorded: see [`Found::key`].
    pub fn approved(
        &self,
        digest: Digest,
        asked: Vec<Capability>,
        grants: Vec<Capability>,
    ) -> Option<Record> {
        let (scope, path) = self.found.key.clone()?;
        Some(Record {
            scope,
            name: self.name.clone(),
            path,
            kind: self.kind,
            digest,
            trusted: true,
            grants,
            asked,
            on_failure: self.on_failure,
            replaces: Vec::new(),
            when: crate::trust::now(),
        })
    }

    /// Returns the permissions that it has, of those that it asks for.
    pub fn rights(&self) -> Vec<Capability> {
        let mut rights = self.asked();
        rights.retain(|right| !self.lacks.contains(right));
        rights
    }

    /// Returns the files and directories of the repository that its command line or its shebang names. Its
    /// digest covers them beside the hook's own directory. Paths are relative to the repository.
    pub fn names(&self) -> Vec<PathBuf> {
        self.tree_input().and_then(|it| it.names().ok()).unwrap_or_default()
    }

    /// Returns the digest that trust and grants are bound to. A component's and a rules file's is the one of the bytes
    /// that were read; for any other hook that needs trust it is computed anew. `None` if the file was not read.
    ///
    /// # Errors
    ///
    /// [`TreeError`] is the reason why the files of a hook have no digest.
    pub fn trust_digest(&self) -> Result<Option<Digest>, TreeError> {
        match self.tree_input() {
            Some(input) => input.digest().map(Some),
            None => Ok(self.digest.as_ref().map(|bytes| self.found.digest_of(bytes))),
        }
    }

    /// Returns the files that the digest of a hook covers that is more than one file.
    fn tree_input(&self) -> Option<&DigestInput> {
        self.found.digest_input.as_ref().filter(|_| !self.kind.is_one_file())
    }

    /// Returns the file in which the user changes this hook: the `hookbox.toml` of its root, or the file that
    /// declares it. `None` for a hook of another agent's, of the program that embeds hookbox, or built in.
    pub fn settings_file(&self) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        if self.kind.is_declared() {
            return Some(path.to_owned());
        }
        // <root>/hooks/NAME, or <root>/plugins/ORG@REPO/hooks/NAME.
        let hooks = path.parent().filter(|it| it.ends_with("hooks"))?;
        let above = match self.tier {
            Tier::Managed | Tier::Repo | Tier::Global => 1,
            Tier::ManagedPlugin | Tier::RepoPlugin | Tier::GlobalPlugin => 3,
            _ => return None,
        };
        hooks.ancestors().nth(above).map(|root| root.join(find::SETTINGS_FILE))
    }
}

/// JSON is UTF-8, a path need not be.
fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(serializer)
}
