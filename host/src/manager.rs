//! What an agent sees: a [`Manager`] holds the hooks, a [`Session`] sends them events.

mod builder;
mod reload;
mod snapshot;
#[cfg(feature = "watch")]
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

pub use self::builder::Builder;
pub use self::reload::{Changed, Reload};
pub(crate) use self::snapshot::Snapshot;
#[cfg(feature = "watch")]
pub use self::watch::{WatchError, Watcher};

use crate::chain::ChainOptions;
use crate::discovery::{Approvable, Entry, LastGood, Problem, SwitchedOff};
use crate::event::EventName;
use crate::hook::{Hook, OnFailure, Subscription};
use crate::report::Kind;
use crate::session::{Session, Thresholds};
use crate::trust::{ProtectedDirs, TrustFile};

/// The hooks of an agent. Cheap to clone; an empty one does nothing and costs nothing.
///
/// A tokio runtime with time and I/O enabled has to run where its futures are awaited; a `current_thread` runtime
/// is enough.
///
/// ```
/// use hookbox::{EventName, Outcome, ToolCall};
/// use hookbox::manager::Manager;
/// use hookbox::session::Decision;
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
///     Decision::Block(ruling) => assert_eq!(ruling.reason, "no root here"),
///     other => unreachable!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Manager {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    current: RwLock<Arc<Snapshot>>,
    /// How to look again; `None` where there is nothing to look for. One look at a time.
    plan: tokio::sync::Mutex<Option<Plan>>,
    chain: ChainOptions,
    cwd: PathBuf,
}

/// What another look needs.
struct Plan {
    builder: Builder,
    last: Arc<LastGood>,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        let names: Vec<&str> = snapshot.hooks.iter().map(|hook| hook.descriptor().name.as_str()).collect();
        f.debug_struct("Manager").field("hooks", &names).finish_non_exhaustive()
    }
}

impl Manager {
    /// A builder with the defaults: this process's working directory and home, both roots, the recorded trust.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A manager without hooks.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A session of the main agent in this conversation.
    pub fn session(&self, conversation_id: impl Into<String>) -> Session {
        let cwd = self.inner.cwd.to_string_lossy().into_owned();
        Session::new(self.clone(), conversation_id.into(), cwd)
    }

    /// The hook with this full name, such as `guardrail.wasm` or `org/repo/audit`; where a repository brought one of
    /// the same name that is not trusted, the user's own.
    pub fn hook(&self, name: &str) -> Option<Arc<dyn Hook>> {
        let snapshot = self.snapshot();
        let named = || snapshot.hooks.iter().filter(|hook| hook.descriptor().name == name);
        named().find(|hook| hook.descriptor().trusted).or_else(|| named().next()).cloned()
    }

    /// Every hook that runs now, in the order of their registration. What this and the methods below return is of
    /// this moment; [`Manager::reload`] does not change it.
    pub fn hooks(&self) -> Arc<[Arc<dyn Hook>]> {
        Arc::clone(&self.snapshot().hooks)
    }

    /// What the hooks of this event ask for where the event itself cannot be sent to them: [`OnFailure::Block`] where one
    /// of them does that does not only observe. Of all events where the event is not known.
    pub fn on_failure(&self, event: Option<&EventName>) -> OnFailure {
        let snapshot = self.snapshot();
        let concerns = |hook: &&Arc<dyn Hook>| {
            let descriptor = hook.descriptor();
            // What is built in judges calls that it can see; it does not stop an agent whose calls cannot be read.
            let judges =
                |wanted: &Subscription| !wanted.observe && event.is_none_or(|event| *event == wanted.event);
            descriptor.kind != Kind::Builtin && descriptor.subscriptions.iter().any(judges)
        };
        let blocks = |hook: &Arc<dyn Hook>| hook.descriptor().on_failure == OnFailure::Block;
        if snapshot.hooks.iter().filter(concerns).any(blocks) { OnFailure::Block } else { OnFailure::Pass }
    }

    /// Everything that was found, also what does not run, in run order.
    pub fn entries(&self) -> Arc<[Entry]> {
        Arc::clone(&self.snapshot().entries)
    }

    /// What went wrong while hooks were looked for.
    pub fn problems(&self) -> Arc<[Problem]> {
        Arc::clone(&self.snapshot().problems)
    }

    /// The repository whose hooks were looked for.
    pub fn repository(&self) -> Option<PathBuf> {
        self.snapshot().repository.clone()
    }

    /// Everything that was found, as the commands see it that trust hooks and grant rights to them.
    pub fn approvable(&self) -> Arc<[Approvable]> {
        Arc::clone(&self.snapshot().approvable)
    }

    /// Where trust and grants are recorded; `None` without a private data directory.
    pub fn trust_file(&self) -> Option<TrustFile> {
        self.snapshot().trust_file.clone()
    }

    /// Which directories no hook may be allowed to write.
    pub fn protected(&self) -> Arc<ProtectedDirs> {
        Arc::clone(&self.snapshot().protected)
    }

    /// What holds for an event that begins now. The lock is held for the copy of a pointer.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.inner.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why no hook runs at all, where none does.
    pub fn switched_off(&self) -> Option<SwitchedOff> {
        self.snapshot().global.switched_off.clone()
    }

    /// From which shares of a context window on [`Session::observe_usage`] sends `on_budget_exceeded`: the user's
    /// settings (`[budget]`), else [`Builder::thresholds`].
    pub fn thresholds(&self) -> Thresholds {
        self.snapshot().global.thresholds
    }

    /// How long the look for these hooks took for what is not trusted.
    #[cfg_attr(not(feature = "bridge"), allow(dead_code, reason = "the bridge shares out what is left"))]
    pub(crate) fn untrusted_look(&self) -> Duration {
        self.snapshot().untrusted_look
    }

    pub(crate) fn chain_options(&self) -> &ChainOptions {
        &self.inner.chain
    }
}
