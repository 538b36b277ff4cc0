//! The manifest of a hook.

use crate::Event;

/// The description of a hook and its rights; `describe` of a component.
///
/// ```
/// use hookbox_sdk::{Capability, Event, Give, Manifest};
///
/// let manifest = Manifest::new("lint", env!("CARGO_PKG_VERSION"), "Reminds of the linter.")
///     .on_tools(Event::AfterToolCall, ["kind:edit", "kind:write"])
///     .priority(60)
///     .on(Event::AgentStop)
///     .answers([Give::Inject, Give::FollowUp])
///     .capability(Capability::Read("$REPO".to_owned()));
/// assert_eq!(manifest.subscriptions.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The name, for people; the file's name identifies the hook.
    pub name: String,
    /// The version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// The events that it wants to see.
    pub subscriptions: Vec<Subscription>,
    /// The answers that it may give beside pass, block, ask and warnings.
    pub answers: Vec<Give>,
    /// The rights that it asks for.
    pub capabilities: Vec<Capability>,
    /// The policy for its failure; the user's settings go before it. `None` is the host's default, which is
    /// to pass.
    pub on_failure: Option<OnFailure>,
}

/// An event that a hook wants to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// The event.
    pub event: Event,
    /// Only for these tools: names as agents spell them, or kinds such as `kind:shell`. Empty: all. `kind:shell
    /// naming git *token*` leaves out lines that name none of these words, and `kind:shell if redact` all calls unless the
    /// user sets `redact = true`.
    pub tools: Vec<String>,
    /// The order among the hooks of this event: lower first, 50 by default.
    pub priority: Option<i32>,
    /// True to run also after another hook has blocked; the answer then has no effect.
    pub observe: bool,
}

/// An answer that has to be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// Change the subject of the event.
    Modify,
    /// Give the model text.
    Inject,
    /// Make the agent go on.
    FollowUp,
    /// Replace the conversation.
    Mutate,
    /// Run a recipe.
    Callback,
    /// Spare the user a question of the agent's own about a tool call.
    Allow,
}

impl Give {
    /// Every answer.
    pub const ALL: [Self; 6] =
        [Self::Modify, Self::Inject, Self::FollowUp, Self::Mutate, Self::Callback, Self::Allow];
}

/// A right outside the sandbox that a component asks for. It has an effect only if the user grants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Read below a directory: an absolute path, or one that starts with `$REPO`, `$HOME` or `$DATA`.
    Read(String),
    /// Read and write below a directory.
    ReadWrite(String),
    /// Read one environment variable.
    Env(String),
    /// Send HTTP requests to one origin, such as `https://hooks.slack.com`.
    Http(String),
    /// Keep state in the key-value store.
    Store,
    /// See the messages of the conversation.
    Conversation,
    /// Learn which files of the repository git tracks, and which are changed ([`work_tree`](crate::work_tree)).
    WorkTree,
}

/// The policy for the failure of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The agent goes on, with a warning.
    Pass,
    /// The action is blocked.
    Block,
}

impl Manifest {
    /// A hook with no events yet that asks for nothing. Most give `env!("CARGO_PKG_VERSION")` as `version`.
    pub fn new(name: impl Into<String>, version: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            description: description.into(),
            subscriptions: Vec::new(),
            answers: Vec::new(),
            capabilities: Vec::new(),
            on_failure: None,
        }
    }

    /// Subscribes to this event.
    #[must_use]
    pub fn on(self, event: Event) -> Self {
        self.on_tools(event, [""; 0])
    }

    /// Subscribes to this event for these tools: names as agents spell them, or kinds such as `kind:shell`.
    #[must_use]
    pub fn on_tools<T: Into<String>>(mut self, event: Event, tools: impl IntoIterator<Item = T>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.subscriptions.push(Subscription { event, tools, priority: None, observe: false });
        self
    }

    /// Sets the order among the hooks of the last event: lower runs first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        if let Some(last) = self.subscriptions.last_mut() {
            last.priority = Some(priority);
        }
        self
    }

    /// Makes the hook an observer of the last event: it also runs after a block, and its answer has no
    /// effect.
    #[must_use]
    pub fn observe(mut self) -> Self {
        if let Some(last) = self.subscriptions.last_mut() {
            last.observe = true;
        }
        self
    }

    /// Declares these further answers.
    #[must_use]
    pub fn answers(mut self, answers: impl IntoIterator<Item = Give>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// Asks for this right.
    #[must_use]
    pub fn capability(mut self, capability: Capability) -> Self {
        self.capabilities.push(capability);
        self
    }

    /// Makes the hook's failure block the action: a guard.
    #[must_use]
    pub fn on_failure_block(mut self) -> Self {
        self.on_failure = Some(OnFailure::Block);
        self
    }
}
