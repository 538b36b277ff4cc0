//! The results of discovery for people: an entry for each hook, and problems.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::units;
use crate::event::EventName;
use crate::files::FileAccess;
use crate::files::private_dir::PrivateError;
use crate::hook::{DEFAULT_PRIORITY, Descriptor, Digest, OnFailure, Tier};
use crate::report::Kind;
use crate::text;

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
    /// Where it was found.
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
    /// The policy for its failures.
    pub on_failure: OnFailure,
    /// True if all its subscriptions only observe.
    pub observe: bool,
    /// Its wall-clock limit, such as `30s`.
    pub timeout: String,
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
            on_failure: descriptor.on_failure,
            observe: active && !subscriptions.is_empty() && subscriptions.iter().all(|it| it.observe),
            timeout: units::show_duration(descriptor.budget.wall),
        }
    }
}

fn shown(path: &Path) -> String {
    text::escape(&path.to_string_lossy(), 4096)
}

/// JSON is UTF-8, a path need not be.
fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(serializer)
}

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
    pub hint: Option<String>,
    /// True if it hides which hooks the user has, or what they do. A guard may be among them, so that it
    /// counts as a hook that fails in every event, and blocks there.
    pub hides: bool,
    /// True if a hook is off that the user relies on: a guard of the user's own, or a trusted hook. An
    /// agent's user sees it in every event.
    pub is_off: bool,
}

impl Problem {
    /// A problem with this path.
    pub fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            hook: None,
            message: message.into(),
            hint: None,
            hides: false,
            is_off: false,
        }
    }

    /// Adds the hook.
    #[must_use]
    pub(super) fn of(mut self, hook: &str) -> Self {
        self.hook = Some(hook.to_owned());
        self
    }

    /// The same problem with the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks that a hook is off that the user relies on.
    #[must_use]
    pub(super) fn off(self) -> Self {
        Self { is_off: true, ..self }
    }

    /// Marks that it hides hooks of the user's, if these files are the user's. If somebody else may write the
    /// file, it gets a hint.
    #[must_use]
    pub(super) fn hiding(mut self, place: &FileAccess) -> Self {
        self.hides = matches!(place, FileAccess::Global);
        self.hint = self.hint.or_else(|| place.permission_hint(&self.path));
        self
    }
}

impl Problem {
    /// The working directory is not known, nor its repository.
    pub(super) fn no_directory() -> Self {
        let message = "the working directory is gone: nobody knows whose hooks run";
        let problem = Self::new(".", message).hint("change to a directory that exists, or give --cwd DIR");
        Self { hides: true, ..problem }
    }

    /// The home directory is not known.
    pub(crate) fn no_home() -> Self {
        let message = "is not known, so that your own hooks cannot be looked for: HOME is no absolute path";
        let problem = Self::new("the home directory", message).hint("set HOME to your home directory");
        Self { hides: true, ..problem }
    }

    /// The user's own hooks may be in another home directory.
    pub(crate) fn other_home(home: &Path, other: Option<&Path>) -> Self {
        let named = shown(home);
        let problem = match other {
            Some(other) => {
                let hint = format!("set HOME to {}, or name the one that you mean: --home DIR", shown(other));
                let message = format!(
                    "is your home directory by the system's accounts, and HOME names {named}: the hooks of the first are not looked for"
                );
                Self::new(other, message).hint(hint)
            }
            None => {
                Self::new(home, "is nobody's home directory, so that your own hooks cannot be looked for")
                    .hint("set HOME to your home directory, or name the one that you mean: --home DIR")
            }
        };
        Self { hides: true, ..problem }
    }

    /// The process has another home directory than the one that its command line was written for.
    pub(crate) fn not_at_home(home: &Path, process: &Path) -> Self {
        let message = format!(
            "is the home directory that this command was installed for, and HOME is {:?}",
            shown(process)
        );
        let hint = format!(
            "set HOME to {}, or run hookbox install again where HOME is what it is for the agent",
            shown(home)
        );
        Self { hides: true, ..Self::new(home, message).hint(hint) }
    }

    /// Changes in a directory are not noticed.
    #[cfg(feature = "watch")]
    pub(crate) fn not_watched(path: &Path, why: &str) -> Self {
        Self::new(path, format!("is not watched: {why}")).hint("reload by hand when hooks there have changed")
    }

    /// The private data directory cannot be used.
    pub(crate) fn no_data(error: PrivateError) -> Self {
        Self::new(error.path, format!("cannot be used: {}; nothing is trusted or granted", error.kind))
            .hint("make it a directory of your own with mode 0700, outside the repository")
    }
}

impl From<PrivateError> for Problem {
    fn from(error: PrivateError) -> Self {
        Self::new(error.path, format!("cannot be used: {}; compiled code is not kept", error.kind))
            .hint("make it a directory of your own with mode 0700, outside the repository")
    }
}

impl fmt::Display for Problem {
    /// Writes one line without the hint, safe to show: `PATH: MESSAGE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", text::escape(&self.path.to_string_lossy(), 4096), self.message)
    }
}
