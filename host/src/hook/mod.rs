//! The [`Hook`] trait and what a hook is made of: its [`Descriptor`], its [`Budget`], its failures.

mod budget;
mod descriptor;
mod failure;
mod settings_schema;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::budget::{Budget, Limits, MAX_COMPONENT, STACK};
pub(crate) use self::budget::{COMPILE, GRACE};
pub use self::descriptor::{
    DEFAULT_PRIORITY, Descriptor, Kind, Manifest, Mode, OnFailure, Origin, Settings, Subscription, Tier,
};
pub use self::failure::{HookError, Limit, LimitKind};
pub(crate) use self::settings_schema::Tighter;
pub use self::settings_schema::{SettingsFault, SettingsSchema, ValueType};
pub use crate::outcome::Cause;
pub use hookbox_system::{Digest, DigestError};

use crate::event::Event;
use crate::outcome::Outcome;

/// A hook of any kind, as the chain sees it.
///
/// ```
/// use hookbox::{Budget, Descriptor, Event, EventName, Hook, HookError, Kind, Outcome};
///
/// struct NoFridayDeploys(Descriptor);
///
/// #[hookbox::async_trait]
/// impl Hook for NoFridayDeploys {
///     fn descriptor(&self) -> &Descriptor {
///         &self.0
///     }
///
///     async fn run(&self, event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
///         let command = event.tool_call().and_then(|call| call.facts.command.as_deref());
///         Ok(match command {
///             Some(line) if line.contains("deploy") => Outcome::ask("Is it Friday?"),
///             _ => Outcome::pass(),
///         })
///     }
/// }
///
/// let hook = NoFridayDeploys(Descriptor::new("no-friday", Kind::Code).on(EventName::BeforeToolCall));
/// assert!(hook.descriptor().subscribes_to(&EventName::BeforeToolCall));
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Returns the hook's name, subscriptions, failure policy and budget. They must not change during its
    /// life: the chain reads them at every event. It must return at once.
    fn descriptor(&self) -> &Descriptor;

    /// Returns the reason why the hook passes over an event that it subscribes to, without a look at it: a condition
    /// of its own, such as an agent's matcher (default: none). The hook is not run then. It must return at once.
    /// [`Session::explain`](crate::session::Session::explain) shows it.
    fn passes_over(&self, _event: &Event) -> Option<&'static str> {
        None
    }

    /// Returns the hook with other settings, to try them. `None` for a hook that gets none from hookbox (default).
    #[doc(hidden)]
    fn tried_with(&self, _settings: &Settings) -> Option<Arc<dyn Hook>> {
        None
    }

    /// Answers one event.
    ///
    /// # When
    ///
    /// A session calls this for each event that [`Descriptor::subscriptions`] match. The hooks of one event
    /// run one after another, in the order of their origin and priority, and see what the hooks before them
    /// changed. Several sessions may call it at the same time. It is not called after a block, unless the
    /// subscription observes.
    ///
    /// # Runtime
    ///
    /// The future runs in the task that awaits the session's method, on that task's tokio runtime. Do not
    /// block the thread: a hook that blocks stalls the agent's other tasks and cannot be ended. Use
    /// `tokio::task::spawn_blocking` for that. Do not send events to a session from here: hooks are not run
    /// from inside a hook ([`Builder::allow_nested`](crate::manager::Builder::allow_nested)).
    ///
    /// # Cancellation
    ///
    /// The future is dropped at the end of `budget.wall`, and when the agent drops its own future. It may be
    /// dropped at any `.await`. Tasks and processes that the hook started go on, unless they end when they
    /// are dropped.
    ///
    /// # Panics
    ///
    /// A panic is caught, where panics unwind. It is a failure of the hook ([`Cause::Trap`]).
    ///
    /// # Errors
    ///
    /// An `Err` is a failure of the hook, never a decision. [`Descriptor::on_failure`] decides whether the
    /// agent goes on with a warning or is blocked. A hook that wants to block returns [`Outcome::block`].
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError>;
}
