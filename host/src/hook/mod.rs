//! The [`Hook`] trait and what a hook is made of: its [`Descriptor`], its [`Budget`], its failures.

mod budget;
mod digest;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use self::budget::{Budget, Limits, STACK};
pub use self::digest::{Digest, DigestError};

use crate::capability::Capability;
use crate::event::{Event, EventName};
use crate::outcome::{Answers, Outcome, Spent};
use crate::report::{Cause, Kind, Limit, LimitKind};

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
    /// Name, tier, subscriptions, failure policy, budget: fixed for the life of the hook.
    fn descriptor(&self) -> &Descriptor;

    /// Answers one event, within `budget`.
    ///
    /// # Errors
    ///
    /// An `Err` is a failure of the hook, never a decision: what follows is the descriptor's `on_failure`.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError>;
}

/// Where a hook was found; earlier tiers shadow later ones of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// `<repo>/<root>/hooks/`.
    Repo,
    /// `<repo>/<root>/plugins/<org>@<repo>/hooks/`.
    RepoPlugin,
    /// `~/<root>/hooks/`.
    Global,
    /// `~/<root>/plugins/<org>@<repo>/hooks/`.
    GlobalPlugin,
    /// Registered by the agent.
    Code,
    /// Part of hookbox.
    Builtin,
}

impl Tier {
    /// The name, such as `repo plugin`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::RepoPlugin => "repo plugin",
            Self::Global => "global",
            Self::GlobalPlugin => "global plugin",
            Self::Code => "code",
            Self::Builtin => "built in",
        }
    }

    /// Who brought it: this is the coarsest order of a chain.
    pub fn origin(self) -> Origin {
        match self {
            Self::Repo | Self::RepoPlugin => Origin::Repo,
            Self::Global | Self::GlobalPlugin => Origin::User,
            Self::Code | Self::Builtin => Origin::Host,
        }
    }
}

impl Serialize for Tier {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Who brought a hook. What a repository brought runs first, so that the user's guards judge what it made of a
/// call, and the host's judge last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The repository.
    Repo,
    /// The user.
    User,
    /// The agent that embeds hookbox.
    Host,
}

/// What happens when a hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The agent goes on, with a warning.
    #[default]
    Pass,
    /// The action is blocked, where the event can be blocked.
    Block,
}

impl OnFailure {
    /// `pass` or `block`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Block => "block",
        }
    }
}

/// The priority of a hook that does not say one.
pub const DEFAULT_PRIORITY: i32 = 50;

/// An event that a hook wants to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The event.
    pub event: EventName,
    /// Only for these tools: names as agents spell them, or kinds such as `kind:shell`. Empty: all.
    pub tools: Vec<String>,
    /// Lower runs first.
    pub priority: i32,
    /// It also runs after a block, and what it answers is not acted on.
    pub observe: bool,
}

impl Subscription {
    /// Every tool, the default priority, not an observer.
    pub fn to(event: EventName) -> Self {
        Self { event, tools: Vec::new(), priority: DEFAULT_PRIORITY, observe: false }
    }

    /// Whether the hook wants to see this event.
    pub fn matches(&self, event: &Event) -> bool {
        if self.event != event.name() {
            return false;
        }
        match event.tool_call() {
            Some(call) if !self.tools.is_empty() => self.tools.iter().any(|pattern| {
                pattern == &call.name
                    || pattern.strip_prefix("kind:").is_some_and(|kind| kind == call.facts.kind.as_str())
            }),
            _ => true,
        }
    }
}

/// What a hook is, fixed for its life.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The full name: the file name, `org/repo/file` for a plugin's hook.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Where it was found.
    pub tier: Tier,
    /// Its file, if it has one.
    pub path: Option<PathBuf>,
    /// The plugin that it belongs to, as `org/repo`.
    pub plugin: Option<String>,
    /// The events that it wants to see.
    pub subscriptions: Vec<Subscription>,
    /// What happens when it fails.
    pub on_failure: OnFailure,
    /// What one call may use up.
    pub budget: Budget,
    /// The answers that it may give: declared and allowed.
    pub answers: Answers,
    /// Whether the user trusts it. What an untrusted hook says is for the user's eyes, never for the model.
    pub trusted: bool,
    /// The digest of what runs, if it has a file.
    pub digest: Option<Digest>,
}

impl Descriptor {
    /// A trusted hook of the agent's own with no subscriptions yet, every answer, and the budget of its kind.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            tier: if kind == Kind::Builtin { Tier::Builtin } else { Tier::Code },
            path: None,
            plugin: None,
            subscriptions: Vec::new(),
            on_failure: OnFailure::Pass,
            budget: Budget::for_kind(kind),
            answers: Answers::ALL,
            trusted: true,
            digest: None,
        }
    }

    /// The same hook, subscribed to this event as well.
    #[must_use]
    pub fn on(mut self, event: EventName) -> Self {
        self.subscriptions.push(Subscription::to(event));
        self
    }

    /// The same hook with this failure policy.
    #[must_use]
    pub fn on_failure(mut self, policy: OnFailure) -> Self {
        self.on_failure = policy;
        self
    }

    /// The same hook, in this place among the hooks of its events.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        for subscription in &mut self.subscriptions {
            subscription.priority = priority;
        }
        self
    }

    /// Whether it wants to see this event, at least for some tools.
    pub fn subscribes_to(&self, event: &EventName) -> bool {
        self.subscriptions.iter().any(|subscription| &subscription.event == event)
    }
}

/// What a hook says of itself (`describe` of a component), checked and in the host's types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name, for people; the file's name is what identifies it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// The events that it wants to see.
    pub subscriptions: Vec<Subscription>,
    /// The answers that it may give.
    pub answers: Answers,
    /// What it asks for.
    pub capabilities: Vec<Capability>,
    /// What happens when it fails, unless the user's settings say otherwise.
    pub on_failure: Option<OnFailure>,
}

/// A hook's own settings, as `wasi:config` serves them: text stays text, anything else is JSON text.
pub type Settings = BTreeMap<String, String>;

/// A failure of a hook: what it was, and what the call had used up by then.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}: {message}")]
pub struct HookError {
    /// The class of the failure.
    pub cause: Cause,
    /// What happened, in words that read after the hook's name; text of a hook in it is escaped.
    pub message: String,
    /// The limit that was exceeded.
    pub limit: Option<Limit>,
    /// What the call had used up.
    pub spent: Box<Spent>,
}

impl HookError {
    /// A failure of this class.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), limit: None, spent: Box::default() }
    }

    /// The failure of a hook that exceeded a limit.
    pub fn exceeded(
        cause: Cause,
        of: LimitKind,
        limit: u64,
        used: Option<u64>,
        message: impl Into<String>,
    ) -> Self {
        Self { limit: Some(Limit { of, limit, used }), ..Self::new(cause, message) }
    }

    /// The failure of a hook that was still running at its wall-clock limit.
    pub fn timeout(wall: Duration) -> Self {
        let limit = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        let message = format!("did not answer within {wall:?}");
        Self::exceeded(Cause::Timeout, LimitKind::Wall, limit, Some(limit), message)
    }

    /// The failure of a hook that printed more than it may: so much, until it was stopped.
    pub fn output_limit(limit: usize, used: usize) -> Self {
        let message = format!("printed more than {limit} bytes");
        let (limit, used) = (limit as u64, used as u64);
        Self::exceeded(Cause::OutputLimit, LimitKind::Output, limit, Some(used), message)
    }

    /// The same failure with what the call had used up.
    #[must_use]
    pub fn spent(mut self, spent: Spent) -> Self {
        self.spent = Box::new(spent);
        self
    }
}
