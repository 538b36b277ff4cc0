//! The entry of a hook, for people.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::tighten::Tightened;
use crate::capability::Capability;
use crate::discovery::find::settings;
use crate::event::EventName;
use crate::hook::{DEFAULT_PRIORITY, Descriptor, Digest, Kind, Mode, OnFailure, Tier};
use hookbox_system::units;

/// The status of a hook that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryStatus {
    /// It runs.
    Active,
    /// Its owner has switched it off.
    Disabled,
    /// An earlier hook of the same name runs in its place.
    Shadowed,
    /// A repository brought it, and the user has not trusted it: it fails in every event.
    Untrusted,
    /// It cannot be used. With `on_failure = "block"` it fails in every event, else it is only listed.
    Invalid,
}

impl EntryStatus {
    /// Returns the name, such as `active`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Shadowed => "shadowed",
            Self::Untrusted => "untrusted",
            Self::Invalid => "invalid",
        }
    }
}

/// A row of `hookbox list`; serialised, an object of `list --json`.
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
}

impl Entry {
    /// Returns the row of the hook with this descriptor.
    pub fn new(descriptor: &Descriptor, status: EntryStatus) -> Self {
        let is_declared = matches!(descriptor.kind, Kind::Command | Kind::Tool);
        let active = status == EntryStatus::Active || (is_declared && status == EntryStatus::Untrusted);
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
        }
    }

    /// Returns the file in which the user changes this hook: the `hookbox.toml` of its root, or the file that
    /// declares it. `None` for a hook of another agent's, of the program that embeds hookbox, or built in.
    pub fn settings_file(&self) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        if matches!(self.kind, Kind::Command | Kind::Tool) {
            return Some(path.to_owned());
        }
        // <root>/hooks/NAME, or <root>/plugins/ORG@REPO/hooks/NAME.
        let hooks = path.parent().filter(|it| it.ends_with("hooks"))?;
        let above = match self.tier {
            Tier::Repo | Tier::Global => 1,
            Tier::RepoPlugin | Tier::GlobalPlugin => 3,
            _ => return None,
        };
        hooks.ancestors().nth(above).map(|root| root.join(settings::FILE))
    }
}

/// JSON is UTF-8, a path need not be.
fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(serializer)
}
