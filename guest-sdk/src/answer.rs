//! The answer of a hook.

use serde::Serialize;
use serde_json::Value;

use crate::{Error, Message};

/// A recipe that the agent shall run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callback {
    /// The name, such as `compact` or `rotate`.
    pub name: String,
    /// The arguments.
    pub args: Vec<(String, String)>,
}

/// The decision of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Action {
    /// Nothing.
    #[default]
    Pass,
    /// Stop it, for this reason.
    Block(String),
    /// Let the user decide, for this reason.
    Ask(String),
    /// The tool call needs no question of the agent's own, for this reason.
    Allow(String),
    /// Replace the subject of the event by this value.
    Modify(Value),
    /// Go on, with these as messages of the user.
    FollowUp(Vec<String>),
    /// Replace the conversation.
    Mutate(Vec<Message>),
    /// Run a recipe.
    Callback(Callback),
}

/// The answer to one event. The manifest must declare the answers that change something
/// ([`Give`](crate::Give)).
///
/// ```
/// use hookbox_sdk::Answer;
///
/// let answer = Answer::block("not on a Friday").warn("It is Friday.");
/// let more = Answer::pass().inject("Tests run with `just test`.");
/// let compact = Answer::callback("compact").arg("goal", "keep the open questions");
/// # let _ = (answer, more, compact);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The action.
    pub action: Action,
    /// Text for the model's next step.
    pub context: Vec<String>,
    /// Notes for the user.
    pub warnings: Vec<String>,
    /// For reports; without effect.
    pub metadata: Vec<(String, Value)>,
}

impl Answer {
    /// Nothing is to happen.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Stop it, for this reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Action::Block(reason.into()).into()
    }

    /// Let the user decide, for this reason. An agent that cannot ask does not do it.
    pub fn ask(reason: impl Into<String>) -> Self {
        Action::Ask(reason.into()).into()
    }

    /// The tool call needs no question of the agent's own, for this reason, which reports show. The manifest declares
    /// it ([`Give::Allow`](crate::Give)), the user grants it, and it has an effect only if no other hook blocked, asked
    /// or failed.
    pub fn allow(reason: impl Into<String>) -> Self {
        Action::Allow(reason.into()).into()
    }

    /// Replaces the subject of the event: a tool's input before the call, its output after it, the user's
    /// message (a string), the text of an error (a string).
    pub fn modify(value: impl Into<Value>) -> Self {
        Action::Modify(value.into()).into()
    }

    /// Like [`modify`](Self::modify), with anything that serializes.
    ///
    /// # Errors
    ///
    /// The value does not serialize as JSON.
    pub fn modify_with(value: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::modify(serde_json::to_value(value)?))
    }

    /// Go on, with these as messages of the user. Without messages there is no action.
    pub fn follow_up<M: Into<String>>(messages: impl IntoIterator<Item = M>) -> Self {
        let messages: Vec<String> = messages.into_iter().map(Into::into).collect();
        if messages.is_empty() { Self::pass() } else { Action::FollowUp(messages).into() }
    }

    /// Replace the conversation.
    pub fn mutate(messages: impl IntoIterator<Item = Message>) -> Self {
        Action::Mutate(messages.into_iter().collect()).into()
    }

    /// Run a recipe.
    pub fn callback(name: impl Into<String>) -> Self {
        Action::Callback(Callback { name: name.into(), args: Vec::new() }).into()
    }

    /// Adds an argument for the recipe; without effect if the answer runs none.
    #[must_use]
    pub fn arg(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        if let Action::Callback(callback) = &mut self.action {
            callback.args.push((key.into(), value.into()));
        }
        self
    }

    /// Adds text for the model's next step.
    #[must_use]
    pub fn inject(mut self, text: impl Into<String>) -> Self {
        self.context.push(text.into());
        self
    }

    /// Adds a note for the user.
    #[must_use]
    pub fn warn(mut self, note: impl Into<String>) -> Self {
        self.warnings.push(note.into());
        self
    }

    /// Adds a value for reports.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }
}

impl From<Action> for Answer {
    fn from(action: Action) -> Self {
        Self { action, ..Self::default() }
    }
}
