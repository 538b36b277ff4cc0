//! What a hook says of itself.

use crate::Event;

/// What a hook is and asks for; `describe` of a component.
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
    /// Its name, for people; the file's name is what identifies it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// The events that it wants to see.
    pub subscriptions: Vec<Subscription>,
    /// The answers that it may give beside pass, block, ask and warnings.
    pub answers: Vec<Give>,
    /// What it asks for.
    pub capabilities: Vec<Capability>,
    /// What happens when it fails; the user's settings go before it. `None` is the host's default, which is to pass.
    pub on_failure: Option<OnFailure>,
}

/// An event that a hook wants to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// The event.
    pub event: Event,
    /// Only for these tools: names as agents spell them, or kinds such as `kind:shell`. Empty: all.
    pub tools: Vec<String>,
    /// When it runs among the hooks of this event: lower first, 50 when absent.
    pub priority: Option<i32>,
    /// It also runs after another hook has blocked; its answer is not acted on.
    pub observe: bool,
}

/// An answer that has to be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// Change what the event is about.
    Modify,
    /// Give the model text.
    Inject,
    /// Make the agent go on.
    FollowUp,
    /// Replace the conversation.
    Mutate,
    /// Run a recipe.
    Callback,
}

impl Give {
    /// Every answer.
    pub const ALL: [Self; 5] = [Self::Modify, Self::Inject, Self::FollowUp, Self::Mutate, Self::Callback];
}

/// Something outside the sandbox that a component asks for. It gets what the user grants, else nothing.
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
}

/// What happens when a hook fails.
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

    /// The same hook, which also wants to see this event.
    #[must_use]
    pub fn on(self, event: Event) -> Self {
        self.on_tools(event, [""; 0])
    }

    /// The same hook, which also wants to see this event for these tools: names as agents spell them, or kinds such
    /// as `kind:shell`.
    #[must_use]
    pub fn on_tools<T: Into<String>>(mut self, event: Event, tools: impl IntoIterator<Item = T>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.subscriptions.push(Subscription { event, tools, priority: None, observe: false });
        self
    }

    /// The same hook, in this place among the hooks of the event that was named last: lower runs first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        if let Some(last) = self.subscriptions.last_mut() {
            last.priority = Some(priority);
        }
        self
    }

    /// The same hook, as an observer of the event that was named last: it also runs after a block, and what it
    /// answers is not acted on.
    #[must_use]
    pub fn observe(mut self) -> Self {
        if let Some(last) = self.subscriptions.last_mut() {
            last.observe = true;
        }
        self
    }

    /// The same hook, which may also give these answers.
    #[must_use]
    pub fn answers(mut self, answers: impl IntoIterator<Item = Give>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// The same hook, which also asks for this.
    #[must_use]
    pub fn capability(mut self, capability: Capability) -> Self {
        self.capabilities.push(capability);
        self
    }

    /// The same hook, whose failure blocks the action: a guard.
    #[must_use]
    pub fn on_failure_block(mut self) -> Self {
        self.on_failure = Some(OnFailure::Block);
        self
    }
}
