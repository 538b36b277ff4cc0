//! The [`Manager`] finds the hooks of an agent and makes the [`Session`]s that send them events.

mod builder;
mod reload;
mod search;
#[cfg(feature = "watch")]
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use self::builder::Builder;
pub use self::reload::{Changed, Reload};
#[cfg(feature = "watch")]
pub use self::watch::{Latest, WatchError, Watcher};

pub use crate::builtin::Protection;
use crate::discovery::LastGood;
pub use crate::discovery::{
    DEFAULT_ROOTS, Entry, EntryStatus, Found, Kept, Namesake, PluginFile, Problem, Progress, SwitchedOff,
    Tightened,
};
use crate::event::EventName;
pub use crate::facts::CommandFiles;
use crate::hook::{Hook, Kind, OnFailure, Subscription};
use crate::journal::{Journal, JournalSettings};
use crate::live::{Live, Snapshot};
use crate::session::{Session, Thresholds};
use crate::trust::{ProtectedDirs, TrustFile};
use hookbox_system::files::program;

/// The hooks of an agent. Cheap to clone; an empty one does nothing and costs nothing.
///
/// A tokio runtime with time and I/O enabled has to run where its futures are awaited; a `current_thread`
/// runtime is enough.
///
/// ```
/// use hookbox::{EventName, Outcome, ToolCall};
/// use hookbox::manager::Manager;
/// use hookbox::session::ToolDecision;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let manager = Manager::builder()
///     .directories(false) // only hooks from code in this example
///     .on("no-sudo", EventName::BeforeToolCall, |event| async move {
///         let command = event.tool_call().and_then(|call| call.facts.command.clone());
///         Ok(match command {
///             Some(line) if line.starts_with("sudo ") => Outcome::block("no root here"),
///             _ => Outcome::pass(),
///         })
///     })
///     .build()
///     .await;
///
/// let session = manager.session("conversation-1").agent("backend-dev");
/// let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": "sudo ls"}))).await;
/// match verdict.decision {
///     ToolDecision::Block(ruling) => assert_eq!(ruling.for_user(), "no root here"),
///     other => unreachable!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Manager {
    live: Arc<Live>,
    /// `None` if the manager searches for no hooks. The lock admits one reload at a time.
    plan: Arc<tokio::sync::Mutex<Option<Plan>>>,
}

/// The input of a reload.
struct Plan {
    builder: Builder,
    last: Arc<LastGood>,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("hooks", &self.live).finish_non_exhaustive()
    }
}

impl Manager {
    /// Returns a builder with the defaults: this process's working directory and home, both roots, the
    /// recorded trust.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a manager without hooks.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a session of the main agent in this conversation.
    pub fn session(&self, conversation_id: impl Into<String>) -> Session {
        Session::new(Arc::clone(&self.live), conversation_id.into())
    }

    /// Returns the hook with this full name, such as `guardrail.wasm` or `org/repo/audit`; if an untrusted hook of a
    /// repository has the same name, the user's own.
    pub fn hook(&self, name: &str) -> Option<Arc<dyn Hook>> {
        let snapshot = self.snapshot();
        let named = || snapshot.hooks.iter().filter(|hook| hook.descriptor().name == name);
        named().find(|hook| hook.descriptor().trusted).or_else(|| named().next()).cloned()
    }

    /// Returns every hook that runs now, in the order of registration. A later [`Manager::reload`] does not change
    /// the result of this and the following methods.
    pub fn hooks(&self) -> Arc<[Arc<dyn Hook>]> {
        Arc::clone(&self.snapshot().hooks)
    }

    /// Returns the policy for an event that cannot be read: [`OnFailure::Block`] if a hook of this event has
    /// that policy and does not only observe. `None` means any event.
    pub fn on_failure(&self, event: Option<&EventName>) -> OnFailure {
        let snapshot = self.snapshot();
        let concerns = |hook: &&Arc<dyn Hook>| {
            let descriptor = hook.descriptor();
            // A built-in hook judges calls that it can read. It does not stop an agent whose calls cannot be
            // read.
            let judges = |wanted: &Subscription| {
                !descriptor.only_observes(wanted) && event.is_none_or(|event| *event == wanted.event)
            };
            descriptor.kind != Kind::Builtin && descriptor.subscriptions.iter().any(judges)
        };
        let blocks = |hook: &Arc<dyn Hook>| hook.descriptor().on_failure == OnFailure::Block;
        if snapshot.hooks.iter().filter(concerns).any(blocks) { OnFailure::Block } else { OnFailure::Pass }
    }

    /// Returns every hook that was found, also those that do not run, in run order.
    pub fn entries(&self) -> Arc<[Entry]> {
        Arc::clone(&self.snapshot().entries)
    }

    /// Returns the problems of the last search. None of them stops the other hooks.
    pub fn problems(&self) -> Arc<[Problem]> {
        Arc::clone(&self.snapshot().problems)
    }

    /// Returns the repository of the working directory.
    pub fn repository(&self) -> Option<PathBuf> {
        self.snapshot().found.repo.clone()
    }

    /// Returns the file that records trust and grants; `None` without a private data directory.
    #[doc(hidden)]
    pub fn trust_file(&self) -> Option<TrustFile> {
        self.snapshot().trust_file.clone()
    }

    /// Returns the directories that no hook may be allowed to write.
    #[doc(hidden)]
    pub fn protected(&self) -> Arc<ProtectedDirs> {
        Arc::clone(&self.snapshot().found.protected)
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.live.snapshot()
    }

    /// Returns the reason if all hooks are switched off.
    pub fn switched_off(&self) -> Option<SwitchedOff> {
        self.snapshot().found.global.switched_off.clone()
    }

    /// Returns the shares of a context window from which on [`Session::observe_usage`] sends `on_budget_exceeded`:
    /// those of the user's settings (`[budget]`), else of [`Builder::thresholds`].
    pub fn thresholds(&self) -> Thresholds {
        self.snapshot().found.global.thresholds
    }

    /// Returns the program `git` that guards ask for the state of a repository.
    #[doc(hidden)]
    pub fn git(&self) -> Option<PathBuf> {
        program::git(self.snapshot().found.global.git.as_deref())
    }

    /// Returns the user's settings of the journal.
    #[doc(hidden)]
    pub fn journal_settings(&self) -> JournalSettings {
        self.snapshot().found.global.journal
    }

    /// Records each event of every session from now on, unless a journal is set already.
    #[doc(hidden)]
    pub fn record_in(&self, journal: impl Journal + 'static) {
        self.live.record_in(Arc::new(journal));
    }

    /// Returns the time that discovery spent on hooks that the user does not trust.
    #[doc(hidden)]
    pub fn untrusted_time(&self) -> Duration {
        self.snapshot().found.untrusted_time
    }
}
